// Dialling; see dialer.h.
#include "net/dialer.h"

#include <algorithm>

#include "net/link.h"
#include "net/loop.h"

namespace redoubt::net {

using asio::ip::tcp;

Dialer::Dialer(Loop& loop, std::string host, uint16_t port, uint64_t seed, Connected connected)
    : host_(std::move(host)),
      address_(host_.find(':') == std::string::npos ? host_ + ":" + std::to_string(port)
                                                    : "[" + host_ + "]:" + std::to_string(port)),
      port_(port),
      random_(seed),
      connected_(std::move(connected)),
      resolver_(loop.io()),
      socket_(loop.io()),
      timer_(loop.io()) {}

void Dialer::dial() {
  if (stopped_) return;
  if (failures_++ == 0) {
    resolve();
    return;
  }
  const Duration longest = std::min<Duration>(kLongestPause, kFirstPause * (1u << std::min(failures_, 10u)));
  const auto share = 0.5 + 0.5 * random_.unit();
  timer_.expires_after(std::chrono::duration_cast<Duration>(longest * share));
  timer_.async_wait([this](const asio::error_code& error) {
    if (!error && !stopped_) resolve();
  });
}

void Dialer::resolve() {
  asio::error_code not_numeric;
  const auto address = asio::ip::make_address(host_, not_numeric);
  if (!not_numeric) {
    connect({address, port_});
    return;
  }
  resolver_.async_resolve(host_, std::to_string(port_),
                          [this](const asio::error_code& error, const tcp::resolver::results_type& found) {
                            if (error == asio::error::operation_aborted || stopped_) return;
                            if (error || found.empty())
                              failed("cannot find host " + host_ + ": " + error.message());
                            else
                              connect(found.begin()->endpoint());
                          });
}

void Dialer::connect(const tcp::endpoint& endpoint) {
  socket_ = tcp::socket(socket_.get_executor());
  timer_.expires_after(kConnectLimit);
  timer_.async_wait([this](const asio::error_code& error) {
    asio::error_code ignored;
    if (!error) socket_.close(ignored);  // the connect below then fails
  });
  socket_.async_connect(endpoint, [this, endpoint](const asio::error_code& error) {
    if (stopped_) return;
    timer_.cancel();
    asio::error_code ignored;
    if (error) {
      failed(error == asio::error::operation_aborted ? "no answer from " + to_text(endpoint)
                                                     : to_text(endpoint) + ": " + error.message());
      return;
    }
    // A free port in the ephemeral range can be given to the dialling socket itself, which then meets itself.
    if (socket_.local_endpoint(ignored) == socket_.remote_endpoint(ignored)) {
      socket_.close(ignored);
      failed(to_text(endpoint) + ": nobody listens there");
      return;
    }
    last_error_.clear();
    // Connecting has left this socket watched for writing, too: every wait for something to read would first
    // wake up because it can be written. A new object on the same connection is watched for reading alone.
    tcp::socket connected(socket_.get_executor());
    connected.assign(endpoint.protocol(), socket_.release(ignored), ignored);
    connected_(std::move(connected));
  });
}

void Dialer::failed(const std::string& why) {
  last_error_ = why;
  dial();
}

void Dialer::stop() {
  stopped_ = true;
  asio::error_code ignored;
  socket_.close(ignored);
  timer_.cancel();
  resolver_.cancel();
}

}  // namespace redoubt::net
