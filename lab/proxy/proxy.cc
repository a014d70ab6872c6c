// The routes of a proxy; see proxy.h.
#include "lab/proxy/proxy.h"

#include <utility>

#include "core/random.h"

namespace redoubt::lab {

Failure Proxy::add(const Address& listen, const Address& target, size_t most_connections) {
  if (routes_.size() >= kMostRoutes)
    return Error{"there are " + std::to_string(kMostRoutes) +
                 " routes already: start another proxy for more"};
  auto route = std::make_unique<Route>(loop_, most_connections);
  if (Failure failure = route->open(listen, target)) return failure;
  routes_.push_back(std::move(route));
  return {};
}

std::string Proxy::garbage() {
  Random random(seed_ + bursts_++);
  std::string bytes(kGarbageBytes, '\0');
  for (char& byte : bytes) byte = static_cast<char>(random() >> 56);
  return bytes;
}

}  // namespace redoubt::lab
