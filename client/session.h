// Session: the client's side of the protocol as a pure state machine. It holds every unanswered request,
// sends it again on a new link, ends it at its deadline at the latest, and delivers one outcome each. No
// socket, clock, thread or lock: times are handed in, and what is to be done is appended to effects(). Not
// thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "client/answered.h"
#include "client/limits.h"
#include "client/recycled.h"
#include "client/request.h"
#include "core/indexed_heap.h"
#include "core/seq_window.h"
#include "core/slab.h"
#include "core/time.h"
#include "wire/message.h"

namespace redoubt::client {

// The owner's name for a call; comes back with its outcome.
enum class Token : uint64_t {};

// To be told to the caller.
struct Complete {
  Token token{};
  Reply reply;
};

// What is to be done, to be carried out in the order of the members. The owner clears it afterwards.
struct Effects {
  Recycled<Complete> completions;
  // These go to the link named by the last link_up().
  Recycled<wire::Submit> submits;
  Recycled<wire::Cancel> cancels;
  Recycled<wire::Acknowledge> acknowledges;

  // Frames must not keep payloads alive until their memory is used again.
  void clear_frames() {
    for (size_t i = 0; i < submits.size(); ++i)
      for (wire::Request& request : submits[i].requests) request.payload = {};
    submits.clear();
    cancels.clear();
    acknowledges.clear();
  }
};

struct SessionStats {
  uint64_t submitted = 0;   // calls that were given a number
  uint64_t resent = 0;      // requests sent again after a later link_up()
  uint64_t duplicated = 0;  // replies to a request that had been answered since link_up(); not delivered
  uint64_t repeated = 0;    // replies to a request that had been answered before it; not delivered
  uint64_t unexpected = 0;  // replies to no request of this client; not delivered
  uint64_t late = 0;        // replies to a request that had expired here or was cancelled; not delivered
  uint64_t stale = 0;       // replies on a link that was given up for a newer one; not delivered
};

class Session {
 public:
  static constexpr uint64_t kNoLink = 0;

  // `overtime`: how long past its deadline a request waits for the broker's own word. With zero a call ends
  // at its deadline, and brokers are told a slightly shorter one, so that their word (where was it stuck?)
  // comes in time.
  explicit Session(Duration overtime = Duration::zero());

  // A call. Returns its number, or 0 if it was refused for want of one. The outcome, also of a refusal, comes
  // as a Complete. `started` is when the call was made: its deadline counts from there.
  uint64_t submit(Time started, const Request& request, Token token);

  // Ends the call with kCancelled, unless it has ended.
  void cancel(Time now, uint64_t seq);

  // This link is the one to use from now on; everything open is sent again on it, and the frame with which
  // that is done says so. `link` is not kNoLink; it may be the one in use, when another manager is at its
  // end.
  void link_up(Time now, uint64_t link, uint64_t max_payload);
  // There is no link.
  void link_down();

  // Takes the reply's memory. `result_skipped`: its payload was over our limit and is missing.
  void replied(Time now, uint64_t link, wire::Reply& reply, bool result_skipped);

  // Ends what has reached its deadline.
  void tick(Time now);

  // At the end of a turn: makes frames of what has gathered, at most `room` bytes (about) while there is
  // more.
  void flush(Time now, size_t room);

  // Ends everything with kCancelled.
  void stop(Time now);

  // When tick() and flush() have something to do without any other event.
  Time next_deadline() const;

  Effects& effects() { return effects_; }
  const SessionStats& stats() const { return stats_; }
  uint64_t low_water() const { return window_.begin(); }
  // The number the next call will get, or 0 if it will be refused.
  uint64_t next_seq() const { return window_.size() < kMaxUnsettled ? window_.end() : 0; }
  uint32_t pending() const { return pending_.size(); }

 private:
  struct Pending {
    wire::Request request;
    Token token{};
    Time started, deadline;
    bool sent = false;  // on any link
  };
  using Id = Slab<Pending>::Id;

  void refuse(Time started, Token token, uint64_t seq, Refusal reason, std::string text);
  Reply& complete(Time now, Token token, Time started, uint64_t seq, Status status);
  Reply& settle(Time now, Id id, Status status);
  void leave(uint64_t seq);
  void expire(Time now, Id id);
  void fill_reply(const Pending& pending, wire::Reply& from, Reply& to) const;
  // Says whether the room ended before the requests did.
  bool fill_frame(Time now, wire::Submit& frame, size_t& room);
  void send_cancels();
  void acknowledge(bool carried);
  void put(Time now, const Pending& pending, wire::Request& out) const;
  wire::Request& add_request(wire::Submit& frame, size_t index);
  void cut(wire::Submit& frame, size_t size);

  const Duration overtime_;
  Slab<Pending> pending_;
  SeqWindow<Id> window_;  // begins at the low-water mark; an entry without a slot is settled
  IndexedHeap<Id, Time, PlacesBySlot<Id>> deadlines_;
  Answered answered_;

  uint64_t link_ = kNoLink;
  uint64_t max_payload_ = 0;
  uint64_t to_send_ = 1;           // everything open from here on has not been sent since link_up()
  uint64_t open_end_ = 1;          // what was open at link_up() lies before it
  bool owes_all_open_ = false;     // the frame that says that all of it has been sent
  Time held_back_until_ = kNever;  // there was no room for everything
  std::vector<uint64_t> cancels_;

  // What the broker does not know yet to be settled.
  uint64_t acknowledged_ = 1;
  uint64_t unacknowledged_ = 0;
  uint64_t unacknowledged_bytes_ = 0;
  Time acknowledge_at_ = kNever;

  std::vector<wire::Request> spare_;  // requests whose memory frames use again
  Effects effects_;
  SessionStats stats_;
};

}  // namespace redoubt::client
