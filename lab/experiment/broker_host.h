// BrokerHost: the broker's core, which rules alone, and its links to the one client and to the replicas.
#pragma once

#include "broker/broker.h"
#include "lab/experiment/world.h"

namespace redoubt::experiment {

class BrokerHost {
 public:
  explicit BrokerHost(World& world);

  // The client's link stands.
  void begin();
  // Something has arrived from the client or a replica.
  void receive(Letter& letter);
  // The core's deadline has come.
  void tick() { step(broker::Tick{}); }

 private:
  void take(const Submitted& submitted);
  void take(broker::LinkId link, const Letter& letter, const Joining& joining);
  void step(const broker::Event& event);
  void carry_out(broker::Effect& effect);
  void send_copy(broker::SendCopy& send);
  void send(broker::LinkId to, Letter::Content content);

  World& world_;
  broker::Broker core_;
  broker::Effects effects_;
  wire::Submit submit_;  // memory that every request uses again
};

}  // namespace redoubt::experiment
