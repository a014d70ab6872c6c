// BrokerLinks: a dialer to each address and the links they led to. Hands Brokers what happens on them and
// carries out what it decides; decides nothing. All calls from the loop's thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "client/brokers.h"
#include "core/address.h"
#include "net/dialer.h"
#include "net/link.h"

namespace redoubt::client {

// Who is told. Its calls come from within the loop's handlers.
class BrokersUser {
 public:
  virtual ~BrokersUser() = default;
  // Requests go to this link from now on, all that are open once more; it may be the link in use already.
  virtual void broker_up(net::Link& link, uint64_t max_payload) = 0;
  // There is no broker to talk to.
  virtual void broker_down() = 0;
  // A message other than the handshake's. False: it has no place here, and the link is closed.
  virtual bool broker_said(net::Link& link, wire::Message& message) = 0;
};

class BrokerLinks : public net::LinkUser {
 public:
  BrokerLinks(net::Loop& loop, const std::vector<Address>& addresses, Greeting greeting, BrokersUser& user);

  void start();
  // Closes every link, politely; nothing is dialled any more.
  void stop();

  // Where requests go, or nothing.
  net::Link* current();
  // One that has let this client in, though it does not rule; or nothing.
  net::Link* standby();
  // The current broker, or why there is none: "127.0.0.1:7400: Connection refused". For people.
  std::string state() const;
  uint64_t failovers() const { return brokers_.failovers(); }

  void tick(Time now);
  Time next_deadline() const { return brokers_.next_deadline(); }

 private:
  struct Way {
    std::unique_ptr<net::Dialer> dialer;
    std::shared_ptr<net::Link> link;
  };

  void on_message(net::Link& link, wire::Message& message) override;
  void on_lost(net::Link& link, wire::CloseReason reason, const std::string& text) override;
  void connected(size_t broker, asio::ip::tcp::socket socket);
  void carry_out();
  void perform(const Dial& what);
  void perform(const Send& what);
  void perform(const Admit& what);
  void perform(const CloseLink& what);
  void perform(const BrokerUp& what);
  void perform(const BrokerDown& what);

  net::Loop& loop_;
  BrokersUser& user_;
  Brokers brokers_;
  std::vector<Way> ways_;    // by broker
  uint64_t generation_ = 0;  // of links: each has its own
};

}  // namespace redoubt::client
