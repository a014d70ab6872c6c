// Which bytes are text, and what becomes of those that are none.
#include "core/utf8.h"

#include <gtest/gtest.h>

namespace redoubt {
namespace {

TEST(Utf8Test, TellsTextFromOtherBytes) {
  for (const std::string_view text : {"", "abc", "\xc2\xa0", "\xe0\xa0\x80", "\xed\x9f\xbf", "\xe2\x82\xac",
                                      "\xf0\x90\x80\x80", "\xf4\x8f\xbf\xbf"})
    EXPECT_TRUE(is_one_line(text)) << text;

  for (const std::string_view bytes :
       {"\xff", "\x80", "a\xc3", "\xe2\x82", "\xc0\x80", "\xc1\xbf", "\xe0\x9f\xbf", "\xed\xa0\x80",
        "\xf0\x8f\xbf\xbf", "\xf4\x90\x80\x80", "\xf5\x80\x80\x80"})
    EXPECT_FALSE(is_one_line(bytes)) << testing::PrintToString(bytes);
}

TEST(Utf8Test, BytesThatAreNoTextBecomeQuestionMarks) {
  EXPECT_EQ(readable("a\xff\xc3z\xe2\x82\xac", 100), "a??z\xe2\x82\xac");
  EXPECT_EQ(readable("\xc0\x80\xed\xa0\x80", 100), "?????");
  EXPECT_EQ(readable("abc", 2), "ab");
  EXPECT_EQ(readable("ab\xe2\x82\xac", 4), "ab");
}

TEST(Utf8Test, ControlCharactersHaveNoPlaceInALine) {
  for (const std::string_view text : {"", "a b", "\x7e", "\xc2\xa0", "\xc3\x80", "\xe2\x82\xac"})
    EXPECT_TRUE(is_one_line(text)) << text;

  for (const std::string_view text :
       {std::string_view("a\0b", 3), std::string_view("a\n"), std::string_view("\x1b[2J"),
        std::string_view("\x1f"), std::string_view("\x7f"), std::string_view("\xc2\x80"),
        std::string_view("a\xc2\x9f"), std::string_view("\xff")}) {
    EXPECT_FALSE(is_one_line(text)) << testing::PrintToString(text);
    EXPECT_TRUE(is_one_line(one_line(text, 100)));
  }
  EXPECT_EQ(one_line("a\nb\x1b[31m\x7f\xc2\x9bz\xc3\xa9\xff", 100), "a?b?[31m??z\xc3\xa9?");
  EXPECT_EQ(one_line("a\nb", 2), "a?");
}

}  // namespace
}  // namespace redoubt
