// A broker for tests of the client: accepts clients on a thread of its own and answers as it is told. It
// keeps nothing and knows no replicas.
#pragma once

#include <asio/post.hpp>
#include <atomic>
#include <functional>
#include <future>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "net/link.h"
#include "net/listener.h"
#include "net/loop.h"
#include "wire/limits.h"
#include "wire/message.h"

namespace redoubt::test {

class ScriptedBroker : public net::LinkUser {
 public:
  enum class Manner {
    kEcho,      // answers each request at once with its payload
    kSilent,    // welcomes and takes everything, answers nothing
    kRefuse,    // answers the hello with a goodbye
    kMute,      // does not even answer the hello
    kExpire,    // answers each request with expired, running, at its first level
    kTwice,     // echoes each request twice
    kFail,      // answers each request with a failure
    kTurnAway,  // answers each request with a refusal
  };
  struct Settings {
    Manner manner = Manner::kEcho;
    uint16_t port = 0;
    uint64_t max_payload = wire::kDefaultMaxPayload;
    wire::Epoch epoch{1, 0};
    bool rules = true;
  };

  ScriptedBroker() : ScriptedBroker(Settings{}) {}
  explicit ScriptedBroker(Settings settings)
      : settings_(settings),
        manner_(settings.manner),
        listener_(loop_, [this](asio::ip::tcp::socket socket) { accepted(std::move(socket)); }) {
    const std::string error = listener_.listen("127.0.0.1", settings.port);
    if (!error.empty()) std::fprintf(stderr, "scripted broker: %s\n", error.c_str());
    address_ = listener_.address();
    thread_ = std::thread([this] { loop_.run([] {}); });
  }

  // Ends like a killed process: every connection is gone at once.
  ~ScriptedBroker() {
    loop_.stop();
    thread_.join();
  }

  const std::string& address() const { return address_; }
  uint16_t port() const { return static_cast<uint16_t>(std::stoi(address_.substr(address_.rfind(':') + 1))); }

  void behave(Manner manner) { manner_ = manner; }
  // Closes all connections, goes on listening.
  void drop_links() {
    on_thread([this] {
      for (auto& [id, link] : links_) link->close(wire::CloseReason::kStopping, "as the test wishes");
      links_.clear();
    });
  }
  // Sends to every client.
  template <class Message>
  void say(const Message& message) {
    on_thread([&] {
      for (auto& [id, link] : links_) link->send(message);
    });
  }
  void on_thread(const std::function<void()>& action) {
    std::promise<void> done;
    asio::post(loop_.io(), [&] {
      action();
      done.set_value();
    });
    done.get_future().wait();
  }

  // What has arrived.
  struct Seen {
    std::vector<wire::Hello> hellos;
    std::vector<wire::Request> requests;
    std::vector<size_t> frames;  // requests in each Submit that had some
    size_t all_open = 0;         // frames that said that everything open has been sent
    std::vector<uint64_t> cancelled;
    uint64_t low_water = 0;
    size_t dummies = 0;
  };
  Seen seen() {
    const std::lock_guard lock(mutex_);
    return seen_;
  }
  // Memory of requests is for short tests only.
  void remember_nothing() { remembers_ = false; }

 private:
  void accepted(asio::ip::tcp::socket socket) {
    auto link = std::make_shared<net::Link>(loop_, std::move(socket), *this, ++next_id_);
    links_[link->id()] = link;
    link->start();
  }

  void on_message(net::Link& link, wire::Message& message) override {
    if (auto* submit = std::get_if<wire::Submit>(&message)) {
      submitted(link, *submit);
      return;
    }
    const std::lock_guard lock(mutex_);
    if (const auto* hello = std::get_if<wire::Hello>(&message)) {
      seen_.hellos.push_back(*hello);
      greet(link);
    } else if (const auto* cancel = std::get_if<wire::Cancel>(&message)) {
      seen_.cancelled.insert(seen_.cancelled.end(), cancel->seqs.begin(), cancel->seqs.end());
      seen_.low_water = cancel->low_water;
    } else if (const auto* acknowledge = std::get_if<wire::Acknowledge>(&message)) {
      seen_.low_water = acknowledge->low_water;
    } else if (std::holds_alternative<wire::Dummy>(message)) {
      ++seen_.dummies;
    } else if (std::holds_alternative<wire::StatusQuery>(message)) {
      if (manner_ != Manner::kSilent) link.send(wire::StatusReply{Payload(R"({"epoch":1})")});
    }
  }

  void greet(net::Link& link) {
    if (manner_ == Manner::kMute) return;
    if (manner_ == Manner::kRefuse) {
      link.send(wire::Goodbye{wire::CloseReason::kCluster, "this is the cluster 'other'"});
      return;
    }
    wire::Welcome welcome;
    welcome.version = wire::kVersionMax;
    welcome.name = "scripted";
    welcome.epoch = settings_.epoch;
    welcome.max_payload = settings_.max_payload;
    welcome.rules = settings_.rules;
    link.set_max_payload(settings_.max_payload);
    link.send(welcome);
  }

  static wire::Status status_of(Manner manner) {
    if (manner == Manner::kExpire) return wire::Status::kExpired;
    if (manner == Manner::kFail) return wire::Status::kFailed;
    return manner == Manner::kTurnAway ? wire::Status::kRefused : wire::Status::kOk;
  }

  void submitted(net::Link& link, wire::Submit& submit) {
    const Manner manner = manner_;
    if (remembers_) {
      const std::lock_guard lock(mutex_);
      seen_.low_water = submit.low_water;
      if (!submit.requests.empty()) seen_.frames.push_back(submit.requests.size());
      seen_.all_open += submit.all_open;
      seen_.requests.insert(seen_.requests.end(), submit.requests.begin(), submit.requests.end());
    }
    if (manner == Manner::kSilent) return;
    for (wire::Request& request : submit.requests) {
      reply_.seq = request.seq;
      reply_.status = status_of(manner);
      reply_.reason = manner == Manner::kTurnAway ? wire::Refusal::kQueueFull : wire::Refusal::kNone;
      reply_.running = manner == Manner::kExpire;
      reply_.levels.resize(1);
      reply_.levels[0] = {request.levels[0].service, "replica-1", request.levels[0].copies, 10, 20};
      reply_.wait_us = 10;
      reply_.payload = reply_.status == wire::Status::kOk ? std::move(request.payload) : Payload();
      link.send(reply_);
      if (manner == Manner::kTwice) link.send(reply_);
    }
  }

  void on_lost(net::Link& link, wire::CloseReason, const std::string&) override { links_.erase(link.id()); }

  const Settings settings_;
  std::atomic<Manner> manner_;
  std::atomic<bool> remembers_{true};
  net::Loop loop_;
  net::Listener listener_;
  std::string address_;
  std::map<uint64_t, std::shared_ptr<net::Link>> links_;
  uint64_t next_id_ = 0;
  wire::Reply reply_;
  std::mutex mutex_;
  Seen seen_;
  std::thread thread_;
};

}  // namespace redoubt::test
