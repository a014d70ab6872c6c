// Dialer: keeps trying to reach one address. A name may stand for several endpoints (`localhost` often is
// ::1, then 127.0.0.1): each is tried, in the order of the name service. The first try after a loss is
// immediate, the next ones wait longer and longer, jittered so that a thousand peers of one dead broker do
// not return in step. All calls from the loop's thread.
#pragma once

#include <asio/ip/tcp.hpp>
#include <asio/steady_timer.hpp>
#include <functional>
#include <string>
#include <vector>

#include "core/random.h"
#include "core/time.h"

namespace redoubt::net {

class Loop;

class Dialer {
 public:
  using Connected = std::function<void(asio::ip::tcp::socket)>;
  // Every address of one round has failed; the next round follows by itself. `refused`: by all of them, so
  // that nobody listens there.
  using Failed = std::function<void(bool refused)>;

  Dialer(Loop& loop, std::string host, uint16_t port, uint64_t seed, Connected connected);

  // Dials, and goes on until it is connected or stopped. To be called again when the link it led to is lost;
  // while it dials already this does nothing.
  void dial();
  void stop();
  // Whoever it waits for may be wanted now, or be back: a pause between two tries ends at once, and the next
  // ones are short again.
  void hurry();
  // Dials no more until dial() is called again.
  void cease();
  void on_failure(Failed failed) { on_failure_ = std::move(failed); }

  // A link that did its work: the next loss is the first again.
  void succeeded() {
    failures_ = 0;
    untried_.clear();
  }
  const std::string& last_error() const { return last_error_; }
  const std::string& address() const { return address_; }

 private:
  void next_round();
  void attempt();
  void resolve();
  void resolved(const asio::error_code& error, const asio::ip::tcp::resolver::results_type& found);
  void connect_next();
  void connect(const asio::ip::tcp::endpoint& endpoint);
  void after(Duration pause, std::function<void()> action);
  void failed(const std::string& why, bool refused = false);

  const std::string host_, address_;
  const uint16_t port_;
  Random random_;
  Connected connected_;
  Failed on_failure_;
  asio::ip::tcp::resolver resolver_;
  asio::ip::tcp::socket socket_;
  asio::steady_timer timer_;
  std::vector<asio::ip::tcp::endpoint> untried_;  // the next one last
  std::string last_error_;
  unsigned failures_ = 0;
  bool asked_ = false;    // the name service owes an answer
  bool waiting_ = false;  // for that answer
  bool new_round_ = false;
  bool all_refused_ = true;  // of the endpoints of this round
  bool busy_ = false;        // dials
  bool pausing_ = false;     // between two tries
  uint64_t attempt_ = 0;     // of connecting; the answer to an earlier one is nobody's
  bool ceased_ = false;
  bool stopped_ = false;
};

}  // namespace redoubt::net
