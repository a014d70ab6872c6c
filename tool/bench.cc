// `redoubt bench`: load, judged. Sets up one driver a client, watches them, adds up and prints.
#include <cstdio>
#include <string>
#include <vector>

#include "net/busy_poll.h"
#include "tool/commands.h"
#include "tool/driver.h"
#include "tool/interrupts.h"
#include "tool/output.h"
#include "tool/progress.h"
#include "tool/report.h"
#include "tool/request_flags.h"

namespace redoubt::tool {
namespace {

struct BenchFlags {
  RequestFlags request;
  ByteSize payload{64};
  std::optional<uint64_t> window;
  std::optional<double> rate;
  std::string arrivals = "poisson";
  std::optional<uint64_t> requests;
  std::optional<Duration> duration;
  uint32_t clients = 1;
  Duration busy_poll = net::kBusyPoll;
  uint64_t seed = 1;
  std::optional<std::string> history, csv;
  bool json = false, require_all = false;
};

constexpr uint64_t kDefaultWindow = 64;
constexpr Duration kDefaultDuration = std::chrono::seconds(10);
constexpr Duration kConnectLimit = std::chrono::milliseconds(500);
constexpr Duration kTick = std::chrono::milliseconds(10);

class Bench : public Command {
 public:
  explicit Bench(Options& program)
      : options_(program.command("bench", "Sends many requests and judges what becomes of them.")) {
    BenchFlags& f = flags_;
    add_request_flags(options_, f.request);
    options_.section("The load");
    options_.add("payload", f.payload, {{0}, {uint64_t{1} << 30}}, "bytes of each request");
    options_.add("window", f.window, {1, 1'000'000},
                 "closed loop: requests outstanding, all clients together (64)");
    options_.add("rate", f.rate, {0.001, 1e7}, "open loop: requests a second, all clients together");
    options_.add("arrivals", f.arrivals, "of the open loop: poisson, constant, batch(N), trace:FILE")
        .shaped("poisson|constant|batch(N)|trace:FILE");
    options_.add("requests", f.requests, {1, uint64_t{1} << 40}, "to send");
    options_.add("duration", f.duration, "of sending (10s, unless --requests says when to end)");
    options_.add("clients", f.clients, {1, 1024}, "each with a connection and a thread of its own");
    options_.add("busy-poll", f.busy_poll, {Duration::zero(), net::kMostBusyPoll}, net::kBusyPollHelp);
    options_.add("seed", f.seed, "of arrival times and payload bytes");
    options_.section("Results");
    options_.add("json", f.json, "the result object alone, without the table for people");
    options_.add("history", f.history, "a file with one JSON line for every submit and every outcome")
        .must_not_be_empty();
    options_.add("csv", f.csv, "a file to which the result is appended as one line").must_not_be_empty();
    options_.add("require-all", f.require_all, "exit 0 only if every request was answered");
    options_.exits(kExitOk, "nothing lost, duplicated or unexpected");
    options_.exits(
        kExitFailed,
        "something was, or with --require-all a request was not answered, or a result or file not written");
    options_.exits(kExitInterrupted, "interrupted");
  }

  bool chosen() const override { return options_.chosen(); }
  int run() override;

 private:
  Failure prepare();
  Load load_of(uint64_t client) const;
  // False when it was interrupted.
  bool connect(const Interrupts& interrupts);
  void start();
  // The same.
  bool watch(const Interrupts& interrupts);
  double share_done(Time now) const;
  int finish(bool completed);

  Options& options_;
  BenchFlags flags_;
  Request request_;
  ClientOptions client_options_;
  ArrivalShape shape_;
  Time began_;
  GapMeter gap_;
  std::unique_ptr<HistoryFile> history_;
  std::vector<std::unique_ptr<Driver>> drivers_;
};

// Client `index`'s part of `total`.
uint64_t part(uint64_t total, uint64_t clients, uint64_t index) {
  return total / clients + (index < total % clients ? 1 : 0);
}

Payload random_payload(size_t size, uint64_t seed) {
  Random random(seed);
  Payload payload = Payload::uninitialised(size);
  for (size_t i = 0; i < size; ++i) payload.writable()[i] = static_cast<char>(random() & 0xff);
  return payload;
}

Failure Bench::prepare() {
  Result<Request> request = request_of(flags_.request);
  if (!request) return Error{request.error()};
  request_ = *request;
  Result<ClientOptions> options = client_options_of(flags_.request);
  if (!options) return Error{options.error()};
  client_options_ = *options;
  client_options_.busy_poll = flags_.busy_poll;
  if (flags_.window && flags_.rate)
    return Error{"--window is a closed loop and --rate an open one: give one of them"};
  if (flags_.window && *flags_.window < flags_.clients)
    return Error{"--window " + std::to_string(*flags_.window) +
                 " is shared by all clients: at least one each is needed"};
  Result<ArrivalShape> shape = parse_arrivals(flags_.arrivals);
  if (!shape) return Error{"--arrivals: " + shape.error()};
  shape_ = *shape;
  if (shape_.trace && !flags_.rate) flags_.rate = 1;  // a trace has its own times
  if (!flags_.window && !flags_.rate) flags_.window = std::max<uint64_t>(kDefaultWindow, flags_.clients);
  if (!flags_.requests && !flags_.duration && !shape_.trace) flags_.duration = kDefaultDuration;
  if (flags_.history) {
    Result<std::unique_ptr<HistoryFile>> file = HistoryFile::create(*flags_.history);
    if (!file) return Error{"--history: " + file.error()};
    history_ = std::move(*file);
  }
  return {};
}

Load Bench::load_of(uint64_t client) const {
  Load load;
  load.request = request_;
  // Bytes of its own: a reference count that several threads touch would be what is measured.
  load.request.payload = random_payload(flags_.payload.bytes, flags_.seed + client);
  if (flags_.requests) load.requests = part(*flags_.requests, flags_.clients, client);
  load.duration = flags_.duration;
  if (flags_.window)
    load.window = part(*flags_.window, flags_.clients, client);
  else
    load.arrivals.emplace(shape_, *flags_.rate / flags_.clients, flags_.seed * 7919 + client, client,
                          flags_.clients);
  return load;
}

bool Bench::connect(const Interrupts& interrupts) {
  for (uint64_t i = 0; i < flags_.clients; ++i)
    drivers_.push_back(std::make_unique<Driver>(client_options_, load_of(i), gap_, history_.get()));
  // Connecting is no part of the load; but who cannot connect sends all the same, and loses.
  const Time limit = Clock::now() + std::min<Duration>(kConnectLimit, request_.deadline);
  for (const auto& driver : drivers_)
    while (!driver->connected() && Clock::now() < limit)
      if (interrupts.wait(std::chrono::milliseconds(1))) return false;
  return true;
}

void Bench::start() {
  began_ = Clock::now();
  for (const auto& driver : drivers_) driver->start(began_);
}

double Bench::share_done(Time now) const {
  double share = 0;
  if (flags_.duration) share = to_seconds(now - began_) / to_seconds(*flags_.duration);
  if (flags_.requests) {
    uint64_t sent = 0;
    for (const auto& driver : drivers_) sent += driver->sent();
    share = std::max(share, static_cast<double>(sent) / static_cast<double>(*flags_.requests));
  }
  return share;
}

bool Bench::watch(const Interrupts& interrupts) {
  Progress progress;
  bool interrupted = false;
  for (;;) {
    bool done = true;
    uint64_t sent = 0, answered = 0;
    for (const auto& driver : drivers_) {
      done = done && driver->done();
      sent += driver->sent();
      answered += driver->answered();
    }
    if (done || interrupted) break;
    const Time now = Clock::now();
    progress.show(now, share_done(now), sent, answered);
    interrupted = interrupts.wait(kTick);
  }
  progress.finish();
  return !interrupted;
}

int Bench::finish(bool completed) {
  Report report;
  std::string connection;
  for (const auto& driver : drivers_) {
    if (connection.empty()) connection = driver->connection();
    driver->read_stats();
    driver->close();
    report.account.merge(driver->account());
  }
  report.longest_gap = gap_.longest();
  std::fputs((flags_.json ? reasons_of(report) : to_table(report)).c_str(), stderr);
  const Failure unprinted = print(to_json(report) + "\n");
  if (report.account.of(Outcome::kLost) > 0)
    std::fprintf(stderr, "redoubt bench: %llu requests are lost; the connection at the end: %s\n",
                 static_cast<unsigned long long>(report.account.of(Outcome::kLost)), connection.c_str());
  int exit_code = !completed                                 ? kExitInterrupted
                  : report.account.clean(flags_.require_all) ? kExitOk
                                                             : kExitFailed;
  for (const Failure& failure : {unprinted, history_ ? history_->close() : Failure(),
                                 flags_.csv ? append_csv(report, *flags_.csv) : Failure()}) {
    if (!failure) continue;
    std::fprintf(stderr, "redoubt bench: %s\n", failure->text.c_str());
    exit_code = kExitFailed;
  }
  return exit_code;
}

int Bench::run() {
  if (const Failure wrong = prepare()) return options_.usage_error(wrong->text).finish();
  const Interrupts interrupts;
  if (!connect(interrupts)) return finish(false);
  start();
  return finish(watch(interrupts));
}

}  // namespace

std::unique_ptr<Command> make_bench(Options& program) { return std::make_unique<Bench>(program); }

}  // namespace redoubt::tool
