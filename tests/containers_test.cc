// The containers that cores are made of, each against what it promises: slab, heap, window,
// short vector, transit.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "core/indexed_heap.h"
#include "core/random.h"
#include "core/seq_window.h"
#include "core/short_vector.h"
#include "core/slab.h"
#include "core/transit.h"

namespace redoubt {
namespace {

using std::chrono::microseconds;
using std::chrono::milliseconds;
using std::chrono::seconds;

// ---- Slab

struct Thing {
  std::string name;
  int value = 0;
};
using ThingId = Slab<Thing>::Id;

TEST(Slab, AStaleHandleFindsNothing) {
  Slab<Thing> slab;
  const ThingId first = slab.take();
  slab[first].value = 1;

  slab.give_back(first);
  const ThingId second = slab.take();

  EXPECT_EQ(second.slot, first.slot);
  EXPECT_EQ(slab.find(first), nullptr);
  EXPECT_NE(slab.find(second), nullptr);
}

TEST(Slab, AMadeUpHandleFindsNothing) {
  Slab<Thing> slab;
  const ThingId id = slab.take();

  EXPECT_EQ(slab.find(ThingId{}), nullptr);
  EXPECT_EQ(slab.find(ThingId{id.slot + 1, id.use}), nullptr);
  EXPECT_EQ(slab.find(ThingId{id.slot, id.use + 1}), nullptr);
  EXPECT_EQ(slab.find(ThingId::of(~uint64_t{0})), nullptr);
  slab.give_back(id);
  EXPECT_EQ(slab.find(ThingId{id.slot, id.use + 1}), nullptr) << "free, though the number is the next one";
}

TEST(Slab, AHandleTravelsAsANumber) {
  const ThingId id{123, 456};

  EXPECT_EQ(ThingId::of(id.number()), id);
  EXPECT_FALSE(ThingId{});
  EXPECT_TRUE(id);
}

TEST(Slab, ASlotKeepsItsObjectsMemory) {
  Slab<Thing> slab;
  const ThingId first = slab.take();
  slab[first].name = std::string(1000, 'x');
  const char* memory = slab[first].name.data();

  slab.give_back(first);

  EXPECT_EQ(slab[slab.take()].name.data(), memory);
}

TEST(Slab, ReferencesStayGoodWhileItGrows) {
  Slab<Thing> slab;
  Thing& first = slab[slab.take()];

  for (int i = 0; i < 10'000; ++i) slab.take();
  first.value = 7;

  EXPECT_EQ(slab.find(ThingId{0, 1})->value, 7);
}

TEST(Slab, WalksWhatIsInUseInTheOrderOfItsSlots) {
  Slab<Thing> slab;
  std::vector<ThingId> ids;
  for (int i = 0; i < 10; ++i) ids.push_back(slab.take()), slab[ids.back()].value = i;
  for (const size_t gone : {7u, 0u, 3u}) slab.give_back(ids[gone]);
  slab[slab.take()].value = 100;

  std::vector<int> seen;
  slab.each([&](ThingId id, const Thing& thing) {
    EXPECT_EQ(slab.find(id), &thing);
    seen.push_back(thing.value);
  });

  EXPECT_EQ(seen, (std::vector{1, 2, 100, 4, 5, 6, 8, 9}));
  EXPECT_EQ(slab.size(), 8u);
}

TEST(SlabDeathTest, AStaleHandleIsABugWhereOneMustBeGood) {
  Slab<Thing> slab;
  const ThingId id = slab.take();
  slab.give_back(id);

  EXPECT_DEATH(slab[id].value = 1, "bug");
  EXPECT_DEATH(slab.give_back(id), "bug");
}

// ---- IndexedHeap

struct Places {
  std::vector<uint32_t>* places;
  uint32_t& operator()(uint32_t item) const { return (*places)[item]; }
};
using Heap = IndexedHeap<uint32_t, uint64_t, Places>;

TEST(IndexedHeap, AgreesWithAMultimapWhateverIsDone) {
  for (const uint32_t items : {1u, 5u, 300u}) {
    std::vector<uint32_t> places(items, kNowhere);
    Heap heap(Places{&places});
    std::multimap<uint64_t, uint32_t> model;
    std::vector<std::multimap<uint64_t, uint32_t>::iterator> in_model(items, model.end());
    Random random(items);
    const auto forget = [&](uint32_t item) {
      if (in_model[item] != model.end()) model.erase(in_model[item]);
      in_model[item] = model.end();
    };
    for (int i = 0; i < 20'000; ++i) {
      const auto item = static_cast<uint32_t>(random.below(items));
      const uint64_t what = random.below(10);
      if (what < 6) {
        const uint64_t key = random.below(50);
        heap.set(item, key);
        forget(item);
        in_model[item] = model.emplace(key, item);
      } else if (what < 9) {
        heap.erase(item);
        forget(item);
      } else if (!heap.empty()) {
        const uint32_t top = heap.top();
        heap.erase(top);
        forget(top);
      }

      ASSERT_EQ(heap.size(), model.size());
      ASSERT_EQ(places[item] == kNowhere, in_model[item] == model.end());
      if (model.empty()) continue;
      ASSERT_EQ(heap.top_key(), model.begin()->first);
      ASSERT_EQ(in_model[heap.top()]->first, heap.top_key());
      const auto place = static_cast<uint32_t>(random.below(heap.size()));
      ASSERT_EQ(places[heap.at(place)], place);
      ASSERT_EQ(in_model[heap.at(place)]->first, heap.key_at(place));
    }
  }
}

TEST(IndexedHeap, GivesItemsInTheOrderOfTheirKeys) {
  std::vector<uint32_t> places(1000, kNowhere);
  Heap heap(Places{&places});
  Random random(1);
  for (uint32_t item = 0; item < 1000; ++item) heap.set(item, random());

  uint64_t last = 0;
  while (!heap.empty()) {
    ASSERT_GE(heap.top_key(), last);
    last = heap.top_key();
    heap.erase(heap.top());
  }
}

TEST(IndexedHeap, KeepsThePlacesOfHandlesBySlot) {
  using Id = Handle<struct Tag>;
  IndexedHeap<Id, int, PlacesBySlot<Id>> heap;
  const Id near{.slot = 0, .use = 1}, far{.slot = 1000, .use = 1};
  EXPECT_EQ(heap.place_of(far), kNowhere) << "of a slot that was never in it";
  heap.set(far, 1);
  heap.set(near, 2);
  EXPECT_EQ(heap.place_of(far), 0u);
  EXPECT_EQ(heap.place_of({.slot = 500, .use = 1}), kNowhere);
  heap.erase(far);
  EXPECT_EQ(heap.place_of(far), kNowhere);
  EXPECT_EQ(heap.top(), near);
  heap.set({.slot = 1000, .use = 2}, 1);
  EXPECT_EQ(heap.top().use, 2u) << "the slot's next use";
}

TEST(IndexedHeap, ErasingWhatIsNotThereDoesNothing) {
  std::vector<uint32_t> places(2, kNowhere);
  Heap heap(Places{&places});
  heap.set(0, 5);

  heap.erase(1);
  heap.erase(1);

  EXPECT_EQ(heap.size(), 1u);
  EXPECT_EQ(heap.top(), 0u);
}

// ---- SeqWindow

TEST(SeqWindow, GrowsAndKeepsWhatIsInIt) {
  SeqWindow<int> window(1'000'000'007);

  for (uint64_t seq = window.begin(); seq < 1'000'000'007 + 5'000; ++seq) {
    window.extend(seq + 1);
    window[seq] = static_cast<int>(seq % 1'000);
  }

  EXPECT_EQ(window.size(), 5'000u);
  for (uint64_t seq = window.begin(); seq < window.end(); ++seq)
    ASSERT_EQ(window[seq], static_cast<int>(seq % 1'000));
}

TEST(SeqWindow, ReusesItsEntriesFreshAsItSlides) {
  SeqWindow<std::string> window;
  for (uint64_t seq = 1; seq < 1'000; ++seq) {
    window.extend(seq + 1);

    ASSERT_TRUE(window[seq].empty()) << seq;
    window[seq] = std::to_string(seq);
    if (seq > 10) window.advance(seq - 10, [](const std::string&) {});

    ASSERT_LE(window.size(), 12u);
    ASSERT_EQ(window[window.begin()], std::to_string(window.begin()));
  }
}

TEST(SeqWindow, EachEntryIsSeenOnceOnItsWayOut) {
  SeqWindow<int> window;
  window.extend(6);
  for (uint64_t seq = 1; seq < 6; ++seq) window[seq] = static_cast<int>(seq);
  std::vector<int> left;
  const auto leave = [&](int entry) { left.push_back(entry); };

  window.advance(3, leave);
  window.advance(3, leave);
  window.advance(2, leave);

  EXPECT_EQ(left, (std::vector{1, 2}));
  EXPECT_EQ(window.begin(), 3u);
  EXPECT_FALSE(window.contains(2));
  EXPECT_TRUE(window.contains(3));
  EXPECT_FALSE(window.contains(6));
}

TEST(SeqWindow, AdvancesPastItsEnd) {
  SeqWindow<int> window;
  window.extend(4);
  window[2] = 9;
  int seen = 0;

  window.advance(1'000'000, [&](int) { ++seen; });
  window.extend(1'000'020);

  EXPECT_EQ(seen, 3);
  EXPECT_EQ(window.begin(), 1'000'000u);
  for (uint64_t seq = window.begin(); seq < window.end(); ++seq) EXPECT_EQ(window[seq], 0);
}

TEST(SeqWindow, ExtendingBackwardsDoesNothing) {
  SeqWindow<int> window(10);
  window.extend(20);

  window.extend(15);
  window.extend(0);

  EXPECT_EQ(window.end(), 20u);
}

TEST(SeqWindowDeathTest, WhatIsOutsideIsABug) {
  SeqWindow<int> window(10);
  window.extend(12);

  EXPECT_DEATH(window[9] = 1, "bug");
  EXPECT_DEATH(window[12] = 1, "bug");
}

// ---- Transit

constexpr Time kStart{seconds(5000)};

TEST(Transit, TheFirstFrameIsFree) {
  Transit transit;

  EXPECT_EQ(transit.excess(kStart, 17), Duration::zero());
}

TEST(Transit, WhatAFrameTookBeyondTheFastestIsCharged) {
  Transit transit;
  transit.excess(kStart, 1'000);

  EXPECT_EQ(transit.excess(kStart + milliseconds(6), 1'000 + 5'000), milliseconds(1));
  EXPECT_EQ(transit.excess(kStart + milliseconds(7), 1'000 + 7'000), Duration::zero());
  EXPECT_GT(transit.excess(kStart + seconds(5), 1'000), milliseconds(4'999)) << "lay there for five seconds";
}

TEST(Transit, AFasterFrameIsTheNewMeasure) {
  Transit transit;
  transit.excess(kStart, 0);

  EXPECT_EQ(transit.excess(kStart + milliseconds(1), 3'000), Duration::zero());

  EXPECT_EQ(transit.excess(kStart + milliseconds(2), 2'000), milliseconds(2));
}

TEST(Transit, AHandshakeThatWaitedItselfIsNotTheMeasure) {
  constexpr int64_t kHello = 1'000'000, kWelcome = 77'001'000, kCopy = 77'010'000;  // of two clocks
  const Time woke = Time{} + std::chrono::microseconds(kHello) + std::chrono::seconds(3);
  Transit transit, unbounded;
  transit.bound(kHello, kWelcome);
  transit.excess(woke, kWelcome);
  unbounded.excess(woke, kWelcome);

  EXPECT_GE(transit.excess(woke, kCopy), std::chrono::milliseconds(2990))
      << "it may have waited all the time";
  EXPECT_LT(unbounded.excess(woke, kCopy), std::chrono::milliseconds(10));
  const int64_t asked = to_us(woke) + 50'000;
  transit.bound(asked, kWelcome + 3'050'200);
  const Time answered = Time{} + std::chrono::microseconds(asked + 400);

  EXPECT_LT(transit.excess(answered, kWelcome + 3'050'200), std::chrono::milliseconds(1)) << "a quick answer";
}

TEST(Transit, AnotherClocksDriftIsForgivenInTime) {
  Transit transit;
  transit.excess(kStart, 0);
  // The sender's clock loses 50 parts per million: after an hour its frames look 180 ms late.
  Duration worst{};
  for (int64_t second = 1; second <= 3600; ++second)
    worst = std::max(worst, transit.excess(kStart + seconds(second), second * (1'000'000 - 50)));

  EXPECT_LT(worst, milliseconds(1));
}

TEST(Transit, DriftIsForgivenHoweverFarApartFramesAre) {
  Transit transit;
  transit.excess(kStart, 0);
  // 90 parts per million, and a frame whenever ageing by one microsecond is nearly due a second time.
  Duration worst{};
  for (int64_t i = 1; i <= 100'000; ++i)
    worst =
        std::max(worst, transit.excess(kStart + microseconds(19'990 * i), 19'990 * i - 1'799 * i / 1'000));

  EXPECT_LT(worst, milliseconds(1));
}

// A frame every 20 ms for 2000 seconds. What the last one was charged.
Duration steady(Transit& transit, int64_t echo_every_us) {
  Duration charged{};
  for (int64_t us = 20'000; us <= 2'000'000'000; us += 20'000) {
    charged = transit.excess(kStart + microseconds(us), us);
    if (echo_every_us > 0 && us % echo_every_us == 0) transit.bound(to_us(kStart) + us - 500, us);
  }
  return charged;
}

TEST(Transit, ASteadyStreamIsChargedNothingWhileEchoesCome) {
  Transit unbounded, bounded;  // a client's or a broker's, and a replica's
  unbounded.excess(kStart, 0);
  bounded.excess(kStart, 0);
  bounded.bound(to_us(kStart) - 500, 0);

  EXPECT_EQ(steady(unbounded, 0), Duration::zero());
  EXPECT_EQ(steady(bounded, 10'000'000), Duration::zero());
  EXPECT_TRUE(bounded.is_sure());
}

TEST(Transit, AgeingForgivesNothingThatMatters) {
  Transit transit;
  transit.excess(kStart, 0);

  const Duration late = transit.excess(kStart + seconds(10), 0);

  EXPECT_GE(late, seconds(10) - milliseconds(2));
}

TEST(Transit, HostileNumbersOverflowNothing) {
  constexpr std::array kNumbers{std::numeric_limits<int64_t>::min(), std::numeric_limits<int64_t>::max(),
                                int64_t{0}, int64_t{-1}, int64_t{1} << 62};
  for (const int64_t first : kNumbers)
    for (const int64_t second : kNumbers)
      for (const int64_t third : kNumbers) {
        Transit transit;
        transit.excess(kStart, first);
        for (const int64_t number : {second, third}) {
          const Duration charged = transit.excess(kStart + seconds(1000), number);
          EXPECT_GE(charged, Duration::zero());
          EXPECT_LE(charged, microseconds(int64_t{1} << 50));
          EXPECT_LT(charged + Duration(kStart.time_since_epoch()), Duration::max()) << "may be added to";
        }
      }
}

// ---- ShortVector

using Names = ShortVector<std::string, 2>;

TEST(ShortVector, TellsWhetherWhatItErasesWasThere) {
  ShortVector<int, 2> items{1, 2, 3, 2};

  EXPECT_TRUE(items.erase(2));
  EXPECT_FALSE(items.erase(7));

  EXPECT_EQ(items, (ShortVector<int, 2>{1, 3, 2}));
}

TEST(ShortVector, IsWhatAVectorWouldBe) {
  Random random(11);
  Names names;
  std::vector<std::string> model;
  for (int step = 0; step < 10000; ++step) {
    const std::string name = "name " + std::to_string(step);
    switch (random.below(5)) {
      case 0:
        names.clear();
        model.clear();
        break;
      case 1: {
        const size_t size = random.below(model.size() + 1);
        names.resize(size);
        model.resize(size);
        break;
      }
      case 2: {
        Names moved = std::move(names);
        EXPECT_TRUE(names.empty());
        names = moved;  // NOLINT: a copy
        EXPECT_TRUE(names == moved);
        break;
      }
      default:
        names.push_back(name);
        model.push_back(name);
    }
    ASSERT_TRUE(std::equal(names.begin(), names.end(), model.begin(), model.end())) << step;
    ASSERT_EQ(names.empty(), model.empty());
    if (model.empty()) continue;
    ASSERT_EQ(names.front(), model.front());
    ASSERT_EQ(names.back(), model.back());
  }
}

TEST(ShortVector, KeepsTheMemoryOfItsItems) {
  Names names{std::string(100, 'a')};
  const char* memory = names[0].data();

  names.clear();
  std::string& again = names.emplace_back();

  EXPECT_EQ(again.data(), memory);
}

TEST(ShortVector, AMovedOneTakesItsMemoryAlong) {
  ShortVector<std::string, 1> names{"a", "b", std::string(100, 'c')};
  const std::string* items = names.data();

  const ShortVector<std::string, 1> moved = std::move(names);

  EXPECT_EQ(moved.data(), items);
  EXPECT_EQ(moved.size(), 3u);
}

}  // namespace
}  // namespace redoubt
