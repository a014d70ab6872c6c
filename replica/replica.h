// The replica's decisions: which copy runs when, what a broker is told, when a link is dead. A pure state
// machine: no socket, clock, thread or log. Time is handed in; what is to be done comes out as effects. See
// event.h and effect.h.
//
// The rule that everything here serves: no copy starts after its time is over, however long this process, its
// peers or the bytes between them stood still. The core decides by the turn's clock, and the worker looks
// once more.
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <queue>
#include <string>
#include <vector>

#include "core/distribution.h"
#include "core/indexed_heap.h"
#include "core/linked_list.h"
#include "core/random.h"
#include "core/slab.h"
#include "core/transit.h"
#include "replica/copy_table.h"
#include "replica/effect.h"
#include "replica/event.h"
#include "replica/limits.h"

namespace redoubt::replica {

// What becomes of copies whose manager is gone.
enum class OnFailover : uint8_t {
  kAdopt,    // they run on and are offered to the next
  kDiscard,  // they are dropped: the next manager sends them anew
};

struct Settings {
  std::string name{};
  std::string cluster = "redoubt";
  uint64_t incarnation = 0;  // random, new with every start of the process
  std::vector<std::string> services{};
  uint32_t workers = 1;
  uint32_t queue_limit = kDefaultQueueLimit;
  uint32_t brokers = 1;  // how many addresses there are to link to
  // A worker with nothing to do goes away for so long and then looks again.
  std::optional<Distribution> vacation{};
  uint64_t seed = 1;
  OnFailover on_failover = OnFailover::kAdopt;
  bool spare = false;  // it wants only what another replica has lost
};

// What the replica dropped without telling anybody: for tests and the log.
struct Counters {
  uint64_t stale = 0;       // copies of an epoch below the highest seen
  uint64_t duplicates = 0;  // copies that are held already
  uint64_t unwanted = 0;    // results of copies that had been given up
  uint64_t adopts = 0;      // answers to an offer that does not stand, or no longer
};

class Replica {
 public:
  explicit Replica(Settings settings);

  // Takes in what happened at `now` and appends what is to be done. `now` never goes back.
  void step(Time now, Event event, Effects& effects);

  // When to call again with TimePassed if nothing else happens before.
  Time next_deadline() const;

  uint32_t queued() const { return heap_.size(); }
  uint32_t running() const { return running_; }
  bool leaving() const { return leaving_; }
  const Counters& counters() const { return counters_; }

 private:
  enum class Phase : uint8_t { kDown, kGreeted, kWelcomed, kRegistered };

  // What is known of one broker.
  struct Peer {
    LinkId link;
    Phase phase = Phase::kDown;
    Transit transit;
    Time last_heard, last_sent;
    Time ask_at = kNever;                                                // when an echo is asked for
    Duration heartbeat = kFirstHeartbeat, dead_after = kHandshakeLimit;  // until the welcome tells
    uint64_t max_payload = 0;
    int64_t hello_us = 0;        // when ours was sent
    int64_t newest_sent_us = 0;  // the newest send time of the broker's that arrived here
    std::string name;
    bool declined = false;        // it ruled by an epoch that was over, and was told to send nothing
    bool farewell_heard = false;  // it has read that this replica leaves: nothing more is under way
  };

  // How the broker that sent a copy knows it.
  struct Origin {
    LinkId link;
    uint64_t copy = 0;
    wire::Epoch epoch;
    uint32_t level = 0;
  };

  // Whose a copy is. What is orphaned or offered is called detached: it runs on, but nobody hears of it.
  enum class Standing : uint8_t {
    kOwned,    // by the broker at its origin, which hears how it ends
    kOrphan,   // its link is gone, or its broker does not rule any more
    kOffered,  // the manager knows of it and has not answered
    kUnwanted  // it runs and has been asked to stop; its result is dropped
  };

  // How a copy ended, as its broker is to know it.
  struct Ending {
    wire::Fate fate = wire::Fate::kOk;
    std::string text{};
    Payload result{};
    Duration wait{}, service{};
    bool started_expired = false;
  };

  struct Held {
    bool detached() const { return standing == Standing::kOrphan || standing == Standing::kOffered; }
    bool waits() const { return !running && !ending; }  // in the queue

    Origin origin;
    wire::RequestId request;
    uint32_t service = 0;
    uint32_t attempt = 0;
    Payload payload;  // until it starts
    Time arrived, deadline, start_before;
    Duration charged{};  // what it took to get here beyond the usual
    Time given_up;       // while detached: when it is dropped at the latest, started or not
    uint64_t max_result = 0;
    bool tell_start = false;
    // Disposal two-phase: a halt that comes by then takes effect then, if the copy still waits.
    Time phase_ends = kNever;
    bool condemned = false;  // such a halt has come
    bool extra = false;      // it runs only while nothing else wants its worker
    bool gives_way = false;  // and is among extras_
    Standing standing = Standing::kOwned;
    bool running = false;
    bool halted = false;
    bool announced = false;          // its worker has told that it starts
    std::unique_ptr<Ending> ending;  // of one that finished while it was detached
    Links<CopyTag> in_row;           // in queue_, extras_ or kept_
    uint32_t place = kNowhere;       // in heap_ or in detached_
  };
  using Copies = Slab<Held, CopyTag>;

  struct HeapPlace {
    Copies* copies;
    uint32_t& operator()(CopyHandle copy) const { return (*copies)[copy].place; }
  };

  using Row = LinkedList<&Held::in_row>;

  // What an offered copy was when it was given up, for a manager that adopts it in ignorance.
  struct Gone {
    wire::Fate fate = wire::Fate::kHaltedQueued;
    uint32_t level = 0;
    Duration wait{};
  };

  struct Turn {
    Time now;
    Effects& effects;
  };

  // links.cc: greeting, heartbeats, silence, farewell
  void on(Turn& turn, LinkUp& event);
  void on(Turn& turn, LinkLost& event);
  void on(Turn& turn, WelcomeArrived& event);
  void on(Turn& turn, DummyArrived& event);
  void on(Turn& turn, StrayArrived& event);
  void on(Turn& turn, StopAsked& event);
  void on(Turn&, TimePassed&) {}
  Peer* find(LinkId link);
  void note_heard(Time now, const Event& event);
  void forgive_own_stall(Time now, Time due);
  void keep_alive(Turn& turn);
  void close(Turn& turn, Peer& peer, wire::CloseReason reason, std::string text);
  void send_dummy(Turn& turn, Peer& peer, bool answer);
  void end_if_done(Turn& turn);
  static Time due(const Peer& peer);

  // copies.cc: the queue and the workers
  void on(Turn& turn, CopyArrived& event);
  void on(Turn& turn, HaltArrived& event);
  void on(Turn& turn, CopyStarted& event);
  void on(Turn& turn, CopyEnded& event);
  void send_started(Turn& turn, const Held& held);
  bool refuse(Turn& turn, const Origin& origin, const CopyArrived& event, Duration charged);
  void answer(Turn& turn, const Origin& origin, Ending ending);
  Ending judge(const Held& held, CopyEnded& event) const;
  static Ending too_large(Ending ending, size_t bytes, uint64_t limit);
  void end_queued(Turn& turn, CopyHandle copy, wire::Fate fate);
  void halt(Turn& turn, CopyHandle copy, bool at_once);
  void stop(Turn& turn, CopyHandle copy);
  void make_way(Turn& turn);
  bool all_workers_busy() const { return running_ + returns_.size() >= settings_.workers; }
  Time due_in_queue(const Held& held) const;
  void give_back_queue(Turn& turn);
  void expire_queued(Turn& turn);
  void return_from_vacation(Turn& turn);
  void employ_workers(Turn& turn);
  void start(Turn& turn, CopyHandle copy);
  void enqueue(CopyHandle copy);
  void leave_queue(CopyHandle copy);
  void forget(CopyHandle copy);
  wire::Load load() const { return {queued(), running_}; }

  // failover.cc: copies without a manager, and the one that takes over
  void on(Turn& turn, AnnounceArrived& event);
  void on(Turn& turn, AdoptArrived& event);
  void begin_rule(Turn& turn, Peer& peer, wire::Epoch epoch);
  void decline(Turn& turn, Peer& peer);
  void offer(Turn& turn, Peer& peer);
  void withdraw_offer();
  void orphan_copies_of(Turn& turn, LinkId link);
  void detach(Turn& turn, CopyHandle copy);
  void keep(Turn& turn, CopyHandle copy, Ending ending);
  void unkeep(CopyHandle copy);
  void give_up(Turn& turn, CopyHandle copy);
  void give_up_overdue(Turn& turn);
  void give_up_detached(Turn& turn);
  bool numbers_are_free(const wire::Adopt& adopt) const;
  void adopt(Turn& turn, const Peer& peer, const wire::Adopted& adopted);
  void adopt_gone(Turn& turn, const Origin& origin, uint64_t handle);
  void disown(Turn& turn, uint64_t handle);
  Gone describe_gone(Time now, const Held& held) const;

  Settings settings_;
  Random random_;
  std::vector<Peer> peers_;
  Copies copies_;
  CopyTable table_;
  IndexedHeap<CopyHandle, Time, HeapPlace> heap_{HeapPlace{&copies_}};  // every queued copy, by start_before
  Row queue_;                                                           // the same, in order of arrival
  Row extras_;  // copies that run and would give way, the newest last
  std::priority_queue<Time, std::vector<Time>, std::greater<>> returns_;  // of workers on vacation
  uint32_t running_ = 0;
  wire::Epoch highest_;  // copies of an epoch below it are dropped
  LinkId manager_;       // who has been offered what is detached; generation 0: nobody
  wire::Epoch rule_;     // its epoch
  // Every detached copy that runs or has finished, by when it is given up. A queued one is in heap_, by the
  // same.
  IndexedHeap<CopyHandle, Time, HeapPlace> detached_{HeapPlace{&copies_}};
  Row kept_;  // those that have finished, in that order
  size_t kept_bytes_ = 0;
  std::map<uint64_t, Gone> gone_;  // by handle: offered, and given up before the manager's answer
  Counters counters_;
  Time newest_;  // of the steps' times
  bool leaving_ = false, finished_ = false;
  Time farewell_until_ = kNever;
  int64_t farewell_sent_us_ = 0;
};

}  // namespace redoubt::replica
