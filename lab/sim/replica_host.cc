// A replica process; see replica_host.h.
#include "lab/sim/replica_host.h"

#include <algorithm>

namespace redoubt::sim {

using namespace replica;

ReplicaHost::ReplicaHost(World& world, Network& network, Judge& judge, std::string name, Settings settings,
                         Work work, std::vector<HostId> brokers)
    : Process(world, network, std::move(name)),
      judge_(judge),
      settings_(std::move(settings)),
      work_(work),
      hosts_(std::move(brokers)) {}

void ReplicaHost::begin() {
  Settings settings = settings_;
  settings.name = name();
  settings.brokers = static_cast<uint32_t>(hosts_.size());
  settings.incarnation = world_.random() | 1;
  settings.seed = world_.random();
  core_ = std::make_unique<Replica>(settings);
  brokers_.assign(hosts_.size(), {});
  highest_ = {};
  leaving_ = false;
  for (uint32_t i = 0; i < hosts_.size(); ++i) dial(i);
}

void ReplicaHost::end() {
  core_.reset();
  links_.clear();
  running_.clear();
}

void ReplicaHost::ask_stop() {
  leaving_ = true;
  happened(StopAsked{});
}

void ReplicaHost::dial(uint32_t broker) {
  if (leaving_) return;
  const Duration pause = brokers_[broker].failures++ == 0
                             ? Duration::zero()
                             : world_.between(std::chrono::milliseconds(5), std::chrono::milliseconds(200));
  later_here(pause, [this, broker] { network_.dial(self(), hosts_[broker]); });
}

void ReplicaHost::connected(ConnId conn, HostId peer) {
  const auto broker = static_cast<uint32_t>(std::find(hosts_.begin(), hosts_.end(), peer) - hosts_.begin());
  if (leaving_) return network_.close(conn, self());
  const LinkId link{broker, ++brokers_[broker].generation};
  brokers_[broker].conn = conn;
  links_[conn] = link;
  happened(LinkUp{link});
}

void ReplicaHost::unreachable(HostId peer, bool) {
  dial(static_cast<uint32_t>(std::find(hosts_.begin(), hosts_.end(), peer) - hosts_.begin()));
}

void ReplicaHost::received(ConnId conn, wire::Message& message) {
  const auto found = links_.find(conn);
  if (found == links_.end()) return;
  const LinkId link = found->second;
  if (judge_.tells() && !std::holds_alternative<wire::Dummy>(message))
    judge_.tell(name() + ": gets " + wire::name_of(message) + " from broker " +
                std::to_string(link.broker + 1));
  if (auto* copy = std::get_if<wire::Copy>(&message)) return take_copy(link, *copy);
  if (auto* one = std::get_if<wire::Halt>(&message)) return happened(HaltArrived{link, *one});
  if (auto* one = std::get_if<wire::Dummy>(&message)) return happened(DummyArrived{link, *one});
  const auto told = [this](const auto& of_rule) {
    if (of_rule.rules) highest_ = std::max(highest_, of_rule.epoch);
  };
  if (auto* one = std::get_if<wire::Welcome>(&message)) {
    told(*one);
    return happened(WelcomeArrived{link, *one});
  }
  if (auto* one = std::get_if<wire::Announce>(&message)) {
    told(*one);
    return happened(AnnounceArrived{link, *one});
  }
  if (auto* one = std::get_if<wire::Adopt>(&message)) return happened(AdoptArrived{link, *one});
}

void ReplicaHost::take_copy(LinkId link, wire::Copy& copy) {
  const auto held = [this] { return core_ ? core_->queued() + core_->running() : 0; };
  const wire::Epoch epoch = copy.epoch;
  const wire::RequestId request = copy.request;
  const uint32_t before = held();
  happened(CopyArrived{link, std::move(copy), false});
  if (held() > before) judge_.taken(name(), request, epoch, highest_);
  highest_ = std::max(highest_, epoch);
}

void ReplicaHost::lost(ConnId conn) {
  const auto found = links_.find(conn);
  if (found == links_.end()) return;
  const LinkId link = found->second;
  links_.erase(found);
  brokers_[link.broker].conn = 0;
  happened(LinkLost{link});
  if (core_) dial(link.broker);
}

void ReplicaHost::happened(Event event) {
  if (!core_) return;
  Effects effects;
  core_->step(clock(), std::move(event), effects);
  for (Effect& effect : effects) perform(effect);
  arm();
}

void ReplicaHost::perform(Effect& effect) {
  if (auto* send = std::get_if<Send>(&effect)) {
    const ConnId conn = brokers_[send->link.broker].conn;
    if (!conn || !links_.count(conn) || links_[conn] != send->link) return;
    if (const auto* dummy = std::get_if<wire::Dummy>(&send->message))
      network_.send_first(conn, self(), *dummy);
    else
      std::visit([&](auto& message) { network_.send(conn, self(), std::move(message)); }, send->message);
  } else if (auto* close = std::get_if<CloseLink>(&effect)) {
    const ConnId conn = brokers_[close->link.broker].conn;
    if (!conn || links_[conn] != close->link) return;
    if (judge_.tells()) judge_.tell(name() + ": closes a link: " + close->text);
    network_.close(conn, self());
    links_.erase(conn);
    brokers_[close->link.broker].conn = 0;
    dial(close->link.broker);
  } else if (auto* registered = std::get_if<Registered>(&effect)) {
    brokers_[registered->link.broker].failures = 0;
  } else if (auto* start = std::get_if<StartCopy>(&effect)) {
    run_copy(*start);
  } else if (auto* stop = std::get_if<StopCopy>(&effect)) {
    const auto found = running_.find(stop->copy.number());
    if (found == running_.end()) return;
    // Handlers that heed it end soon; some do not.
    if (world_.random.chance(0.3)) return;
    found->second.stopped = true;
    later_here(std::chrono::microseconds(100), [this, copy = stop->copy, run = found->second.run] {
      const auto still = running_.find(copy.number());
      if (still == running_.end() || still->second.run != run) return;
      end_copy(copy, CopyEnded{copy, Outcome::kFailed, {}, "stopped", clock(), clock()});
    });
  } else if (std::get_if<Finished>(&effect)) {
    later_here(Duration::zero(), [this] { leave(); });
  }
}

void ReplicaHost::run_copy(StartCopy& start) {
  judge_.started(start.request, start.level, name());
  const uint64_t run = ++runs_;
  running_[start.copy.number()] = {run};
  const Time began = clock();
  const Duration takes =
      from_us(1 + static_cast<int64_t>(world_.random.exponential(to_seconds(work_.mean)) * 1e6));
  const bool fails = world_.random.chance(work_.fails);
  const std::string result = start.payload.str() + "." + settings_.services[start.service];
  later_here(takes, [this, copy = start.copy, run, began, fails, result] {
    const auto still = running_.find(copy.number());
    if (still == running_.end() || still->second.run != run) return;
    end_copy(copy, CopyEnded{copy, fails ? Outcome::kFailed : Outcome::kOk,
                             fails ? Payload() : Payload(result), fails ? "it failed" : "", began, clock()});
  });
}

void ReplicaHost::end_copy(CopyHandle copy, CopyEnded ended) {
  running_.erase(copy.number());
  happened(std::move(ended));
}

}  // namespace redoubt::sim
