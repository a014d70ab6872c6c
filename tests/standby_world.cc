// The part of BrokerWorld that follows the checkpoint stream. Every follower is a real Standby: what it says
// of itself is what it made of the messages that it has read. The commands:
//
// standby NAME NUMBER: a broker of the group comes, or comes back with what it has; number 0: a learner.
//
// pulse NAME [reads=N]: it reads what is under way to it, all or so many messages, and acknowledges.
//
// committed [NUMBER ...]: a majority has written down that these are in sync.
//
// rule NAME NUMBER [stale]: the manager is gone, and this one rules with what it has read. All links are new.
//
// holds REPLICA [COPY ...]: the replica says which copies it has from earlier managers; COPY:queued waits
// there.
#include "broker/steps.h"
#include "tests/world_arguments.h"

namespace redoubt::testing {

using namespace broker;

CheckpointAck BrokerWorld::ack_of(const std::string& word) {
  static const std::map<std::string, CheckpointAck> kAcks{
      {"none", CheckpointAck::kNone}, {"one", CheckpointAck::kOne}, {"all", CheckpointAck::kAll}};
  return kAcks.at(word);
}

void BrokerWorld::standby(Arguments& arguments) {
  const std::string& name = arguments.at(0);
  const LinkId link{next_link_++};
  links_[name] = link;
  names_[link] = name;
  standbys_.try_emplace(name, broker_->state().settings.held_limit);
  Effects effects;
  broker_->follower_up(now_, link, static_cast<BrokerNumber>(std::stoul(arguments.at(1))), name, effects);
  carry_out(effects);
}

void BrokerWorld::pulse(Arguments& arguments) {
  const std::string& name = arguments.at(0);
  const LinkId link = link_of(name);
  auto& [standby, under_way] = standbys_.at(name);
  for (uint64_t left = arguments.number("reads", under_way.size()); left > 0 && !under_way.empty(); --left) {
    const std::string why = standby.take(now_, Duration::zero(), under_way.front());
    if (!why.empty()) out_ << name << " does not believe the stream: " << why << "\n";
    under_way.pop_front();
  }
  const State& state = broker_->state();
  const wire::Position whole{state.epoch, state.checkpoint_seq};
  if (standby.position() == whole && standby.hash() != state.state_hash)
    out_ << name << " has another state at the same position\n";
  wire::Pulse pulse;
  pulse.known = state.epoch;
  pulse.position = standby.position();
  pulse.hash = standby.hash();
  pulse.received = standby.received();
  Effects effects;
  broker_->follower_heard(now_, link, pulse, effects);
  carry_out(effects);
}

void BrokerWorld::committed(Arguments& arguments) {
  BrokerSet members = 0;
  for (const std::string& word : arguments.words)
    members |= only(static_cast<BrokerNumber>(std::stoul(word)));
  Effects effects;
  broker_->set_committed(now_, members, effects);
  carry_out(effects);
}

void BrokerWorld::rule(Arguments& arguments) {
  Standby& standby = standbys_.at(arguments.at(0)).standby;
  const wire::Position position = standby.position();
  const std::unique_ptr<Table> table = standby.give_up();
  const wire::Epoch epoch{broker_->state().epoch.number + 1,
                          static_cast<BrokerNumber>(std::stoul(arguments.at(1)))};
  broker_ = std::make_unique<Broker>(broker_->state().settings, epoch);
  standbys_.clear();
  Effects effects;
  broker_->take_over(now_, *table, position.seq, arguments.has("stale"), effects);
  carry_out(effects);
}

void BrokerWorld::holds(Arguments& arguments) {
  wire::Holding holding;
  for (size_t i = 1; i < arguments.words.size(); ++i) {
    const std::string& word = arguments.words[i];
    const size_t number = std::stoul(word.substr(1));
    const wire::Copy& copy = copies_.at(number - 1);
    holding.held.push_back({.handle = number,
                            .request = copy.request,
                            .level = copy.level,
                            .service = copy.service,
                            .attempt = copy.attempt,
                            .running = word.find(":queued") == std::string::npos});
  }
  step(HoldingArrived{link_of(arguments.at(0)), holding});
}

// A copy that is adopted keeps its name here and gets another number.
void BrokerWorld::show_adoption(const SendAdopt& effect) {
  out_ << "adopt -> " << peer_of(effect.to) << ":";
  for (const wire::Adopted& adopted : effect.adopt.adopted) {
    copies_.at(adopted.handle - 1).copy = adopted.copy;
    out_ << " c" << adopted.handle;
  }
  if (!effect.adopt.dropped.empty()) out_ << ", not wanted:";
  for (const uint64_t handle : effect.adopt.dropped) out_ << " c" << handle;
  out_ << "\n";
}

void BrokerWorld::stream_lost(LinkId link) {
  const auto found = standbys_.find(peer_of(link));
  if (found == standbys_.end()) return;
  found->second.standby.stream_lost();
  found->second.under_way.clear();
}

void BrokerWorld::show_standbys() {
  static constexpr const char* kStages[] = {"collecting", "catching up", "in sync"};
  const State& state = broker_->state();
  for (const Follower& follower : state.followers)
    out_ << "standby " << follower.name << ": " << kStages[static_cast<size_t>(follower.stage)] << ", has "
         << follower.position.seq << ", owes " << follower.sent_bytes - follower.received_bytes << " bytes\n";
  if (!state.unconfirmed.empty())
    out_ << "waiting for acknowledgements: " << state.unconfirmed.size() << "\n";
  if (is_unprotected(state)) out_ << "unprotected\n";
}

// The messages of the stream: shown, and under way from now on. False for all that is none.
bool BrokerWorld::carry_to_standbys(const Effect& effect) {
  const auto send = [&](const Followers& to, const char* what, const auto& message) {
    out_ << what << " " << message.seq << " ->";
    for (uint32_t i = 0; i < to.count; ++i) {
      out_ << " " << peer_of(to.links[i]);
      standbys_.at(peer_of(to.links[i])).under_way.emplace_back(message);
    }
    out_ << ": ";
  };
  if (const auto* adopting = std::get_if<SendAdopt>(&effect)) {
    show_adoption(*adopting);
    return true;
  }
  const auto client = [&](uint64_t incarnation) {
    for (const auto& [name, known] : incarnations_)
      if (known == incarnation) return name;
    return std::string("?");
  };
  if (const auto* collect = std::get_if<SendCollect>(&effect)) {
    Followers to;
    to.add(collect->to);
    send(to, "collect", collect->collect);
    out_ << (collect->collect.end ? "end, " + std::to_string(collect->collect.count) + " open" : "begin");
  } else if (const auto* adding = std::get_if<SendAdd>(&effect)) {
    const wire::Add& add = adding->add;
    send(adding->to, "add", add);
    out_ << client(add.request.client) << " " << add.request.seq << (add.progress ? " goes on," : "")
         << " level " << add.level + 1 << " attempt " << add.attempts
         << (add.same_payload ? "" : " " + shown(add.payload));
  } else if (const auto* removing = std::get_if<SendRemove>(&effect)) {
    const wire::Remove& remove = removing->remove;
    send(removing->to, "remove", remove);
    out_ << client(remove.request.client) << " " << remove.request.seq << " " << wire::name_of(remove.status)
         << " " << shown(remove.payload);
  } else if (const auto* marking = std::get_if<SendMark>(&effect)) {
    send(marking->to, "mark", marking->mark);
    out_ << client(marking->mark.client) << " from " << marking->mark.low_water;
  } else if (const auto* going = std::get_if<SendClientGone>(&effect)) {
    send(going->to, "gone", going->gone);
    out_ << client(going->gone.client) << (going->gone.all ? " and all of it" : "");
    for (const uint64_t seq : going->gone.requests) out_ << " " << seq;
  } else {
    return false;
  }
  out_ << "\n";
  return true;
}

}  // namespace redoubt::testing
