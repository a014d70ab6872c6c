// Links to brokers; see broker_links.h.
#include "client/broker_links.h"

#include <algorithm>

#include "net/loop.h"

namespace redoubt::client {

BrokerLinks::BrokerLinks(net::Loop& loop, const std::vector<Address>& addresses, Greeting greeting,
                         BrokersUser& user)
    : loop_(loop), user_(user), brokers_(addresses.size(), greeting) {
  for (const Address& address : addresses) {
    const size_t broker = ways_.size();
    // The incarnation is random: clients that lose the same broker do not return in step.
    const uint64_t seed = greeting.incarnation + broker + 1;
    ways_.push_back({std::make_unique<net::Dialer>(loop, address.host, address.port, seed,
                                                   [this, broker](asio::ip::tcp::socket socket) {
                                                     connected(broker, std::move(socket));
                                                   }),
                     nullptr});
  }
}

void BrokerLinks::start() {
  brokers_.start();
  carry_out();
}

void BrokerLinks::stop() {
  for (Way& way : ways_) {
    way.dialer->stop();
    if (const auto link = std::move(way.link))
      link->close(wire::CloseReason::kStopping, "the client was closed");
  }
}

net::Link* BrokerLinks::current() {
  const auto broker = brokers_.current();
  return broker ? ways_[*broker].link.get() : nullptr;
}

net::Link* BrokerLinks::standby() {
  const auto broker = brokers_.standby();
  return broker ? ways_[*broker].link.get() : nullptr;
}

std::string BrokerLinks::state() const {
  if (const auto current = brokers_.current()) return ways_[*current].dialer->address();
  std::string text;
  for (size_t i = 0; i < ways_.size(); ++i) {
    // A dialer's own text names the address that it tried.
    const std::string& error = ways_[i].dialer->last_error();
    const std::string& address = ways_[i].dialer->address();
    const std::string trouble = brokers_.trouble(i);
    const std::string why = !trouble.empty()                           ? address + ": " + trouble
                            : error.empty()                            ? address + ": no answer yet"
                            : error.find(address) == std::string::npos ? address + ": " + error
                                                                       : error;
    text += (text.empty() ? "" : "; ") + why;
  }
  return text;
}

void BrokerLinks::tick(Time now) {
  brokers_.tick(now);
  carry_out();
}

void BrokerLinks::connected(size_t broker, asio::ip::tcp::socket socket) {
  auto& link = ways_[broker].link;
  link = std::make_shared<net::Link>(loop_, std::move(socket), *this, ++generation_);
  link->start();
  brokers_.connected(loop_.now(), broker, link->id());
  carry_out();
}

void BrokerLinks::on_message(net::Link& link, wire::Message& message) {
  if (!brokers_.said(loop_.now(), link.id(), message)) {
    if (user_.broker_said(link, message)) return;
    brokers_.out_of_place(link.id(), message);
  }
  carry_out();
}

void BrokerLinks::on_lost(net::Link& link, wire::CloseReason reason, const std::string& text) {
  const auto way =
      std::find_if(ways_.begin(), ways_.end(), [&](const Way& one) { return one.link.get() == &link; });
  if (way != ways_.end()) way->link.reset();
  brokers_.lost(link.id(), reason, text);
  carry_out();
}

// Nothing that is done here makes anything happen before it returns: no link or dialer calls back at once.
void BrokerLinks::carry_out() {
  for (const BrokerEffect& effect : brokers_.effects())
    std::visit([this](const auto& what) { perform(what); }, effect);
  brokers_.effects().clear();
}

void BrokerLinks::perform(const Dial& what) { ways_[what.broker].dialer->dial(); }

void BrokerLinks::perform(const Send& what) {
  net::Link& link = *ways_[what.broker].link;
  std::visit([&](const auto& message) { link.send(message); }, what.message);
}

void BrokerLinks::perform(const Admit& what) {
  ways_[what.broker].dialer->succeeded();
  ways_[what.broker].link->set_max_payload(what.max_payload);
}

void BrokerLinks::perform(const CloseLink& what) {
  const auto link = std::move(ways_[what.broker].link);
  link->close(what.reason, what.text);
}

void BrokerLinks::perform(const BrokerUp& what) {
  user_.broker_up(*ways_[what.broker].link, what.max_payload);
}

void BrokerLinks::perform(const BrokerDown&) {
  // The next manager may be one that has just come back.
  for (Way& way : ways_) way.dialer->hurry();
  user_.broker_down();
}

}  // namespace redoubt::client
