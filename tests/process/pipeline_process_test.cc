// The first steps of a user: a pipeline of commands, and what each program says and returns when something is
// wrong.
#include <gmock/gmock.h>

#include <csignal>

#include "../poll.h"
#include "cluster.h"

namespace redoubt::test {
namespace {

using namespace std::chrono_literals;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

TEST(Pipeline, TwoCommandsInARow) {
  Cluster cluster;
  cluster.start_broker();
  cluster.start_replica("upper", {"--exec", "tr a-z A-Z"});
  cluster.start_replica("reverse", {"--exec", "rev"});

  const Ended call = cluster.call({"--levels", "upper,reverse"}, "hello");

  EXPECT_EQ(call.code, 0);
  EXPECT_EQ(call.out.substr(0, 5), "OLLEH");
  EXPECT_EQ(call.err, "");
}

TEST(Pipeline, ALongLivedCommandServesCopyAfterCopy) {
  Cluster cluster;
  cluster.start_broker();
  // Frames are a little-endian u32 length and the bytes.
  const std::string script =
      "import sys, struct\n"
      "i, o = sys.stdin.buffer, sys.stdout.buffer\n"
      "count = 0\n"
      "while head := i.read(4):\n"
      "    body = i.read(struct.unpack('<I', head)[0]); count += 1\n"
      "    reply = body.upper() + b' ' + str(count).encode()\n"
      "    o.write(struct.pack('<I', len(reply)) + reply); o.flush()\n";
  write_file(cluster.path("upper.py"), script);
  cluster.start_replica("upper", {"--exec-persistent", "exec python3 " + cluster.shell_path("upper.py")});

  const Ended first = cluster.call({"--levels", "upper"}, "a");
  const Ended second = cluster.call({"--levels", "upper"}, "b");

  EXPECT_EQ(first.out, "A 1");
  EXPECT_EQ(second.out, "B 2") << "the same child";
}

TEST(Pipeline, AnUnknownServiceIsRefusedAtOnce) {
  Cluster cluster;
  cluster.start_broker();

  const Ended call = cluster.call({"--levels", "nothing", "--deadline", "20s"});

  EXPECT_EQ(call.code, 3);
  EXPECT_THAT(call.err, AllOf(HasSubstr("no_replica"), HasSubstr("nothing")));
  EXPECT_LT(call.seconds, 2);
}

TEST(Pipeline, AFailingCommandsWordsReachTheCaller) {
  Cluster cluster;
  cluster.start_broker();
  cluster.start_replica("bad", {"--exec", "echo the disk is full >&2; exit 3"});
  cluster.start_replica("shot", {"--exec", "kill -11 $$"});

  const Ended failed = cluster.call({"--levels", "bad"});
  const Ended died = cluster.call({"--levels", "shot"});
  const Ended later = cluster.call({"--levels", "bad"});

  EXPECT_EQ(failed.code, 1);
  EXPECT_THAT(failed.err, HasSubstr("the disk is full"));
  EXPECT_EQ(died.code, 1);
  EXPECT_THAT(died.err, HasSubstr("signal 11"));
  EXPECT_EQ(later.code, 1) << "the replica lives";
}

TEST(Pipeline, AnExpirySaysWhereTheRequestStood) {
  Cluster cluster;
  cluster.start_broker({"--replica-threshold", "1"});
  cluster.start_replica("slow", {"--builtin", "sleep:const(3s)"});

  const auto first =
      cluster.start({"call", "--brokers", cluster.address(), "--levels", "slow", "--deadline", "1s"});
  ASSERT_TRUE(eventually([&] { return cluster.metric("redoubt_copies_outstanding") == 1; }));
  const Ended waiting = cluster.call({"--levels", "slow", "--deadline", "200ms"});
  const auto code = first->wait();

  EXPECT_EQ(code, 4);
  EXPECT_THAT(first->err(), AllOf(HasSubstr("level 1 (slow)"), HasSubstr("copy at")));
  EXPECT_EQ(waiting.code, 4);
  EXPECT_THAT(waiting.err, AllOf(HasSubstr("level 1 (slow)"), HasSubstr("queue")));
}

TEST(Pipeline, NobodyThereIsSaidWithinTheDeadline) {
  Cluster cluster;
  const std::string nowhere = "127.0.0.1:" + std::to_string(free_port());

  const Ended call = cluster.run({"call", "--brokers", nowhere, "--levels", "a", "--deadline", "500ms"});

  EXPECT_EQ(call.code, 5);
  EXPECT_THAT(call.err, HasSubstr(nowhere));
  EXPECT_LT(call.seconds, 1.5);
}

TEST(Pipeline, APayloadOverTheLimitCostsOnlyItself) {
  Cluster cluster;
  cluster.start_broker({"--max-payload", "64KiB"});
  cluster.start_replica("echo", {"--builtin", "echo"});

  const Ended large = cluster.call({"--levels", "echo"}, std::string(100'000, 'x'));
  const Ended next = cluster.call({"--levels", "echo"}, std::string(60'000, 'x'));

  EXPECT_EQ(large.code, 3);
  EXPECT_THAT(large.err, HasSubstr("too_large"));
  EXPECT_EQ(next.code, 0);
  EXPECT_EQ(next.out.size(), 60'000u);
}

TEST(Pipeline, ATakenPortIsOneLineAndExitOne) {
  Cluster cluster;
  cluster.start_broker();

  const Ended second = cluster.run_broker({"--listen", cluster.address()});

  EXPECT_EQ(second.code, 1);
  EXPECT_THAT(second.err, HasSubstr(cluster.address()));
  EXPECT_EQ(std::count(second.err.begin(), second.err.end(), '\n'), 1) << second.err;
}

TEST(Pipeline, ATakenAdminPortIsOneLineAndExitOne) {
  Cluster cluster;
  const std::string admin = cluster.start_broker().event("ready").at("admin");

  const Ended second = cluster.run_broker({"--listen", "127.0.0.1:0", "--admin", admin});

  EXPECT_EQ(second.code, 1);
  EXPECT_THAT(second.err, HasSubstr(admin));
  EXPECT_EQ(std::count(second.err.begin(), second.err.end(), '\n'), 1) << second.err;
}

TEST(Pipeline, AnInterruptedCallStopsItsCommand) {
  Cluster cluster;
  cluster.start_broker();
  cluster.start_replica("slow", {"--exec", "exec sleep 30"});
  const auto call =
      cluster.start({"call", "--brokers", cluster.address(), "--levels", "slow", "--deadline", "60s"});
  ASSERT_TRUE(eventually([&] { return cluster.metric("redoubt_copies_outstanding") == 1; }));

  call->signal(SIGINT);
  const auto code = call->wait();

  EXPECT_EQ(code, 130);
  EXPECT_TRUE(
      eventually([&] { return cluster.metric("redoubt_copies_total{fate=\"halted_running\"}") == 1; }));
  expect_copies_add_up(cluster);
}

TEST(Pipeline, ABadConfigurationIsNamedByFileLineAndKey) {
  Cluster cluster;
  const std::string file = cluster.path("broker.toml");
  write_file(file, "listen = \"127.0.0.1:0\"\nqueue_limits = 5\n");
  const Ended unknown = cluster.run_broker({"--config", file});
  write_file(file, "listen = \"127.0.0.1:0\"\n\nheartbeat = \"fast\"\n");
  const Ended bad = cluster.run_broker({"--config", file});
  write_file(file, "listen = \n");
  const Ended broken = cluster.run_broker({"--config", file});

  EXPECT_EQ(unknown.code, 2);
  EXPECT_THAT(unknown.err, AllOf(HasSubstr(file + ":2"), HasSubstr("queue_limits")));
  EXPECT_EQ(bad.code, 2);
  EXPECT_THAT(bad.err, AllOf(HasSubstr(file + ":3"), HasSubstr("heartbeat")));
  EXPECT_EQ(broken.code, 2);
  EXPECT_THAT(broken.err, HasSubstr(file + ":1"));
}

TEST(Pipeline, AnUnknownFlagIsNamedEverywhere) {
  Cluster cluster;

  for (const Ended& ended :
       {cluster.run_broker({"--quue-limit", "5"}),
        cluster.run_replica({"--service", "a", "--builtin", "echo", "--quue-limit", "5"}),
        cluster.run({"call", "--levels", "a", "--quue-limit", "5"})}) {
    EXPECT_EQ(ended.code, 2);
    EXPECT_THAT(ended.err, HasSubstr("--quue-limit"));
  }
}

TEST(Pipeline, ANameWithControlCharactersIsAUsageError) {
  Cluster cluster;

  for (const std::string bad : {"a\nb", "\x1b[2J", "a\x7f", "\xc2\x9b"})
    for (const Ended& ended : {cluster.run_broker({"--name", bad}), cluster.run_broker({"--cluster", bad}),
                               cluster.run_replica({"--service", bad, "--builtin", "echo"}),
                               cluster.run_replica({"--service", "a", "--builtin", "echo", "--name", bad})}) {
      EXPECT_EQ(ended.code, 2);
      EXPECT_THAT(ended.err, HasSubstr("without control characters"));
      EXPECT_THAT(ended.err, Not(HasSubstr(bad)));
    }
}

TEST(Pipeline, AMegabyteComesBackByteForByte) {
  Cluster cluster;
  cluster.start_broker();
  cluster.start_replica("echo", {"--builtin", "echo"});
  cluster.start_replica("cat", {"--exec", "exec cat"});
  std::string bytes(size_t{1} << 20, '\0');
  uint32_t state = 1;
  for (char& byte : bytes) byte = static_cast<char>((state = state * 1664525 + 1013904223) >> 24);

  const Ended call = cluster.call({"--levels", "echo,cat", "--copies", "1"}, bytes);

  EXPECT_EQ(call.code, 0);
  EXPECT_TRUE(call.out == bytes) << call.out.size() << " bytes came back";
}

TEST(Pipeline, TheAdminPortTellsThatItLivesAndServes) {
  Cluster cluster;
  cluster.start_broker();
  cluster.start_replica("echo", {"--builtin", "echo"});
  int alive = 0, ready = 0;

  cluster.fetch("/healthz", &alive);
  cluster.fetch("/readyz", &ready);

  EXPECT_EQ(alive, 200);
  EXPECT_EQ(ready, 200);
  EXPECT_EQ(cluster.metric("redoubt_replicas{service=\"echo\"}"), 1);
  EXPECT_EQ(cluster.status().at("replicas/0/workers"), 1);
}

}  // namespace
}  // namespace redoubt::test
