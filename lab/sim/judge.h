// Judge: the invariants of a cluster. Everything that could break one is told to it; the first that breaks
// ends the story with a text. Nothing here is known to the programs that are judged.
#pragma once

#include <deque>
#include <functional>
#include <map>
#include <string>

#include "broker/node.h"
#include "client/request.h"
#include "lab/sim/world.h"

namespace redoubt::sim {

// What a broker of the cluster is, for the judge to look at.
struct BrokerFacts {
  std::string name;
  broker::BrokerNumber number = 0;
  bool runs = false;  // neither dead nor paused
  const broker::Node* node = nullptr;
  Time clock;  // its own
  Time began;  // its process, by true time
  broker::Memory disk;
  wire::SyncSet written;  // the newest that ever was on its disk, whatever became of that
};

class Judge {
 public:
  using Brokers = std::function<std::vector<BrokerFacts>()>;
  // How long nothing has happened to either of two brokers, nor to the way between them.
  using Calm = std::function<Duration(broker::BrokerNumber, broker::BrokerNumber)>;

  Judge(World& world, broker::Quorum quorum, Brokers brokers, Calm calm)
      : world_(world), quorum_(quorum), brokers_(std::move(brokers)), calm_(std::move(calm)) {}

  // ---- Told by the hosts.
  void request_made(const wire::RequestId& id, Time deadline, bool must_succeed, std::string expected);
  void client_died(uint64_t incarnation);
  void outcome(const wire::RequestId& id, const redoubt::Reply& reply);
  // After a broker's step and before its effects are carried out.
  void stepped(const BrokerFacts& broker, const broker::Effects& effects);
  // A replica keeps a copy of this epoch, and has been told of another one.
  void taken(const std::string& replica, const wire::RequestId& id, wire::Epoch epoch, wire::Epoch highest);
  void started(const wire::RequestId& id, uint32_t level, const std::string& replica);

  // At the end: nothing is open.
  void all_answered();

  bool failed() const { return !failure_.empty(); }
  const std::string& failure() const { return failure_; }
  void fail(const std::string& what);

  struct Totals {
    uint64_t requests = 0, ok = 0, failovers = 0, stale = 0, executions = 0;
  };
  const Totals& totals() const { return totals_; }
  // A line of the story; kept for when it goes wrong.
  void tell(const std::string& line);
  const std::deque<std::string>& story() const { return story_; }
  bool tells() const { return tells_; }
  void tell_everything() { tells_ = prints_ = true; }
  void keep_story() { tells_ = true; }

 private:
  struct Made {
    Time deadline;  // by true time
    bool must_succeed = false;
    std::string expected;
    bool ended = false;
    bool client_lives = true;
    uint32_t protected_level = 0;  // level + 1 that standbys had acknowledged before it was dispatched
    Time protected_at;             // by this manager:
    broker::BrokerNumber protected_by = broker::kNoBroker;
  };

  void check_sending(const BrokerFacts& broker, const char* what);
  void check_office(const BrokerFacts& broker, const char* what);
  void check_copy(const BrokerFacts& broker, const wire::Copy& copy);
  void check_protection(const BrokerFacts& broker, const wire::Copy& copy);
  void check_vote(const BrokerFacts& broker, const wire::Vote& vote);
  bool survived_one_fault(const Made& made) const;
  void check_promotion(const BrokerFacts& broker, const broker::RoleChanged& change);
  void check_stale(const BrokerFacts& broker);
  void check_pulse(const BrokerFacts& broker, const wire::Pulse& pulse);

  World& world_;
  const broker::Quorum quorum_;
  const Brokers brokers_;
  const Calm calm_;
  std::map<wire::RequestId, Made> requests_;
  std::map<uint64_t, broker::BrokerNumber> managers_;  // by number of the epoch
  std::map<std::pair<broker::BrokerNumber, uint64_t>, broker::BrokerNumber>
      votes_;                                  // (voter, number) -> candidate
  std::map<wire::Position, uint64_t> hashes_;  // of managers' states
  Totals totals_;
  std::string failure_;
  std::deque<std::string> story_;
  bool tells_ = false, prints_ = false;
};

}  // namespace redoubt::sim
