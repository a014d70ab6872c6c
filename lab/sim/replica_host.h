// ReplicaHost: a replica process in the simulated world. Its handlers take a random time, fail now and then,
// and otherwise append the service's name to the payload, so that every result can be told right from wrong.
#pragma once

#include <map>
#include <memory>

#include "lab/sim/judge.h"
#include "lab/sim/process.h"
#include "replica/replica.h"

namespace redoubt::sim {

struct Work {
  Duration mean = std::chrono::milliseconds(5);
  double fails = 0;
};

class ReplicaHost final : public Process {
 public:
  ReplicaHost(World& world, Network& network, Judge& judge, std::string name, replica::Settings settings,
              Work work, std::vector<HostId> brokers);

  void ask_stop();

  void accepted(ConnId) override {}
  void connected(ConnId conn, HostId peer) override;
  void unreachable(HostId peer, bool refused) override;
  void received(ConnId conn, wire::Message& message) override;
  void lost(ConnId conn) override;

 private:
  void begin() override;
  void end() override;
  void wake() override { happened(replica::TimePassed{}); }
  Time next_deadline() const override { return core_ ? core_->next_deadline() : kNever; }

  struct Broker {
    ConnId conn = 0;
    uint32_t generation = 0;
    uint32_t failures = 0;
  };

  void dial(uint32_t broker);
  void happened(replica::Event event);
  void take_copy(replica::LinkId link, wire::Copy& copy);
  void perform(replica::Effect& effect);
  void run_copy(replica::StartCopy& start);
  void end_copy(replica::CopyHandle copy, replica::CopyEnded ended);

  Judge& judge_;
  const replica::Settings settings_;
  const Work work_;
  const std::vector<HostId> hosts_;
  std::unique_ptr<replica::Replica> core_;
  std::vector<Broker> brokers_;
  std::map<ConnId, replica::LinkId> links_;
  wire::Epoch highest_;  // of all that it has been told
  struct Running {
    uint64_t run = 0;
    bool stopped = false;
  };
  std::map<uint64_t, Running> running_;  // by the copy's handle
  uint64_t runs_ = 0;
  bool leaving_ = false;
};

}  // namespace redoubt::sim
