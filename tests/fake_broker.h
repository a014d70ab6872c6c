// A broker for the replica's tests: welcomes every link as a manager, speaks on the newest and notes what it
// says. It decides nothing. Runs its loop on a thread of its own; the test waits for what it wants to see,
// with a limit.
#pragma once

#include <asio/post.hpp>
#include <condition_variable>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "core/address.h"
#include "net/link.h"
#include "net/listener.h"
#include "net/loop.h"

namespace redoubt {

class FakeBroker final : public net::LinkUser {
 public:
  FakeBroker() : listener_(loop_, [this](asio::ip::tcp::socket socket) { accepted(std::move(socket)); }) {
    error_ = listener_.listen("127.0.0.1", 0);
    address_ = listener_.address();
    thread_ = std::thread([this] { loop_.run([] {}); });
  }
  ~FakeBroker() override {
    loop_.stop();
    thread_.join();
  }

  const std::string& error() const { return error_; }
  Address address() const { return *parse_address(address_); }

  template <class Message>
  void send(Message message) {
    asio::post(loop_.io(), [this, message = std::move(message)] {
      if (link_) link_->send(message);
    });
  }

  // Breaks the link as a broker that dies does.
  void drop_link() {
    asio::post(loop_.io(), [this] { link_.reset(); });
  }

  // The first message of this kind for which `is` holds, waiting for it; an empty one after ten seconds.
  template <class Message>
  Message wait_for(std::function<bool(const Message&)> is = [](const Message&) { return true; }) {
    std::unique_lock lock(mutex_);
    Message found;
    changed_.wait_for(lock, std::chrono::seconds(10), [&] {
      for (const wire::Message& message : heard_) {
        const Message* one = std::get_if<Message>(&message);
        if (!one || !is(*one)) continue;
        found = *one;
        return true;
      }
      return false;
    });
    return found;
  }

  template <class Message>
  size_t count() {
    const std::lock_guard lock(mutex_);
    return counted<Message>();
  }

  // Until this many of the kind are in; false after ten seconds.
  template <class Message>
  bool wait_for_count(size_t wanted) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(10), [&] { return counted<Message>() >= wanted; });
  }

  // How links ended, waiting for the first.
  std::string wait_for_loss() {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::seconds(10), [this] { return !losses_.empty(); });
    return losses_.empty() ? "no link was lost" : losses_.front();
  }

  uint64_t max_payload = 16 << 20;

 private:
  template <class Message>
  size_t counted() const {
    size_t counted = 0;
    for (const wire::Message& message : heard_) counted += std::holds_alternative<Message>(message);
    return counted;
  }

  void accepted(asio::ip::tcp::socket socket) {
    // The replica may be back before its last link's end has been read here.
    if (link_) earlier_.push_back(std::move(link_));
    link_ = std::make_shared<net::Link>(loop_, std::move(socket), static_cast<net::LinkUser&>(*this), 1);
    link_->start();
  }

  void on_message(net::Link& link, wire::Message& message) override {
    if (std::holds_alternative<wire::Register>(message)) {
      link.set_max_payload(wire::kMaxMaxPayload);
      link.send(wire::Welcome{.version = wire::kVersionMax,
                              .name = "fake",
                              .epoch = {1, 0},
                              .max_payload = max_payload,
                              .heartbeat_us = 50'000,
                              .dead_after_us = 500'000,
                              .sent_us = to_us(Clock::now()),
                              .rules = true});
      link.send(wire::Dummy{.sent_us = to_us(Clock::now())});
    }
    if (const auto* dummy = std::get_if<wire::Dummy>(&message)) {
      // A replica hears a broker only through what it sends: every heartbeat of the replica's gets one back.
      link.send(wire::Dummy{.sent_us = to_us(Clock::now()), .echo_us = dummy->sent_us});
    }
    const std::lock_guard lock(mutex_);
    heard_.push_back(message);
    changed_.notify_all();
  }

  void on_lost(net::Link& link, wire::CloseReason, const std::string& text) override {
    if (link_.get() == &link) link_.reset();
    const std::lock_guard lock(mutex_);
    losses_.push_back(text);
    changed_.notify_all();
  }

  net::Loop loop_;
  net::Listener listener_;
  std::shared_ptr<net::Link> link_;
  std::vector<std::shared_ptr<net::Link>> earlier_;
  std::string error_, address_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<wire::Message> heard_;
  std::vector<std::string> losses_;
  std::thread thread_;
};

}  // namespace redoubt
