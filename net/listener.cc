// Accepting; see listener.h.
#include "net/listener.h"

#include <asio/ip/address.hpp>
#include <chrono>

#include "net/link.h"
#include "net/loop.h"

namespace redoubt::net {

using asio::ip::tcp;

Listener::Listener(Loop& loop, Accepted accepted)
    : acceptor_(loop.io()), pause_(loop.io()), accepted_(std::move(accepted)) {}

std::string Listener::listen(const std::string& host, uint16_t port) {
  asio::error_code error;
  tcp::endpoint endpoint(asio::ip::make_address(host, error), port);
  if (error) {
    tcp::resolver resolver(acceptor_.get_executor());
    const auto found = resolver.resolve(host, std::to_string(port), tcp::resolver::passive, error);
    if (error) return "cannot listen on " + host + ": " + error.message();
    endpoint = found.begin()->endpoint();
  }
  acceptor_.open(endpoint.protocol(), error);
  if (!error) acceptor_.set_option(tcp::acceptor::reuse_address(true), error);
  if (!error) acceptor_.bind(endpoint, error);
  // A large backlog: a burst of connects beyond it costs each a second (a lost SYN is sent again after that).
  if (!error) acceptor_.listen(4096, error);
  if (error == asio::error::address_in_use)
    return "address " + to_text(endpoint) +
           " is taken: another program listens there; choose another address";
  if (error) return "cannot listen on " + to_text(endpoint) + ": " + error.message();
  accept();
  return {};
}

void Listener::accept() {
  acceptor_.async_accept([this](const asio::error_code& error, tcp::socket socket) {
    if (error == asio::error::operation_aborted) return;
    if (!error) {
      accepted_(std::move(socket));
      if (acceptor_.is_open()) accept();
      return;
    }
    // Out of descriptors, most likely: an accept that is tried again at once fails again at once.
    pause_.expires_after(std::chrono::milliseconds(20));
    pause_.async_wait([this](const asio::error_code& stopped) {
      if (!stopped && acceptor_.is_open()) accept();
    });
  });
}

void Listener::close() {
  asio::error_code ignored;
  acceptor_.close(ignored);
  pause_.cancel();
}

std::string Listener::address() const {
  asio::error_code ignored;
  return to_text(acceptor_.local_endpoint(ignored));
}

}  // namespace redoubt::net
