// The lines that steer a proxy: what they do, how they are answered, and that a wrong one does nothing.
#include "lab/proxy/commands.h"

#include <gmock/gmock.h>

#include "lab/proxy/limits.h"
#include "options/daemon.h"

namespace redoubt::lab {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::HasSubstr;
using Kind = Treatment::Kind;

class ProxyCommandsTest : public testing::Test {
 protected:
  ProxyCommandsTest() {
    for (int i = 0; i < 2; ++i) EXPECT_FALSE(proxy_.add({"127.0.0.1", 0}, {"127.0.0.1", 7400}));
  }
  std::string treatments() {
    std::string all;
    for (size_t number = 0; number < proxy_.size(); ++number)
      for (const Direction direction : kDirections)
        all += (all.empty() ? "" : ", ") + to_text(proxy_.route(number).treatment(direction));
    return all;
  }

  net::Loop loop_;
  Proxy proxy_{loop_, 1};
  std::vector<std::string> answers_;
  Commands commands_{proxy_, [this](const std::string& line) { answers_.push_back(line); }};
};

std::string done(const std::string& command) { return event_line("done", {{"command", command}}); }

TEST_F(ProxyCommandsTest, ATreatmentHoldsForTheRoutesAndDirectionsNamed) {
  EXPECT_EQ(commands_.obey("delay 0 both 5ms"), done("delay 0 both 5ms"));
  EXPECT_EQ(commands_.obey("stall 1 forward"), done("stall 1 forward"));
  EXPECT_EQ(commands_.obey("rate 1 backward 1000"), done("rate 1 backward 1000"));
  EXPECT_EQ(treatments(), "delay 5ms, delay 5ms, stall, rate 1000");

  EXPECT_EQ(commands_.obey("drop all forward"), done("drop all forward"));
  EXPECT_EQ(treatments(), "drop, delay 5ms, drop, rate 1000");

  EXPECT_EQ(commands_.obey("pass all both"), done("pass all both"));
  EXPECT_EQ(treatments(), "pass, pass, pass, pass");
}

TEST_F(ProxyCommandsTest, RefuseAndAcceptMayBeSaidTwice) {
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(commands_.obey("refuse 0"), done("refuse 0"));
    EXPECT_FALSE(proxy_.route(0).accepts());
    EXPECT_TRUE(proxy_.route(1).accepts());
  }
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(commands_.obey("accept all"), done("accept all"));
    EXPECT_TRUE(proxy_.route(0).accepts());
  }
}

TEST_F(ProxyCommandsTest, AWrongLineNamesTheThingAndTheCureAndChangesNothing) {
  const std::pair<const char*, const char*> lines[] = {
      {"", "the line is empty: write a command"},
      {"stal 0 both", "'stal': unknown command: did you mean stall?"},
      {"hello", "'hello': unknown command: known: pass, delay"},
      {"drop", "write it like drop 0 forward"},
      {"drop 0 both 5ms", "write it like drop 0 forward"},
      {"delay 0 both", "write it like delay 0 both 5ms"},
      {"cut 0 both", "write it like cut 0"},
      {"drop 2 both", "'2': no such route: write a number below 2, or all"},
      {"drop -1 both", "'-1': no such route"},
      {"drop 0 up", "'up': no such direction: write forward, backward or both"},
      {"delay 0 both 5", "'5' has no unit"},
      {"delay 0 both 2min", "'2min' is too long: a delay is at most 1min"},
      {"rate 0 both fast", "'fast' is not a whole number"},
      {"rate 0 both 0", "to let nothing through, stall or drop"}};

  for (const auto& [line, expected] : lines) {
    const std::string answer = commands_.obey(line);
    EXPECT_THAT(answer, HasSubstr(expected)) << line;
    EXPECT_THAT(answer, HasSubstr("{\"event\":\"error\",\"command\":\"" + std::string(line) + "\"")) << line;
  }
  EXPECT_EQ(treatments(), "pass, pass, pass, pass");
}

TEST_F(ProxyCommandsTest, CutAndGarbageSayHowManyConnectionsTheyReached) {
  EXPECT_THAT(commands_.obey("cut all"), HasSubstr("\"connections\":0"));
  EXPECT_THAT(commands_.obey("garbage 1 both"), HasSubstr("\"connections\":0"));
}

TEST_F(ProxyCommandsTest, StatsTellOfOneRouteOrAll) {
  commands_.obey("delay 1 backward 1s");

  const std::string one = commands_.obey("stats 1"), all = commands_.obey("stats all");

  EXPECT_THAT(one, HasSubstr("\"route\":\"1\",\"listen\":\"" + proxy_.route(1).listen_address() + "\""));
  EXPECT_THAT(one, HasSubstr("\"forward\":\"pass\",\"forward_passed\":0"));
  EXPECT_THAT(one, HasSubstr("\"backward\":\"delay 1s\""));
  EXPECT_THAT(all, HasSubstr("\"route\":\"all\""));
}

TEST_F(ProxyCommandsTest, LinesMayComeInAnyPortions) {
  commands_.take("stall 0 for");
  commands_.take("ward\ndrop 1 forward\r\npass 1");
  commands_.take(" both");
  EXPECT_EQ(treatments(), "stall, pass, drop, pass");

  commands_.take("\n");

  EXPECT_EQ(treatments(), "stall, pass, pass, pass");
  EXPECT_EQ(answers_.size(), 3u);
}

TEST_F(ProxyCommandsTest, ALineThatNeverEndsIsNotKept) {
  for (int i = 0; i < 1000; ++i) commands_.take(std::string(kLongestCommand, 'x'));
  EXPECT_TRUE(answers_.empty());

  commands_.take("\nstall 0 forward\n");

  EXPECT_THAT(answers_, ElementsAre(HasSubstr("a line is longer than 1024 bytes"), done("stall 0 forward")));
}

}  // namespace
}  // namespace redoubt::lab
