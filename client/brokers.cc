// Links to brokers; see brokers.h.
#include "client/brokers.h"

#include <algorithm>

#include "net/loop.h"
#include "wire/limits.h"

namespace redoubt::client {

using wire::CloseReason;

Brokers::Brokers(net::Loop& loop, const std::vector<Address>& addresses, Greeting greeting, BrokersUser& user)
    : loop_(loop), greeting_(std::move(greeting)), user_(user) {
  for (const Address& address : addresses) {
    brokers_.push_back(std::make_unique<Broker>());
    Broker& broker = *brokers_.back();
    // The incarnation is random: clients that lose the same broker do not return in step.
    const uint64_t seed = greeting_.incarnation + brokers_.size();
    broker.dialer = std::make_unique<net::Dialer>(
        loop, address.host, address.port, seed,
        [this, &broker](asio::ip::tcp::socket socket) { connected(broker, std::move(socket)); });
  }
}

void Brokers::start() {
  for (const auto& broker : brokers_) broker->dialer->dial();
}

void Brokers::stop() {
  stopped_ = true;
  for (const auto& broker : brokers_) {
    broker->dialer->stop();
    if (const auto link = std::move(broker->link))
      link->close(CloseReason::kStopping, "the client was closed");
  }
  current_ = nullptr;
}

net::Link* Brokers::current() { return current_ ? current_->link.get() : nullptr; }

std::string Brokers::state() const {
  if (current_) return current_->dialer->address();
  std::string text;
  for (const auto& broker : brokers_) {
    // A dialer's own text names the address that it tried.
    const std::string& error = broker->dialer->last_error();
    const std::string address = broker->dialer->address();
    std::string why = !broker->trouble.empty()                   ? address + ": " + broker->trouble
                      : error.empty()                            ? address + ": no answer yet"
                      : error.find(address) == std::string::npos ? address + ": " + error
                                                                 : error;
    text += (text.empty() ? "" : "; ") + why;
  }
  return text;
}

void Brokers::connected(Broker& broker, asio::ip::tcp::socket socket) {
  if (stopped_) return;
  broker.link = std::make_shared<net::Link>(loop_, std::move(socket), *this, ++generation_);
  broker.welcome_seen = false;
  broker.answer_by = loop_.now() + kHandshakeLimit;
  broker.trouble = "connected, but it has not answered yet";
  broker.link->start();
  wire::Hello hello;
  hello.version_min = wire::kVersionMin;
  hello.version_max = wire::kVersionMax;
  hello.role = wire::Role::kClient;
  hello.name = greeting_.name;
  hello.cluster = greeting_.cluster;
  hello.incarnation = greeting_.incarnation;
  hello.link_generation = broker.link->id();
  hello.sent_us = to_us(loop_.now());
  broker.link->send(hello);
}

void Brokers::on_message(net::Link& link, wire::Message& message) {
  Broker* broker = find(link);
  if (broker == nullptr) return;
  if (const auto* goodbye = std::get_if<wire::Goodbye>(&message)) {
    const std::string text =
        std::string(wire::name_of(goodbye->reason)) + (goodbye->text.empty() ? "" : ": " + goodbye->text);
    close(*broker, CloseReason::kNone,
          (broker->welcome_seen ? "it left: " : "it refused this client: ") + text);
    return;
  }
  if (!broker->welcome_seen) {
    if (const auto* welcome = std::get_if<wire::Welcome>(&message))
      welcomed(*broker, *welcome);
    else
      close(*broker, CloseReason::kOutOfOrder,
            std::string("a message of kind ") + wire::name_of(message) + " before the welcome");
    return;
  }
  if (const auto* dummy = std::get_if<wire::Dummy>(&message)) {
    if (dummy->answer)
      link.send(wire::Dummy{.answer = false, .sent_us = to_us(loop_.now()), .echo_us = dummy->sent_us});
    return;
  }
  if (!user_.broker_said(link, message))
    close(*broker, CloseReason::kOutOfOrder,
          std::string("a message of kind ") + wire::name_of(message) + " that a client does not take");
}

void Brokers::welcomed(Broker& broker, const wire::Welcome& welcome) {
  if (welcome.version < wire::kVersionMin || welcome.version > wire::kVersionMax) {
    close(broker, CloseReason::kVersion, "it speaks version " + std::to_string(welcome.version));
    return;
  }
  broker.welcome_seen = true;
  broker.welcome = welcome;
  broker.answer_by = kNever;
  broker.trouble.clear();
  broker.dialer->succeeded();
  broker.link->set_max_payload(std::max<uint64_t>(welcome.max_payload, 1));
  choose();
}

void Brokers::on_lost(net::Link& link, CloseReason reason, const std::string& text) {
  Broker* broker = find(link);
  if (broker == nullptr) return;
  broker->trouble = reason == CloseReason::kNone ? text : std::string(wire::name_of(reason)) + ": " + text;
  gone(*broker);
}

void Brokers::close(Broker& broker, CloseReason reason, const std::string& text) {
  broker.trouble = text;
  broker.link->close(reason, text);
  gone(broker);
}

void Brokers::gone(Broker& broker) {
  broker.link.reset();
  broker.welcome_seen = false;
  broker.answer_by = kNever;
  choose();
  broker.dialer->dial();
}

void Brokers::choose() {
  Broker* best = nullptr;
  for (const auto& broker : brokers_) {
    if (!broker->welcome_seen) continue;
    // At equal epochs the one in use stays: a change costs a re-send of everything.
    if (best == nullptr || broker->welcome.epoch > best->welcome.epoch ||
        (broker->welcome.epoch == best->welcome.epoch && broker.get() == current_))
      best = broker.get();
  }
  // A broker whose link was lost and came back is the same Broker, with another link: gone() came in between.
  if (best == current_) return;
  current_ = best;
  if (best == nullptr) {
    user_.broker_down();
    return;
  }
  if (used_any_ && best->welcome.epoch != used_epoch_) ++failovers_;
  used_any_ = true;
  used_epoch_ = best->welcome.epoch;
  user_.broker_up(*best->link, best->welcome);
}

void Brokers::tick(Time now) {
  for (const auto& broker : brokers_)
    if (broker->answer_by <= now)
      close(*broker, CloseReason::kHandshakeTime, "connected, but it did not answer within a second");
}

Time Brokers::next_deadline() const {
  Time next = kNever;
  for (const auto& broker : brokers_) next = std::min(next, broker->answer_by);
  return next;
}

Brokers::Broker* Brokers::find(const net::Link& link) {
  for (const auto& broker : brokers_)
    if (broker->link.get() == &link) return broker.get();
  return nullptr;
}

}  // namespace redoubt::client
