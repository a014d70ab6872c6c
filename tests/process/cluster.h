// Cluster: real daemons in a folder of their own, for one test: a broker, its replicas, and the `redoubt`
// program run against them. Everything listens on loopback at ports the system chooses. Several brokers are a
// Group's.
#pragma once

#include <memory>
#include <string>

#include "admin_port.h"
#include "process.h"
#include "results.h"
#include "socket.h"
#include "stage.h"

namespace redoubt::test {

class Cluster : public Stage {
 public:
  // Where the broker listens; at port 0 the system chooses.
  explicit Cluster(std::string listen = "127.0.0.1:0");

  // Starts the broker and waits until it is ready. Again, after its end: at the same port.
  Process& start_broker(const Texts& flags = {});
  Process& broker() { return *broker_; }
  const std::string& address() const { return address_; }

  // From the broker's admin port. Empty if it does not answer.
  const AdminPort& admin() const { return admin_; }
  std::string fetch(const std::string& path, int* status = nullptr) const {
    return admin_.fetch(path, status);
  }
  Numbers metrics() const { return admin_.metrics(); }
  Numbers status() const { return admin_.status(); }
  double metric(const std::string& name) const { return admin_.metric(name); }

 private:
  std::string address_;
  AdminPort admin_;
  std::unique_ptr<Process> broker_;
};

inline void expect_copies_add_up(const Cluster& cluster) { expect_copies_add_up(cluster.admin()); }
inline void expect_served(const Cluster& cluster, double count) { expect_served(cluster.admin(), count); }

}  // namespace redoubt::test
