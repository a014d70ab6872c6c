// The invariants; see judge.h.
#include "lab/sim/judge.h"

#include <algorithm>
#include <iostream>

#include "broker/steps.h"

namespace redoubt::sim {

namespace {
constexpr size_t kStoryKept = 400;
// What a start may be late by: what a message may be under way longer than the fastest of its link ever was
// cannot be known to the receiver, over two links.
constexpr Duration kUnknowable = std::chrono::milliseconds(60);
// Within so much time a broker that runs is found.
constexpr Duration kLookedFor = std::chrono::milliseconds(700);
}  // namespace

void Judge::fail(const std::string& what) {
  if (failed()) return;
  failure_ = what;
  tell("BROKEN: " + what);
  world_.stop();
}

void Judge::tell(const std::string& line) {
  if (!tells_) return;
  char time[32];
  std::snprintf(time, sizeof time, "%12.6f  ", to_seconds(world_.now() - (Time{} + std::chrono::hours(1))));
  if (prints_) std::cout << time << line << "\n";
  story_.push_back(time + line);
  if (story_.size() > kStoryKept) story_.pop_front();
}

// ---- Requests and their outcomes

void Judge::request_made(const wire::RequestId& id, Time deadline, bool must_succeed, std::string expected) {
  Made made;
  made.deadline = deadline;
  made.must_succeed = must_succeed;
  made.expected = std::move(expected);
  requests_[id] = std::move(made);
  ++totals_.requests;
}

void Judge::client_died(uint64_t incarnation) {
  for (auto request = requests_.lower_bound({incarnation, 0});
       request != requests_.end() && request->first.client == incarnation; ++request)
    request->second.client_lives = false;
}

namespace {
std::string name_of(const wire::RequestId& id) {
  return "request " + std::to_string(id.seq) + " of client " + std::to_string(id.client);
}
}  // namespace

void Judge::outcome(const wire::RequestId& id, const redoubt::Reply& reply) {
  const auto found = requests_.find(id);
  if (found == requests_.end()) return fail("an outcome of a request that was never made: " + name_of(id));
  Made& made = found->second;
  if (made.ended) return fail("a second outcome of " + name_of(id));
  made.ended = true;
  const bool ok = reply.status == redoubt::Status::kOk;
  totals_.ok += ok ? 1 : 0;
  if (ok && reply.payload.str() != made.expected)
    return fail("a wrong result for " + name_of(id) + ": '" + reply.payload.str() + "', not '" +
                made.expected + "'");
  // A handler that fails on every replica it is tried on is an answer, too.
  const bool service_failed =
      reply.status == redoubt::Status::kFailed && reply.text.find("it failed") != std::string::npos;
  // And a broker that is alone and stops says that nobody follows it.
  const bool nobody_follows = reply.status == redoubt::Status::kRefused &&
                              reply.reason == redoubt::Refusal::kStopping && brokers_().size() == 1;
  if (!ok && made.must_succeed && !service_failed && !nobody_follows)
    return fail(name_of(id) + " ended in " + std::string(redoubt::name_of(reply.status)) + " (" + reply.text +
                ") though there was time");
}

void Judge::all_answered() {
  for (const auto& [id, made] : requests_)
    if (!made.ended && made.client_lives) return fail(name_of(id) + " was never answered");
}

void Judge::started(const wire::RequestId& id, uint32_t level, const std::string& replica) {
  ++totals_.executions;
  const auto found = requests_.find(id);
  if (found == requests_.end()) return fail("an execution of a request that was never made: " + name_of(id));
  if (world_.now() > found->second.deadline + kUnknowable)
    fail(replica + " started level " + std::to_string(level + 1) + " of " + name_of(id) + " " +
         std::to_string(to_us(world_.now() - found->second.deadline)) + " us after its deadline");
}

// ---- Brokers

void Judge::stepped(const BrokerFacts& broker, const broker::Effects& effects) {
  if (const broker::State* state = broker.node->state()) {
    hashes_[{state->epoch, state->checkpoint_seq}] = state->state_hash;
    if (hashes_.size() > 20000) hashes_.erase(hashes_.begin());
    if ((state->requests.size() == 0) != (state->state_hash == 0))
      return fail(broker.name + ": the state hash does not fit the number of requests");
  }
  for (const broker::Effect& effect : effects) {
    if (const auto* copy = std::get_if<broker::SendCopy>(&effect)) {
      check_sending(broker, "a copy");
      check_copy(broker, copy->copy);
    } else if (std::get_if<broker::SendReply>(&effect)) {
      check_sending(broker, "a reply");
    } else if (const auto* change = std::get_if<broker::RoleChanged>(&effect)) {
      check_promotion(broker, *change);
    } else if (const auto* vote = std::get_if<broker::SendVote>(&effect)) {
      check_vote(broker, vote->vote);
    } else if (const auto* pulse = std::get_if<broker::SendPulse>(&effect)) {
      check_pulse(broker, pulse->pulse);
    }
    if (failed()) return;
  }
}

// Under a majority two managers never do anything at the same true time, whatever the network does.
void Judge::check_sending(const BrokerFacts& broker, const char* what) {
  if (quorum_ != broker::Quorum::kMajority) return;
  check_office(broker, what);
  for (const BrokerFacts& other : brokers_()) {
    if (!other.runs || other.number == broker.number) continue;
    if (other.node->rules() && other.node->election().acts(other.clock))
      return fail(broker.name + " sends " + what + " while " + other.name + " rules, too");
  }
}

// What a manager does rests on what brokers would still know if all of them started again: its own vote, that
// a majority follows it, and who of them may be elected next.
void Judge::check_office(const BrokerFacts& broker, const char* what) {
  if (!broker.node->rules()) return;  // it has just stepped down
  const wire::Epoch epoch = broker.node->election().epoch();
  const wire::SyncSet& committed = broker.node->election().committed();
  if (broker.disk.promised < epoch)
    return fail(broker.name + " sends " + what + ", and its own vote is not on its disk");
  const std::vector<BrokerFacts> all = brokers_();
  const auto have = [&](auto condition) { return std::count_if(all.begin(), all.end(), condition); };
  const auto majority = static_cast<std::ptrdiff_t>(all.size() / 2 + 1);
  if (have([&](const BrokerFacts& one) { return one.written.epoch >= epoch; }) < majority)
    return fail(broker.name + " sends " + what + ", and no majority has written down that it rules");
  if (have([&](const BrokerFacts& one) { return !broker::newer(committed, one.written); }) < majority)
    fail(broker.name + " counts on an in-sync set that no majority has written down");
}

void Judge::check_copy(const BrokerFacts& broker, const wire::Copy& copy) {
  const broker::State* state = broker.node->state();
  if (!state) return;  // it has just stepped down: what it sent before has been looked at
  const auto client = state->client_ids.find(copy.request.client);
  if (client == state->client_ids.end()) return;  // it ended in the same step
  const auto& entries = state->clients[client->second].entries;
  if (!entries.contains(copy.request.seq)) return;
  const broker::ClientEntry& entry = entries[copy.request.seq];
  if (entry.is != broker::ClientEntry::Is::kPending) return;
  const broker::Request& request = state->requests[entry.request];
  if (request.digest == 0) return fail(broker.name + " sends a copy that is not checkpointed");
  if (state->settings.checkpoint_ack == broker::CheckpointAck::kNone || broker::is_unprotected(*state))
    return;
  check_protection(broker, copy);
  // One standby's word is only sure to be among the voters of a majority where that leaves out one broker.
  if (state->settings.checkpoint_ack == broker::CheckpointAck::kOne && brokers_().size() > 3) return;
  const auto made = requests_.find(copy.request);
  if (made == requests_.end() || made->second.ended || made->second.protected_level > copy.level) return;
  made->second.protected_level = copy.level + 1;
  made->second.protected_at = world_.now();
  made->second.protected_by = broker.number;
}

namespace {
bool knows(const broker::Table* table, const wire::RequestId& id, uint32_t level) {
  bool known = false;
  if (table)
    table->all_clients().each([&](auto, const broker::Table::Client& client) {
      if (client.incarnation != id.client || !client.entries.contains(id.seq)) return;
      const broker::Table::Entry& entry = client.entries[id.seq];
      known =
          entry.is == broker::Table::Entry::Is::kPending && table->requests()[entry.request].level >= level;
    });
  return known;
}
}  // namespace

// Who asked for an acknowledgement has it from those who could be elected next: from all, or from one. What a
// broker held that has died since it has taken along.
void Judge::check_protection(const BrokerFacts& broker, const wire::Copy& copy) {
  const broker::State& state = *broker.node->state();
  uint32_t members = 0, hold = 0, lack = 0;
  for (const BrokerFacts& other : brokers_()) {
    if (other.number == broker.number || !broker::has(state.committed, other.number)) continue;
    ++members;
    if (!other.node || other.node->rules() || other.node->standby().position().epoch != state.epoch) continue;
    ++(knows(other.node->standby().table(), copy.request, copy.level) ? hold : lack);
  }
  const bool all = state.settings.checkpoint_ack == broker::CheckpointAck::kAll;
  if (members == 0)
    fail(broker.name + " sends " + name_of(copy.request) + " as protected by nobody who could be elected");
  else if (all ? lack > 0 : lack == members)
    fail(broker.name + " sends " + name_of(copy.request) +
         ", and who was to acknowledge it does not know it");
}

void Judge::taken(const std::string& replica, const wire::RequestId& id, wire::Epoch epoch,
                  wire::Epoch highest) {
  if (epoch < highest)
    fail(replica + " takes a copy of " + name_of(id) + " from a manager of epoch " +
         std::to_string(epoch.number) + " after it was told of epoch " + std::to_string(highest.number));
}

void Judge::check_vote(const BrokerFacts& broker, const wire::Vote& vote) {
  if (!vote.granted || vote.trial) return;
  if (broker.disk.promised.number < vote.epoch.number)
    return fail(broker.name + " gives a vote that is not on its disk");
  const auto [given, first] = votes_.try_emplace({broker.number, vote.epoch.number}, vote.epoch.broker);
  if (!first && given->second != vote.epoch.broker)
    fail(broker.name + " votes twice for number " + std::to_string(vote.epoch.number));
}

// The word of one standby is worth something while that one lives, or the manager does: whoever else has
// started again since is a second fault.
bool Judge::survived_one_fault(const Made& made) const {
  const std::vector<BrokerFacts> all = brokers_();
  return std::none_of(all.begin(), all.end(), [&](const BrokerFacts& one) {
    return one.number != made.protected_by && one.began > made.protected_at;
  });
}

void Judge::check_promotion(const BrokerFacts& broker, const broker::RoleChanged& change) {
  // Who rules as stale says so: nothing is promised of what was before.
  if (change.stale)
    for (auto& [id, made] : requests_) made.protected_level = 0;
  if (change.role != broker::BrokerRole::kManager) return;
  const auto [ruler, first] = managers_.try_emplace(change.epoch.number, broker.number);
  if (quorum_ == broker::Quorum::kMajority && !first && ruler->second != broker.number)
    return fail("two managers of number " + std::to_string(change.epoch.number));
  if (!first) return;  // it was suspended
  if (broker.disk.promised.number < change.epoch.number)
    return fail(broker.name + " rules, and its own vote is not on its disk");
  ++totals_.failovers;
  if (change.stale) {
    ++totals_.stale;
    return check_stale(broker);
  }
  if (quorum_ != broker::Quorum::kMajority) return;
  votes_.try_emplace({broker.number, change.epoch.number}, broker.number);
  // What was protected before it was dispatched is here.
  const broker::State* state = broker.node->state();
  for (const auto& [id, made] : requests_) {
    if (made.protected_level == 0 || made.ended || !made.client_lives) continue;
    if (world_.now() >= made.deadline) continue;
    if (state->settings.checkpoint_ack == broker::CheckpointAck::kOne && !survived_one_fault(made)) continue;
    const auto client = state->client_ids.find(id.client);
    if (client == state->client_ids.end())
      return fail(broker.name + " rules and does not know the client of protected " + name_of(id));
    const auto& entries = state->clients[client->second].entries;
    if (id.seq < entries.begin()) continue;
    if (!entries.contains(id.seq) || entries[id.seq].is == broker::ClientEntry::Is::kUnknown)
      return fail(broker.name + " rules and does not know protected " + name_of(id));
    const broker::ClientEntry& entry = entries[id.seq];
    if (entry.is == broker::ClientEntry::Is::kPending &&
        state->requests[entry.request].level + 1 < made.protected_level)
      return fail(broker.name + " rules and has " + name_of(id) + " at an earlier level than was dispatched");
  }
}

// Who was not in sync rules only if nobody who was could have: of the newest set that a majority has on disk.
void Judge::check_stale(const BrokerFacts& broker) {
  if (quorum_ != broker::Quorum::kMajority) return;
  const std::vector<BrokerFacts> all = brokers_();
  std::vector<wire::SyncSet> sets;
  for (const BrokerFacts& one : all) sets.push_back(one.disk.set);
  std::sort(sets.begin(), sets.end(), broker::newer);
  const wire::SyncSet& committed = sets[all.size() / 2];
  for (const BrokerFacts& other : all) {
    if (!other.runs || other.number == broker.number || !broker::has(committed.members, other.number))
      continue;
    if (other.node->rules() || other.node->standby().position().epoch != committed.epoch) continue;
    if (calm_(broker.number, other.number) > kLookedFor)
      return fail(broker.name + " rules as stale, though " + other.name + " holds all and can be reached");
  }
}

void Judge::check_pulse(const BrokerFacts& broker, const wire::Pulse& pulse) {
  const auto known = hashes_.find(pulse.position);
  if (known != hashes_.end() && known->second != pulse.hash)
    fail(broker.name + " has another hash than the manager of epoch " +
         std::to_string(pulse.position.epoch.number) + " had at change " +
         std::to_string(pulse.position.seq));
}

}  // namespace redoubt::sim
