// Connection: one link of a broker and how far its handshake is. Turns frames into events, each only where it
// has a place; decides nothing else.
#pragma once

#include <memory>

#include "broker/event.h"
#include "net/link.h"

namespace redoubt::broker {

class Shell;

class Connection final : public net::LinkUser {
 public:
  // A stranger must say hello; a replica must then register, a broker enlist. A broker that we have dialled
  // must welcome us, then enlist.
  enum class Stage : uint8_t {
    kStranger,
    kClient,
    kUnregistered,
    kReplica,
    kUnlisted,
    kDialled,
    kWelcomed,
    kBroker
  };
  static constexpr uint32_t kAccepted = ~uint32_t{0};  // not dialled

  // `dialler`: which of the shell's diallers made it.
  Connection(Shell& shell, net::Loop& loop, asio::ip::tcp::socket socket, LinkId id,
             uint32_t dialler = kAccepted);
  // The first words of who has dialled.
  void greet_broker();

  void on_message(net::Link& link, wire::Message& message) override;
  void on_lost(net::Link& link, wire::CloseReason reason, const std::string& text) override;

  net::Link& link() { return *link_; }
  LinkId id() const { return id_; }
  Stage stage() const { return stage_; }
  uint32_t dialler() const { return dialler_; }
  // The place among the shell's diallers of whoever is behind it; for brokers.
  uint32_t place() const { return dialler_ != kAccepted ? dialler_ : number_ - 1; }
  // The broker behind it was let in some time ago: losing it is news, not one refusal in a row of many.
  bool has_lasted(Time now) const { return stage_ == Stage::kBroker && now - since_ >= kLasting; }
  bool in_handshake() const {
    return stage_ != Stage::kClient && stage_ != Stage::kReplica && stage_ != Stage::kBroker;
  }
  // Its Welcome said who rules; a replica may not have registered since.
  bool was_told() const { return is_guest() || stage_ == Stage::kUnregistered; }
  bool is_guest() const { return stage_ == Stage::kClient || stage_ == Stage::kReplica; }
  const wire::Hello& hello() const { return hello_; }
  // It has asked for a status text that it has not got yet.
  bool asks_status = false;

 private:
  static constexpr Duration kLasting = std::chrono::milliseconds(500);

  void greet(wire::Hello& hello);
  void from_client(wire::Message& message);
  void from_replica(wire::Message& message);
  void from_broker(wire::Message& message);
  void welcomed(const wire::Welcome& welcome);
  void enlist(const wire::Enlist& enlist);
  void out_of_order(const wire::Message& message);

  Shell& shell_;
  const LinkId id_;
  const uint32_t dialler_;
  std::shared_ptr<net::Link> link_;
  // As a broker: since when, by whose number, and whether it has said more than who it is.
  Time since_{};
  uint32_t number_ = 0;
  bool proved_ = false;
  Stage stage_ = Stage::kStranger;
  wire::Hello hello_;
};

}  // namespace redoubt::broker
