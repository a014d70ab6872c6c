// Allowance: a cap on extra copies as a share of requests: every request earns a little, every extra copy
// spends one whole. What is saved is bounded, so the share holds over any window of a few hundred requests.
// Pure.
#pragma once

#include <algorithm>

namespace redoubt::broker {

class Allowance {
 public:
  // A level of a request has begun; one extra copy for every 1 / share of them.
  void earn(double share) { saved_ = std::min(saved_ + share, std::max(1.0, share * kWindow)); }
  bool spend() {
    // Tenths do not add up to one in binary.
    if (saved_ < 1 - 1e-9) return false;
    saved_ -= 1;
    return true;
  }
  void give_back() { saved_ += 1; }

 private:
  static constexpr double kWindow = 200;  // requests whose share can be saved up
  double saved_ = 0;
};

}  // namespace redoubt::broker
