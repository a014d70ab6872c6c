// One link of a broker; see connection.h.
#include "broker/connection.h"

#include "broker/arrival.h"
#include "broker/shell.h"
#include "core/utf8.h"
#include "wire/hello.h"

namespace redoubt::broker {

using wire::CloseReason;

namespace {
constexpr const char* kBadName = "a broker's name and address must be UTF-8 without control characters";
}  // namespace

Connection::Connection(Shell& shell, net::Loop& loop, asio::ip::tcp::socket socket, LinkId id,
                       uint32_t dialler)
    : shell_(shell),
      id_(id),
      dialler_(dialler),
      link_(std::make_shared<net::Link>(loop, std::move(socket), *this, static_cast<uint64_t>(id))) {
  if (dialler != kAccepted) stage_ = Stage::kDialled;
}

void Connection::greet_broker() {
  link_->send(shell_.hello());
  link_->send(shell_.enlistment());
}

void Connection::on_message(net::Link&, wire::Message& message) {
  switch (stage_) {
    case Stage::kStranger:
      if (auto* hello = std::get_if<wire::Hello>(&message)) return greet(*hello);
      return out_of_order(message);
    case Stage::kClient:
      return from_client(message);
    case Stage::kUnregistered:
      if (const auto* registration = std::get_if<wire::Register>(&message)) {
        stage_ = Stage::kReplica;
        shell_.greeted(*this);
        return shell_.step(ReplicaUp{id_, hello_, *registration, link_->peer()});
      }
      return out_of_order(message);
    case Stage::kReplica:
      return from_replica(message);
    case Stage::kDialled:
      // The link keeps its words and gives them with on_lost.
      if (std::get_if<wire::Goodbye>(&message)) return;
      if (const auto* welcome = std::get_if<wire::Welcome>(&message)) return welcomed(*welcome);
      return out_of_order(message);
    case Stage::kUnlisted:
    case Stage::kWelcomed:
      if (std::get_if<wire::Goodbye>(&message)) return;
      if (const auto* enlistment = std::get_if<wire::Enlist>(&message)) return enlist(*enlistment);
      return out_of_order(message);
    case Stage::kBroker:
      return from_broker(message);
  }
}

void Connection::greet(wire::Hello& hello) {
  hello_ = std::move(hello);
  if (const auto refusal = wire::judge(hello_, shell_.cluster()))
    return shell_.close(*this, refusal->reason, refusal->text);
  if (hello_.role == wire::Role::kClient && shell_.clients_full())
    return shell_.close(*this, CloseReason::kTooManyClients, "the limit of --max-clients is reached");
  const bool broker = hello_.role == wire::Role::kBroker;
  // What one broker has let in the others must be able to hold.
  link_->set_max_payload(broker ? wire::kMaxMaxPayload : shell_.settings().max_payload);
  link_->send(shell_.welcome());
  if (broker) {
    stage_ = Stage::kUnlisted;
    return;
  }
  if (hello_.role == wire::Role::kReplica) {
    stage_ = Stage::kUnregistered;
    return;
  }
  stage_ = Stage::kClient;
  shell_.greeted(*this);
  shell_.step(ClientUp{id_, hello_});
}

void Connection::from_client(wire::Message& message) {
  const auto step = [this](const Event& event) { shell_.step(event); };
  if (client_said(id_, message, link_->payload_skipped(), step)) return;
  if (std::get_if<wire::StatusQuery>(&message)) return shell_.answer_status(*this);
  if (std::get_if<wire::Dummy>(&message) || std::get_if<wire::Goodbye>(&message)) return;
  out_of_order(message);
}

void Connection::from_replica(wire::Message& message) {
  const auto step = [this](const Event& event) { shell_.step(event); };
  if (replica_said(id_, message, link_->payload_skipped(), step)) return;
  if (!std::get_if<wire::Goodbye>(&message)) out_of_order(message);
}

void Connection::welcomed(const wire::Welcome& welcome) {
  if (welcome.version < wire::kVersionMin || welcome.version > wire::kVersionMax)
    return shell_.close(*this, CloseReason::kVersion,
                        "version " + std::to_string(welcome.version) + " is not spoken here");
  if (!is_one_line(welcome.name)) return shell_.close(*this, CloseReason::kMalformed, kBadName);
  hello_.name = welcome.name;
  hello_.role = wire::Role::kBroker;
  link_->set_max_payload(wire::kMaxMaxPayload);
  stage_ = Stage::kWelcomed;
}

void Connection::enlist(const wire::Enlist& enlistment) {
  if (!is_one_line(enlistment.name) || !is_one_line(enlistment.address))
    return shell_.close(*this, CloseReason::kMalformed, kBadName);
  const bool dialled = stage_ == Stage::kWelcomed;
  if (!dialled) link_->send(shell_.enlistment());
  stage_ = Stage::kBroker;
  hello_.name = enlistment.name;
  number_ = enlistment.broker;
  since_ = shell_.loop().now();
  shell_.greeted(*this);
  shell_.step(BrokerUp{id_, hello_, enlistment, dialled ? dialler_ + 1 : 0});
}

void Connection::from_broker(wire::Message& message) {
  if (link_->payload_skipped())
    return shell_.close(*this, CloseReason::kOversize, "a payload over every broker's limit");
  if (!proved_ && std::get_if<wire::Pulse>(&message)) {
    proved_ = true;
    shell_.proved(*this);
  }
  const auto step = [this](const Event& event) { shell_.step(event); };
  if (broker_said(id_, message, step)) return;
  if (!std::get_if<wire::Goodbye>(&message)) out_of_order(message);
}

void Connection::out_of_order(const wire::Message& message) {
  static constexpr const char* kStages[] = {"a link that has not said hello", "a client",
                                            "a replica not yet registered",   "a replica",
                                            "a broker not yet enlisted",      "a broker that we dialled",
                                            "a broker that has welcomed us",  "a broker"};
  const std::string text =
      std::string("a ") + wire::name_of(message) + " from " + kStages[static_cast<size_t>(stage_)];
  shell_.close(*this, CloseReason::kOutOfOrder, text);
}

void Connection::on_lost(net::Link&, CloseReason reason, const std::string& text) {
  shell_.lost(*this, reason, text);
}

}  // namespace redoubt::broker
