// Other brokers: how they come and go, and what they say; see node.h.
#include <algorithm>

#include "broker/node.h"
#include "broker/steps.h"
#include "core/duration_text.h"

namespace redoubt::broker {

using wire::CloseReason;
using wire::Kind;

namespace {
constexpr const char* kNewerLink = "there is a newer link";
}

const Node::Other* Node::other(LinkId link) const {
  const auto found = others_.find(link);
  return found == others_.end() ? nullptr : &found->second;
}

const Node::Other* Node::member(LinkId link) const {
  const Other* found = other(link);
  return found && found->enlist.kind != wire::Kind::kLearner ? found : nullptr;
}

wire::Enlist Node::enlistment(std::string address) const {
  const GroupSettings& group = election_.settings();
  return {.broker = group.self,
          .kind = group.kind,
          .group = group.hash,
          .incarnation = group.incarnation,
          .name = settings_.name,
          .address = std::move(address),
          .any_survivor = group.quorum == Quorum::kOne,
          .demote_after_us = static_cast<uint64_t>(to_us(group.demote_after))};
}

// What a broker that claims to be of this group has set otherwise, up to this broker's name; or nothing.
std::string Node::differs(const wire::Enlist& enlist) const {
  const GroupSettings& group = election_.settings();
  if (enlist.group != group.hash || enlist.broker > group.size)
    return "its --group (which brokers, in which order) is not that of ";
  if (enlist.any_survivor != (group.quorum == Quorum::kOne))
    return std::string("its --quorum is ") + (enlist.any_survivor ? "one" : "majority") + ", not that of ";
  const Duration theirs = wire::budget(enlist.demote_after_us), ours = from_us(to_us(group.demote_after));
  if (theirs != ours)
    return "its --demote-after (which follows from --dead-after and --heartbeat unless given) is " +
           format_duration(theirs) + ", not the " + format_duration(ours) + " of ";
  return {};
}

// Why this broker has no place here, or nothing.
std::string Node::unwelcome(const BrokerUp& event) const {
  const GroupSettings& group = election_.settings();
  const wire::Enlist& enlist = event.enlist;
  if (enlist.kind == Kind::kLearner && enlist.broker != kNoBroker) return "a learner has no number";
  if (enlist.kind == Kind::kLearner) {
    if (group.self == kNoBroker) return "this broker is outside its group itself and has nothing to teach";
    return {};
  }
  if (enlist.broker == kNoBroker || enlist.broker > wire::kMaxGroup) return "a number that no group has";
  if (group.self == kNoBroker) return {};  // we follow whatever group it is
  if (const std::string setting = differs(enlist); !setting.empty())
    return setting + group.name + ": it must be the same everywhere";
  if (enlist.broker == group.self)
    return "both claim to be broker " + std::to_string(group.self) + " of the group: is one of them a copy?";
  return {};
}

// Those outside the group get numbers behind it, so that they are pulsed like the others.
BrokerNumber Node::number_for(const wire::Enlist& enlist) const {
  if (enlist.kind != Kind::kLearner) return enlist.broker;
  const auto learners = std::count_if(others_.begin(), others_.end(), [](const auto& each) {
    return each.second.enlist.kind == Kind::kLearner;
  });
  if (learners >= kMaxLearners) return kNoBroker;
  for (BrokerNumber number = election_.settings().size + 1; number <= wire::kMaxGroup; ++number) {
    const bool taken = std::any_of(others_.begin(), others_.end(),
                                   [&](const auto& each) { return each.second.number == number; });
    if (!taken) return number;
  }
  return kNoBroker;
}

void Node::broker_up(Time now, const BrokerUp& event, Effects& effects) {
  const std::string why = unwelcome(event);
  const BrokerNumber number = why.empty() ? number_for(event.enlist) : kNoBroker;
  if (number == kNoBroker) {
    const bool member = event.enlist.kind != Kind::kLearner && election_.settings().self != kNoBroker;
    const BrokerNumber whom = event.dialled != 0 ? event.dialled : event.enlist.broker;
    if (!why.empty() && member) election_.estranged(now, whom);
    effects.emplace_back(CloseLink{event.link, CloseReason::kGroup, why.empty() ? too_many_learners() : why});
    return;
  }
  const auto known = std::find_if(others_.begin(), others_.end(),
                                  [&](const auto& each) { return each.second.number == number; });
  if (known != others_.end()) {
    // Both have dialled: the link of the one with the higher number stays. A process that has started again
    // replaces what is left of the last one.
    const Other& old = known->second;
    const BrokerNumber self = election_.settings().self;
    const bool same = old.enlist.incarnation == event.enlist.incarnation;
    const bool ours_counts = self > number;
    // A process that lives does not start again. Of two that claim one place the one stays that was there, or
    // that answers at the address of the list.
    const bool lives = election_.peer(number).last_heard > now - 2 * settings_.heartbeat;
    const std::string two = "two processes say they are " + event.enlist.name + " (at " + old.enlist.address +
                            " and at " + event.enlist.address + "): stop one";
    const bool at_its_address = event.dialled != 0 && !old.dialled;
    if (!same && lives && !at_its_address) {
      effects.emplace_back(CloseLink{event.link, CloseReason::kDuplicateName, two});
      return;
    }
    if (same && old.dialled != (event.dialled != 0) && old.dialled == ours_counts) {
      effects.emplace_back(CloseLink{event.link, CloseReason::kDuplicateName, "we have a link already"});
      return;
    }
    if (!same && lives)
      close_other(now, known->first, CloseReason::kDuplicateName, two, effects);
    else
      close_other(now, known->first, CloseReason::kReplaced, kNewerLink, effects);
  }
  others_[event.link] = {event.link, number, event.enlist, event.dialled != 0};
  effects.emplace_back(Note{Note::Kind::kBrokerJoined, event.enlist.name, wire::name_of(event.enlist.kind)});
  if (number <= election_.settings().size) effects.emplace_back(Dial{number, false});
  election_.peer_up(turn(now, effects), number, event.link, event.enlist);
  if (rules()) feed_followers(now, event.link, effects);
}

// The checkpoint stream goes to everybody who can hold a state.
void Node::feed_followers(Time now, LinkId link, Effects& effects) {
  const Other& one = others_.at(link);
  if (one.enlist.kind == Kind::kWitness) return;
  const bool votes = one.enlist.kind == Kind::kVoter;
  broker_->follower_up(now, link, votes ? one.number : kNoBroker, one.enlist.name, effects);
}

void Node::close_other(Time now, LinkId link, CloseReason reason, const std::string& text, Effects& effects) {
  effects.emplace_back(CloseLink{link, reason, text});
  other_lost(now, link, text, effects);
}

void Node::other_lost(Time now, LinkId link, const std::string& why, Effects& effects) {
  const auto found = others_.find(link);
  CHECK(found != others_.end());
  const Other lost = found->second;
  others_.erase(found);
  // Two that dial each other at once end up with one link of two: that is no news.
  if (why != kNewerLink) effects.emplace_back(Note{Note::Kind::kBrokerLost, lost.enlist.name, why});
  if (lost.number <= election_.settings().size || election_.settings().self == kNoBroker)
    effects.emplace_back(Dial{lost.number, true});
  if (link == followed_link_) {
    standby_.stream_lost();
    followed_link_ = kNoLink;
  }
  election_.peer_lost(turn(now, effects), lost.number);
  if (rules()) {
    if (suspended_)
      kept_.push_back(KeptLoss{link, why});
    else
      broker_->step(now, LinkLost{link, why}, effects);
  }
}

void Node::pulse_arrived(Time now, LinkId link, const wire::Pulse& pulse, Effects& effects) {
  const Other* from = other(link);
  if (!from) return;
  election_.pulse(turn(now, effects), from->number, pulse);
  settle(now, effects);
  // A suspended manager sends no copies, and acknowledgements may let some go. The next pulse says as much.
  if (acts()) broker_->follower_heard(now, link, pulse, effects);
}

void Node::stream_arrived(Time now, LinkId link, wire::Message& message, Effects& effects) {
  const Other* from = other(link);
  // From one that does not rule any more: what it still had under way is of no use.
  if (!from || rules() || from->number != election_.manager()) return;
  const auto* add = std::get_if<wire::Add>(&message);
  const Duration charge = election_.stream(turn(now, effects), from->number, add ? add->sent_us : 0);
  const bool followed = standby_.follows();
  const std::string why = standby_.take(now, charge, message);
  if (!why.empty())
    return close_other(now, link, CloseReason::kMalformed, "the checkpoint stream: " + why, effects);
  acknowledge_ = true;
  if (standby_.follows() && !followed) election_.collected(turn(now, effects));
}

void Node::turn_ended(Time now, Effects& effects) {
  if (!acknowledge_) return;
  acknowledge_ = false;
  election_.acknowledge(turn(now, effects));
}

}  // namespace redoubt::broker
