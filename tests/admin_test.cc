// What a broker tells those who look: its HTTP port under visitors that are slow or many, and who answers.
#include "broker/admin.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <asio/connect.hpp>
#include <asio/io_context.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/read.hpp>
#include <asio/write.hpp>
#include <chrono>
#include <deque>

#include "broker/status_text.h"
#include "core/address.h"

#ifdef __SANITIZE_THREAD__
// The HTTP library is built without the sanitizer, which so does not see that its local statics are made
// once.
extern "C" const char* __tsan_default_suppressions() { return "called_from_lib:libcpp-httplib.so\n"; }
#endif

namespace redoubt::broker {
namespace {

using namespace std::chrono_literals;
using testing::HasSubstr;

class AdminTest : public testing::Test {
 protected:
  AdminTest() { EXPECT_EQ(admin_.listen("127.0.0.1", 0), ""); }

  asio::ip::tcp::socket& visit(const std::string& says) {
    asio::ip::tcp::socket& socket = visitors_.emplace_back(io_);
    const Address address = *parse_address(admin_.address());
    socket.connect({asio::ip::make_address(address.host), address.port});
    asio::write(socket, asio::buffer(says));
    return socket;
  }
  // Until the other side closes.
  static std::string answer(asio::ip::tcp::socket& socket) {
    std::string text;
    asio::error_code ended;
    asio::read(socket, asio::dynamic_buffer(text), ended);
    return text;
  }

  const std::string kProbe = "GET /healthz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
  Admin admin_{[] { return nullptr; }};
  asio::io_context io_;
  std::deque<asio::ip::tcp::socket> visitors_;
};

TEST_F(AdminTest, SlowVisitorsDoNotDelayAProbe) {
  for (int i = 0; i < 3; ++i) visit("GET /sta");
  const auto start = std::chrono::steady_clock::now();

  const std::string said = answer(visit(kProbe));

  EXPECT_THAT(said, HasSubstr("alive"));
  EXPECT_LT(std::chrono::steady_clock::now() - start, 1s);
}

TEST_F(AdminTest, MoreVisitorsThanPlacesAreServedInTheEnd) {
  for (int i = 0; i < 4; ++i) visit("GET /sta");
  for (int i = 0; i < 68; ++i) visit(kProbe);

  for (size_t i = 4; i < visitors_.size(); ++i) ASSERT_THAT(answer(visitors_[i]), HasSubstr("alive")) << i;
}

TEST(Metrics, ClientsThatEndedAsTheyShouldAreSaidToCountAsLostToo) {
  EXPECT_THAT(metrics_text({}),
              HasSubstr("# HELP redoubt_clients_lost_total clients whose link went, also of "
                        "those that had ended as they should"));
}

TEST(StatusJson, NamesTheBrokerThatAnswersAndWhatItIs) {
  Snapshot view;
  view.name = "b:2";
  view.role = BrokerRole::kWitness;
  view.manager = "a:1";

  const std::string json = status_json(view);

  EXPECT_THAT(json, HasSubstr(R"("manager":"a:1","role":"witness","answered_by":"b:2")"));
}

}  // namespace
}  // namespace redoubt::broker
