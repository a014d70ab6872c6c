// What a line says and what comes of it; see commands.h.
#include "lab/proxy/commands.h"

#include <algorithm>
#include <optional>
#include <sstream>

#include "lab/proxy/limits.h"
#include "options/daemon.h"
#include "options/nearest.h"
#include "options/value_text.h"

namespace redoubt::lab {
namespace {

using Kind = Treatment::Kind;

struct Command {
  std::string name, usage;
  bool directed = true;                // it has a direction
  std::optional<Kind> treats_as = {};  // all it does is to set this treatment
};

const std::vector<Command>& known_commands() {
  static const std::vector<Command> known{{"pass", "pass 0 both", true, Kind::kPass},
                                          {"delay", "delay 0 both 5ms", true, Kind::kDelay},
                                          {"stall", "stall 0 forward", true, Kind::kStall},
                                          {"drop", "drop 0 forward", true, Kind::kDrop},
                                          {"rate", "rate 0 both 1000", true, Kind::kRate},
                                          {"garbage", "garbage 0 forward"},
                                          {"cut", "cut 0", false},
                                          {"refuse", "refuse 0", false},
                                          {"accept", "accept 0", false},
                                          {"stats", "stats 0", false}};
  return known;
}

// A line, understood.
struct Order {
  const Command* command = nullptr;
  std::vector<size_t> routes;
  bool all = false;
  std::vector<Direction> directions;
  Treatment treatment;
};

std::vector<std::string> words_of(std::string_view line) {
  std::istringstream in{std::string(line)};
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

Result<const Command*> parse_command(const std::string& word) {
  std::vector<std::string> names;
  for (const Command& known : known_commands()) {
    if (known.name == word) return &known;
    names.push_back(known.name);
  }
  const std::string best = nearest(word, names);
  std::string all;
  for (const std::string& name : names) all += (all.empty() ? "" : ", ") + name;
  return Error{"'" + word +
               "': unknown command: " + (best.empty() ? "known: " + all : "did you mean " + best + "?")};
}

Failure parse_routes(const std::string& word, size_t count, Order& order) {
  order.all = word == "all";
  if (order.all) {
    for (size_t number = 0; number < count; ++number) order.routes.push_back(number);
    return {};
  }
  const Result<size_t> number = ValueText<size_t>::parse(word);
  if (!number || *number >= count)
    return Error{"'" + word + "': no such route: write a number below " + std::to_string(count) + ", or all"};
  order.routes = {*number};
  return {};
}

Failure parse_directions(const std::string& word, Order& order) {
  if (word == "forward" || word == "both") order.directions.push_back(Direction::kForward);
  if (word == "backward" || word == "both") order.directions.push_back(Direction::kBackward);
  if (!order.directions.empty()) return {};
  return Error{"'" + word + "': no such direction: write forward, backward or both"};
}

Failure parse_amount(const std::string& word, Treatment& treatment) {
  if (treatment.kind == Kind::kDelay) {
    const Result<Duration> delay = parse_duration(word);
    if (!delay) return Error{delay.error()};
    if (*delay > kLongestDelay)
      return Error{"'" + word + "' is too long: a delay is at most " + format_duration(kLongestDelay)};
    treatment.delay = *delay;
    return {};
  }
  const Result<uint64_t> rate = ValueText<uint64_t>::parse(word);
  if (!rate) return Error{rate.error()};
  if (*rate < 1 || *rate > kHighestRate)
    return Error{"'" + word + "' is out of range: a rate is from 1 to " + std::to_string(kHighestRate) +
                 " bytes a second; to let nothing through, stall or drop"};
  treatment.rate = *rate;
  return {};
}

Result<Order> parse(std::string_view line, size_t route_count) {
  const std::vector<std::string> words = words_of(line);
  if (words.empty()) return Error{"the line is empty: write a command, such as " + known_commands()[0].usage};
  const Result<const Command*> command = parse_command(words[0]);
  if (!command) return Error{command.error()};
  Order order;
  order.command = *command;
  if (words.size() != words_of(order.command->usage).size())
    return Error{order.command->name + " has too few or too many words: write it like " +
                 order.command->usage};
  if (Failure failure = parse_routes(words[1], route_count, order)) return *failure;
  if (!order.command->directed) return order;
  if (Failure failure = parse_directions(words[2], order)) return *failure;
  order.treatment.kind = order.command->treats_as.value_or(Kind::kPass);
  if (words.size() > 3)
    if (Failure failure = parse_amount(words[3], order.treatment)) return *failure;
  return order;
}

std::string stats_line(Proxy& proxy, const Order& order) {
  RouteStats sum;
  for (const size_t number : order.routes) sum += proxy.route(number).stats();
  const Route* one = order.all ? nullptr : &proxy.route(order.routes[0]);
  const auto words = [&](Direction direction) {
    return one ? to_text(one->treatment(direction)) : std::string("all");
  };
  return event_line("stats", {{"route", order.all ? "all" : std::to_string(order.routes[0])},
                              {"listen", one ? one->listen_address() : "all"},
                              {"target", one ? one->target_address() : "all"},
                              {"accepts", !one || one->accepts()},
                              {"open", sum.open},
                              {"accepted", sum.accepted},
                              {"turned_away", sum.turned_away},
                              {"unreachable", sum.unreachable},
                              {"forward", words(Direction::kForward)},
                              {"forward_passed", sum.passed[0]},
                              {"forward_held", sum.held[0]},
                              {"forward_swallowed", sum.swallowed[0]},
                              {"backward", words(Direction::kBackward)},
                              {"backward_passed", sum.passed[1]},
                              {"backward_held", sum.held[1]},
                              {"backward_swallowed", sum.swallowed[1]}});
}

std::string error_line(std::string_view line, const std::string& text) {
  return event_line("error", {{"command", std::string(line)}, {"text", text}});
}

std::string carry_out(Proxy& proxy, const Order& order, std::string_view line) {
  const std::string& name = order.command->name;
  if (name == "stats") return stats_line(proxy, order);
  // One burst for all: what it is must not depend on how many routes there are.
  const std::string burst = name == "garbage" ? proxy.garbage() : std::string();
  size_t connections = 0;
  std::string failed;
  for (const size_t number : order.routes) {
    Route& route = proxy.route(number);
    for (const Direction direction : order.directions) {
      if (order.command->treats_as) route.treat(direction, order.treatment);
      if (!burst.empty()) connections += route.insert(direction, burst);
    }
    if (name == "cut") connections += route.cut();
    if (name == "refuse") route.refuse();
    if (name == "accept")
      if (const Failure failure = route.accept()) failed += (failed.empty() ? "" : "; ") + failure->text;
  }
  if (!failed.empty()) return error_line(line, failed);
  if (!burst.empty() || name == "cut")
    return event_line("done", {{"command", std::string(line)}, {"connections", connections}});
  return event_line("done", {{"command", std::string(line)}});
}

}  // namespace

void Commands::take(std::string_view bytes) {
  while (!bytes.empty()) {
    const size_t end = bytes.find('\n');
    const std::string_view piece = bytes.substr(0, end);
    if (unfinished_.size() + piece.size() > kLongestCommand) {
      too_long_ = true;
      unfinished_.clear();
    }
    if (!too_long_) unfinished_ += piece;
    if (end == std::string_view::npos) return;
    answer_(too_long_
                ? error_line("", "a line is longer than " + std::to_string(kLongestCommand) +
                                     " bytes: a command is a few words, such as " + known_commands()[0].usage)
                : obey(unfinished_));
    unfinished_.clear();
    too_long_ = false;
    bytes.remove_prefix(end + 1);
  }
}

std::string Commands::obey(std::string_view line) {
  const Result<Order> order = parse(line, proxy_.size());
  return order ? carry_out(proxy_, *order, line) : error_line(line, order.error());
}

}  // namespace redoubt::lab
