// What one request costs in the broker's core and in the codec: no sockets, no clock, one thread. A request's
// path is submit -> copies -> done -> reply while a given number of others are pending.
#include <benchmark/benchmark.h>

#include <array>
#include <deque>
#include <string>
#include <vector>

#include "broker/broker.h"
#include "wire/codec.h"

namespace redoubt {
namespace {

using namespace broker;

const Payload kPayload(std::string(64, 'x'));

wire::Submit submit_message(uint32_t levels, uint32_t copies) {
  wire::Submit submit;
  wire::Request& request = submit.requests.emplace_back();
  for (uint32_t i = 0; i < levels; ++i) request.levels.push_back({"service", copies});
  request.deadline_us = 60'000'000;
  request.payload = kPayload;
  return submit;
}

wire::Done done_message(const wire::Epoch& epoch) {
  wire::Done done;
  done.epoch = epoch;
  done.wait_ns = 20'000;
  done.service_ns = 100'000;
  done.load = {3, 4};
  done.payload = kPayload;
  return done;
}

// Carries what the world and the broker say to one another. Direct hands the values over; Framed encodes and
// decodes what a broker's own thread would: it is one end of every link.
struct Direct {
  wire::Submit& submit(wire::Submit& message) { return message; }
  wire::Done& done(wire::Done& message) { return message; }
  void copy(const wire::Copy&) {}
  void reply(const wire::Reply&) {}
  void turn_end() {}
};

class Framed {
 public:
  Framed() : out_(pool_), peers_(pool_) { decoder_.set_max(wire::kDefaultMaxPayload); }

  wire::Submit& submit(const wire::Submit& message) { return std::get<wire::Submit>(arrived(message)); }
  wire::Done& done(const wire::Done& message) { return std::get<wire::Done>(arrived(message)); }
  void copy(const wire::Copy& message) { wire::encode(message, out_); }
  void reply(const wire::Reply& message) { wire::encode(message, out_); }
  void turn_end() { out_.consume(out_.bytes()); }

 private:
  template <class T>
  wire::Message& arrived(const T& message) {
    wire::encode(message, peers_);
    iovec piece{};
    peers_.gather({&piece, 1});
    decoder_.feed({static_cast<const char*>(piece.iov_base), piece.iov_len});
    CHECK(decoder_.next(inbox_) == wire::Decoded::kMessage);
    peers_.consume(peers_.bytes());
    return inbox_;
  }

  wire::ChunkPool pool_;
  wire::Outbox out_, peers_;
  wire::Decoder decoder_;
  wire::Message inbox_;
};

// One client, some replicas of one service, and a number of requests that are always pending.
template <class Wire>
class World {
 public:
  World(uint32_t replicas, uint64_t pending, uint32_t copies, uint32_t levels)
      : broker_(Settings{.name = "bench", .queue_limit = kMaxQueueLimit}),
        now_(std::chrono::seconds(1000)),
        copies_(copies),
        levels_(levels),
        submit_(submit_message(levels, copies)),
        done_(done_message(broker_.state().epoch)),
        won_(1 << 18) {
    const wire::Register registration{{"service"}, wire::kMaxWorkers, 2 * wire::kMaxWorkers};
    for (uint32_t i = 0; i < replicas; ++i) {
      wire::Hello hello{
          .role = wire::Role::kReplica, .name = "r" + std::to_string(i), .cluster = "", .incarnation = i + 1};
      step(ReplicaUp{LinkId{i + 2}, hello, registration, "10.0.0.1:1"});
    }
    const wire::Hello hello{
        .role = wire::Role::kClient, .name = "c", .cluster = "", .incarnation = 1'000'000};
    step(ClientUp{kClient, hello});
    for (uint64_t i = 0; i < pending; ++i) submit();
  }

  void submit() {
    while (low_water_ <= submitted_ && won_of(low_water_) == levels_) ++low_water_;
    submit_.low_water = low_water_;
    submit_.sent_us = to_us(now_);
    submit_.requests.front().seq = ++submitted_;
    won_of(submitted_) = 0;
    submit_.requests.front().payload = kPayload;
    step(SubmitArrived{kClient, wire_.submit(submit_), false});
  }

  // Copies end in the order in which they were sent until a request is answered.
  void complete() {
    const uint64_t before = answered_;
    while (answered_ == before) {
      CHECK(!out_.empty());
      const Out out = out_.front();
      out_.pop_front();
      done_.copy = out.copy;
      done_.level = out.level;
      done_.payload = kPayload;
      // Who comes second in a race has been halted.
      const bool wins = won_of(out.seq) == out.level;
      done_.fate = wins ? wire::Fate::kOk : wire::Fate::kHaltedQueued;
      if (wins) ++won_of(out.seq);
      step(CopyDone{out.link, wire_.done(done_), false});
    }
  }

  uint64_t events() const { return events_; }

 private:
  static constexpr LinkId kClient{1};
  struct Out {
    LinkId link;
    uint64_t copy, seq;
    uint32_t level;
  };

  // How many levels of this request have been won.
  uint32_t& won_of(uint64_t seq) { return won_[seq % won_.size()]; }

  void step(const Event& event) {
    now_ += std::chrono::microseconds(1);
    ++events_;
    broker_.step(now_, event, effects_);
    for (const Effect& effect : effects_) {
      if (const auto* send = std::get_if<SendCopy>(&effect)) {
        wire_.copy(send->copy);
        out_.push_back({send->to, send->copy.copy, send->copy.request.seq, send->copy.level});
      } else if (const auto* answer = std::get_if<SendReply>(&effect)) {
        CHECK(answer->reply.status == wire::Status::kOk);
        wire_.reply(answer->reply);
        ++answered_;
      }
    }
    effects_.clear();
    wire_.turn_end();
  }

  Broker broker_;
  Time now_;
  const uint32_t copies_, levels_;
  wire::Submit submit_;
  wire::Done done_;
  Wire wire_;
  Effects effects_;
  std::deque<Out> out_;
  uint64_t submitted_ = 0, answered_ = 0, events_ = 0, low_water_ = 1;
  std::vector<uint32_t> won_;
};

template <class Wire>
void requests(benchmark::State& state, uint32_t copies, uint32_t levels) {
  World<Wire> world(static_cast<uint32_t>(state.range(1)), static_cast<uint64_t>(state.range(0)) - 1, copies,
                    levels);
  for (uint64_t warm = 0; warm < 10'000; ++warm) {
    world.submit();
    world.complete();
  }
  const uint64_t before = world.events();
  for (auto _ : state) {
    world.submit();
    world.complete();
  }
  const double events = static_cast<double>(world.events() - before);
  state.SetItemsProcessed(state.iterations());
  state.counters["events/s"] = benchmark::Counter(events, benchmark::Counter::kIsRate);
}

void OneCopy(benchmark::State& state) { requests<Direct>(state, 1, 1); }
void TwoCopies(benchmark::State& state) { requests<Direct>(state, 2, 1); }
void TwoLevels(benchmark::State& state) { requests<Direct>(state, 1, 2); }
void OneCopyFramed(benchmark::State& state) { requests<Framed>(state, 1, 1); }

BENCHMARK(OneCopy)->ArgNames({"pending", "replicas"})->ArgsProduct({{1, 64, 1024, 100'000}, {1, 10, 1000}});
BENCHMARK(TwoCopies)->ArgNames({"pending", "replicas"})->ArgsProduct({{1, 64, 1024, 100'000}, {10, 1000}});
BENCHMARK(TwoLevels)->ArgNames({"pending", "replicas"})->ArgsProduct({{1, 64, 1024, 100'000}, {10}});
BENCHMARK(OneCopyFramed)->ArgNames({"pending", "replicas"})->ArgsProduct({{1, 64, 1024, 100'000}, {10}});

// ---- the codec

wire::Message hot_message(int64_t which) {
  switch (which) {
    case 0: {
      wire::Submit submit = submit_message(1, 1);
      submit.low_water = 123'456;
      submit.sent_us = 123'456'789'012;
      submit.requests.front().seq = 123'789;
      return submit;
    }
    case 1: {
      wire::Copy copy;
      copy.copy = uint64_t{77'000} << 32 | 1234;
      copy.epoch = {1, 0};
      copy.request = {0x123456789abcdef0, 123'789};
      copy.deadline_us = 59'999'900;
      copy.sent_us = 123'456'789'012;
      copy.payload = kPayload;
      return copy;
    }
    case 2: {
      wire::Done done = done_message({1, 1});
      done.copy = uint64_t{77'000} << 32 | 1234;
      return done;
    }
    default: {
      wire::Reply reply;
      reply.seq = 123'789;
      reply.wait_us = 20;
      reply.levels.push_back({"service", "replica-1", 1, 20, 100});
      reply.payload = kPayload;
      return reply;
    }
  }
}

constexpr std::array kHotNames{"submit", "copy", "done", "reply"};

void Encode(benchmark::State& state) {
  const wire::Message message = hot_message(state.range(0));
  wire::ChunkPool pool;
  wire::Outbox out(pool);
  for (auto _ : state) {
    wire::encode(message, out);
    out.consume(out.bytes());
  }
  state.SetLabel(kHotNames[static_cast<size_t>(state.range(0))]);
}

void Decode(benchmark::State& state) {
  wire::ChunkPool pool;
  wire::Outbox out(pool);
  wire::encode(hot_message(state.range(0)), out);
  iovec piece{};
  out.gather({&piece, 1});
  const std::string frame(static_cast<const char*>(piece.iov_base), piece.iov_len);
  wire::Decoder decoder;
  decoder.set_max(wire::kDefaultMaxPayload);
  wire::Message message;
  for (auto _ : state) {
    decoder.feed(frame);
    benchmark::DoNotOptimize(decoder.next(message));
  }
  state.SetLabel(kHotNames[static_cast<size_t>(state.range(0))]);
  state.counters["bytes"] = static_cast<double>(frame.size());
}

BENCHMARK(Encode)->DenseRange(0, 3);
BENCHMARK(Decode)->DenseRange(0, 3);

}  // namespace
}  // namespace redoubt
