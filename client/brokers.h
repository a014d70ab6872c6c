// Brokers: the links of one client: a dialer to each address it was given, the handshake, and which broker is
// the one to talk to: of those that said welcome, the one of the highest epoch. Knows nothing of requests.
// All calls from the loop's thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "core/address.h"
#include "core/time.h"
#include "net/dialer.h"
#include "net/link.h"

namespace redoubt::client {

// Who is told. Its calls come from within the loop's handlers.
class BrokersUser {
 public:
  virtual ~BrokersUser() = default;
  // Requests go to this link from now on.
  virtual void broker_up(net::Link& link, const wire::Welcome& welcome) = 0;
  // There is no broker to talk to.
  virtual void broker_down() = 0;
  // A message other than the handshake's. False: it has no place here, and the link is closed.
  virtual bool broker_said(net::Link& link, wire::Message& message) = 0;
};

struct Greeting {
  std::string name, cluster;
  uint64_t incarnation = 0;
};

class Brokers : public net::LinkUser {
 public:
  Brokers(net::Loop& loop, const std::vector<Address>& addresses, Greeting greeting, BrokersUser& user);

  void start();
  // Closes every link, politely; nothing is dialled any more.
  void stop();

  // Where requests go, or nothing.
  net::Link* current();
  // The current broker, or why there is none: "127.0.0.1:7400: Connection refused". For people.
  std::string state() const;
  // Brokers that took over from the first one that was used.
  uint64_t failovers() const { return failovers_; }

  // Gives up on brokers that do not answer the greeting.
  void tick(Time now);
  Time next_deadline() const;

  void on_message(net::Link& link, wire::Message& message) override;
  void on_lost(net::Link& link, wire::CloseReason reason, const std::string& text) override;

 private:
  static constexpr Duration kHandshakeLimit = std::chrono::seconds(1);

  struct Broker {
    std::unique_ptr<net::Dialer> dialer;
    std::shared_ptr<net::Link> link;
    bool welcome_seen = false;
    wire::Welcome welcome;
    Time answer_by = kNever;
    std::string trouble;  // why there is no link
  };

  void connected(Broker& broker, asio::ip::tcp::socket socket);
  void welcomed(Broker& broker, const wire::Welcome& welcome);
  void close(Broker& broker, wire::CloseReason reason, const std::string& text);
  void gone(Broker& broker);
  void choose();
  Broker* find(const net::Link& link);

  net::Loop& loop_;
  const Greeting greeting_;
  BrokersUser& user_;
  std::vector<std::unique_ptr<Broker>> brokers_;
  Broker* current_ = nullptr;
  uint64_t generation_ = 0;  // of links: each has its own
  bool used_any_ = false;
  wire::Epoch used_epoch_;
  uint64_t failovers_ = 0;
  bool stopped_ = false;
};

}  // namespace redoubt::client
