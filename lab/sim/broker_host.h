// BrokerHost: a broker process in the simulated world: what broker/shell does with sockets, done with the
// simulated network. Its disk outlives it.
#pragma once

#include <map>
#include <memory>
#include <optional>

#include "broker/node.h"
#include "lab/sim/judge.h"
#include "lab/sim/process.h"

namespace redoubt::sim {

class BrokerHost final : public Process {
 public:
  BrokerHost(World& world, Network& network, Judge& judge, std::string name, broker::Settings settings,
             broker::GroupSettings group);

  // The hosts of the group, by number; called once.
  void know_group(std::vector<HostId> group) { group_ = std::move(group); }
  void lose_disk() { disk_ = {}; }
  // From, to: what a write takes.
  void set_disk(std::pair<Duration, Duration> takes) { disk_takes_ = takes; }
  // As SIGTERM.
  void ask_stop();

  const broker::Node* node() const { return node_.get(); }
  BrokerFacts facts() const;

  void accepted(ConnId conn) override;
  void connected(ConnId conn, HostId peer) override;
  void unreachable(HostId peer, bool refused) override;
  void received(ConnId conn, wire::Message& message) override;
  void lost(ConnId conn) override;

 private:
  enum class Stage : uint8_t {
    kStranger,
    kClient,
    kUnregistered,
    kReplica,
    kUnlisted,
    kDialled,
    kWelcomed,
    kBroker
  };
  struct Peer {
    ConnId conn = 0;
    Stage stage = Stage::kStranger;
    wire::Hello hello;
    broker::BrokerNumber dialled = broker::kNoBroker;
  };
  using LinkId = broker::LinkId;

  void begin() override;
  void end() override;
  void wake() override;
  Time next_deadline() const override { return node_ ? node_->next_deadline() : kNever; }

  LinkId link_of(ConnId conn);
  Peer* find(LinkId link);
  void handshake(LinkId link, Peer& peer, wire::Message& message);
  void from_guest(LinkId link, Stage stage, wire::Message& message);
  void from_broker(LinkId link, wire::Message& message);
  void step(const broker::Event& event);
  void carry_out(broker::Effect& effect);
  void carry_out_group(broker::Effect& effect);
  void send(LinkId link, wire::Message message);
  void send_first(LinkId link, wire::Message message);
  void close(LinkId link);
  void dial(broker::BrokerNumber number, Duration pause);
  void write(const broker::Persist& persist);
  wire::Welcome welcome() const;
  wire::Enlist enlistment() const;
  void tell(const std::string& what);

  Judge& judge_;
  const broker::Settings settings_;
  broker::GroupSettings group_settings_;
  std::vector<HostId> group_;

  Time began_;
  broker::Memory disk_;
  wire::SyncSet written_;  // see BrokerFacts
  std::pair<Duration, Duration> disk_takes_;
  uint64_t on_disk_ = 0;  // number of this process's newest write that is there
  std::unique_ptr<broker::Node> node_;
  std::map<ConnId, LinkId> links_;
  std::map<uint64_t, Peer> peers_;  // by the number of the link
  std::vector<uint32_t> free_slots_;
  uint32_t slots_ = 0, uses_ = 0;
  std::map<broker::BrokerNumber, bool> wants_;
  std::map<broker::BrokerNumber, bool> dialling_;
  broker::Effects effects_;
  bool carrying_out_ = false;
  bool held_ = false;
};

}  // namespace redoubt::sim
