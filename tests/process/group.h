// Group: several brokers that stand in for each other, in a folder of their own, for one test; replicas and
// the `redoubt` program are given all of them. Brokers are counted from 0, in the order of --group. They
// listen at ports that they keep, so that each can be started again with the same command line.
//
// With `chaos`, everybody reaches a broker through a redoubt-chaos route: each broker has one to each other
// broker, clients have one to each broker, replicas too. What is done to one of these does not touch the
// others.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "admin_port.h"
#include "chaos.h"
#include "process.h"
#include "results.h"
#include "stage.h"

namespace redoubt::test {

// A broker as another one's /status has it.
struct BrokerView {
  std::string name, address, role, state_hash;
  bool in_sync = false;
  double checkpoint_seq = 0;
};

class Group : public Stage {
 public:
  struct Shape {
    size_t brokers = 3;
    size_t witnesses = 0;  // the last so many of them
    Texts flags = {};      // of every broker
    bool chaos = false;
  };

  explicit Group(const Shape& shape);
  Group() : Group(Shape()) {}

  size_t size() const { return members_.size(); }
  const std::string& address(size_t broker) const { return members_.at(broker).address; }

  // This one alone is given these, too, when it is started next.
  void give_flags(size_t broker, const Texts& more);
  // Starts all and waits until one is the manager and the others are in sync with it. Throws if they never
  // are.
  void start_all();
  // Starts this one, always with the same command line, and waits until it is ready. No other must be up.
  Process& start_broker(size_t broker);
  Process& broker(size_t broker) { return *members_.at(broker).process; }
  void kill(size_t broker);
  // SIGTERM; its exit status.
  std::optional<int> stop(size_t broker);
  // stop() and start_broker().
  void restart(size_t broker);
  void pause(size_t broker);
  void resume(size_t broker);
  // It runs and is not paused.
  bool living(size_t broker);

  // What it printed last of its role; empty and 0 before it has.
  std::string role(size_t broker) const;
  int epoch(size_t broker) const;
  // The living broker that calls itself the manager, of the latest epoch if several do, once there is one.
  // Throws if there never is.
  size_t manager(Nanoseconds limit = Process::kLimit);
  // The living others, in the order of the group.
  std::vector<size_t> standbys();

  // What this broker tells. A broker that does not answer sees nobody.
  AdminPort admin(size_t broker) const { return AdminPort(members_.at(broker).admin); }
  Numbers status(size_t broker) const { return admin(broker).status(); }
  Numbers metrics(size_t broker) const { return admin(broker).metrics(); }
  double metric(size_t broker, const std::string& name) const { return admin(broker).metric(name); }
  std::vector<BrokerView> brokers_seen_by(size_t broker) const;

  // By the manager's status, every living broker is in sync, soon. Witnesses hold nothing and do not count.
  bool all_in_sync(Nanoseconds limit = Process::kLimit);
  // By the manager's status, every living broker is at the same place of the checkpoint stream, soon, and has
  // the same state hash there. For when nothing happens: at rest, or while everything pending waits.
  bool states_equal(Nanoseconds limit = Process::kLimit);

  // Only with chaos. What the routes lead to, for command() of chaos(): `cut`, `refuse`, `stats`.
  Chaos& chaos() { return *chaos_; }
  size_t link_route(size_t from, size_t to) const;  // that broker `from` dials `to` on
  size_t clients_route(size_t broker) const { return pairs() + broker; }
  size_t replicas_route(size_t broker) const { return pairs() + size() + broker; }
  // Bytes that went from one broker to another, on the link that either has dialled.
  double passed(size_t from, size_t to);
  // Treats all that goes from one broker to another, on the link that either has dialled. `what` is a
  // treatment: "drop", "stall", "delay 5ms", "rate 1000", "pass".
  void one_way(size_t from, size_t to, const std::string& what);
  // Both ways.
  void between(size_t one, size_t other, const std::string& what);
  // Between this broker and every other.
  void isolate(size_t broker, const std::string& what);

 private:
  struct Member {
    std::string address, admin;
    Texts flags;
    std::unique_ptr<Process> process;
    bool paused = false;
  };

  size_t pairs() const { return size() * (size() - 1); }
  void start_chaos();
  Texts flags_of(size_t broker, const Texts& shared) const;
  bool is_manager(size_t broker);
  std::vector<BrokerView> living_by_the_manager();

  std::vector<Member> members_;
  std::unique_ptr<Chaos> chaos_;
};

}  // namespace redoubt::test
