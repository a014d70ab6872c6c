// What a broker becomes: manager, suspended, standby again; and how one leaves; see node.h.
#include "broker/arrival.h"
#include "broker/node.h"

namespace redoubt::broker {
namespace {

// What it waited here is gone from its budgets, and is no part of its way.
void charge_wait(wire::Submit& submit, Duration waited) {
  const auto us = static_cast<uint64_t>(to_us(waited));
  const auto less = [us](uint64_t budget) { return budget > us ? budget - us : 1; };
  submit.sent_us += to_us(waited);
  for (wire::Request& request : submit.requests) {
    request.deadline_us = less(request.deadline_us);
    if (request.wait_limit_us > 0) request.wait_limit_us = less(request.wait_limit_us);
  }
}

}  // namespace

// After whatever has happened: what does the election say this broker is now?
void Node::settle(Time now, Effects& effects) {
  if (rules() && !election_.rules()) depose(now, effects);
  if (!rules() && election_.rules()) promote(now, effects);
  if (rules()) suspend_or_resume(now, effects);
  if (!rules()) {
    // Another manager's stream is another stream.
    const BrokerNumber manager = election_.manager();
    const bool another = manager != kNoBroker && followed_ != election_.known();
    if (another) {
      standby_.stream_lost();
      followed_ = election_.known();
    }
    followed_link_ = kNoLink;
    for (const auto& [link, one] : others_) {
      if (one.number != manager) continue;
      followed_link_ = link;
      if (another)
        effects.emplace_back(Note{Note::Kind::kRules, one.enlist.name, std::to_string(followed_.number)});
    }
    if (stopping_ && !left_ && manager != kNoBroker) leave_at_ = now;
  }
  say_role(effects);
  if (!rules()) return;
  const State& state = broker_->state();
  if (state.in_sync != told_in_sync_) {
    told_in_sync_ = state.in_sync;
    election_.in_sync(turn(now, effects), state.in_sync, state.succession);
  }
  const BrokerSet others = election_.committed().members & ~only(election_.settings().self);
  if (acts() && others != state.committed) broker_->set_committed(now, others, effects);
  if (!stopping_ || election_.settings().size <= 1) return;
  if (others_.empty()) leave_at_ = std::min(leave_at_, now);  // there is nobody to wait for
  if (hand_over(now, effects)) settle(now, effects);
}

// An operator must not have to ask to learn that nobody is served.
void Node::watch_trouble(Time now, Effects& effects) {
  const bool troubled = !left_ && !election_.trouble(now).empty();
  if (!troubled) {
    trouble_at_ = kNever;
    troubled_ = false;
  } else if (!troubled_ && trouble_at_ == kNever) {
    trouble_at_ = later(now, 2 * settings_.dead_after);
  } else if (trouble_at_ <= now) {
    trouble_at_ = kNever;
    troubled_ = true;
    effects.emplace_back(Note{Note::Kind::kGroup, "nobody is served here", election_.trouble(now)});
  }
}

void Node::promote(Time now, Effects& effects) {
  const wire::Epoch epoch = election_.epoch();
  const wire::Position position = standby_.position();
  std::unique_ptr<Table> table = standby_.give_up();
  followed_ = {};
  broker_ = std::make_unique<Broker>(settings_, epoch);
  broker_->counters() = counters_;
  suspended_ = acted_ = false;
  told_in_sync_ = 0;
  // Everybody learns at once, before anything else is done.
  effects.emplace_back(Announce{epoch, true});
  const bool first = election_.founds() && !table;
  if (!table) table = std::make_unique<Table>(settings_.held_limit);
  if (!first) {
    ++broker_->counters().failovers;
    broker_->take_over(now, *table, position.seq, election_.stale(), effects);
  }
  for (const std::string& service : services_) broker_->know_service(service);
  for (const auto& [link, guest] : guests_) {
    guest_came(now, link, effects);
    if (guest.leaving) broker_->step(now, ReplicaLeaving{link}, effects);
  }
  for (const auto& [link, one] : others_) feed_followers(now, link, effects);
  // What was set down at the beginning of this rule: only this broker holds it.
  turn(now, effects);
}

void Node::depose(Time now, Effects& effects) {
  const State& state = broker_->state();
  const wire::Position position{state.epoch, state.checkpoint_seq};
  counters_ = state.counters;
  // What is still out will be told to the next manager: here it is lost.
  counters_.copies[static_cast<size_t>(CopyFate::kLost)] += state.copies.size();
  standby_ = Standby(settings_.held_limit, broker_->step_down(now), position);
  broker_.reset();
  for (auto& [link, guest] : guests_) guest.last_heard = now;
  kept_.clear();
  if (suspended_) effects.emplace_back(HoldReads{false});
  suspended_ = false;
  followed_ = {};
  effects.emplace_back(Announce{election_.known(), false});
  turn(now, effects);
}

void Node::suspend_or_resume(Time now, Effects& effects) {
  const bool acts = election_.acts(now);
  acted_ = acted_ || acts;
  if (acts != suspended_) return;
  suspended_ = !acts;
  effects.emplace_back(HoldReads{suspended_});
  if (!suspended_) replay(now, effects);
}

void Node::replay(Time now, Effects& effects) {
  replaying_ = true;
  broker_->step(now, Tick{}, effects);
  while (!kept_.empty()) {
    Kept kept = std::move(kept_.front());
    kept_.pop_front();
    if (const auto* arrival = std::get_if<KeptArrival>(&kept)) {
      guest_came(now, arrival->link, effects);
    } else if (auto* loss = std::get_if<KeptLoss>(&kept)) {
      broker_->step(now, LinkLost{loss->link, std::move(loss->why)}, effects);
    } else {
      auto& [link, message, skipped, since] = std::get<KeptMessage>(kept);
      if (auto* submit = std::get_if<wire::Submit>(&message)) charge_wait(*submit, now - since);
      const auto step = [&](const Event& event) { broker_->step(now, event, effects); };
      if (!client_said(link, message, skipped, step)) replica_said(link, message, skipped, step);
    }
  }
  replaying_ = false;
}

void Node::stop(Time now, Effects& effects) {
  if (stopping_) return;
  stopping_ = true;
  const bool alone = election_.settings().size <= 1;
  if (rules() && alone) return broker_->stop_admitting();
  // What is not answered by then its clients send to whoever rules next.
  leave_at_ = rules() && !suspended_ && !others_.empty() ? later(now, kHandOverLimit) : now;
  settle(now, effects);
}

// A manager that leaves serves on until somebody is in sync to follow it, and the group has written that
// down: else the successor could not stand. True when it has left.
bool Node::hand_over(Time now, Effects& effects) {
  const State& state = broker_->state();
  if (suspended_ || state.succession.empty()) return false;
  if (!has(election_.committed().members, state.succession.front())) return false;
  leave_at_ = later(now, kHandOverLimit);
  // The stream is in order: by the time the successor reads this it has everything.
  election_.abdicate(turn(now, effects), state.succession.front(), state.checkpoint_seq);
  depose(now, effects);
  return true;
}

void Node::say_role(Effects& effects) {
  if (rules() && !acted_) return;  // for most it is a standby still
  if (said_role_ == role() && said_epoch_ == (rules() ? epoch() : said_epoch_)) return;
  said_role_ = role();
  said_epoch_ = epoch();
  effects.emplace_back(RoleChanged{*said_role_, said_epoch_, rules() && election_.stale()});
}

}  // namespace redoubt::broker
