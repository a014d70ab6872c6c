// The memory that bytes live in: payloads that are shared and outboxes that hand them to the socket.
#include <gtest/gtest.h>

#include <thread>
#include <vector>

#include "core/payload.h"
#include "core/random.h"
#include "tests/frames.h"
#include "wire/outbox.h"

namespace redoubt {
namespace {

using testing::written;
using wire::ChunkPool;
using wire::Outbox;

// ---- Payload

TEST(Payload, CopiesShareTheBytes) {
  const Payload one(std::string(1000, 'x'));
  const Payload two = one;
  Payload three;
  three = two;

  EXPECT_EQ(two.data(), one.data());
  EXPECT_EQ(three.sharers(), 3u);
  EXPECT_EQ(three, one);
}

TEST(Payload, MovingLeavesNothingBehind) {
  Payload from("bytes");
  const Payload to = std::move(from);

  EXPECT_TRUE(from.empty());  // NOLINT: what a moved-from payload is, is promised
  EXPECT_EQ(from.view(), "");
  EXPECT_EQ(to.view(), "bytes");
  EXPECT_EQ(to.sharers(), 1u);
}

TEST(Payload, AssigningItselfKeepsIt) {
  Payload payload("bytes");
  const Payload& same = payload;

  payload = same;

  EXPECT_EQ(payload.view(), "bytes");
  EXPECT_EQ(payload.sharers(), 1u);
}

TEST(Payload, EmptyOnesOwnNothing) {
  EXPECT_EQ(Payload("").sharers(), 0u);
  EXPECT_EQ(Payload(std::vector<std::byte>{}).size(), 0u);
  EXPECT_EQ(Payload(), Payload(""));
}

TEST(Payload, ASliceOutlivesTheWhole) {
  Payload whole("0123456789");
  const Payload part = whole.slice(3, 4).slice(1, 2);

  whole = {};

  EXPECT_EQ(part.view(), "45");
  EXPECT_EQ(part.sharers(), 1u);
}

TEST(Payload, CopiesMayBeUsedByManyThreads) {
  const Payload payload(std::string(100, 'x'));
  std::vector<std::thread> threads;

  for (int t = 0; t < 4; ++t)
    threads.emplace_back([mine = payload] {
      for (int i = 0; i < 10'000; ++i) {
        const Payload copy = mine;
        const Payload part = copy.slice(50, 10);
        ASSERT_EQ(part.view(), "xxxxxxxxxx");
      }
    });
  for (std::thread& thread : threads) thread.join();
  threads.clear();

  EXPECT_EQ(payload.sharers(), 1u);
}

// ---- Outbox

// Room that is used up whole.
char* room_in(Outbox& out, size_t size) {
  char* const at = out.reserve(size);
  out.commit(size);
  return at;
}

void append(Outbox& out, std::string_view bytes) {
  std::memcpy(room_in(out, bytes.size()), bytes.data(), bytes.size());
}

size_t pieces_of(const Outbox& out) {
  std::vector<iovec> pieces(1000);
  return out.gather(pieces);
}

TEST(Outbox, SmallWritesStandInOnePiece) {
  ChunkPool pool;
  Outbox out(pool);

  append(out, "one ");
  out.append(Payload("two "));
  append(out, "three");

  EXPECT_EQ(written(out), "one two three");
  EXPECT_EQ(pieces_of(out), 1u);
  EXPECT_EQ(out.bytes(), 13u);
}

TEST(Outbox, PartialWritesLoseAndRepeatNothing) {
  for (uint64_t seed = 0; seed < 50; ++seed) {
    Random random(seed);
    ChunkPool pool;
    Outbox out(pool);
    std::string expected, sent;
    for (int turn = 0; turn < 200; ++turn) {
      for (uint64_t writes = random.below(4); writes > 0; --writes) {
        constexpr std::array<size_t, 6> kSizes{8, 100, 4'095, 4'096, 40'000, 32'768};
        const std::string bytes(kSizes[random.below(kSizes.size())],
                                static_cast<char>('a' + random.below(26)));
        expected += bytes;
        random.chance(0.5) ? append(out, bytes) : out.append(Payload(bytes));
      }
      std::array<iovec, 3> pieces;
      const size_t used = out.gather(pieces);
      size_t size = 0;
      std::string seen;
      for (size_t i = 0; i < used; ++i) {
        size += pieces[i].iov_len;
        seen.append(static_cast<const char*>(pieces[i].iov_base), pieces[i].iov_len);
      }
      const size_t taken = size == 0 ? 0 : random.chance(0.3) ? size : random.below(size + 1);
      sent += seen.substr(0, taken);
      out.consume(taken);
      ASSERT_EQ(out.bytes(), expected.size() - sent.size());
    }
    sent += written(out);

    ASSERT_EQ(sent, expected) << "seed " << seed;
  }
}

TEST(Outbox, EightCopiesOfALargePayloadCostOneBuffer) {
  ChunkPool pool;
  std::vector<std::unique_ptr<Outbox>> links;
  wire::Copy copy;
  copy.payload = Payload(std::string(1 << 20, 'x'));
  const Payload& payload = copy.payload;

  for (int i = 0; i < 8; ++i) wire::encode(copy, *links.emplace_back(std::make_unique<Outbox>(pool)));

  EXPECT_EQ(payload.sharers(), 9u);
  for (const auto& link : links) {
    std::array<iovec, 4> pieces;
    ASSERT_EQ(link->gather(pieces), 2u);
    EXPECT_EQ(pieces[1].iov_base, payload.data());
  }
  links.clear();
  EXPECT_EQ(payload.sharers(), 1u);
}

TEST(Outbox, CountsOfASharedPayloadItsOwnPart) {
  ChunkPool pool;
  Outbox one(pool), two(pool);
  Payload payload(std::string(8000, 'x'));
  append(one, "small");

  one.append(payload);
  EXPECT_EQ(one.own_bytes(), 5u + 4000u);
  two.append(payload);
  EXPECT_EQ(one.own_bytes() + two.own_bytes(), 5u + 2 * 2666u);
  payload = {};
  two.clear();
  EXPECT_EQ(one.own_bytes(), 8005u) << "nobody else has it any more";
  one.consume(1005);
  EXPECT_EQ(one.own_bytes(), one.bytes());
}

TEST(Outbox, FramesWithLargePayloadsShareOneChunk) {
  ChunkPool pool;
  Outbox out(pool);
  std::string expected;
  for (int i = 0; i < 100; ++i) {
    const Payload payload(std::string(4'096, static_cast<char>('a' + i % 26)));
    append(out, "head");
    out.append(payload);
    expected += "head" + payload.str();
  }

  EXPECT_EQ(written(out), expected);
  std::vector<iovec> pieces(200);
  ASSERT_EQ(out.gather(pieces), 200u);
  for (size_t i = 2; i < 200; i += 2)
    EXPECT_EQ(pieces[i].iov_base, static_cast<char*>(pieces[i - 2].iov_base) + 4) << "right behind the last";
  out.consume(4 + 4'096 + 2);
  append(out, "tail");
  EXPECT_EQ(written(out), expected.substr(4 + 4'096 + 2) + "tail");
}

TEST(Outbox, MemoryGoesBackWhenItDrains) {
  ChunkPool pool;
  Outbox out(pool), other(pool);
  const Payload payload(std::string(10'000, 'x'));
  char* const chunk = room_in(out, 100);
  out.append(payload);

  out.consume(out.bytes());

  EXPECT_TRUE(out.empty());
  EXPECT_EQ(pieces_of(out), 0u);
  EXPECT_EQ(payload.sharers(), 1u);
  EXPECT_EQ(room_in(other, 5), chunk) << "the chunk is another link's now";
}

TEST(Outbox, ClearingAndEndingGiveEverythingBack) {
  ChunkPool pool;
  const Payload payload(std::string(10'000, 'x'));
  Outbox cleared(pool);
  for (int i = 0; i < 300; ++i) append(cleared, "head"), cleared.append(payload);
  {
    Outbox ended(pool);
    append(ended, "head");
    ended.append(payload);
  }

  cleared.clear();
  append(cleared, "new");

  EXPECT_EQ(payload.sharers(), 1u);
  EXPECT_EQ(written(cleared), "new");
}

TEST(Outbox, KnowsWhatIsLeftOfTheFrameThatHasBeenBegun) {
  ChunkPool pool;
  Outbox out(pool);
  std::vector<size_t> left;
  for (const char* frame : {"12345", "678", "9"}) {
    append(out, frame);
    out.end_frame();
  }

  for (int i = 0; i < 9; ++i) {
    left.push_back(out.begun());
    out.consume(1);
  }
  append(out, "next");
  out.end_frame();
  left.push_back(out.begun());

  EXPECT_EQ(left, (std::vector<size_t>{0, 4, 3, 2, 1, 0, 2, 1, 0, 0}));
}

TEST(Outbox, ALinkThatNeverDrainsKeepsOnlyWhatWaits) {
  ChunkPool pool;
  Outbox out(pool);
  const Payload payload(std::string(5'000, 'x'));
  out.append(payload);

  for (int i = 0; i < 10'000; ++i) {
    out.append(payload);
    out.consume(payload.size());
  }

  EXPECT_EQ(out.bytes(), payload.size());
  EXPECT_EQ(payload.sharers(), 2u);
}

TEST(OutboxDeathTest, ConsumingMoreThanThereIsIsABug) {
  ChunkPool pool;
  Outbox out(pool);
  append(out, "1234");

  EXPECT_DEATH(out.consume(5), "bug");
}

}  // namespace
}  // namespace redoubt
