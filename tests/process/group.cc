// Several brokers and those around them; see group.h.
#include "group.h"

#include <algorithm>
#include <csignal>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "../poll.h"
#include "socket.h"

namespace redoubt::test {

namespace {

std::string listed(const Texts& items) {
  std::string list;
  for (const std::string& item : items) list += (list.empty() ? "" : ",") + item;
  return list;
}

// The last that the process has said of its role.
std::string last_of_role(const Process* process, const std::string& field) {
  std::string last;
  if (process == nullptr) return last;
  for (Process::Fields& event : process->events())
    if (event["event"] == "role") last = event[field];
  return last;
}

}  // namespace

Group::Group(const Shape& shape) : members_(shape.brokers) {
  Texts addresses;
  for (Member& member : members_) {
    member.address = "127.0.0.1:" + std::to_string(free_port());
    addresses.push_back(member.address);
  }
  Texts of_tools = addresses, of_replicas = addresses;
  if (shape.chaos) {
    start_chaos();
    for (size_t broker = 0; broker < size(); ++broker) {
      of_tools[broker] = chaos_->address(clients_route(broker));
      of_replicas[broker] = chaos_->address(replicas_route(broker));
    }
  }
  set_brokers(listed(of_tools), listed(of_replicas));
  for (size_t broker = 0; broker < size(); ++broker) members_[broker].flags = flags_of(broker, shape.flags);
  for (size_t i = 0; i < shape.witnesses; ++i) members_[size() - 1 - i].flags.push_back("--witness");
}

// The routes in the order of their numbers.
void Group::start_chaos() {
  Texts targets;
  for (size_t from = 0; from < size(); ++from)
    for (size_t to = 0; to < size(); ++to)
      if (from != to) targets.push_back(address(to));
  for (int users = 0; users < 2; ++users)
    for (const Member& member : members_) targets.push_back(member.address);
  chaos_ = std::make_unique<Chaos>(targets, next_log("chaos"));
}

size_t Group::link_route(size_t from, size_t to) const {
  return from * (size() - 1) + to - (to > from ? 1 : 0);
}

Texts Group::flags_of(size_t broker, const Texts& shared) const {
  Texts addresses;
  for (const Member& member : members_) addresses.push_back(member.address);
  Texts flags{"--listen", address(broker),   "--admin",    "127.0.0.1:0",
              "--group",  listed(addresses), "--data-dir", path("data-" + std::to_string(broker))};
  for (size_t other = 0; chaos_ && other < size(); ++other) {
    if (other == broker) continue;
    // A member's place in the group is counted from 1 there.
    flags.push_back("--dial");
    flags.push_back(std::to_string(other + 1) + "=" + chaos_->address(link_route(broker, other)));
  }
  return joined(flags, shared);
}

void Group::give_flags(size_t broker, const Texts& more) {
  members_.at(broker).flags = joined(members_.at(broker).flags, more);
}

void Group::start_all() {
  for (size_t broker = 0; broker < size(); ++broker) start_broker(broker);
  if (!all_in_sync()) throw std::runtime_error("the brokers do not get in sync");
}

Process& Group::start_broker(size_t broker) {
  Member& member = members_.at(broker);
  member.process = start_broker_with(member.flags, "broker-" + std::to_string(broker));
  member.admin = member.process->event("ready").at("admin");
  member.paused = false;
  return *member.process;
}

void Group::kill(size_t broker) { members_.at(broker).process->kill(); }

std::optional<int> Group::stop(size_t broker) {
  members_.at(broker).process->signal(SIGTERM);
  return members_.at(broker).process->wait(std::chrono::seconds(20));
}

void Group::restart(size_t broker) {
  if (!stop(broker)) throw std::runtime_error("broker " + std::to_string(broker) + " does not stop");
  start_broker(broker);
}

void Group::pause(size_t broker) {
  members_.at(broker).process->signal(SIGSTOP);
  members_.at(broker).paused = true;
}

void Group::resume(size_t broker) {
  members_.at(broker).process->signal(SIGCONT);
  members_.at(broker).paused = false;
}

bool Group::living(size_t broker) {
  const Member& member = members_.at(broker);
  return member.process && member.process->running() && !member.paused;
}

std::string Group::role(size_t broker) const {
  return last_of_role(members_.at(broker).process.get(), "role");
}

int Group::epoch(size_t broker) const {
  const std::string epoch = last_of_role(members_.at(broker).process.get(), "epoch");
  return epoch.empty() ? 0 : std::stoi(epoch);
}

bool Group::is_manager(size_t broker) { return living(broker) && role(broker) == "manager"; }

size_t Group::manager(Nanoseconds limit) {
  std::optional<size_t> found;
  const auto look = [&] {
    for (size_t broker = 0; broker < size(); ++broker)
      if (is_manager(broker) && (!found || epoch(broker) > epoch(*found))) found = broker;
    return found.has_value();
  };
  if (!eventually(look, limit)) throw std::runtime_error("no broker becomes the manager");
  return *found;
}

std::vector<size_t> Group::standbys() {
  const size_t rules = manager();
  std::vector<size_t> others;
  for (size_t broker = 0; broker < size(); ++broker)
    if (broker != rules && living(broker)) others.push_back(broker);
  return others;
}

std::vector<BrokerView> Group::brokers_seen_by(size_t broker) const {
  std::string text;
  try {
    text = admin(broker).fetch("/status");
  } catch (const std::runtime_error&) {
    return {};  // nobody listens: it has just ended
  }
  const auto json = nlohmann::json::parse(text, nullptr, false);
  std::vector<BrokerView> views;
  if (!json.is_object() || !json.contains("brokers")) return views;
  for (const auto& one : json["brokers"])
    views.push_back({.name = one.value("name", ""),
                     .address = one.value("address", ""),
                     .role = one.value("role", ""),
                     .state_hash = one.value("state_hash", ""),
                     .in_sync = one.value("in_sync", false),
                     .checkpoint_seq = one.value("checkpoint_seq", 0.0)});
  return views;
}

// Those that live, as the manager sees them; nobody, if it does not know of all of them.
std::vector<BrokerView> Group::living_by_the_manager() {
  std::vector<BrokerView> living_ones;
  const std::vector<BrokerView> seen = brokers_seen_by(manager());
  for (size_t broker = 0; broker < size(); ++broker) {
    if (!living(broker)) continue;
    const auto view = std::ranges::find_if(seen, [&](const BrokerView& one) {
      return one.address == address(broker) || one.name == address(broker);
    });
    if (view == seen.end()) return {};
    if (view->role == "witness") continue;
    living_ones.push_back(*view);
  }
  return living_ones;
}

bool Group::all_in_sync(Nanoseconds limit) {
  return eventually(
      [&] {
        const auto views = living_by_the_manager();
        return !views.empty() && std::ranges::all_of(views, &BrokerView::in_sync);
      },
      limit);
}

bool Group::states_equal(Nanoseconds limit) {
  return eventually(
      [&] {
        const auto views = living_by_the_manager();
        return !views.empty() && std::ranges::all_of(views, [&](const BrokerView& view) {
          return view.in_sync && view.checkpoint_seq == views[0].checkpoint_seq &&
                 view.state_hash == views[0].state_hash;
        });
      },
      limit);
}

double Group::passed(size_t from, size_t to) {
  const auto of = [this](size_t route, const char* direction) {
    return std::stod(
        chaos_->command("stats " + std::to_string(route)).at(std::string(direction) + "_passed"));
  };
  return of(link_route(from, to), "forward") + of(link_route(to, from), "backward");
}

void Group::one_way(size_t from, size_t to, const std::string& what) {
  chaos_->treat(link_route(from, to), "forward", what);
  chaos_->treat(link_route(to, from), "backward", what);
}

void Group::between(size_t one, size_t other, const std::string& what) {
  one_way(one, other, what);
  one_way(other, one, what);
}

void Group::isolate(size_t broker, const std::string& what) {
  for (size_t other = 0; other < size(); ++other)
    if (other != broker) between(broker, other, what);
}

}  // namespace redoubt::test
