// Commands: the lines that steer a proxy from outside, and the line of JSON that answers each. ROUTE is a
// route's number, from 0, or `all`; DIRECTION is `forward` (to the target), `backward` or `both`.
//
//   pass ROUTE DIRECTION            bytes flow again
//   delay ROUTE DIRECTION 5ms       and go on so much later
//   stall ROUTE DIRECTION           are held up
//   drop ROUTE DIRECTION            are swallowed
//   rate ROUTE DIRECTION 1000       go on as so many bytes a second
//   garbage ROUTE DIRECTION         random bytes are put between them, once
//   cut ROUTE                       every connection is reset
//   refuse ROUTE, accept ROUTE      connects are refused, or accepted again
//   stats ROUTE
//
// A line that is wrong is answered with what is wrong and the cure, and changes nothing.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "lab/proxy/proxy.h"

namespace redoubt::lab {

class Commands {
 public:
  // Gets a line with its end.
  using Answer = std::function<void(const std::string&)>;

  Commands(Proxy& proxy, Answer answer) : proxy_(proxy), answer_(std::move(answer)) {}

  // The next bytes of the input, in whatever portions they come.
  void take(std::string_view bytes);
  // One command: its answer.
  std::string obey(std::string_view line);

 private:
  Proxy& proxy_;
  Answer answer_;
  std::string unfinished_;
  bool too_long_ = false;  // of the line that is being read, nothing is kept
};

}  // namespace redoubt::lab
