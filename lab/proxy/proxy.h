// Proxy: TCP routes on loopback that can be slowed, held up, cut or spoilt while bytes flow over them, in
// each direction on its own. For tests and experiments; bytes mean nothing to it. One loop's thread runs it
// and makes all calls.
//
//   net::Loop loop;
//   lab::Proxy proxy(loop, seed);
//   proxy.add({"127.0.0.1", 0}, {"127.0.0.1", 7400});
//   proxy.route(0).treat(Direction::kForward, {.kind = Treatment::Kind::kStall});
//   loop.run([] {});
//
// Stalled, delayed and slowed bytes are packets on their way: none is missing in the end. Dropped ones are
// gone, and what comes after `pass` follows a hole in the stream; a link that is to be whole again must be
// cut.
#pragma once

#include <memory>
#include <vector>

#include "lab/proxy/limits.h"
#include "lab/proxy/route.h"

namespace redoubt::lab {

class Proxy {
 public:
  Proxy(net::Loop& loop, uint64_t seed) : loop_(loop), seed_(seed) {}

  // A further route; its number is the count of those before it. Who connects beyond `most_connections` is
  // turned away.
  Failure add(const Address& listen, const Address& target, size_t most_connections = kMostConnections);
  size_t size() const { return routes_.size(); }
  Route& route(size_t number) { return *routes_.at(number); }

  // The next burst of random bytes: the n-th is the same for the same seed, whoever is connected.
  std::string garbage();

 private:
  net::Loop& loop_;
  const uint64_t seed_;
  uint64_t bursts_ = 0;
  std::vector<std::unique_ptr<Route>> routes_;
};

}  // namespace redoubt::lab
