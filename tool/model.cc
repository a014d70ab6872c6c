// `redoubt model`: what the formulas say, as a table or as JSON. Reads flags and prints; the formulas are in
// model/.
#include <cstdio>
#include <nlohmann/json.hpp>

#include "model/availability.h"
#include "model/redundancy.h"
#include "tool/commands.h"
#include "tool/output.h"
#include "wire/limits.h"

namespace redoubt::tool {
namespace {

using Json = nlohmann::ordered_json;

constexpr double kSmallestRate = 1e-9, kLargestRate = 1e9;
constexpr uint32_t kMostServers = 1000;

double seconds(Duration duration) { return std::chrono::duration<double>(duration).count(); }

int tell(const char* command, const Failure& failure) {
  if (!failure) return kExitOk;
  std::fprintf(stderr, "redoubt model %s: %s\n", command, failure->text.c_str());
  return kExitFailed;
}

// ---- redundancy

struct RedundancyFlags {
  uint32_t levels = 1;
  std::vector<uint32_t> servers;
  std::vector<Duration> service_time;
  std::vector<double> rate;
  std::vector<std::string> copies{"1"};
  Duration wait_limit{};
  model::Option option = model::Option::kPerLevel;
  std::vector<double> failure_rates;
  bool best = false, json = false;
};

// One row of the result.
struct Row {
  std::string option;
  double rate = 0;
  std::string copies;
  std::optional<model::Answer> answer;  // none: unstable
};

// A list that goes by level, where one value serves all.
template <class T>
Result<std::vector<T>> by_level(const std::vector<T>& values, uint32_t levels, const char* flag) {
  if (values.size() == 1) return std::vector<T>(levels, values.front());
  if (values.size() == levels) return values;
  return Error{std::string(flag) + ": " + std::to_string(values.size()) + " values for " +
               std::to_string(levels) + " levels: give one for all, or one for each"};
}

// `3`, or `2/3` where levels differ.
Result<std::vector<uint32_t>> parse_copies(const std::string& text, uint32_t levels) {
  std::vector<uint32_t> copies;
  for (size_t from = 0; from <= text.size();) {
    const size_t end = std::min(text.find('/', from), text.size());
    const auto one = ValueText<uint32_t>::parse(std::string_view(text).substr(from, end - from));
    if (!one || *one == 0 || *one > wire::kMaxCopies)
      return Error{"--copies: '" + text + "' is not a number of copies from 1 to " +
                   std::to_string(wire::kMaxCopies) + ", or one for each level as in 2/3"};
    copies.push_back(*one);
    from = end + 1;
  }
  return by_level(copies, levels, "--copies");
}

std::string copies_text(const std::vector<uint32_t>& copies) {
  const bool same = std::equal(copies.begin() + 1, copies.end(), copies.begin());
  std::string text;
  for (size_t i = 0; i < (same ? 1 : copies.size()); ++i)
    text += (i > 0 ? "/" : "") + std::to_string(copies[i]);
  return text;
}

Json json_of(const Row& row) {
  Json json;
  json["option"] = row.option;
  json["rate"] = row.rate;
  if (row.copies.find('/') == std::string::npos && !row.copies.empty())
    json["copies"] = std::stoul(row.copies);
  else
    json["copies"] = row.copies;
  json["stable"] = row.answer.has_value();
  if (!row.answer) return json;
  json["probability"] = row.answer->probability;
  json["mean_wait_s"] = row.answer->mean_wait;
  json["residence_s"] = row.answer->residence;
  return json;
}

std::string table_of(const std::vector<Row>& rows) {
  std::string table = "OPTION        RATE  COPIES  P(TIMELY)   MEAN WAIT s   RESIDENCE s\n";
  for (const Row& row : rows) {
    char line[160];
    if (row.answer)
      std::snprintf(line, sizeof line, "%-6s %11g  %6s  %.7f  %12.6g  %12.6g\n", row.option.c_str(), row.rate,
                    row.copies.c_str(), row.answer->probability, row.answer->mean_wait,
                    row.answer->residence);
    else
      std::snprintf(line, sizeof line, "%-6s %11g  %6s  unstable: more than the servers can do\n",
                    row.option.c_str(), row.rate, row.copies.c_str());
    table += line;
  }
  return table;
}

class Redundancy {
 public:
  explicit Redundancy(Options& parent)
      : options_(
            parent.command("redundancy", "What copies are worth: timely requests, mean wait, residence.")) {
    RedundancyFlags& f = flags_;
    options_.add("levels", f.levels, {1, wire::kMaxLevels}, "that a request passes");
    options_.add("servers", f.servers, {1, kMostServers}, "at each level; one number serves all levels")
        .must_be_given();
    options_
        .add("service-time", f.service_time, {std::chrono::nanoseconds(1), std::chrono::hours(24)},
             "mean, exponential, at each level; one serves all levels")
        .must_be_given();
    options_
        .add("rate", f.rate, {kSmallestRate, kLargestRate}, "requests per second; each makes rows of its own")
        .must_be_given();
    options_.add("copies", f.copies,
                 "of a request at each level; each makes rows of its own; 2/3 where levels differ");
    options_
        .add("wait-limit", f.wait_limit, {Duration::zero(), std::chrono::hours(24 * 365)},
             "of the time in queues at all levels together")
        .must_be_given();
    options_.add_choice("option", f.option, {{"S1", model::Option::kPaths}, {"S2", model::Option::kPerLevel}},
                        "S1: paths through all levels, chosen at the start; S2: copies at each level");
    options_
        .add("failure-rates", f.failure_rates, {0, kLargestRate},
             "per second: of a server while a copy waits, while it computes, and errors of computations")
        .shaped("WAITING,COMPUTING,ERRORS");
    options_.add("best", f.best, "the copies with the highest probability, instead of --copies");
    options_.add("json", f.json, "an array of objects instead of a table");
    options_.exits(kExitOk, "the rows were printed, unstable ones too");
    options_.exits(kExitFailed, "they could not be written");
  }

  bool chosen() const { return options_.chosen(); }

  int run() {
    const Result<std::vector<Row>> rows = rows_of();
    if (!rows) return options_.usage_error(rows.error()).finish();
    std::string text;
    if (flags_.json) {
      Json all = Json::array();
      for (const Row& row : *rows) all.push_back(json_of(row));
      text = all.dump() + "\n";
    } else {
      text = table_of(*rows);
    }
    return tell("redundancy", print(text));
  }

 private:
  Result<model::Question> question() const {
    const auto servers = by_level(flags_.servers, flags_.levels, "--servers");
    if (!servers) return Error{servers.error()};
    const auto times = by_level(flags_.service_time, flags_.levels, "--service-time");
    if (!times) return Error{times.error()};
    model::Question question;
    question.limit = seconds(flags_.wait_limit);
    question.option = flags_.option;
    for (uint32_t i = 0; i < flags_.levels; ++i)
      question.levels.push_back({(*servers)[i], seconds((*times)[i]), 1});
    const std::vector<double>& rates = flags_.failure_rates;
    if (rates.empty()) return question;
    if (rates.size() != 3)
      return Error{"--failure-rates: give three, as 5,5,20: waiting, computing, errors of computations"};
    question.failures = {rates[0], rates[1], rates[2]};
    return question;
  }

  // Sets the copies, if the formulas hold for so many.
  Failure set_copies(const std::string& text, model::Question& question) const {
    const auto copies = parse_copies(text, flags_.levels);
    if (!copies) return Error{copies.error()};
    for (uint32_t i = 0; i < flags_.levels; ++i) {
      if ((*copies)[i] > question.levels[i].servers)
        return Error{"--copies: " + std::to_string((*copies)[i]) + " at a level with " +
                     std::to_string(question.levels[i].servers) +
                     " servers: the formulas give each copy a server of its own"};
      if (flags_.option == model::Option::kPaths && (*copies)[i] != copies->front())
        return Error{"--copies: '" + text +
                     "': paths have as many copies at every level; --option S2 does not"};
      question.levels[i].copies = (*copies)[i];
    }
    return {};
  }

  Result<std::vector<Row>> rows_of() const {
    Result<model::Question> asked = question();
    if (!asked) return Error{asked.error()};
    model::Question question = *asked;
    const std::string name = flags_.option == model::Option::kPaths ? "S1" : "S2";
    std::vector<Row> rows;
    for (const double rate : flags_.rate) {
      question.rate = rate;
      if (flags_.best) {
        const auto best = model::best_copies(question);
        for (uint32_t i = 0; i < flags_.levels; ++i) question.levels[i].copies = best ? (*best)[i] : 1;
        rows.push_back({name, rate, best ? copies_text(*best) : "1", model::answer(question)});
        continue;
      }
      for (const std::string& text : flags_.copies) {
        if (Failure failure = set_copies(text, question)) return Error{failure->text};
        std::vector<uint32_t> copies;
        for (const model::Level& level : question.levels) copies.push_back(level.copies);
        rows.push_back({name, rate, copies_text(copies), model::answer(question)});
      }
    }
    return rows;
  }

  Options& options_;
  RedundancyFlags flags_;
};

// ---- availability

class Availability {
 public:
  explicit Availability(Options& parent)
      : options_(parent.command("availability", "The share of time in which enough servers are up.")) {
    options_.add("servers", servers_.count, {1, kMostServers}, "there are").must_be_given();
    options_.add("failure-rate", servers_.failure_rate, {kSmallestRate, kLargestRate}, "of one server")
        .must_be_given();
    options_
        .add("repair-rate", servers_.repair_rate, {kSmallestRate, kLargestRate},
             "of one crew, per the same time")
        .must_be_given();
    options_.add("crews", servers_.crews, {1, kMostServers}, "that repair one server each at a time");
    options_.add("need", servers_.needed, {1, kMostServers}, "servers that must be up");
    options_.add("json", json_, "an object instead of a line");
    options_.exits(kExitOk, "the result was printed");
    options_.exits(kExitFailed, "it could not be written");
  }

  bool chosen() const { return options_.chosen(); }

  int run() {
    if (servers_.needed > servers_.count)
      return options_
          .usage_error("--need " + std::to_string(servers_.needed) + ": there are only " +
                       std::to_string(servers_.count) + " servers")
          .finish();
    const double share = model::availability(servers_);
    char line[80];
    std::snprintf(line, sizeof line, "available %.12f of the time\n", share);
    return tell("availability", print(json_ ? Json{{"availability", share}}.dump() + "\n" : line));
  }

 private:
  Options& options_;
  model::Servers servers_;
  bool json_ = false;
};

class ModelCommand : public Command {
 public:
  explicit ModelCommand(Options& program)
      : options_(program.command("model", "What the formulas say of a cluster.")),
        redundancy_(options_),
        availability_(options_) {}

  bool chosen() const override { return options_.chosen(); }
  int run() override { return redundancy_.chosen() ? redundancy_.run() : availability_.run(); }

 private:
  Options& options_;
  Redundancy redundancy_;
  Availability availability_;
};

}  // namespace

std::unique_ptr<Command> make_model(Options& program) { return std::make_unique<ModelCommand>(program); }

}  // namespace redoubt::tool
