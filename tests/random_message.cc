// Fills messages with random values; see random_message.h.
#include "tests/random_message.h"

#include <algorithm>
#include <utility>

namespace redoubt::testing {

using namespace wire;

uint64_t RandomMessages::number() {
  switch (random_.below(6)) {
    case 0:
      return 0;
    case 1:
      return random_.below(3);
    case 2:
      return ~uint64_t{0} - random_.below(2);
    case 3:
      return (uint64_t{1} << random_.below(64)) - random_.below(2);
    default:
      return random_() >> random_.below(64);
  }
}

uint64_t RandomMessages::number(uint64_t most) {
  const uint64_t any = number();
  if (any <= most) return any;
  return coin() || most == ~uint64_t{0} ? most : any % (most + 1);
}

std::string RandomMessages::text(size_t most) {
  const size_t size = coin() ? number(most) : random_.below(std::min<size_t>(most, 20) + 1);
  std::string bytes(size, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random_());
  return bytes;
}

std::vector<uint64_t> RandomMessages::ids(size_t most_ids, uint64_t most) {
  std::vector<uint64_t> ids(coin() ? random_.below(std::min<size_t>(most_ids, 9) + 1) : number(most_ids));
  for (uint64_t& id : ids) id = number(most);
  return ids;
}

Payload RandomMessages::payload(size_t size) {
  Payload payload = Payload::uninitialised(size);
  uint64_t word = 0;
  for (size_t i = 0; i < size; ++i) {
    if (i % 8 == 0) word = random_();
    payload.writable()[i] = static_cast<char>(word >> (i % 8 * 8));
  }
  return payload;
}

void RandomMessages::fill(Hello& to) {
  to.version_min = small();
  to.version_max = small();
  to.role = one_of(Role::kBroker);
  to.name = text(kMaxNameBytes);
  to.cluster = text(kMaxNameBytes);
  to.incarnation = number();
  to.link_generation = number();
  to.sent_us = time();
}

void RandomMessages::fill(Welcome& to) {
  to.version = small();
  to.name = text(kMaxNameBytes);
  to.epoch = epoch();
  to.max_payload = number(kMaxMaxPayload);
  to.heartbeat_us = budget();
  to.dead_after_us = budget();
  to.sent_us = time();
  to.rules = coin();
}

void RandomMessages::fill(Announce& to) {
  to.epoch = epoch();
  to.rules = coin();
  to.sent_us = time();
}

void RandomMessages::fill(Goodbye& to) {
  to.reason = one_of(CloseReason::kGroup);
  to.text = text(kMaxTextBytes);
}

void RandomMessages::fill(Dummy& to) {
  to.answer = coin();
  to.sent_us = time();
  to.echo_us = time();
}

void RandomMessages::fill(Request& to) {
  to.seq = number(wire::kMaxSeq);
  to.levels.resize(coin() ? 1 : random_.below(kMaxLevels + 1));
  for (Level& level : to.levels) {
    level.service = text(kMaxNameBytes);
    level.copies = small();
    level.policy = policy();
  }
  to.deadline_us = budget();
  to.wait_limit_us = budget();
  to.service_class = thousandths();
  to.service_time_us = budget();
  to.resend = coin();
  to.payload = payload();
}

Submit RandomMessages::batch(size_t requests) {
  Submit submit;
  submit.low_water = number(wire::kMaxSeq);
  submit.sent_us = time();
  submit.requests.resize(requests);
  for (Request& request : submit.requests) fill(request);
  submit.all_open = coin();
  return submit;
}

void RandomMessages::fill(Submit& to) { to = batch(coin() ? 1 : 1 + random_.below(20)); }

void RandomMessages::fill(Cancel& to) {
  to.low_water = number(wire::kMaxSeq);
  to.seqs = ids();
}

void RandomMessages::fill(Acknowledge& to) { to.low_water = number(wire::kMaxSeq); }

void RandomMessages::fill(Reply& to) {
  to.seq = number();
  to.status = one_of(Status::kCancelled);
  to.reason = one_of(Refusal::kTooLate);
  to.text = text(kMaxTextBytes);
  to.level = small();
  to.running = coin();
  to.wait_us = number();
  to.levels.resize(coin() ? 1 : random_.below(kMaxLevels + 1));
  for (LevelReport& level : to.levels)
    level = {text(kMaxNameBytes), text(kMaxNameBytes), small(), number(), number()};
  to.payload = payload();
}

void RandomMessages::fill(Register& to) {
  to.services.resize(1 + random_.below(kMaxServices));
  for (std::string& service : to.services) service = "s" + text(kMaxNameBytes - 1);
  to.workers = 1 + static_cast<uint32_t>(number(kMaxWorkers - 1));
  to.queue_limit = small();
  to.spare = coin();
}

void RandomMessages::fill(Copy& to) {
  to.copy = number();
  to.epoch = epoch();
  to.service = small();
  to.level = small();
  to.request = {number(), number()};
  to.attempt = small();
  to.deadline_us = budget();
  to.limits_wait = coin();
  to.wait_us = to.limits_wait ? budget() : 0;
  to.tell_start = coin();
  to.extra = coin();
  to.phase_us = budget();
  to.sent_us = time();
  to.payload = payload();
}

void RandomMessages::fill(Halt& to) {
  to.copies = ids();
  to.at_once = coin();
}

void RandomMessages::fill(Started& to) {
  to.copy = number();
  to.epoch = epoch();
  to.load = load();
}

void RandomMessages::fill(Done& to) {
  to.copy = number();
  to.epoch = epoch();
  to.level = small();
  to.fate = one_of(Fate::kHaltedRunning);
  to.text = text(kMaxTextBytes);
  to.wait_ns = number(kMaxBudgetUs * 1000);
  to.service_ns = number(kMaxBudgetUs * 1000);
  to.started_expired = coin();
  to.load = load();
  to.payload = payload();
}

void RandomMessages::fill(Holding& to) {
  to.held.resize(coin() ? random_.below(10) : number(kMaxHeld));
  for (Held& held : to.held)
    held = {number(), {number(), number(wire::kMaxSeq)}, small(), small(), small(), coin()};
  to.more = coin();
}

void RandomMessages::fill(Adopt& to) {
  to.epoch = epoch();
  to.adopted.resize(coin() ? random_.below(10) : number(kMaxHeld));
  for (Adopted& adopted : to.adopted) adopted = {number(), number()};
  to.dropped = ids(kMaxHeld - to.adopted.size());
}

void RandomMessages::fill(Enlist& to) {
  to.broker = small();
  to.kind = one_of(Kind::kLearner);
  to.group = number();
  to.incarnation = number();
  to.name = text(kMaxNameBytes);
  to.address = text(kMaxNameBytes);
  to.any_survivor = coin();
  to.demote_after_us = budget();
}

void RandomMessages::fill(Pulse& to) {
  to.known = epoch();
  to.rules = coin();
  to.blank = coin();
  to.answer = coin();
  to.position = position();
  to.hash = number();
  to.received = number();
  to.set = set();
  to.succession = ids(kMaxGroup);
  to.sent_us = time();
  to.echo_us = time();
  to.obeys = coin();
}

void RandomMessages::fill(VoteAsk& to) {
  to.epoch = epoch();
  to.trial = coin();
  to.stale = coin();
  to.set = set();
  to.position = position();
  to.sent_us = time();
}

void RandomMessages::fill(Vote& to) {
  to.epoch = epoch();
  to.trial = coin();
  to.granted = coin();
  to.known = epoch();
  to.echo_us = time();
}

void RandomMessages::fill(HandOver& to) {
  to.epoch = epoch();
  to.seq = number();
  to.successor = small();
}

void RandomMessages::fill(Collect& to) {
  to.epoch = epoch();
  to.end = coin();
  to.seq = number(wire::kMaxSeq);
  to.count = number();
  to.hash = number();
}

void RandomMessages::fill(Add& to) {
  to.epoch = epoch();
  to.seq = number();
  to.request = {number(), number(wire::kMaxSeq)};
  to.progress = coin();
  to.same_payload = coin();
  to.levels.resize(coin() ? 1 : random_.below(kMaxLevels + 1));
  for (Level& level : to.levels)
    level = {"s" + text(kMaxNameBytes - 1), 1 + static_cast<uint32_t>(number(kMaxCopies - 1)),
             resolved_policy()};
  to.deadline_us = budget();
  to.wait_limit_us = budget();
  to.service_class = thousandths();
  to.service_time_us = budget();
  to.level = small();
  to.waited_us = budget();
  to.attempts = small();
  to.low_water = number(wire::kMaxSeq);
  to.sent_us = time();
  to.order = number(wire::kMaxSeq);
  to.payload = payload();
}

void RandomMessages::fill(Remove& to) {
  to.epoch = epoch();
  to.seq = number();
  to.request = {number(), number(wire::kMaxSeq)};
  to.status = one_of(Status::kCancelled);
  to.reason = one_of(Refusal::kTooLate);
  to.body_dropped = coin();
  to.low_water = number(wire::kMaxSeq);
  to.payload = payload();
}

void RandomMessages::fill(Mark& to) {
  to.epoch = epoch();
  to.seq = number();
  to.client = number();
  to.generation = number();
  to.low_water = number(wire::kMaxSeq);
  to.name = text(kMaxNameBytes);
}

void RandomMessages::fill(ClientGone& to) {
  to.epoch = epoch();
  to.seq = number();
  to.client = number();
  to.generation = number();
  to.all = coin();
  to.requests = ids(kMaxBatch, wire::kMaxSeq);
}

void RandomMessages::fill(StatusReply& to) { to.payload = payload(); }

Message RandomMessages::of_kind(size_t kind) {
  Message message;
  const auto try_kind = [&]<size_t index>(std::integral_constant<size_t, index>) {
    if (index == kind) fill(message.template emplace<index>());
  };
  [&]<size_t... index>(std::index_sequence<index...>) {
    (try_kind(std::integral_constant<size_t, index + 1>{}), ...);
  }
  (std::make_index_sequence<kKinds - 1>{});
  return message;
}

}  // namespace redoubt::testing
