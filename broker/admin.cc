// The HTTP port; see admin.h. A library does HTTP; here are only its bounds and what it serves.
#include "broker/admin.h"

#include <httplib.h>
#include <sys/socket.h>

#include <asio/post.hpp>
#include <asio/thread_pool.hpp>
#include <condition_variable>
#include <mutex>
#include <thread>

#include "broker/status_text.h"
#include "core/address.h"

namespace redoubt::broker {

namespace {
constexpr size_t kThreads = 4;       // a probe of health gets one while slow readers have the others
constexpr size_t kMostWaiting = 64;  // connections that are accepted and wait for a thread

// The library's threads with a queue that is bounded. A connection cannot be dropped here, for only its task
// knows to close it: where the queue is full, accepting pauses, and the system's own backlog refuses.
class BoundedPool final : public httplib::TaskQueue {
 public:
  void enqueue(std::function<void()> serve) override {
    std::unique_lock lock(mutex_);
    left_.wait(lock, [this] { return waiting_ < kMostWaiting; });
    ++waiting_;
    lock.unlock();
    threads_.enqueue([this, serve = std::move(serve)] {
      leave();
      serve();
    });
  }
  void shutdown() override { threads_.shutdown(); }

 private:
  void leave() {
    const std::lock_guard lock(mutex_);
    --waiting_;
    left_.notify_one();
  }

  std::mutex mutex_;
  std::condition_variable left_;
  size_t waiting_ = 0;
  httplib::ThreadPool threads_{kThreads};
};

}  // namespace

struct Admin::Impl {
  Ask ask;
  httplib::Server server;
  std::string address;
  std::thread thread;
  asio::thread_pool writer{1};
};

Admin::Admin(Ask ask) : impl_(std::make_unique<Impl>()) {
  impl_->ask = std::move(ask);
  httplib::Server& server = impl_->server;
  server.new_task_queue = [] { return new BoundedPool; };
  // The library would also share the port with any other program that asks to.
  server.set_socket_options([](socket_t socket) {
    const int yes = 1;
    setsockopt(socket, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  });
  server.set_keep_alive_timeout(1);
  server.set_read_timeout(2);
  server.set_write_timeout(2);
  server.set_payload_max_length(4096);

  const auto with_snapshot = [this](httplib::Response& response, const char* type, auto text) {
    if (const auto view = impl_->ask()) {
      response.set_content(text(*view), type);
    } else {
      response.status = 503;
      response.set_content("the broker does not answer\n", "text/plain");
    }
  };
  server.Get("/healthz", [](const httplib::Request&, httplib::Response& response) {
    response.set_content("alive\n", "text/plain");
  });
  server.Get("/readyz", [this](const httplib::Request&, httplib::Response& response) {
    const auto view = impl_->ask();
    const bool ready = view && view->ready && !view->stopping;
    response.status = ready ? 200 : 503;
    const std::string why = view && !view->trouble.empty() ? ": " + view->trouble : "";
    response.set_content(ready ? std::string(name_of(view->role)) + "\n" : "not serving" + why + "\n",
                         "text/plain");
  });
  server.Get("/status", [with_snapshot](const httplib::Request&, httplib::Response& response) {
    with_snapshot(response, "application/json", status_json);
  });
  server.Get("/metrics", [with_snapshot](const httplib::Request&, httplib::Response& response) {
    with_snapshot(response, "text/plain; version=0.0.4", metrics_text);
  });
}

Admin::~Admin() { stop(); }

std::string Admin::listen(const std::string& host, uint16_t port) {
  httplib::Server& server = impl_->server;
  const int bound = port == 0                                 ? server.bind_to_any_port(host.c_str())
                    : server.bind_to_port(host.c_str(), port) ? port
                                                              : -1;
  if (bound <= 0)
    return "admin address " + format_address({host, port}) +
           " is taken or not of this machine; choose another --admin";
  impl_->address = format_address({host, static_cast<uint16_t>(bound)});
  impl_->thread = std::thread([&server] { server.listen_after_bind(); });
  // Until the library says that it runs, stop() would be forgotten.
  while (!server.is_running()) std::this_thread::yield();
  return {};
}

const std::string& Admin::address() const { return impl_->address; }

void Admin::write_status(Snapshot view, std::function<void(std::string)> done) {
  asio::post(impl_->writer, [view = std::move(view), done = std::move(done)] { done(status_json(view)); });
}

void Admin::stop() {
  if (impl_->thread.joinable()) {
    impl_->server.stop();
    impl_->thread.join();
  }
  impl_->writer.join();
}

}  // namespace redoubt::broker
