// A client program; see client_host.h.
#include "lab/sim/client_host.h"

#include <algorithm>

namespace redoubt::sim {

ClientHost::ClientHost(World& world, Network& network, Judge& judge, std::string name,
                       std::vector<HostId> brokers)
    : Process(world, network, std::move(name)), judge_(judge), hosts_(std::move(brokers)) {}

void ClientHost::begin() {
  incarnation_ = world_.random() | 1;
  session_ = std::make_unique<client::Session>();
  brokers_ =
      std::make_unique<client::Brokers>(hosts_.size(), client::Greeting{name(), "redoubt", incarnation_});
  links_.assign(hosts_.size(), {});
  generation_ = 0;
  brokers_->start();
  carry_out();
}

void ClientHost::end() {
  judge_.client_died(incarnation_);
  session_.reset();
  brokers_.reset();
}

void ClientHost::call(redoubt::Request request, bool must_succeed) {
  if (!session_) return;
  const wire::RequestId id{incarnation_, session_->next_seq()};
  std::string expected = request.payload.str();
  for (const auto& level : request.levels) expected += "." + level.service;
  judge_.request_made(id, world_.now() + request.deadline, must_succeed, std::move(expected));
  session_->submit(clock(), request, client::Token{id.seq});
  turn_end();
}

void ClientHost::dial(size_t broker) {
  const Duration pause = links_[broker].failures++ == 0
                             ? Duration::zero()
                             : world_.between(std::chrono::milliseconds(5), std::chrono::milliseconds(200));
  later_here(pause, [this, broker] { network_.dial(self(), hosts_[broker]); });
}

void ClientHost::connected(ConnId conn, HostId peer) {
  const auto broker = static_cast<size_t>(std::find(hosts_.begin(), hosts_.end(), peer) - hosts_.begin());
  links_[broker].conn = conn;
  links_[broker].number = ++generation_;
  brokers_->connected(clock(), broker, generation_);
  turn_end();
}

void ClientHost::unreachable(HostId peer, bool) {
  dial(static_cast<size_t>(std::find(hosts_.begin(), hosts_.end(), peer) - hosts_.begin()));
}

void ClientHost::received(ConnId conn, wire::Message& message) {
  if (judge_.tells()) judge_.tell(name() + ": gets " + std::string(wire::name_of(message)));
  for (const Link& link : links_) {
    if (link.conn != conn) continue;
    const uint64_t number = link.number;
    if (!brokers_->said(clock(), number, message)) {
      carry_out();
      if (auto* reply = std::get_if<wire::Reply>(&message))
        session_->replied(clock(), number, *reply, false);
      else
        brokers_->out_of_place(number, message);
    }
    return turn_end();
  }
}

void ClientHost::lost(ConnId conn) {
  for (Link& link : links_) {
    if (link.conn != conn) continue;
    link.conn = 0;
    brokers_->lost(link.number, wire::CloseReason::kNone, "closed by the peer");
    return turn_end();
  }
}

void ClientHost::wake() {
  session_->tick(clock());
  brokers_->tick(clock());
  turn_end();
}

Time ClientHost::next_deadline() const {
  return session_ ? std::min(session_->next_deadline(), brokers_->next_deadline()) : kNever;
}

void ClientHost::carry_out() {
  auto& effects = brokers_->effects();
  for (size_t i = 0; i < effects.size(); ++i) {
    const client::BrokerEffect effect = effects[i];
    if (const auto* wish = std::get_if<client::Dial>(&effect)) {
      dial(wish->broker);
    } else if (const auto* one = std::get_if<client::Send>(&effect)) {
      std::visit([&](const auto& message) { network_.send(links_[one->broker].conn, self(), message); },
                 one->message);
    } else if (const auto* admit = std::get_if<client::Admit>(&effect)) {
      links_[admit->broker].failures = 0;
    } else if (const auto* close = std::get_if<client::CloseLink>(&effect)) {
      network_.close(links_[close->broker].conn, self());
      links_[close->broker].conn = 0;
    } else if (const auto* up = std::get_if<client::BrokerUp>(&effect)) {
      session_->link_up(clock(), up->link, up->max_payload);
    } else if (std::get_if<client::BrokerDown>(&effect)) {
      session_->link_down();
    }
  }
  effects.clear();
}

void ClientHost::turn_end() {
  if (!session_) return;
  carry_out();
  session_->flush(clock(), size_t{1} << 20);
  client::Effects& effects = session_->effects();
  if (const auto current = brokers_->current()) {
    const ConnId conn = links_[*current].conn;
    for (size_t i = 0; i < effects.submits.size(); ++i) network_.send(conn, self(), effects.submits[i]);
    for (size_t i = 0; i < effects.cancels.size(); ++i) network_.send(conn, self(), effects.cancels[i]);
    for (size_t i = 0; i < effects.acknowledges.size(); ++i)
      network_.send(conn, self(), effects.acknowledges[i]);
  }
  for (size_t i = 0; i < effects.completions.size(); ++i) {
    const client::Complete& complete = effects.completions[i];
    judge_.outcome({incarnation_, static_cast<uint64_t>(complete.token)}, complete.reply);
  }
  effects.completions.clear();
  effects.clear_frames();
  arm();
}

}  // namespace redoubt::sim
