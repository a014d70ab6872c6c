// One link of a broker; see connection.h.
#include "broker/connection.h"

#include "broker/shell.h"
#include "wire/hello.h"

namespace redoubt::broker {

using wire::CloseReason;

Connection::Connection(Shell& shell, net::Loop& loop, asio::ip::tcp::socket socket, LinkId id)
    : shell_(shell),
      id_(id),
      link_(std::make_shared<net::Link>(loop, std::move(socket), *this, static_cast<uint64_t>(id))) {}

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
  }
}

void Connection::greet(wire::Hello& hello) {
  if (const auto refusal = wire::judge(hello, shell_.cluster()))
    return shell_.close(*this, refusal->reason, refusal->text);
  hello_ = std::move(hello);
  if (hello_.role == wire::Role::kClient && shell_.clients_full())
    return shell_.close(*this, CloseReason::kTooManyClients, "the limit of --max-clients is reached");
  link_->set_max_payload(shell_.settings().max_payload);
  link_->send(shell_.welcome());
  if (hello_.role == wire::Role::kReplica) {
    stage_ = Stage::kUnregistered;
    return;
  }
  stage_ = Stage::kClient;
  shell_.greeted(*this);
  shell_.step(ClientUp{id_, hello_});
}

void Connection::from_client(wire::Message& message) {
  if (auto* submit = std::get_if<wire::Submit>(&message))
    return shell_.step(SubmitArrived{id_, *submit, link_->payload_skipped()});
  if (const auto* cancel = std::get_if<wire::Cancel>(&message))
    return shell_.step(CancelArrived{id_, *cancel});
  if (const auto* acknowledge = std::get_if<wire::Acknowledge>(&message))
    return shell_.step(AcknowledgeArrived{id_, *acknowledge});
  if (std::get_if<wire::StatusQuery>(&message)) return shell_.answer_status(*this);
  if (std::get_if<wire::Dummy>(&message) || std::get_if<wire::Goodbye>(&message)) return;
  out_of_order(message);
}

void Connection::from_replica(wire::Message& message) {
  if (auto* done = std::get_if<wire::Done>(&message))
    return shell_.step(CopyDone{id_, *done, link_->payload_skipped()});
  if (const auto* started = std::get_if<wire::Started>(&message))
    return shell_.step(CopyStarted{id_, *started});
  if (const auto* dummy = std::get_if<wire::Dummy>(&message)) return shell_.step(DummyArrived{id_, *dummy});
  if (std::get_if<wire::Leaving>(&message)) return shell_.step(ReplicaLeaving{id_});
  if (std::get_if<wire::Goodbye>(&message)) return;
  out_of_order(message);
}

void Connection::out_of_order(const wire::Message& message) {
  static constexpr const char* kStages[] = {"a link that has not said hello", "a client",
                                            "a replica not yet registered", "a replica"};
  const std::string text =
      std::string("a ") + wire::name_of(message) + " from " + kStages[static_cast<size_t>(stage_)];
  shell_.close(*this, CloseReason::kOutOfOrder, text);
}

void Connection::on_lost(net::Link&, CloseReason reason, const std::string& text) {
  shell_.lost(*this, reason, text);
}

}  // namespace redoubt::broker
