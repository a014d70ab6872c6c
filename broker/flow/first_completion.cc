// first_completion: a copy has ended. The first success of a level wins it; a failure is tried elsewhere at
// once while there is another hope; only when there is none does the client get it.
#include <algorithm>
#include <cmath>

#include "broker/steps.h"

namespace redoubt::broker {
namespace {

using wire::Fate;

// The smoothing of measured times: the last hundred or so count.
constexpr double kSmoothing = 1.0 / 64;

void smooth(double& average, double sample, double weight) {
  average = average == 0 ? sample : average + weight * (sample - average);
}

// What an execution shows of how long one takes, here and in general, and how soon it ends when it is told
// to.
void observe_pace(Turn& turn, Replica& replica, const Copy& copy, const wire::Done& done) {
  State& state = turn.state;
  Service& service = state.services[copy.service];
  if (!service.paced) return;
  // A failure may have run nothing: "replica queue full".
  if (copy.adopted || (done.fate != Fate::kOk && done.fate != Fate::kHaltedRunning)) return;
  const bool ended = done.fate != Fate::kHaltedRunning;
  const std::chrono::nanoseconds took(done.service_ns);
  for (RecentTimes* times : {&service.service_times, &replica.times})
    ended ? times->record(took) : times->record_stopped(took);
  note_pace(service, replica, static_cast<double>(done.service_ns), ended);
  if (copy.halted && copy.phase == Duration::zero()) {
    smooth(service.stop_ns, static_cast<double>(Duration(turn.now - copy.halted_at).count()), 1.0 / 16);
    ++service.stops;
  }
  if (service.typical_ns <= 0 || ++service.observed % 32 == 0) note_typical(state, service);
}

// What the end of a copy tells about its replica: how fast it serves, and how long a copy is under way. A
// threshold that ignores the round trip would starve a fast replica: it gets one round trip's worth of copies
// beyond its workers.
void observe(Turn& turn, Replica& replica, const Copy& copy, const wire::Done& done) {
  replica.reported = done.load;
  observe_pace(turn, replica, copy, done);
  if ((done.fate != Fate::kOk && done.fate != Fate::kFailed) || copy.adopted) return;
  const auto service_ns = static_cast<double>(done.service_ns);
  const auto total_ns = static_cast<double>(std::chrono::nanoseconds(turn.now - copy.sent).count());
  const double round_trip_ns = std::max(0.0, total_ns - service_ns - static_cast<double>(done.wait_ns));
  smooth(replica.service_ns, std::max(1.0, service_ns), kSmoothing);
  Service& service = turn.state.services[copy.service];
  smooth(service.service_ns, std::max(1.0, service_ns), kSmoothing);
  // The shortest counts most: a long one may be our own delay, and must not feed on itself.
  const bool shorter = round_trip_ns < replica.round_trip_ns;
  smooth(replica.round_trip_ns, round_trip_ns, shorter ? 0.5 : kSmoothing / 4);
  smooth(service.round_trip_ns, replica.round_trip_ns, kSmoothing);
  replica.service_us.record(done.service_ns / 1000);
  // The averages move slowly: a few times in a hundred copies is often enough.
  if (turn.state.settings.replica_threshold > 0 || ++replica.observed % 8 != 1) return;
  const double in_flight = std::ceil(replica.round_trip_ns / replica.service_ns * replica.workers);
  const double most = std::min(kMaxThreshold, replica.room());
  // A copy more than the workers have only where they would idle too long until the next one comes.
  constexpr double kIdle = 0.1;  // of a service time
  const double ahead = std::ceil(replica.round_trip_ns / replica.service_ns * replica.workers - kIdle);
  replica.lean = static_cast<uint32_t>(std::clamp(replica.workers + ahead, 1.0, most));
  replica.threshold = static_cast<uint32_t>(std::clamp(2.0 * replica.workers + in_flight, 1.0, most));
}

// Why this result cannot be counted, if so.
bool dropped(Turn& turn, LinkId from, CopyId id, const wire::Epoch& epoch) {
  State& state = turn.state;
  const Copy* copy = state.copies.find(id);
  const ReplicaId replica = state.replica_of(from);
  if (epoch != state.epoch)
    Counters::count(state.counters.late_results, LateResult::kStaleEpoch);
  else if (!copy)
    Counters::count(state.counters.late_results, LateResult::kUnknownCopy);
  else if (copy->replica != replica)
    Counters::count(state.counters.late_results, LateResult::kForeign);
  else
    return false;
  return true;
}

// By so much clocks may differ that have run for as long as a copy takes.
constexpr Duration kSlack = std::chrono::milliseconds(5);

// Whether a copy's time can be over by our clock, too: a replica's word alone does not end a request.
bool may_have_expired(const Turn& turn, const Request& request, const Copy& copy) {
  if (turn.now + kSlack >= request.deadline) return true;
  const Duration behind = copy.path > 0 ? request.paths[copy.path - 1].waited : request.waited;
  const Duration left_when_sent = request.wait_limit - behind - copy.waited_here;
  return request.limits_wait() && turn.now - copy.sent + kSlack >= left_when_sent;
}

bool has_failed(const Request& request, ReplicaId replica) {
  return std::find(request.failed.begin(), request.failed.end(), replica) != request.failed.end();
}

// The replica gets no further attempt of this level while another can have it.
void avoid(Request& request, ReplicaId replica) {
  if (!has_failed(request, replica)) request.failed.push_back(replica);
}

CopyFate fate_of_loser(Fate fate) {
  switch (fate) {
    case Fate::kOk:
      return CopyFate::kWasted;
    case Fate::kFailed:
      return CopyFate::kFailed;
    case Fate::kExpired:
      return CopyFate::kExpired;
    case Fate::kHaltedQueued:
      return CopyFate::kHaltedQueued;
    case Fate::kHaltedRunning:
      return CopyFate::kHaltedRunning;
  }
  CHECK(false);
}

// How long the level's first copy took; or, if a further one was faster, that it took longer than this.
void note_answer(Turn& turn, const Request& request, Service& service) {
  if (request.policy().redundancy != wire::Redundancy::kHedge || request.attempts > 0) return;
  if (request.first_sent == Time{}) return;  // under an earlier manager
  service.answer_times.record(turn.now - request.first_sent);
  ++service.answers;
}

void win(Turn& turn, RequestHandle id, const Copy& copy, const std::string& replica_name, wire::Done& done) {
  State& state = turn.state;
  Request& request = state.requests[id];
  if (request.phase == Request::Phase::kQueued) state.dequeue(id, turn.now);
  if (request.slot && request.further_at != kNever) ++state.counters.backups_cancelled;
  state.drop_further(request);
  request.level = copy.level;  // an adopted copy may have been ahead of what was known of its request
  Service& service = state.services[request.service()];
  const Duration wait = copy.waited_here + std::chrono::nanoseconds(done.wait_ns);
  request.waited += wait;
  wire::LevelReport& report = request.reports.emplace_back();
  report.service = service.name;
  report.replica = replica_name;
  report.copies = request.dispatched;
  report.wait_us = static_cast<uint64_t>(to_us(wait));
  report.service_us = done.service_ns / 1000;
  service.wait_us.record(report.wait_us);
  service.service_us.record(report.service_us);
  halt_siblings(turn, request, {});
  note_answer(turn, request, service);
  if (request.level + 1 < request.levels.size())
    next_level(turn, id, std::move(done.payload));
  else
    reply(turn, id, {.status = wire::Status::kOk, .payload = std::move(done.payload)});
}

// Whether its result would be of use. One that is ahead of its level counts, and so does one on a path.
bool wanted(const Request* request, const Copy& copy) {
  if (!request) return false;
  return copy.path > 0 ? !request->paths.empty() : copy.level >= request->level;
}

// It has ended without a result, and its request goes on.
void copy_failed(Turn& turn, Request& request, const Copy& copy, const Replica& replica,
                 const wire::Done& done) {
  // The level the request is known to be at goes on as if a copy ahead of it, or on a path behind it, had not
  // been.
  const bool counts = copy.level == request.level;
  if (counts) {
    if (done.fate == Fate::kFailed) {
      avoid(request, copy.replica);
      count_attempt(turn, request, replica.name + ": " + done.text);
    } else if (done.fate != Fate::kExpired && copy.extra && !copy.halted) {
      ++turn.state.counters.extras_gave_way;
      be_hungry(turn, copy.request);
    } else if (done.fate == Fate::kHaltedRunning && !copy.halted && !replica.leaving) {
      // Stopped without being asked: not for ever, and not to the same one again.
      avoid(request, copy.replica);
      count_attempt(turn, request, replica.name + " gave it back");
    }
  }
  if (copy.path > 0 && path_broken(turn, request, copy.path)) return;
  // The level goes on without this copy: what it has waited counts.
  if (request.copies.empty()) request.level_wait += std::chrono::nanoseconds(done.wait_ns);
  copy_gone(turn, copy.request, counts ? done.fate : Fate::kHaltedQueued);
}

}  // namespace

void copy_started(Turn& turn, LinkId from, const wire::Started& started) {
  const CopyId id = CopyId::of(started.copy);
  if (dropped(turn, from, id, started.epoch)) return;
  State& state = turn.state;
  const Copy& copy = state.copies[id];
  state.replicas[copy.replica].reported = started.load;
  Request* request = state.requests.find(copy.request);
  if (!request || request->level != copy.level || copy.path > 0 || copy.halted ||
      request->policy().disposal != wire::Disposal::kOnStart)
    return;
  if (!request->started) halt_siblings(turn, *request, id);
  request->started = true;
}

void copy_done(Turn& turn, LinkId from, wire::Done& done, bool payload_skipped) {
  const CopyId id = CopyId::of(done.copy);
  if (dropped(turn, from, id, done.epoch)) return;
  State& state = turn.state;
  if (payload_skipped) {
    done.fate = Fate::kFailed;
    done.text = "the result is over the limit of " + std::to_string(state.settings.max_payload) + " bytes";
  }
  const Copy copy = state.copies[id];
  Request* request = state.requests.find(copy.request);
  // Nor does its word about how long a copy has waited count for more than can be.
  if (!copy.adopted) {
    const std::chrono::nanoseconds most = turn.now - copy.sent + kSlack;
    done.wait_ns = std::min(done.wait_ns, static_cast<uint64_t>(most.count()));
  }
  if (done.fate == Fate::kExpired && request && !may_have_expired(turn, *request, copy)) {
    done.fate = Fate::kFailed;
    done.text = "it called a copy expired before its time";
  }
  if (done.level != copy.level) {
    done.fate = Fate::kFailed;
    done.text = "it answered for another level";
  }
  Replica& replica = state.replicas[copy.replica];
  observe(turn, replica, copy, done);
  const bool failed = done.fate == Fate::kFailed;
  replica.failures += failed ? 1 : 0;
  replica.completed += done.fate == Fate::kOk ? 1 : 0;
  replica.failure_rate += ((failed ? 1.0 : 0.0) - replica.failure_rate) / 16;
  const bool given_back = done.fate == Fate::kHaltedQueued && !copy.halted;
  if (!given_back) replica.declined = replica.full = false;
  if (given_back) (copy.extra ? replica.declined : replica.full) = true;
  if (done.started_expired) ++state.counters.started_expired;
  state.remove_copy(id);

  if (done.fate == Fate::kOk && wanted(request, copy)) {
    request->copies.erase(id);
    Counters::count(state.counters.copies, CopyFate::kWon);
    if (copy.path > 0)
      path_done(turn, copy.request, copy, replica.name, done);
    else
      win(turn, copy.request, copy, replica.name, done);
  } else {
    Counters::count(state.counters.copies, fate_of_loser(done.fate));
    if (wanted(request, copy) && request->copies.erase(id)) copy_failed(turn, *request, copy, replica, done);
    if (copy.stroll) stroll_done(turn, copy, done);
  }
  state.stir_all_of(replica);
}

void count_attempt(Turn& turn, Request& request, std::string failure) {
  ++request.attempts;
  request.failure = std::move(failure);
  checkpoint_add(turn, request, Progress::kAttempt);  // they count across managers
}

void copy_gone(Turn& turn, RequestHandle id, Fate fate) {
  State& state = turn.state;
  Request& request = state.requests[id];
  // A sibling may still win. Who has been asked to end is not waited for, and wins all the same if it has
  // ended.
  if (!std::ranges::all_of(request.copies, [&](CopyId copy) { return state.copies[copy].halted; })) return;
  request.copies.clear();
  request.started = false;
  const Service& service = state.services[request.service()];
  if (fate == Fate::kExpired && request.failure.empty()) {
    reply(turn, id,
          {.status = wire::Status::kExpired,
           .text = "waited too long at level " + std::to_string(request.level + 1) + " (" + service.name +
                   "), in the queue of a replica"});
    return;
  }
  // A failure goes to the client when everybody who is there has failed it, or the attempts are used up.
  const auto may_help = [&](ReplicaId replica) {
    const Replica& other = state.replicas[replica];
    return !other.leaving && !has_failed(request, replica) && (!other.spare || request.lost);
  };
  const bool nobody_else =
      fate == Fate::kFailed && std::none_of(service.members.begin(), service.members.end(), may_help);
  if (request.attempts >= state.settings.attempts || nobody_else || fate == Fate::kExpired) {
    reply(turn, id, {.status = wire::Status::kFailed, .text = request.failure});
    return;
  }
  ++state.counters.retried;
  dispatch_or_queue(turn, id, 1, true);
}

}  // namespace redoubt::broker
