// One route of the proxy; see route.h.
#include "lab/proxy/route.h"

#include <asio/ip/address.hpp>
#include <utility>

#include "lab/proxy/limits.h"

namespace redoubt::lab {

using asio::ip::tcp;

namespace {

Result<tcp::endpoint> numeric(const Address& address) {
  asio::error_code error;
  const auto host = asio::ip::make_address(address.host, error);
  if (error)
    return Error{"'" + address.host +
                 "' is not a numeric address, and no name is looked up: write 127.0.0.1"};
  return tcp::endpoint(host, address.port);
}

}  // namespace

RouteStats& RouteStats::operator+=(const RouteStats& other) {
  accepted += other.accepted;
  turned_away += other.turned_away;
  unreachable += other.unreachable;
  open += other.open;
  for (size_t way = 0; way < passed.size(); ++way) {
    passed[way] += other.passed[way];
    swallowed[way] += other.swallowed[way];
    held[way] += other.held[way];
  }
  return *this;
}

Route::Route(net::Loop& loop, size_t most_connections)
    : loop_(loop),
      most_connections_(most_connections),
      listener_(loop, [this](tcp::socket socket) { accepted(std::move(socket)); }) {}

Failure Route::open(const Address& listen, const Address& target) {
  const Result<tcp::endpoint> from = numeric(listen), to = numeric(target);
  if (!from) return Error{from.error()};
  if (!to) return Error{to.error()};
  if (!from->address().is_loopback())
    return Error{format_address(listen) + " is reachable from outside: listen on 127.0.0.1 or [::1]"};
  if (target.port == 0)
    return Error{format_address(target) + " has no port: write the one the target listens on"};
  listen_ = listen;
  target_ = target;
  endpoint_ = *to;
  if (Failure failure = accept()) return failure;
  // A port that was free is kept: it must be the same when the route accepts again.
  listen_ = *parse_address(listener_.address());
  return {};
}

std::string Route::listen_address() const { return format_address(listen_); }

Failure Route::accept() {
  if (accepts_) return {};
  if (const std::string why = listener_.listen(listen_.host, listen_.port); !why.empty()) {
    listener_.close();
    return Error{why};
  }
  accepts_ = true;
  return {};
}

void Route::accepted(tcp::socket socket) {
  // At the limit, and for one whose accept had succeeded just before connects were to be refused.
  if (connections_.size() >= most_connections_ || !accepts_) {
    ++so_far_.turned_away;
    asio::error_code ignored;
    socket.set_option(asio::socket_base::linger(true, 0), ignored);
    socket.close(ignored);  // the destructor would take the option back
    return;
  }
  ++so_far_.accepted;
  const uint64_t id = next_id_++;
  const auto connection = std::make_shared<Connection>(
      loop_, std::move(socket), ways_, [this, id](Connection::Ending how) { ended(id, how); });
  connections_.emplace(id, connection);
  connection->connect(endpoint_);
}

void Route::ended(uint64_t id, Connection::Ending how) {
  if (how == Connection::Ending::kUnreachable) ++so_far_.unreachable;
  connections_.erase(id);
}

std::vector<std::shared_ptr<Connection>> Route::everybody() const {
  std::vector<std::shared_ptr<Connection>> all;
  for (const auto& [id, connection] : connections_) all.push_back(connection);
  return all;
}

void Route::treat(Direction direction, const Treatment& treatment) {
  ways_[static_cast<size_t>(direction)].treatment = treatment;
  for (const auto& connection : everybody()) connection->treatment_changed(direction);
}

size_t Route::insert(Direction direction, std::string_view bytes) {
  size_t count = 0;
  for (const auto& connection : everybody())
    if (connection->insert(direction, bytes)) ++count;
  return count;
}

size_t Route::cut() {
  const auto all = std::exchange(connections_, {});
  for (const auto& [id, connection] : all) connection->reset();
  return all.size();
}

RouteStats Route::stats() const {
  RouteStats stats = so_far_;
  stats.open = connections_.size();
  for (const Direction direction : kDirections) {
    const auto way = static_cast<size_t>(direction);
    stats.passed[way] = ways_[way].passed;
    stats.swallowed[way] = ways_[way].swallowed;
    for (const auto& [id, connection] : connections_) stats.held[way] += connection->held(direction);
  }
  return stats;
}

}  // namespace redoubt::lab
