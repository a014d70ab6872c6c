// Brokers: what one client knows of the brokers it was given: how far the handshake with each is, which of
// them rules, and which is therefore the one to talk to. Knows nothing of requests. A pure state machine: no
// socket, clock, thread or lock; times are handed in, and what is to be done is appended to effects(). Not
// thread-safe.
//
// A broker is named by its position in the list of addresses, and has at most one link at a time. Links have
// numbers of the owner's that go up and are never used again, whatever the broker; 0 is none. What is handed
// in about a link that is no longer held is ignored.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "core/time.h"
#include "wire/message.h"

namespace redoubt::client {

// Connect to this broker; answered by connected(), however long that takes.
struct Dial {
  size_t broker = 0;
};

struct Send {
  size_t broker = 0;
  std::variant<wire::Hello, wire::Dummy> message;
};

// The handshake is through: payloads up to this size may come, and dialling has led to something.
struct Admit {
  size_t broker = 0;
  uint64_t max_payload = 0;
};

// Close the link, saying why. No lost() follows.
struct CloseLink {
  size_t broker = 0;
  wire::CloseReason reason = wire::CloseReason::kNone;
  std::string text;
};

// Requests go to this link from now on, and all that are open go again: another manager is at its end, also
// when it is the link that was in use already.
struct BrokerUp {
  size_t broker = 0;
  uint64_t link = 0;
  uint64_t max_payload = 0;
};

// There is no broker to talk to.
struct BrokerDown {};

using BrokerEffect = std::variant<Dial, Send, Admit, CloseLink, BrokerUp, BrokerDown>;

struct Greeting {
  std::string name, cluster;
  uint64_t incarnation = 0;
};

class Brokers {
 public:
  Brokers(size_t brokers, Greeting greeting);

  void start();
  // Dialling has led to a link, the broker's only one.
  void connected(Time now, size_t broker, uint64_t link);
  // The broker said this. False: it is nothing between a client and a broker as such; who has no use for it
  // either calls out_of_place().
  bool said(Time now, uint64_t link, const wire::Message& message);
  void out_of_place(uint64_t link, const wire::Message& message);
  // The link is gone, and not by a CloseLink.
  void lost(uint64_t link, wire::CloseReason reason, const std::string& text);

  // Gives up on brokers that do not answer the greeting.
  void tick(Time now);
  // When tick() has something to do.
  Time next_deadline() const;

  // To be done in this order. The owner clears it afterwards.
  std::vector<BrokerEffect>& effects() { return effects_; }

  // The broker to talk to, if there is one.
  std::optional<size_t> current() const { return current_; }
  // One that has let this client in and does not rule.
  std::optional<size_t> standby() const;
  // For people: why this broker cannot be used. Empty if it can, or if it was never reached.
  std::string trouble(size_t broker) const;
  // Times a manager of another epoch took the place of the one before.
  uint64_t failovers() const { return failovers_; }

 private:
  enum class Phase : uint8_t { kDown, kGreeted, kWelcomed };

  struct Broker {
    Phase phase = Phase::kDown;
    uint64_t link = 0;
    Time answer_by = kNever;
    std::string trouble;  // why there is no welcome
    // As it said last.
    wire::Epoch epoch;
    bool rules = false;
    uint64_t max_payload = 0;
  };

  std::optional<size_t> find(uint64_t link) const;
  void welcomed(size_t index, const wire::Welcome& welcome);
  void stands(Broker& broker, wire::Epoch epoch, bool rules);
  void close(size_t index, wire::CloseReason reason, const std::string& text);
  void gone(size_t index);
  bool may_rule(const Broker& broker) const;
  std::optional<size_t> best() const;
  void choose();

  const Greeting greeting_;
  std::vector<Broker> brokers_;
  wire::Epoch highest_;  // of all who ever said that they rule: nobody below it is obeyed
  std::optional<size_t> current_;
  std::optional<wire::Epoch> used_;  // the newest epoch that a BrokerUp was for
  uint64_t failovers_ = 0;
  std::vector<BrokerEffect> effects_;
};

}  // namespace redoubt::client
