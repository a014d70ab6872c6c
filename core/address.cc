// Sizes and addresses from and to text.
#include "core/address.h"

#include <array>
#include <charconv>
#include <limits>

namespace redoubt {
namespace {

struct Unit {
  std::string_view name;
  uint64_t bytes;
};

// Largest first: formatting takes the first that divides.
constexpr std::array kUnits{Unit{"TiB", uint64_t{1} << 40}, Unit{"GiB", 1 << 30}, Unit{"MiB", 1 << 20},
                            Unit{"KiB", 1 << 10}, Unit{"", 1}};
constexpr std::string_view kSizeCure =
    "write a whole number of bytes, or one with KiB, MiB, GiB or TiB, as in 16KiB";

Error bad(std::string_view text, std::string_view why) {
  return Error{"'" + std::string(text) + "' " + std::string(why)};
}

const Unit* find_unit(std::string_view name) {
  if (name == "B") name = "";
  for (const Unit& unit : kUnits) {
    if (unit.name == name) return &unit;
  }
  return nullptr;
}

Result<uint16_t> parse_port(std::string_view whole, std::string_view port) {
  uint16_t number = 0;
  const char* end = port.data() + port.size();
  auto [rest, problem] = std::from_chars(port.data(), end, number);
  if (problem != std::errc() || rest != end) {
    return bad(whole, "has a bad port '" + std::string(port) + "': give a number from 0 to 65535");
  }
  return number;
}

}  // namespace

Result<ByteSize> parse_size(std::string_view text) {
  uint64_t number = 0;
  const char* end = text.data() + text.size();
  auto [rest, problem] = std::from_chars(text.data(), end, number);
  const Unit* unit = find_unit(std::string_view(rest, static_cast<size_t>(end - rest)));
  if (problem == std::errc::invalid_argument || !unit)
    return bad(text, "is not a size: " + std::string(kSizeCure));
  if (problem != std::errc() || number > std::numeric_limits<uint64_t>::max() / unit->bytes) {
    return bad(text, "is too large a size: it must be below 16777216TiB");
  }
  return ByteSize{number * unit->bytes};
}

std::string format_size(ByteSize size) {
  for (const Unit& unit : kUnits) {
    if (size.bytes >= unit.bytes && size.bytes % unit.bytes == 0) {
      return std::to_string(size.bytes / unit.bytes) + std::string(unit.name);
    }
  }
  return "0";
}

Result<Address> parse_address(std::string_view text) {
  constexpr std::string_view kCure = "write host:port or [::1]:port, as in 127.0.0.1:7400";
  size_t colon = text.rfind(':');
  if (colon == std::string_view::npos || text.ends_with(']')) {
    return bad(text, "has no port: " + std::string(kCure));
  }
  std::string_view host = text.substr(0, colon);
  bool bracketed = host.starts_with('[') && host.ends_with(']') && host.size() > 2;
  if (bracketed) host = host.substr(1, host.size() - 2);
  if (host.empty())
    return bad(text, "has no host: write 0.0.0.0" + std::string(text) + " for every interface");
  if (!bracketed && host.find(':') != std::string_view::npos) {
    return bad(text, "is an IPv6 address without brackets: write [" + std::string(host) + "]:port");
  }
  if (host.find_first_of(" \t[]/,") != std::string_view::npos) {
    return bad(text, "is not an address: " + std::string(kCure));
  }
  Result<uint16_t> port = parse_port(text, text.substr(colon + 1));
  if (!port) return Error{port.error()};
  return Address{std::string(host), *port};
}

std::string format_address(const Address& address) {
  bool ipv6 = address.host.find(':') != std::string::npos;
  return (ipv6 ? "[" + address.host + "]" : address.host) + ":" + std::to_string(address.port);
}

}  // namespace redoubt
