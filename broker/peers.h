// Who else a manager has links with: clients, whose numbers stand for requests, and brokers that take in its
// checkpoints. Data; what keeps the indexes true is in state.h.
#pragma once

#include <string>
#include <vector>

#include "broker/event.h"
#include "broker/group/group.h"
#include "broker/names.h"
#include "broker/records.h"
#include "broker/request.h"
#include "core/linked_list.h"
#include "core/seq_window.h"
#include "core/transit.h"
#include "wire/message.h"

namespace redoubt::broker {

// What a client's sequence number stands for here.
struct ClientEntry : Record {
  enum class Is : uint8_t { kUnknown, kPending, kSettled };
  Is is = Is::kUnknown;
  RequestHandle request;  // pending
};

struct Client {
  LinkId link{};  // kNoLink: gone, may return
  std::string name;
  uint64_t incarnation = 0, generation = 0;
  Transit transit;
  SeqWindow<ClientEntry> entries;
  LinkedList<&Request::of_client> pending;  // beside the window, which may have long gaps
  uint64_t retained = 0;                    // bytes of results held in entries
  uint64_t oldest_retained = 0;             // no entry below holds any
  uint64_t told_low_water = 1;              // to the standbys
  bool told_all_open = false;               // it has sent, on this link, all that it had open before
  Time lingers_until = kNever;
};

// A broker that takes in the checkpoint stream.
struct Follower {
  enum class Stage : uint8_t {
    kCollecting,  // the walk over what is here goes on; changes are sent for what it has passed
    kCatchingUp,  // everything has been sent
    kInSync,      // and acknowledged
  };
  LinkId link{};
  BrokerNumber number = kNoBroker;  // kNoBroker: it has no vote
  std::string name;
  Stage stage = Stage::kCollecting;
  // The walk has passed every client in a slot below, and in that slot the sequence numbers below.
  uint32_t slot = 0;
  uint64_t seq = 0;
  uint64_t end_seq = 0;                         // the change up to which the walk's end counts
  uint64_t sent_bytes = 0, received_bytes = 0;  // wire/stream.h
  wire::Position position;                      // acknowledged
  uint64_t hash = 0;
  // It must have received so much by then.
  uint64_t mark_bytes = 0;
  Time mark_at = kNever;

  bool passed(ClientId client, uint64_t of) const {
    return stage != Stage::kCollecting || client.slot < slot || (client.slot == slot && of < seq);
  }
};

// Who is behind a link.
struct Peer {
  ClientId client;
  ReplicaId replica;
};

// Peers by link, found by counting: every frame asks.
class Peers {
 public:
  void set(LinkId link, Peer peer) {
    const size_t at = place_of(link);
    if (at >= entries_.size()) entries_.resize(at + 1);
    entries_[at] = {link, peer};
  }
  Peer get(LinkId link) const {
    const size_t at = place_of(link);
    return at < entries_.size() && entries_[at].link == link ? entries_[at].peer : Peer{};
  }
  void erase(LinkId link) {
    const size_t at = place_of(link);
    if (at < entries_.size() && entries_[at].link == link) entries_[at] = {};
  }

 private:
  struct Entry {
    LinkId link = kNoLink;
    Peer peer;
  };
  static size_t place_of(LinkId link) { return static_cast<uint32_t>(link); }

  std::vector<Entry> entries_;
};

}  // namespace redoubt::broker
