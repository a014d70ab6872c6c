// The shell's part in the group: diallers to the other brokers, what is sent to them, votes written down, and
// what everybody is told; see shell.h.
#include "broker/shell.h"

#include <utility>

namespace redoubt::broker {

void Shell::set_name(const std::string& name) { node_.set_name(name); }

void Shell::begin() {
  make_dialers();
  step(Tick{});
  for (uint32_t i = 0; i < dialers_.size(); ++i)
    if (dialers_[i]) dialers_[i]->dial();
  while (node_.next_deadline() <= loop_.read_clock() && !node_.rules() && dialers_.size() <= 1) step(Tick{});
}

void Shell::make_dialers() {
  const BrokerNumber self = node_.election().settings().self;
  const uint64_t seed = node_.election().settings().seed;
  told_.resize(shell_settings_.others.size());
  for (uint32_t i = 0; i < shell_settings_.others.size(); ++i) {
    dialers_.emplace_back();
    if (i + 1 == self) continue;
    const Address& address = shell_settings_.others[i];
    dialers_[i] = std::make_unique<net::Dialer>(
        loop_, address.host, address.port, seed + i,
        [this, i](asio::ip::tcp::socket socket) { dialled(i, std::move(socket)); });
    dialers_[i]->on_failure([this, i](bool refused) {
      const std::string& why = dialers_[i]->last_error();
      if (std::exchange(told_[i].unreached, why) != why)
        observer_.note({Note::Kind::kGroup, dialers_[i]->address(), "not reached, still trying: " + why});
      // Of a broker outside the group nobody's number is known before it has enlisted.
      if (node_.election().settings().self != kNoBroker) step(BrokerUnreachable{i + 1, refused});
    });
  }
}

void Shell::dialled(uint32_t dialler, asio::ip::tcp::socket socket) {
  const auto slot = connections_.take();
  const LinkId id{slot.number()};
  connections_[slot].connection = std::make_unique<Connection>(*this, loop_, std::move(socket), id, dialler);
  strangers_.push_back({later(loop_.now(), kHandshakeLimit), id});
  Connection& connection = *connections_[slot].connection;
  connection.link().start();
  connection.greet_broker();
}

// The link that this dialler made is gone. Within the group the core says whether it wants another.
void Shell::dial_again(uint32_t dialler) {
  const BrokerNumber self = node_.election().settings().self;
  const bool linked = self != kNoBroker && node_.election().peer(dialler + 1).up;
  if (!linked) dialers_[dialler]->dial();
}

void Shell::carry_out(const Dial& dial) {
  if (node_.election().settings().self == kNoBroker || dial.broker > dialers_.size()) return;
  net::Dialer* dialer = dialers_[dial.broker - 1].get();
  if (!dialer) return;
  if (dial.wanted) return dialer->dial();
  dialer->cease();
}

void Shell::carry_out(const Persist& persist) {
  if (file_)
    file_->write(persist.number, persist.memory);
  else
    written_.push_back(persist.number);
}

// Those of the group that have no link to this broker.
void Shell::add_unreached(Snapshot& view) {
  const GroupSettings& group = node_.election().settings();
  if (group.self == kNoBroker) return;
  for (uint32_t i = 0; i < dialers_.size(); ++i) {
    if (!dialers_[i] || node_.election().peer(i + 1).up) continue;
    BrokerView& absent = view.brokers.emplace_back();
    absent.name = absent.address = dialers_[i]->address();
    absent.connected = false;
  }
}

void Shell::announce(const Announce& announce) {
  const wire::Announce message{
      .epoch = announce.epoch, .rules = announce.rules, .sent_us = to_us(loop_.now())};
  connections_.each([&](Handle<Slot>, Slot& slot) {
    if (slot.connection->was_told()) slot.connection->link().send(message);
  });
}

void Shell::hold_reads(bool held) {
  reads_held_ = held;
  connections_.each([&](Handle<Slot>, Slot& slot) {
    if (slot.connection->is_guest()) slot.connection->link().pause_reading(held);
  });
}

bool Shell::send_to_brokers(const Effect& effect) {
  const auto send = [&](LinkId to, const auto& message) {
    if (Connection* connection = find(to)) connection->link().send(message);
    return true;
  };
  const auto send_first = [&](LinkId to, const auto& message) {
    if (Connection* connection = find(to)) connection->link().send_first(message);
    return true;
  };
  const auto send_all = [&](const Followers& to, const auto& message) {
    for (uint32_t i = 0; i < to.count; ++i) send(to.links[i], message);
    return true;
  };
  if (const auto* one = std::get_if<SendAdd>(&effect)) return send_all(one->to, one->add);
  if (const auto* one = std::get_if<SendRemove>(&effect)) return send_all(one->to, one->remove);
  if (const auto* one = std::get_if<SendPulse>(&effect)) return send_first(one->to, one->pulse);
  if (const auto* one = std::get_if<SendMark>(&effect)) return send_all(one->to, one->mark);
  if (const auto* one = std::get_if<SendClientGone>(&effect)) return send_all(one->to, one->gone);
  if (const auto* one = std::get_if<SendCollect>(&effect)) return send(one->to, one->collect);
  if (const auto* one = std::get_if<SendVoteAsk>(&effect)) return send_first(one->to, one->ask);
  if (const auto* one = std::get_if<SendVote>(&effect)) return send_first(one->to, one->vote);
  if (const auto* one = std::get_if<SendHandOver>(&effect)) return send(one->to, one->hand_over);
  return false;
}

wire::Hello Shell::hello() {
  const GroupSettings& group = node_.election().settings();
  return {.version_min = wire::kVersionMin,
          .version_max = wire::kVersionMax,
          .role = wire::Role::kBroker,
          .name = node_.settings().name,
          .cluster = shell_settings_.cluster,
          .incarnation = group.incarnation,
          .link_generation = 1,
          .sent_us = to_us(loop_.now())};
}

wire::Enlist Shell::enlistment() const { return node_.enlistment(address()); }

}  // namespace redoubt::broker
