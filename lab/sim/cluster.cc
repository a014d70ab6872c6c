// Playing a story; see cluster.h.
#include "lab/sim/cluster.h"

#include <algorithm>
#include <array>

#include "broker/limits.h"
#include "client/limits.h"

namespace redoubt::sim {
namespace {

using namespace std::chrono_literals;

constexpr Duration kTrouble = 4s;      // faults and new requests happen within
constexpr Duration kAfterwards = 60s;  // by then everything is answered
constexpr std::array kServices{"a", "b", "c"};

// Here alone are both ends of a link in sight.
static_assert(client::kMaxUnsettled <= broker::kClientWindow, "what a client has open, a broker takes");
static_assert(client::kSendAhead + broker::kMostMaxPayload + wire::kMaxEnvelope < wire::kWriteLimit,
              "the largest payload over what is sent ahead must not close the link");

class Cluster {
 public:
  Cluster(const Story& setup, Telling telling)
      : setup_(setup),
        world_(setup.seed),
        network_(world_),
        judge_(
            world_, setup.quorum, [this] { return facts(); },
            [this](broker::BrokerNumber a, broker::BrokerNumber b) {
              return world_.now() - network_.calm_since(hosts_[a - 1], hosts_[b - 1]);
            }) {
    if (telling == Telling::kEverything) judge_.tell_everything();
    if (telling == Telling::kTheEnd) judge_.keep_story();
    make_brokers();
    make_replicas();
    for (uint32_t i = 0; i < setup.clients; ++i)
      clients_.push_back(
          std::make_unique<ClientHost>(world_, network_, judge_, "client" + std::to_string(i + 1), hosts_));
  }

  Verdict play(const std::vector<Fault>& faults) {
    const Time start = world_.now();
    for (const auto& broker : brokers_) start_soon(*broker);
    for (const auto& replica : replicas_) start_soon(*replica);
    // Who asks for a service before anybody has offered it is told so: clients come when the cluster stands.
    for (const auto& client : clients_) world_.after(500ms, [&process = *client] { process.start(); });
    plan_requests();
    for (const Fault& fault : faults) world_.after(fault.at, [this, fault] { happen(fault); });
    world_.run_until(start + kTrouble);
    heal();
    const Time end = world_.now() + kAfterwards;
    while (!world_.stopped() && world_.now() < end && !(all_made() && open() == 0))
      world_.run_until(world_.now() + 100ms);
    if (!world_.stopped()) judge_.all_answered();
    // Clients say what they have settled, standbys come into sync.
    if (!world_.stopped()) world_.run_until(world_.now() + 3s);
    // A client that is forgotten just now is still on its way out on the standbys; and of one that never came
    // back a stale manager keeps what it inherited as long as the client may return.
    std::string unrest;
    for (int i = 0; i < 40 && !world_.stopped(); ++i) {
      unrest = at_rest();
      if (unrest.empty()) break;
      world_.run_until(world_.now() + 150ms);
    }
    if (!unrest.empty()) judge_.fail(unrest);
    for (const auto& client : clients_)
      if (!judge_.failed() && client->alive()) client->crash();
    if (!judge_.failed()) world_.run_until(world_.now() + 8s);
    if (!judge_.failed()) all_empty();
    Verdict verdict{!judge_.failed(), judge_.failure(), judge_.totals(), world_.steps(), {}};
    verdict.story.assign(judge_.story().begin(), judge_.story().end());
    return verdict;
  }

 private:
  std::vector<BrokerFacts> facts() const {
    std::vector<BrokerFacts> all;
    for (const auto& broker : brokers_) all.push_back(broker->facts());
    for (BrokerFacts& one : all) one.runs = one.runs && one.node;
    return all;
  }

  void make_brokers() {
    for (uint32_t i = 0; i < setup_.brokers; ++i) {
      broker::Settings settings;
      settings.name = "broker" + std::to_string(i + 1);
      settings.checkpoint_ack = setup_.ack;
      settings.attempts = 1000;
      broker::GroupSettings group;
      group.self = i + 1;
      group.size = setup_.brokers;
      group.quorum = setup_.quorum;
      group.name = settings.name;
      if (setup_.witness && i + 1 == setup_.brokers) group.kind = wire::Kind::kWitness;
      brokers_.push_back(
          std::make_unique<BrokerHost>(world_, network_, judge_, settings.name, settings, group));
      if (setup_.slow_disks)
        brokers_.back()->set_disk({350ms, 800ms});
      else
        brokers_.back()->set_disk({100us, 5ms});
      hosts_.push_back(brokers_.back()->self());
    }
    for (const auto& broker : brokers_) broker->know_group(hosts_);
  }

  void make_replicas() {
    for (uint32_t i = 0; i < setup_.replicas; ++i) {
      replica::Settings settings;
      // Every service has at least one replica.
      settings.services.push_back(kServices[i % kServices.size()]);
      if (world_.random.chance(0.5)) settings.services.push_back(kServices[(i + 1) % kServices.size()]);
      settings.workers = 1 + static_cast<uint32_t>(world_.random.below(3));
      settings.spare = i >= kServices.size() && world_.random.chance(0.15);
      if (setup_.discard) settings.on_failover = replica::OnFailover::kDiscard;
      Work work{world_.between(1ms, 20ms), world_.random.chance(0.2) ? 0.1 : 0.0};
      replicas_.push_back(std::make_unique<ReplicaHost>(
          world_, network_, judge_, "replica" + std::to_string(i + 1), settings, work, hosts_));
    }
  }

  void start_soon(Process& process) {
    world_.after(world_.between(1us, 50ms), [&process] { process.start(); });
  }

  // ---- Requests

  void plan_requests() {
    for (const auto& client : clients_) {
      for (uint32_t i = 0; i < setup_.requests; ++i) {
        const Duration at =
            from_us(static_cast<int64_t>(world_.random.unit() * static_cast<double>(to_us(kTrouble))));
        world_.after(at, [this, &client = *client] {
          ++made_;
          if (client.alive() && !network_.paused(client.self())) ask(client);
        });
      }
    }
  }
  bool all_made() const { return made_ == setup_.clients * setup_.requests; }

  void ask(ClientHost& client) {
    redoubt::Request request;
    const uint64_t levels = 1 + world_.random.below(3);
    for (uint64_t i = 0; i < levels; ++i)
      request.levels.push_back({kServices[world_.random.below(kServices.size())],
                                1 + static_cast<uint32_t>(world_.random.below(3))});
    request.payload = "p" + std::to_string(world_.random.below(1000));
    request.disposal = static_cast<redoubt::Disposal>(1 + world_.random.below(5));
    request.redundancy = static_cast<redoubt::Redundancy>(1 + world_.random.below(7));
    if (request.redundancy == redoubt::Redundancy::kSingle)
      for (redoubt::Level& level : request.levels) level.copies = 1;
    request.service_class = 0.1 + 0.8 * world_.random.unit();
    const bool short_one = world_.random.chance(0.1);
    request.deadline = short_one ? world_.between(5ms, 500ms) : Duration(kAfterwards);
    client.call(request, !short_one);
  }

  uint64_t open() const {
    uint64_t all = 0;
    for (const auto& client : clients_) all += client->alive() ? client->open() : 0;
    return all;
  }

  // ---- Faults

  uint32_t manager() const {
    for (uint32_t i = 0; i < brokers_.size(); ++i)
      if (brokers_[i]->node() && brokers_[i]->node()->rules()) return i;
    return 0;
  }

  void crash_for(Process& process, Duration lasts) {
    if (!process.alive()) return;
    process.crash();
    world_.after(lasts, [&process] {
      if (!process.alive()) process.start();
    });
  }
  void pause_for(Process& process, Duration lasts) {
    if (!process.alive() || network_.paused(process.self())) return;
    const uint32_t epoch = network_.epoch(process.self());
    network_.pause(process.self(), true);
    world_.after(lasts, [this, &process, epoch] {
      if (network_.epoch(process.self()) == epoch) network_.pause(process.self(), false);
    });
  }
  template <class Host>
  void stop_for(Host& host, Duration lasts) {
    if (!host.alive() || network_.paused(host.self())) return;
    host.ask_stop();
    // Who does not end by itself is killed, as a supervisor would.
    leaving_.push_back(&host);
    world_.after(lasts + 200ms, [this, &host] {
      if (std::erase(leaving_, &host) == 0) return;
      if (host.alive()) host.crash();
      host.start();
    });
  }

  // Any two hosts; brokers most of all.
  HostId host_of(uint32_t number) const {
    const uint32_t all = static_cast<uint32_t>(brokers_.size() + replicas_.size() + clients_.size());
    if (number % 2 == 0) return hosts_[number / 2 % hosts_.size()];
    return number / 2 % all;
  }

  void happen(const Fault& fault) {
    if (judge_.tells()) judge_.tell("FAULT " + fault.text());
    BrokerHost& broker = *brokers_[fault.a % brokers_.size()];
    BrokerHost& ruler = *brokers_[manager()];
    ReplicaHost& replica = *replicas_[fault.a % replicas_.size()];
    ClientHost& client = *clients_[fault.a % clients_.size()];
    const HostId a = host_of(fault.a), b = host_of(fault.b);
    using Kind = Fault::Kind;
    switch (fault.kind) {
      case Kind::kCrashBroker:
        crash_for(broker, fault.lasts);
        if (fault.loses_disk) broker.lose_disk();
        break;
      case Kind::kCrashManager:
        return crash_for(ruler, fault.lasts);
      case Kind::kStopBroker:
        return stop_for(broker, fault.lasts);
      case Kind::kStopManager:
        return stop_for(ruler, fault.lasts);
      case Kind::kPauseBroker:
        return pause_for(broker, fault.lasts);
      case Kind::kPauseManager:
        return pause_for(ruler, fault.lasts);
      case Kind::kCrashReplica:
        return crash_for(replica, fault.lasts);
      case Kind::kStopReplica:
        return stop_for(replica, fault.lasts);
      case Kind::kPauseReplica:
        return pause_for(replica, fault.lasts);
      case Kind::kCrashClient:
        return crash_for(client, fault.lasts);
      case Kind::kPauseClient:
        return pause_for(client, fault.lasts);
      case Kind::kDisconnect:
        return network_.disconnect(a, b);
      case Kind::kSlow:
        network_.slow(a, b, 20ms);
        world_.after(fault.lasts, [this, a, b] { network_.slow(a, b, Duration::zero()); });
        break;
      case Kind::kCut:
      case Kind::kCutOneWay: {
        const bool both = fault.kind == Kind::kCut;
        network_.cut(a, b, true);
        if (both) network_.cut(b, a, true);
        world_.after(fault.lasts, [this, a, b, both] {
          network_.cut(a, b, false);
          if (both) network_.cut(b, a, false);
        });
      }
    }
  }

  void heal() {
    if (judge_.tells()) judge_.tell("HEALED");
    for (Process* leaving : std::exchange(leaving_, {}))
      if (leaving->alive()) leaving->crash();
    network_.heal();
    const auto wake = [this](Process& process) {
      if (network_.paused(process.self())) network_.pause(process.self(), false);
      if (!process.alive()) process.start();
    };
    for (const auto& one : brokers_) wake(*one);
    for (const auto& one : replicas_) wake(*one);
    for (const auto& one : clients_) wake(*one);
  }

  // ---- The end

  // Everybody is in sync and holds the same.
  std::string at_rest() {
    uint32_t rulers = 0;
    const broker::Node* ruler = nullptr;
    for (const auto& one : brokers_)
      if (one->node() && one->node()->acts()) {
        ++rulers;
        ruler = one->node();
      }
    if (rulers != 1) return (std::to_string(rulers) + " managers act when all is healed");
    const broker::State& state = *ruler->state();
    if (state.requests.size() != 0)
      return (std::to_string(state.requests.size()) + " requests are left on the manager");
    for (const auto& one : brokers_) {
      const broker::Node* node = one->node();
      if (!node || node == ruler || node->role() == broker::BrokerRole::kWitness) continue;
      if (!node->standby().follows()) return (one->name() + " does not follow the manager");
      if (node->standby().position() != wire::Position{state.epoch, state.checkpoint_seq})
        return (one->name() + " is not as far as the manager");
      if (node->standby().hash() != state.state_hash) return (one->name() + " has another hash");
      const broker::Table& table = *node->standby().table();
      // A client that has asked for nothing yet is the manager's alone, and so are refusals.
      if (table.clients() > state.clients.size() ||
          records_of(table.all_clients()) != records_of(state.clients))
        return (one->name() + " holds " + std::to_string(table.clients()) + " clients and " +
                std::to_string(records_of(table.all_clients())) + " records, the manager " +
                std::to_string(state.clients.size()) + " and " + std::to_string(records_of(state.clients)));
      if (!broker::has(ruler->election().memory().set.members, one->facts().number))
        return (one->name() + " is not in the in-sync set");
    }
    return state.held_bytes != 0 ? "payload bytes are held for nobody" : "";
  }

  template <class Clients>
  static uint64_t records_of(const Clients& clients) {
    uint64_t records = 0;
    clients.each([&](auto, const auto& client) {
      for (uint64_t seq = client.entries.begin(); seq < client.entries.end(); ++seq) {
        const auto& entry = client.entries[seq];
        using Is = std::remove_cvref_t<decltype(entry.is)>;
        if (entry.is == Is::kSettled && entry.status != wire::Status::kRefused) ++records;
      }
    });
    return records;
  }

  // When the clients have gone nothing is left of them.
  void all_empty() {
    for (const auto& one : brokers_) {
      const broker::Node* node = one->node();
      if (!node) continue;
      if (const broker::State* state = node->state()) {
        if (state->clients.size() || state->requests.size() || state->state_hash || state->window_entries ||
            state->copies.size() || state->slots.size() || state->strolls.size())
          judge_.fail("the manager is not empty: " + std::to_string(state->clients.size()) + " clients, " +
                      std::to_string(state->requests.size()) + " requests, " +
                      std::to_string(state->copies.size()) + " copies");
      } else if (const broker::Table* table = node->standby().table()) {
        if (table->clients() || table->open() || table->hash() || table->held_bytes() || table->records())
          judge_.fail(one->name() + " is not empty: " + std::to_string(table->clients()) + " clients, " +
                      std::to_string(table->open()) + " requests");
      }
    }
  }

  const Story setup_;
  World world_;
  Network network_;
  Judge judge_;
  std::vector<std::unique_ptr<BrokerHost>> brokers_;
  std::vector<std::unique_ptr<ReplicaHost>> replicas_;
  std::vector<std::unique_ptr<ClientHost>> clients_;
  std::vector<HostId> hosts_;  // of the brokers
  std::vector<Process*> leaving_;
  uint64_t made_ = 0;
};

}  // namespace

std::string Fault::text() const {
  static constexpr const char* kNames[] = {"crash broker",  "stop broker",   "pause broker", "cut",
                                           "cut one way",   "slow",          "disconnect",   "crash replica",
                                           "stop replica",  "pause replica", "crash client", "pause client",
                                           "crash manager", "pause manager", "stop manager"};
  return std::string(kNames[static_cast<size_t>(kind)]) + " at " + std::to_string(to_us(at) / 1000) +
         " ms for " + std::to_string(to_us(lasts) / 1000) + " ms, " + std::to_string(a) + ", " +
         std::to_string(b) + (loses_disk ? ", without its disk" : "");
}

std::vector<Fault> plan_faults(const Story& setup) {
  World world(setup.seed * 7919 + 13);
  std::vector<Fault> faults;
  const uint64_t many = world.random.below(12);
  bool disk_lost = false;
  for (uint64_t i = 0; i < many; ++i) {
    Fault fault;
    fault.kind = static_cast<Fault::Kind>(world.random.below(15));
    fault.at = from_us(static_cast<int64_t>(world.random.unit() * static_cast<double>(to_us(kTrouble))));
    fault.lasts = world.between(1ms, 3s);
    fault.a = static_cast<uint32_t>(world.random.below(1000));
    fault.b = static_cast<uint32_t>(world.random.below(1000));
    // One disk at most: who loses a majority's votes needs an operator.
    fault.loses_disk = setup.blank_restarts && !disk_lost && world.random.chance(0.3);
    disk_lost = disk_lost || (fault.loses_disk && fault.kind == Fault::Kind::kCrashBroker);
    faults.push_back(fault);
  }
  return faults;
}

Verdict play(const Story& setup, const std::vector<Fault>& faults, Telling telling) {
  return Cluster(setup, telling).play(faults);
}

}  // namespace redoubt::sim
