// Table: what of a manager's state outlives it, as data: clients, their open requests and how far each is,
// and the records of those that ended. A standby fills one from the checkpoint stream; a manager is made from
// one and, when it steps down, becomes one again. It has no idea of replicas and copies.
#pragma once

#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "broker/records.h"
#include "core/seq_window.h"
#include "core/slab.h"
#include "core/time.h"
#include "wire/message.h"

namespace redoubt::broker {

class Table {
 public:
  // `held_limit`: bytes of open requests' payloads that it takes in.
  explicit Table(uint64_t held_limit) : held_limit_(held_limit) {}

  struct Request {
    wire::RequestId id;
    wire::Levels levels;
    uint32_t service_class = 0;  // thousandths
    Duration service_time{};
    Time deadline;
    Duration wait_limit{};
    uint32_t level = 0;
    Duration waited{};
    uint32_t attempts = 0;
    Payload payload;
    uint64_t order = 0;  // when it was admitted, among the others
    uint64_t digest = 0;
  };
  using RequestId = Handle<Request>;

  struct Entry : Record {
    enum class Is : uint8_t { kUnknown, kPending, kSettled };
    Is is = Is::kUnknown;
    RequestId request;  // pending
  };

  struct Client {
    uint64_t incarnation = 0, generation = 0;
    std::string name;
    SeqWindow<Entry> entries;
    uint64_t retained = 0, oldest_retained = 0;  // see Records
  };
  using ClientId = Handle<Client>;

  // The messages of the stream. They may be moved out of. The answer is empty, or why they cannot be: then
  // nothing has changed, the table is not what the sender thinks it is, and must be collected anew.
  // `charge`: what the message took beyond the usual to get here.
  std::string apply(Time now, Duration charge, wire::Add& add);
  std::string apply(wire::Remove& remove);
  std::string apply(const wire::Mark& mark);
  std::string apply(const wire::ClientGone& gone);

  uint64_t hash() const { return hash_; }
  uint32_t open() const { return requests_.size(); }  // requests that have not ended
  uint32_t clients() const { return clients_.size(); }
  uint64_t records() const { return entries_ - requests_.size(); }
  uint64_t held_bytes() const { return held_; }

  // For whoever makes a manager of it, or it of a manager. In the same order in every run.
  Slab<Request>& requests() { return requests_; }
  Slab<Client>& all_clients() { return clients_; }
  const Slab<Request>& requests() const { return requests_; }
  const Slab<Client>& all_clients() const { return clients_; }

 private:
  Client* find(uint64_t incarnation);
  Client* find_or_make(uint64_t incarnation);
  Entry* entry_at(Client& client, uint64_t seq);
  std::string out_of_bounds(const Client* client, uint64_t seq, uint64_t low_water) const;
  const Request* open_request(const Client* client, uint64_t seq) const;
  std::string unfit(const wire::Add& add, const Request* before);
  bool learn_services(const wire::Levels& levels);
  void forget_below(Client& client, uint64_t low_water);
  void drop_request(Entry& entry);
  void set_digest(Request& request);

  const uint64_t held_limit_;
  Slab<Request> requests_;
  Slab<Client> clients_;
  std::unordered_map<uint64_t, ClientId> ids_;     // by incarnation
  std::unordered_set<std::string> service_names_;  // of all requests so far
  Records records_;
  uint64_t hash_ = 0;
  uint64_t held_ = 0;     // bytes of open requests' payloads
  uint64_t entries_ = 0;  // of all clients' windows
};

}  // namespace redoubt::broker
