// Which bytes are text, and what becomes of those that are none.
#include "core/utf8.h"

#include <gtest/gtest.h>

namespace redoubt {
namespace {

TEST(Utf8Test, TellsTextFromOtherBytes) {
  for (const std::string_view text : {"", "abc", "\xc2\x80", "\xe0\xa0\x80", "\xed\x9f\xbf", "\xe2\x82\xac",
                                      "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf"})
    EXPECT_TRUE(is_utf8(text)) << text;

  for (const std::string_view bytes :
       {"\xff", "\x80", "a\xc3", "\xe2\x82", "\xc0\x80", "\xc1\xbf", "\xe0\x9f\xbf", "\xed\xa0\x80",
        "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80"})
    EXPECT_FALSE(is_utf8(bytes)) << testing::PrintToString(bytes);
}

TEST(Utf8Test, BytesThatAreNoTextBecomeQuestionMarks) {
  EXPECT_EQ(readable("a\xff\xc3z\xe2\x82\xac", 100), "a??z\xe2\x82\xac");
  EXPECT_EQ(readable("\xc0\x80\xed\xa0\x80", 100), "?????");
  EXPECT_EQ(readable("abc", 2), "ab");
  EXPECT_EQ(readable("ab\xe2\x82\xac", 4), "ab");
}

}  // namespace
}  // namespace redoubt
