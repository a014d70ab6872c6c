// The handshake and the choice; see brokers.h.
#include "client/brokers.h"

#include <algorithm>

#include "client/limits.h"
#include "core/check.h"
#include "wire/limits.h"

namespace redoubt::client {

using wire::CloseReason;

Brokers::Brokers(size_t brokers, Greeting greeting) : greeting_(std::move(greeting)), brokers_(brokers) {}

void Brokers::start() {
  for (size_t i = 0; i < brokers_.size(); ++i) effects_.push_back(Dial{i});
}

void Brokers::connected(Time now, size_t index, uint64_t link) {
  CHECK(index < brokers_.size() && link != 0);
  Broker& broker = brokers_[index];
  CHECK(broker.phase == Phase::kDown && link > broker.link);
  broker.phase = Phase::kGreeted;
  broker.link = link;
  broker.answer_by = later(now, kHandshakeLimit);
  // Who was refused before is told that, and not how far the next try is.
  if (broker.trouble.empty()) broker.trouble = "connected, but it has not answered yet";
  wire::Hello hello;
  hello.version_min = wire::kVersionMin;
  hello.version_max = wire::kVersionMax;
  hello.role = wire::Role::kClient;
  hello.name = greeting_.name;
  hello.cluster = greeting_.cluster;
  hello.incarnation = greeting_.incarnation;
  hello.link_generation = link;
  hello.sent_us = to_us(now);
  effects_.push_back(Send{index, std::move(hello)});
}

bool Brokers::said(Time now, uint64_t link, const wire::Message& message) {
  const std::optional<size_t> index = find(link);
  if (!index) return true;
  Broker& broker = brokers_[*index];
  if (const auto* goodbye = std::get_if<wire::Goodbye>(&message)) {
    const std::string text =
        std::string(wire::name_of(goodbye->reason)) + (goodbye->text.empty() ? "" : ": " + goodbye->text);
    close(*index, CloseReason::kNone,
          (broker.phase == Phase::kWelcomed ? "it left: " : "it refused this client: ") + text);
    return true;
  }
  if (broker.phase == Phase::kGreeted) {
    if (const auto* welcome = std::get_if<wire::Welcome>(&message))
      welcomed(*index, *welcome);
    else
      close(*index, CloseReason::kOutOfOrder,
            std::string("a message of kind ") + wire::name_of(message) + " before the welcome");
    return true;
  }
  if (const auto* announce = std::get_if<wire::Announce>(&message)) {
    stands(broker, announce->epoch, announce->rules);
    return true;
  }
  if (const auto* dummy = std::get_if<wire::Dummy>(&message)) {
    if (dummy->answer)
      effects_.push_back(
          Send{*index, wire::Dummy{.answer = false, .sent_us = to_us(now), .echo_us = dummy->sent_us}});
    return true;
  }
  return false;
}

void Brokers::out_of_place(uint64_t link, const wire::Message& message) {
  if (const auto index = find(link))
    close(*index, CloseReason::kOutOfOrder,
          std::string("a message of kind ") + wire::name_of(message) + " that a client does not take");
}

void Brokers::welcomed(size_t index, const wire::Welcome& welcome) {
  if (welcome.version < wire::kVersionMin || welcome.version > wire::kVersionMax) {
    close(index, CloseReason::kVersion, "it speaks version " + std::to_string(welcome.version));
    return;
  }
  Broker& broker = brokers_[index];
  broker.phase = Phase::kWelcomed;
  broker.answer_by = kNever;
  broker.trouble.clear();
  broker.max_payload = welcome.max_payload;
  effects_.push_back(Admit{index, std::max<uint64_t>(welcome.max_payload, 1)});
  stands(broker, welcome.epoch, welcome.rules);
}

void Brokers::stands(Broker& broker, wire::Epoch epoch, bool rules) {
  broker.epoch = epoch;
  broker.rules = rules;
  // What a standby knows may be a promise that led to no manager: only who rules shuts out those below.
  if (rules) highest_ = std::max(highest_, epoch);
  choose();
}

void Brokers::lost(uint64_t link, CloseReason reason, const std::string& text) {
  const std::optional<size_t> index = find(link);
  if (!index) return;
  brokers_[*index].trouble =
      reason == CloseReason::kNone ? text : std::string(wire::name_of(reason)) + ": " + text;
  gone(*index);
}

void Brokers::close(size_t index, CloseReason reason, const std::string& text) {
  brokers_[index].trouble = text;
  effects_.push_back(CloseLink{index, reason, text});
  gone(index);
}

void Brokers::gone(size_t index) {
  brokers_[index].phase = Phase::kDown;
  brokers_[index].answer_by = kNever;
  choose();
  effects_.push_back(Dial{index});
}

bool Brokers::may_rule(const Broker& broker) const {
  return broker.phase == Phase::kWelcomed && broker.rules && broker.epoch == highest_;
}

std::optional<size_t> Brokers::best() const {
  // At equal epochs the one in use stays: a change costs a re-send of everything.
  if (current_ && may_rule(brokers_[*current_])) return current_;
  for (size_t i = 0; i < brokers_.size(); ++i)
    if (may_rule(brokers_[i])) return i;
  return std::nullopt;
}

std::optional<size_t> Brokers::standby() const {
  for (size_t i = 0; i < brokers_.size(); ++i)
    if (brokers_[i].phase == Phase::kWelcomed && !may_rule(brokers_[i])) return i;
  return std::nullopt;
}

void Brokers::choose() {
  const std::optional<size_t> best = this->best();
  // A link that was lost and came back is no case of its own: gone() came in between.
  if (best == current_ && (!best || used_ == highest_)) return;
  current_ = best;
  if (!best) {
    effects_.push_back(BrokerDown{});
    return;
  }
  if (used_ && used_ != highest_) ++failovers_;
  used_ = highest_;
  const Broker& broker = brokers_[*best];
  effects_.push_back(BrokerUp{*best, broker.link, broker.max_payload});
}

void Brokers::tick(Time now) {
  for (size_t i = 0; i < brokers_.size(); ++i)
    if (brokers_[i].answer_by <= now)
      close(i, CloseReason::kHandshakeTime, "connected, but it did not answer within a second");
}

Time Brokers::next_deadline() const {
  Time next = kNever;
  for (const Broker& broker : brokers_) next = std::min(next, broker.answer_by);
  return next;
}

std::string Brokers::trouble(size_t index) const {
  CHECK(index < brokers_.size());
  const Broker& broker = brokers_[index];
  if (broker.phase != Phase::kWelcomed || may_rule(broker)) return broker.trouble;
  const std::string number = std::to_string(broker.epoch.number);
  if (broker.rules && broker.epoch.number == highest_.number)
    return "another rules by the same epoch, " + number;
  if (broker.rules)
    return "it rules by epoch " + number + ", but epoch " + std::to_string(highest_.number) +
           " has been heard (if its group was made anew, start this program anew)";
  if (broker.epoch == wire::Epoch{}) return "it is a standby and knows of no manager";
  return "it is a standby, and the newest epoch it knows is " + number +
         ": name the others of its group, too";
}

std::optional<size_t> Brokers::find(uint64_t link) const {
  for (size_t i = 0; i < brokers_.size(); ++i)
    if (brokers_[i].phase != Phase::kDown && brokers_[i].link == link) return i;
  return std::nullopt;
}

}  // namespace redoubt::client
