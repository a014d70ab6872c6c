// Taking in the checkpoint stream; see table.h.
#include "broker/group/table.h"

#include <algorithm>

#include "broker/digest.h"

namespace redoubt::broker {

Table::Client* Table::find(uint64_t incarnation) {
  const auto found = ids_.find(incarnation);
  return found == ids_.end() ? nullptr : &clients_[found->second];
}

Table::Client* Table::find_or_make(uint64_t incarnation) {
  if (Client* known = find(incarnation)) return known;
  if (clients_.size() >= kMaxSessions) return nullptr;
  const ClientId id = clients_.take();
  Client& client = clients_[id];
  client = Client{};
  client.incarnation = incarnation;
  ids_[incarnation] = id;
  return &client;
}

Table::Entry* Table::entry_at(Client& client, uint64_t seq) {
  const uint64_t before = client.entries.size();
  client.entries.extend(seq + 1);
  entries_ += client.entries.size() - before;
  return &client.entries[seq];
}

// Why this number of a client cannot be told of here, once its mark stands at `low_water`; or nothing.
std::string Table::out_of_bounds(const Client* client, uint64_t seq, uint64_t low_water) const {
  if (client == nullptr && clients_.size() >= kMaxSessions) return "more clients than a broker serves";
  const uint64_t begin = std::max(client ? client->entries.begin() : 1, low_water);
  if (seq < begin || seq - begin >= kClientWindow) return "a request outside its client's window";
  const uint64_t end = std::max(client ? client->entries.end() : begin, begin);
  const uint64_t growth = seq + 1 - std::min(seq + 1, end);
  return entries_ + growth > kWindowsInAll ? "more requests of all clients than a broker holds" : "";
}

// A manager has a bound on names of services; whoever succeeds it must be able to know them all.
bool Table::learn_services(const wire::Levels& levels) {
  size_t unknown = 0;
  for (const wire::Level& level : levels) unknown += service_names_.contains(level.service) ? 0u : 1u;
  if (unknown == 0) return true;
  if (service_names_.size() + unknown > kMaxServices) return false;
  for (const wire::Level& level : levels) service_names_.insert(level.service);
  return true;
}

void Table::set_digest(Request& request) {
  hash_ -= request.digest;
  request.digest = digest_of(request.id, request.level, request.attempts, request.payload.size());
  hash_ += request.digest;
}

// The entry's request ends; what is recorded of it is the caller's.
void Table::drop_request(Entry& entry) {
  Request& request = requests_[entry.request];
  hash_ -= request.digest;
  held_ -= request.payload.size();
  request.payload = {};
  requests_.give_back(entry.request);
  entry.request = {};
}

void Table::forget_below(Client& client, uint64_t low_water) {
  if (low_water <= client.entries.begin()) return;
  const uint64_t before = client.entries.size();
  client.entries.advance(low_water, [&](Entry& entry) {
    if (entry.is == Entry::Is::kPending) drop_request(entry);
    records_.let_go(client, entry);
  });
  entries_ -= before - client.entries.size();
}

// Why a request cannot become, or go on to, what is added; or nothing. `before`: it is open.
std::string Table::unfit(const wire::Add& add, const Request* before) {
  if (add.progress != (before != nullptr))
    return add.progress ? "progress of a request that is not open" : "a new request that is open already";
  const wire::Levels& levels = before ? before->levels : add.levels;
  if (levels.empty()) return "a request without levels";
  if (add.level >= levels.size() || (before && add.level < before->level)) return "a level that cannot be";
  const uint64_t bytes = before ? before->payload.size() : 0;
  if (!add.same_payload && held_ - bytes + add.payload.size() > held_limit_)
    return "more payload bytes than --held-limit allows here; it must not be below the manager's";
  if (!before && !learn_services(add.levels)) return "more services than a broker knows";
  return {};
}

const Table::Request* Table::open_request(const Client* client, uint64_t seq) const {
  if (client == nullptr || !client->entries.contains(seq)) return nullptr;
  const Entry& entry = client->entries[seq];
  return entry.is == Entry::Is::kPending ? &requests_[entry.request] : nullptr;
}

std::string Table::apply(Time now, Duration charge, wire::Add& add) {
  Client* client = find(add.request.client);
  std::string why = out_of_bounds(client, add.request.seq, add.low_water);
  if (why.empty()) why = unfit(add, open_request(client, add.request.seq));
  if (!why.empty()) return why;
  client = find_or_make(add.request.client);
  forget_below(*client, add.low_water);
  Entry* entry = entry_at(*client, add.request.seq);
  if (!add.progress) {
    records_.let_go(*client, *entry);
    *entry = Entry{};
    entry->is = Entry::Is::kPending;
    entry->request = requests_.take();
    Request& fresh = requests_[entry->request];
    fresh.id = add.request;
    fresh.levels = std::move(add.levels);
    fresh.service_class = add.service_class;
    fresh.service_time = wire::budget(add.service_time_us);
    fresh.level = 0;
    fresh.payload = {};
    fresh.digest = 0;
    fresh.deadline = later(now, wire::budget(add.deadline_us) - charge);
    fresh.wait_limit = wire::budget(add.wait_limit_us);
    fresh.order = add.order;
  }
  Request& request = requests_[entry->request];
  request.level = add.level;
  request.waited = wire::budget(add.waited_us);
  request.attempts = add.attempts;
  if (!add.same_payload) {
    held_ += add.payload.size();
    held_ -= request.payload.size();
    request.payload = std::move(add.payload);
  }
  set_digest(request);
  return {};
}

std::string Table::apply(wire::Remove& remove) {
  Client* client = find(remove.request.client);
  const uint64_t mark = std::max(client ? client->entries.begin() : 1, remove.low_water);
  const bool below = remove.request.seq < mark;  // it ended below its client's mark
  const std::string why = out_of_bounds(client, std::max(remove.request.seq, mark), remove.low_water);
  if (!why.empty() && !below) return why;
  client = find_or_make(remove.request.client);
  if (client == nullptr) return "more clients than a broker serves";
  forget_below(*client, remove.low_water);
  if (below) return {};
  Entry* entry = entry_at(*client, remove.request.seq);
  if (entry->is == Entry::Is::kPending) drop_request(*entry);
  records_.let_go(*client, *entry);
  entry->is = Entry::Is::kSettled;
  entry->status = remove.status;
  entry->reason = remove.reason;
  entry->body_dropped = remove.body_dropped;
  if (!remove.body_dropped) records_.retain(*client, *entry, std::move(remove.payload));
  return {};
}

std::string Table::apply(const wire::Mark& mark) {
  Client* client = find_or_make(mark.client);
  if (client == nullptr) return "more clients than a broker serves";
  client->generation = std::max(client->generation, mark.generation);
  if (!mark.name.empty()) client->name = mark.name;
  forget_below(*client, mark.low_water);
  return {};
}

std::string Table::apply(const wire::ClientGone& gone) {
  Client* client = find(gone.client);
  if (client == nullptr) return {};  // it had nothing here
  for (const uint64_t seq : gone.requests) {
    if (!client->entries.contains(seq)) continue;
    Entry& entry = client->entries[seq];
    if (entry.is == Entry::Is::kPending) drop_request(entry);
    records_.let_go(*client, entry);
    entry = Entry{};
  }
  if (!gone.all) return {};
  forget_below(*client, std::max(client->entries.end(), client->entries.begin() + 1));
  const auto found = ids_.find(gone.client);
  *client = Client{};
  clients_.give_back(found->second);
  ids_.erase(found);
  return {};
}

}  // namespace redoubt::broker
