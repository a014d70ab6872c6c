// AdminPort: what a broker tells over HTTP.
#pragma once

#include <string>

#include "results.h"

namespace redoubt::test {

class AdminPort {
 public:
  AdminPort() = default;
  explicit AdminPort(std::string address) : address_(std::move(address)) {}

  // Empty if it does not answer; throws if nobody listens.
  std::string fetch(const std::string& path, int* status = nullptr) const;
  Numbers metrics() const;
  double metric(const std::string& name) const;
  // Throws if it does not answer.
  Numbers status() const;

 private:
  std::string address_;
};

// It answers so many requests from now on, soon: the load is there.
void expect_served(const AdminPort& broker, double count);
// Every copy that was dispatched has ended in one way, soon.
void expect_copies_add_up(const AdminPort& broker);

}  // namespace redoubt::test
