// The file of votes: what was written is found, and what is damaged, foreign or in use is told by name.
#include "broker/memory_file.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <mutex>
#include <vector>

#include "tests/poll.h"

namespace redoubt::broker {
namespace {

using test::eventually;
using testing::HasSubstr;
using testing::IsSubsetOf;

constexpr uint64_t kGroup = 42;
constexpr BrokerNumber kSelf = 2;

// One that voted in this number, and has heard of a set.
Memory voted(uint64_t number) {
  return {.blank = false, .promised = {number, 3}, .set = {{number - 1, 1}, 2, only(1) | only(3)}};
}

// A broker's hold on its folder, and the numbers that are on disk by its word.
class Owner {
 public:
  Result<Memory> open(const std::string& folder, uint64_t group = kGroup, BrokerNumber self = kSelf) {
    Result<Memory> found = file_.open(folder, group, self);
    if (found) {
      file_.start([this](uint64_t number) {
        const std::lock_guard lock(mutex_);
        reported_.push_back(number);
      });
    }
    return found;
  }
  void write(uint64_t number, const Memory& memory) { file_.write(number, memory); }
  std::vector<uint64_t> reported() {
    const std::lock_guard lock(mutex_);
    return reported_;
  }
  [[nodiscard]] bool reports(uint64_t number) {
    return eventually([&] {
      const std::vector<uint64_t> all = reported();
      return !all.empty() && all.back() == number;
    });
  }

 private:
  std::mutex mutex_;  // guards what follows
  std::vector<uint64_t> reported_;
  MemoryFile file_;  // last: its thread uses the others
};

class MemoryFileTest : public testing::Test {
 protected:
  MemoryFileTest()
      : folder_(testing::TempDir() + "memory_file_test." +
                testing::UnitTest::GetInstance()->current_test_info()->name()) {
    std::filesystem::remove_all(folder_);
  }
  ~MemoryFileTest() override { std::filesystem::remove_all(folder_); }

  std::string path() const { return folder_ + "/votes"; }
  // What a broker writes that starts, votes and ends.
  void live_through(const Memory& memory) {
    Owner owner;
    ASSERT_TRUE(owner.open(folder_));
    owner.write(1, memory);
    ASSERT_TRUE(owner.reports(1));
  }
  // What the next one finds.
  Result<Memory> found(uint64_t group = kGroup, BrokerNumber self = kSelf) {
    Owner owner;
    return owner.open(folder_, group, self);
  }
  // Overwrites some of the file, as a disk does that loses power.
  void damage(size_t at, const std::string& with) {
    std::fstream file(path(), std::ios::in | std::ios::out | std::ios::binary);
    ASSERT_TRUE(file);
    file.seekp(static_cast<std::streamoff>(at));
    file << with;
  }

  static constexpr size_t kSlot = 512;
  const std::string folder_;
};

TEST_F(MemoryFileTest, ANewFolderIsMadeAndRemembersNothing) {
  const Result<Memory> memory = found();

  ASSERT_TRUE(memory) << memory.error();
  EXPECT_EQ(*memory, Memory{});
  EXPECT_TRUE(memory->blank);
  EXPECT_TRUE(std::filesystem::exists(path()));
}

TEST_F(MemoryFileTest, WhatWasWrittenLastIsFoundByTheNextProcess) {
  for (uint64_t number = 1; number <= 5; ++number) {
    live_through(voted(number));

    const Result<Memory> memory = found();

    ASSERT_TRUE(memory) << memory.error();
    EXPECT_EQ(*memory, voted(number));
  }
}

TEST_F(MemoryFileTest, ATornSlotLeavesTheOneBefore) {
  for (const size_t torn : {0u, 1u, 9u, 20u, 40u}) {
    std::filesystem::remove_all(folder_);
    live_through(voted(1));  // the second slot
    live_through(voted(2));  // the first

    damage(torn, std::string(kSlot - torn, '\0'));
    const Result<Memory> memory = found();

    ASSERT_TRUE(memory) << memory.error();
    EXPECT_EQ(*memory, voted(1)) << "torn at " << torn;
  }
}

TEST_F(MemoryFileTest, ASlotWhoseNumbersWereChangedIsNotBelieved) {
  live_through(voted(1));
  live_through(voted(7));
  std::string slot(kSlot, ' ');
  std::ifstream(path()).read(slot.data(), kSlot);
  const size_t vote = slot.find(" 7 3 ");
  ASSERT_NE(vote, std::string::npos);

  damage(vote, " 6");
  const Result<Memory> memory = found();

  ASSERT_TRUE(memory) << memory.error();
  EXPECT_EQ(*memory, voted(1));
}

TEST_F(MemoryFileTest, ABrokerGoesOnWritingBesideATornSlot) {
  live_through(voted(1));
  live_through(voted(2));
  damage(0, std::string(kSlot, '\0'));

  live_through(voted(3));
  const Result<Memory> memory = found();

  ASSERT_TRUE(memory) << memory.error();
  EXPECT_EQ(*memory, voted(3));
}

TEST_F(MemoryFileTest, AFirstWriteThatBrokeOffIsABlankMemory) {
  live_through(voted(1));

  damage(kSlot, std::string(kSlot, '\0'));
  const Result<Memory> memory = found();

  ASSERT_TRUE(memory) << memory.error();
  EXPECT_TRUE(memory->blank);
}

TEST_F(MemoryFileTest, TwoDamagedSlotsAreAnErrorThatNamesTheFileAndTheCure) {
  live_through(voted(1));
  live_through(voted(2));

  damage(0, std::string(2 * kSlot, '#'));
  const Result<Memory> memory = found();

  ASSERT_FALSE(memory);
  EXPECT_THAT(memory.error(), HasSubstr(path() + " is damaged: remove it"));
}

TEST_F(MemoryFileTest, TwoSlotsThatBeginAsOursMayBeDamagedAsWell) {
  live_through(voted(1));
  live_through(voted(2));

  damage(20, "##########");
  damage(kSlot + 20, "##########");
  const Result<Memory> memory = found();

  ASSERT_FALSE(memory);
  EXPECT_THAT(memory.error(), HasSubstr("is damaged"));
}

TEST_F(MemoryFileTest, AFileOfAnotherGroupOrPlaceIsAnError) {
  live_through(voted(1));

  const Result<Memory> other_group = found(kGroup + 1, kSelf);
  const Result<Memory> other_place = found(kGroup, kSelf + 1);

  ASSERT_FALSE(other_group);
  EXPECT_THAT(other_group.error(), HasSubstr(path() + " was written for another --group"));
  ASSERT_FALSE(other_place);
  EXPECT_THAT(other_place.error(), HasSubstr("another place in it"));
}

TEST_F(MemoryFileTest, TwoBrokersInOneFolderAreAnError) {
  auto first = std::make_unique<Owner>();
  ASSERT_TRUE(first->open(folder_));

  const Result<Memory> second = found();
  ASSERT_FALSE(second);
  EXPECT_THAT(second.error(), HasSubstr(path() + " is in use by another broker"));
  first.reset();

  EXPECT_TRUE(found()) << "it is free when the first has gone";
}

TEST_F(MemoryFileTest, AFolderThatCannotBeMadeIsAnError) {
  std::filesystem::create_directories(folder_);
  std::ofstream(path()) << "a file, where a folder is wanted";

  Owner owner;
  const Result<Memory> memory = owner.open(path() + "/below");

  ASSERT_FALSE(memory);
  EXPECT_THAT(memory.error(), HasSubstr("--data-dir " + path() + "/below: cannot make it"));
}

TEST_F(MemoryFileTest, ANewerWriteMayOvertakeOlderOnesAndReportsForThem) {
  constexpr uint64_t kWrites = 200;
  std::vector<uint64_t> asked;
  {
    Owner owner;
    ASSERT_TRUE(owner.open(folder_));

    for (uint64_t number = 1; number <= kWrites; ++number) {
      owner.write(number, voted(number));
      asked.push_back(number);
    }

    ASSERT_TRUE(owner.reports(kWrites));
    const std::vector<uint64_t> reported = owner.reported();
    EXPECT_THAT(reported, IsSubsetOf(asked));
    EXPECT_TRUE(std::is_sorted(reported.begin(), reported.end())) << "never one before an older one";
  }
  const Result<Memory> memory = found();
  ASSERT_TRUE(memory) << memory.error();
  EXPECT_EQ(*memory, voted(kWrites));
}

TEST_F(MemoryFileTest, AWriteIsInTheFileByTheTimeItReports) {
  Owner owner;
  ASSERT_TRUE(owner.open(folder_));

  owner.write(1, voted(9));
  ASSERT_TRUE(owner.reports(1));
  std::ifstream file(path());
  const std::string text((std::istreambuf_iterator<char>(file)), {});

  EXPECT_THAT(text, HasSubstr(" 9 3 8 1 2 5 ")) << "the vote and the set, as a person can read them";
}

}  // namespace
}  // namespace redoubt::broker
