// BrokerWorld: a broker core with make-believe peers, driven by short text commands and answering with
// everything the broker did, one line each. What transcripts and core tests are written in. Time moves only
// when told to.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "broker/broker.h"
#include "broker/group/standby.h"

namespace redoubt::testing {

class BrokerWorld {
 public:
  BrokerWorld();

  // Runs one command (see command list in the .cc file) and returns what the broker did, a line for each
  // effect.
  std::string run(const std::string& command);

  broker::Broker& broker() { return *broker_; }
  const broker::State& state() const { return broker_->state(); }

 private:
  struct Arguments;
  using Command = void (BrokerWorld::*)(Arguments&);

  void set_up(Arguments& arguments);
  void replica(Arguments& arguments);
  void client(Arguments& arguments);
  void submit(Arguments& arguments);
  void batch(Arguments& arguments);
  void all_open(Arguments& arguments);
  void done(Arguments& arguments);
  void started(Arguments& arguments);
  void cancel(Arguments& arguments);
  void acknowledge(Arguments& arguments);
  void alive(Arguments& arguments);
  void leaving(Arguments& arguments);
  void lose(Arguments& arguments);
  void advance(Arguments& arguments);
  void status(Arguments& arguments);

  wire::Request request_of(Arguments& arguments, uint64_t seq);
  broker::LinkId link_of(const std::string& name);
  uint64_t copy_of(const std::string& name);
  // standby_world.cc: those who follow the checkpoint stream.
  void standby(Arguments& arguments);
  void pulse(Arguments& arguments);
  void committed(Arguments& arguments);
  void rule(Arguments& arguments);
  void holds(Arguments& arguments);
  void show_adoption(const broker::SendAdopt& effect);
  void stream_lost(broker::LinkId link);
  void show_standbys();
  // False for what is no matter of theirs.
  bool carry_to_standbys(const broker::Effect& effect);
  static broker::CheckpointAck ack_of(const std::string& word);

  void step(const broker::Event& event);
  void carry_out(const broker::Effects& effects);
  void step_all_due();
  void print(const broker::Effect& effect);
  std::string peer_of(broker::LinkId link) const;

  std::unique_ptr<broker::Broker> broker_;
  Time now_;
  uint64_t next_link_ = 1;
  uint64_t next_incarnation_ = 100;
  std::map<std::string, broker::LinkId> links_;
  std::map<std::string, uint64_t> incarnations_, generations_;
  std::map<broker::LinkId, std::string> names_;
  struct StandbyPeer {
    explicit StandbyPeer(uint64_t held_limit) : standby(held_limit) {}
    broker::Standby standby;
    std::deque<wire::Message> under_way;  // sent to it, and not read yet
  };
  std::map<std::string, StandbyPeer> standbys_;  // by name: what it holds outlives a link
  std::vector<wire::Copy> copies_;
  std::ostringstream out_;
};

}  // namespace redoubt::testing
