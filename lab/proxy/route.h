// Route: one address that is listened on, the target it leads to, and the connections that took it. All calls
// from the loop's thread.
#pragma once

#include <array>
#include <asio/ip/tcp.hpp>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "core/address.h"
#include "core/result.h"
#include "lab/proxy/connection.h"
#include "net/listener.h"
#include "net/loop.h"

namespace redoubt::lab {

struct RouteStats {
  uint64_t accepted = 0, turned_away = 0, unreachable = 0;  // connections so far
  uint64_t open = 0;                                        // and now
  std::array<uint64_t, 2> passed{}, swallowed{}, held{};    // bytes, by Direction
  RouteStats& operator+=(const RouteStats& other);
};

class Route {
 public:
  Route(net::Loop& loop, size_t most_connections);

  // Both addresses are numeric; it listens on loopback only, at a port the system chooses if it is 0.
  Failure open(const Address& listen, const Address& target);
  std::string listen_address() const;
  std::string target_address() const { return format_address(target_); }

  void treat(Direction direction, const Treatment& treatment);
  const Treatment& treatment(Direction direction) const {
    return ways_[static_cast<size_t>(direction)].treatment;
  }
  // Puts the bytes into the stream of every connection, behind what is held; returns into how many.
  size_t insert(Direction direction, std::string_view bytes);
  // Ends every connection with a reset; returns how many. New ones are accepted.
  size_t cut();
  // Connects are refused from now on; what is connected stays.
  void refuse() {
    listener_.close();
    accepts_ = false;
  }
  Failure accept();
  bool accepts() const { return accepts_; }

  RouteStats stats() const;

 private:
  void accepted(asio::ip::tcp::socket socket);
  void ended(uint64_t id, Connection::Ending how);
  // A copy: who is told something may end, and leave the map.
  std::vector<std::shared_ptr<Connection>> everybody() const;

  net::Loop& loop_;
  const size_t most_connections_;
  Address listen_, target_;
  asio::ip::tcp::endpoint endpoint_;  // of the target
  Ways ways_;
  net::Listener listener_;
  bool accepts_ = false;
  RouteStats so_far_;
  uint64_t next_id_ = 0;
  std::map<uint64_t, std::shared_ptr<Connection>> connections_;
};

}  // namespace redoubt::lab
