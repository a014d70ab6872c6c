// One broker and those around it; see cluster.h.
#include "cluster.h"

namespace redoubt::test {

Cluster::Cluster(std::string listen) : address_(std::move(listen)) { set_brokers(address_, address_); }

Process& Cluster::start_broker(const Texts& flags) {
  broker_ = start_broker_with(joined({"--listen", address_, "--admin", "127.0.0.1:0"}, flags), "broker");
  auto ready = broker_->event("ready");
  address_ = ready["listen"];
  admin_ = AdminPort(ready["admin"]);
  set_brokers(address_, address_);
  return *broker_;
}

}  // namespace redoubt::test
