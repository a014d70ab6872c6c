// A session with a clock, and everything that came out of it: what the tests of the client's session share.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "client/session.h"
#include "wire/limits.h"

namespace redoubt::client {

using std::chrono_literals::operator""s;
using std::chrono_literals::operator""ms;

inline constexpr size_t kRoom = size_t{16} << 20;
inline constexpr uint64_t kMaxPayload = 16 << 20;

inline Request echo(size_t payload = 0, Duration deadline = 5s) {
  return {.levels = {{"echo", 1}}, .payload = std::string(payload, 'x'), .deadline = deadline};
}

struct SessionFixture : testing::Test {
  Session session;
  Time now = Time(1000s);
  uint64_t next_token = 1;
  std::map<uint64_t, Reply> ended;  // by token

  uint64_t submit(const Request& request) { return session.submit(now, request, Token{next_token++}); }

  void up(uint64_t link = 1, uint64_t max_payload = kMaxPayload) { session.link_up(now, link, max_payload); }

  void reply(uint64_t seq, uint64_t link = 1, size_t payload = 0) {
    wire::Reply reply;
    reply.seq = seq;
    reply.payload = std::string(payload, 'r');
    session.replied(now, link, reply, false);
    collect();
  }

  void collect() {
    auto& completions = session.effects().completions;
    for (size_t i = 0; i < completions.size(); ++i) {
      const auto token = static_cast<uint64_t>(completions[i].token);
      EXPECT_FALSE(ended.contains(token)) << "two outcomes of one call";
      ended[token] = completions[i].reply;
    }
    completions.clear();
  }

  // The frames of this turn.
  std::vector<wire::Submit> flush(size_t room = kRoom) {
    session.effects().clear_frames();
    session.flush(now, room);
    collect();
    std::vector<wire::Submit> frames;
    for (size_t i = 0; i < session.effects().submits.size(); ++i)
      frames.push_back(session.effects().submits[i]);
    return frames;
  }
  size_t acknowledges() { return session.effects().acknowledges.size(); }
};

}  // namespace redoubt::client
