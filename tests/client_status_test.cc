// What the client library tells an operator of the brokers it knows. Calls: client_test.cc.
#include <gtest/gtest.h>
#include <redoubt/client.h>

#include "scripted_broker.h"

namespace redoubt {
namespace {

using namespace std::chrono_literals;
using test::ScriptedBroker;

// A port that nobody listens on.
std::string dead_address() {
  ScriptedBroker gone;
  return gone.address();
}

TEST(ClientStatus, StatusComesAsTheBrokerSaysIt) {
  ScriptedBroker broker;
  Client client({.brokers = {broker.address()}});

  EXPECT_EQ(client.status_json(2s), R"({"epoch":1})");
}

TEST(ClientStatus, WhereNobodyRulesAStandbyTellsItsStatus) {
  ScriptedBroker standby({.epoch = {}, .rules = false});
  Client client({.brokers = {dead_address(), standby.address()}});

  EXPECT_EQ(client.status_json(2s), R"({"epoch":1})");
  EXPECT_FALSE(client.connected());
}

TEST(ClientStatus, StatusWithoutABrokerIsEmpty) {
  Client client({.brokers = {dead_address()}});

  EXPECT_EQ(client.status_json(20ms), "");
  EXPECT_EQ(client.status_json(20ms), "");
}

}  // namespace
}  // namespace redoubt
