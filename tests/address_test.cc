// Sizes and addresses as text, and what their errors say.
#include "core/address.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace redoubt {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string size_error(std::string_view text) {
  Result<ByteSize> parsed = parse_size(text);
  return parsed ? "no error" : parsed.error();
}

std::string address_error(std::string_view text) {
  Result<Address> parsed = parse_address(text);
  return parsed ? "no error" : parsed.error();
}

TEST(SizeTest, ReadsEveryUnit) {
  auto read = [](std::string_view text) { return parse_size(text)->bytes; };

  EXPECT_EQ(read("0"), 0U);
  EXPECT_EQ(read("64"), 64U);
  EXPECT_EQ(read("64B"), 64U);
  EXPECT_EQ(read("16KiB"), 16U << 10);
  EXPECT_EQ(read("1MiB"), 1U << 20);
  EXPECT_EQ(read("2GiB"), uint64_t{2} << 30);
  EXPECT_EQ(read("16777215TiB"), uint64_t{16777215} << 40);
}

TEST(SizeTest, WritesTheLargestUnitThatDivides) {
  for (std::string_view text : {"0", "64", "1023", "1025", "16KiB", "1MiB", "1536KiB", "2GiB", "3TiB"}) {
    ByteSize size = *parse_size(text);

    std::string written = format_size(size);

    EXPECT_EQ(written, text);
  }
}

TEST(SizeTest, ErrorsNameTheTextAndTheCure) {
  EXPECT_THAT(size_error(""), AllOf(HasSubstr("''"), HasSubstr("16KiB")));
  EXPECT_THAT(size_error("big"), AllOf(HasSubstr("'big'"), HasSubstr("16KiB")));
  EXPECT_THAT(size_error("16KB"), AllOf(HasSubstr("'16KB'"), HasSubstr("KiB, MiB, GiB or TiB")));
  EXPECT_THAT(size_error("1.5MiB"), AllOf(HasSubstr("'1.5MiB'"), HasSubstr("whole number")));
  EXPECT_THAT(size_error("-1"), HasSubstr("'-1' is not a size"));
  EXPECT_THAT(size_error("16777216TiB"), HasSubstr("'16777216TiB' is too large"));
  EXPECT_THAT(size_error("99999999999999999999"), HasSubstr("too large"));
}

TEST(AddressTest, ReadsNamesAndBothKindsOfNumbers) {
  EXPECT_EQ(*parse_address("localhost:7400"), (Address{"localhost", 7400}));
  EXPECT_EQ(*parse_address("127.0.0.1:0"), (Address{"127.0.0.1", 0}));
  EXPECT_EQ(*parse_address("[::1]:65535"), (Address{"::1", 65535}));
}

TEST(AddressTest, WritesWhatItReads) {
  for (std::string_view text : {"localhost:7400", "127.0.0.1:0", "[::1]:7400"}) {
    Address address = *parse_address(text);

    std::string written = format_address(address);

    EXPECT_EQ(written, text);
  }
}

TEST(AddressTest, ErrorsNameTheTextAndTheCure) {
  EXPECT_THAT(address_error(""), AllOf(HasSubstr("''"), HasSubstr("127.0.0.1:7400")));
  EXPECT_THAT(address_error("localhost"),
              AllOf(HasSubstr("'localhost' has no port"), HasSubstr("host:port")));
  EXPECT_THAT(address_error("[::1]"), AllOf(HasSubstr("'[::1]' has no port"), HasSubstr("[::1]:port")));
  EXPECT_THAT(address_error("::1:7400"), AllOf(HasSubstr("without brackets"), HasSubstr("[::1]:port")));
  EXPECT_THAT(address_error(":7400"), AllOf(HasSubstr("no host"), HasSubstr("0.0.0.0:7400")));
  EXPECT_THAT(address_error("a b:7400"), AllOf(HasSubstr("'a b:7400'"), HasSubstr("host:port")));
  EXPECT_THAT(address_error("host:65536"), AllOf(HasSubstr("bad port '65536'"), HasSubstr("0 to 65535")));
  EXPECT_THAT(address_error("host:"), AllOf(HasSubstr("bad port ''"), HasSubstr("0 to 65535")));
  EXPECT_THAT(address_error("host:http"), HasSubstr("bad port 'http'"));
}

}  // namespace
}  // namespace redoubt
