// A broker's admin port; see admin_port.h.
#include "admin_port.h"

#include <gtest/gtest.h>

#include <sstream>
#include <stdexcept>

#include "../poll.h"
#include "socket.h"

namespace redoubt::test {

using namespace std::chrono_literals;

std::string AdminPort::fetch(const std::string& path, int* status) const {
  Socket socket(address_);
  socket.send("GET " + path + " HTTP/1.0\r\nHost: test\r\nConnection: close\r\n\r\n");
  const std::string reply = socket.read_to_end(5s);
  const size_t body = reply.find("\r\n\r\n");
  if (body == std::string::npos) return {};
  if (status != nullptr) *status = std::stoi(reply.substr(reply.find(' ')));
  return reply.substr(body + 4);
}

Numbers AdminPort::metrics() const {
  Numbers numbers;
  std::istringstream lines(fetch("/metrics"));
  for (std::string line; std::getline(lines, line);) {
    const size_t space = line.rfind(' ');
    if (line.empty() || line[0] == '#' || space == std::string::npos) continue;
    numbers[line.substr(0, space)] = std::stod(line.substr(space));
  }
  return numbers;
}

double AdminPort::metric(const std::string& name) const {
  const Numbers all = metrics();
  const auto found = all.find(name);
  if (found == all.end()) throw std::runtime_error("no metric " + name);
  return found->second;
}

Numbers AdminPort::status() const {
  const auto numbers = parse_numbers(fetch("/status"));
  if (!numbers) throw std::runtime_error("no status from " + address_);
  return *numbers;
}

void expect_served(const AdminPort& broker, double count) {
  const std::string name = "redoubt_requests_total{outcome=\"ok\"}";
  const double before = broker.metric(name);
  EXPECT_TRUE(eventually([&] { return broker.metric(name) >= before + count; }));
}

void expect_copies_add_up(const AdminPort& broker) {
  EXPECT_TRUE(eventually([&] { return broker.metric("redoubt_copies_outstanding") == 0; }));
  const Numbers metrics = broker.metrics();
  double ended = 0;
  for (const char* fate : {"won", "halted_queued", "halted_running", "expired", "failed", "lost", "wasted"})
    ended += metrics.at(std::string("redoubt_copies_total{fate=\"") + fate + "\"}");
  EXPECT_EQ(ended, metrics.at("redoubt_copies_dispatched_total"));
  EXPECT_EQ(metrics.at("redoubt_executions_started_expired_total"), 0);
  EXPECT_EQ(metrics.at("redoubt_pending_requests"), 0);
  EXPECT_EQ(metrics.at("redoubt_queue_length"), 0);
}

}  // namespace redoubt::test
