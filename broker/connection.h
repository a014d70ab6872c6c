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
  // A stranger must say hello; a replica must then register.
  enum class Stage : uint8_t { kStranger, kClient, kUnregistered, kReplica };

  Connection(Shell& shell, net::Loop& loop, asio::ip::tcp::socket socket, LinkId id);

  void on_message(net::Link& link, wire::Message& message) override;
  void on_lost(net::Link& link, wire::CloseReason reason, const std::string& text) override;

  net::Link& link() { return *link_; }
  LinkId id() const { return id_; }
  Stage stage() const { return stage_; }
  const wire::Hello& hello() const { return hello_; }

 private:
  void greet(wire::Hello& hello);
  void from_client(wire::Message& message);
  void from_replica(wire::Message& message);
  void out_of_order(const wire::Message& message);

  Shell& shell_;
  const LinkId id_;
  std::shared_ptr<net::Link> link_;
  Stage stage_ = Stage::kStranger;
  wire::Hello hello_;
};

}  // namespace redoubt::broker
