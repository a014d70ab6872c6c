// LinkedList: what stands in a row, and leaves it from anywhere.
#include "core/linked_list.h"

#include <gtest/gtest.h>

#include <vector>

#include "core/random.h"

namespace redoubt {
namespace {

struct Link {
  int value = 0;
  Links<Link> in_list, in_other;
};

class LinkedListTest : public ::testing::Test {
 protected:
  using List = LinkedList<&Link::in_list>;
  using Other = LinkedList<&Link::in_other>;

  Handle<Link> make(int value) {
    const Handle<Link> id = items_.take();
    items_[id].value = value;
    return id;
  }
  std::vector<int> values() const {
    std::vector<int> found;
    for (Handle<Link> id = list_.first(); id; id = items_[id].in_list.next) found.push_back(items_[id].value);
    return found;
  }
  std::vector<int> backwards() const {
    std::vector<int> found;
    for (Handle<Link> id = list_.last(); id; id = items_[id].in_list.previous)
      found.insert(found.begin(), items_[id].value);
    return found;
  }

  Slab<Link> items_;
  List list_;
};

TEST_F(LinkedListTest, KeepsTheOrderInWhichItWasFilled) {
  list_.push_back(items_, make(2));
  list_.push_back(items_, make(3));
  list_.insert_after(items_, make(1), {});

  EXPECT_EQ(values(), (std::vector<int>{1, 2, 3}));
  EXPECT_EQ(list_.size(), 3u);
}

TEST_F(LinkedListTest, AnObjectIsInSeveralByAsManyLinks) {
  Other other;
  const Handle<Link> id = make(1);
  list_.push_back(items_, id);
  other.push_back(items_, id);

  list_.erase(items_, id);

  EXPECT_TRUE(list_.empty());
  EXPECT_FALSE(list_.first());
  EXPECT_EQ(other.first(), id);
}

TEST_F(LinkedListTest, IsWhatADequeWouldBe) {
  Random random(5);
  std::vector<Handle<Link>> expected;
  for (int step = 0; step < 2000; ++step) {
    if (expected.empty() || (expected.size() < 20 && random.below(2) == 0)) {
      const Handle<Link> id = make(step);
      const size_t place = random.below(expected.size() + 2);
      if (place > expected.size()) {
        list_.push_back(items_, id);
        expected.push_back(id);
      } else {
        list_.insert_after(items_, id, place == 0 ? Handle<Link>{} : expected[place - 1]);
        expected.insert(expected.begin() + static_cast<std::ptrdiff_t>(place), id);
      }
    } else {
      const auto gone = expected.begin() + static_cast<std::ptrdiff_t>(random.below(expected.size()));
      list_.erase(items_, *gone);
      items_.give_back(*gone);
      expected.erase(gone);
    }
    std::vector<int> wanted;
    for (const Handle<Link> id : expected) wanted.push_back(items_[id].value);
    ASSERT_EQ(values(), wanted);
    ASSERT_EQ(backwards(), wanted);
    ASSERT_EQ(list_.size(), wanted.size());
  }
}

}  // namespace
}  // namespace redoubt
