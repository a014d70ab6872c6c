// ClientHost: a client program in the simulated world: the client library's cores, and somebody who calls.
#pragma once

#include <map>
#include <memory>

#include "client/brokers.h"
#include "client/session.h"
#include "lab/sim/judge.h"
#include "lab/sim/process.h"

namespace redoubt::sim {

class ClientHost final : public Process {
 public:
  ClientHost(World& world, Network& network, Judge& judge, std::string name, std::vector<HostId> brokers);

  // A call; `must_succeed`: its deadline leaves room for everything that may happen.
  void call(redoubt::Request request, bool must_succeed);
  uint64_t open() const { return session_ ? session_->pending() : 0; }

  void accepted(ConnId) override {}
  void connected(ConnId conn, HostId peer) override;
  void unreachable(HostId peer, bool refused) override;
  void received(ConnId conn, wire::Message& message) override;
  void lost(ConnId conn) override;

 private:
  void begin() override;
  void end() override;
  void wake() override;
  Time next_deadline() const override;

  void dial(size_t broker);
  void carry_out();
  void turn_end();

  Judge& judge_;
  const std::vector<HostId> hosts_;
  uint64_t incarnation_ = 0;
  std::unique_ptr<client::Session> session_;
  std::unique_ptr<client::Brokers> brokers_;
  struct Link {
    ConnId conn = 0;
    uint64_t number = 0;
    uint32_t failures = 0;
  };
  std::vector<Link> links_;
  uint64_t generation_ = 0;
};

}  // namespace redoubt::sim
