// The replica's decisions: which copy runs when, what a broker is told, when a link is dead. A pure state
// machine: no socket, clock, thread or log. Time is handed in; what is to be done comes out as effects. See
// event.h and effect.h.
//
// The rule that everything here serves: no copy starts after its time is over, however long this process, its
// peers or the bytes between them stood still. The core decides by the turn's clock, and the worker looks
// once more.
#pragma once

#include <functional>
#include <optional>
#include <queue>
#include <string>
#include <vector>

#include "core/distribution.h"
#include "core/indexed_heap.h"
#include "core/random.h"
#include "core/slab.h"
#include "core/transit.h"
#include "replica/copy_table.h"
#include "replica/effect.h"
#include "replica/event.h"
#include "replica/limits.h"

namespace redoubt::replica {

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
};

// What the replica dropped without telling anybody: for tests and the log.
struct Counters {
  uint64_t stale = 0;       // copies of an epoch below the highest seen
  uint64_t duplicates = 0;  // copies that are held already
  uint64_t orphans = 0;     // results whose link was gone
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
    Duration heartbeat = kFirstHeartbeat, dead_after = kHandshakeLimit;  // until the welcome tells
    uint64_t max_payload = 0;
    int64_t newest_sent_us = 0;  // the newest send time of the broker's that arrived here
    std::string name;
    bool farewell_heard = false;  // it has read that this replica leaves: nothing more is under way
  };

  // How the broker that sent a copy knows it.
  struct Origin {
    LinkId link;
    uint64_t copy = 0;
    wire::Epoch epoch;
    uint32_t level = 0;
  };

  struct Held {
    Origin origin;
    wire::RequestId request;
    uint32_t service = 0;
    uint32_t attempt = 0;
    Payload payload;  // until it starts
    Time arrived, deadline, start_before;
    Duration charged{};  // what it took to get here beyond the usual
    bool tell_start = false;
    bool running = false;
    bool halted = false;
    bool orphan = false;       // its link is gone: nobody wants the result
    CopyHandle ahead, behind;  // neighbours in the queue
    uint32_t place = ~uint32_t{0};
  };
  using Copies = Slab<Held, CopyTag>;

  struct HeapPlace {
    Copies* copies;
    uint32_t& operator()(CopyHandle copy) const { return (*copies)[copy].place; }
  };

  // How a copy ended, as its broker is to know it.
  struct Ending {
    wire::Fate fate = wire::Fate::kOk;
    std::string text{};
    Payload result{};
    Duration wait{}, service{};
    bool started_expired = false;
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
  void drop_copies_of(Turn& turn, LinkId link);
  void send_dummy(Turn& turn, Peer& peer, bool answer);
  void end_if_done(Turn& turn);
  static Time due(const Peer& peer);

  // copies.cc: the queue and the workers
  void on(Turn& turn, CopyArrived& event);
  void on(Turn& turn, HaltArrived& event);
  void on(Turn& turn, CopyStarted& event);
  void on(Turn& turn, CopyEnded& event);
  bool refuse(Turn& turn, const Origin& origin, const CopyArrived& event, Duration charged);
  void answer(Turn& turn, const Origin& origin, Ending ending);
  Ending judge(const Held& held, CopyEnded& event, uint64_t max_payload) const;
  void end_queued(Turn& turn, CopyHandle copy, wire::Fate fate);
  void give_back_queue(Turn& turn);
  void expire_queued(Turn& turn);
  void return_from_vacation(Turn& turn);
  void employ_workers(Turn& turn);
  void start(Turn& turn, CopyHandle copy);
  void enqueue(CopyHandle copy);
  void leave_queue(CopyHandle copy);
  void forget(CopyHandle copy);
  wire::Load load() const { return {queued(), running_}; }

  Settings settings_;
  Random random_;
  std::vector<Peer> peers_;
  Copies copies_;
  CopyTable table_;
  IndexedHeap<CopyHandle, Time, HeapPlace> heap_{HeapPlace{&copies_}};  // every queued copy, by start_before
  CopyHandle first_, last_;                                             // the queue, in order of arrival
  std::priority_queue<Time, std::vector<Time>, std::greater<>> returns_;  // of workers on vacation
  uint32_t running_ = 0;
  wire::Epoch highest_;
  Counters counters_;
  bool leaving_ = false, finished_ = false;
  Time farewell_until_ = kNever;
  int64_t farewell_sent_us_ = 0;
};

}  // namespace redoubt::replica
