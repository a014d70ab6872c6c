// NATS: nats-server with its default settings, a queue group of workers, one inbox for all replies.
#include <nats/nats.h>
#include <unistd.h>

#include <condition_variable>
#include <mutex>

#include "bench/peers.h"

namespace redoubt::peers {
namespace {

constexpr const char* kSubject = "work";
constexpr const char* kInbox = "inbox";

// Below this window the client's own batching costs up to a millisecond a request, and is left off; above, it
// gains.
constexpr uint32_t kBatchingFrom = 256;

void check(natsStatus status, const char* what) {
  if (status != NATS_OK) give_up(std::string(what) + ": " + natsStatus_GetText(status));
}

natsConnection* connect_to(const Setting& setting) {
  natsOptions* options = nullptr;
  check(natsOptions_Create(&options), "natsOptions_Create");
  check(natsOptions_SetURL(options, ("nats://127.0.0.1:" + std::to_string(setting.clients)).c_str()),
        "natsOptions_SetURL");
  check(natsOptions_SetSendAsap(options, setting.window < kBatchingFrom), "natsOptions_SetSendAsap");
  natsConnection* connection = nullptr;
  eventually("nats-server listens", [&] { return natsConnection_Connect(&connection, options) == NATS_OK; });
  natsOptions_Destroy(options);
  return connection;
}

void serve(const Setting& setting) {
  const std::string port = std::to_string(setting.clients);
  execlp("nats-server", "nats-server", "--addr", "127.0.0.1", "--port", port.c_str(), "--log", "/dev/null",
         static_cast<char*>(nullptr));
  give_up("cannot run nats-server");
}

void echo(natsConnection* connection, natsSubscription*, natsMsg* message, void*) {
  natsConnection_Publish(connection, natsMsg_GetReply(message), natsMsg_GetData(message),
                         natsMsg_GetDataLength(message));
  natsMsg_Destroy(message);
}

void work(const Setting& setting) {
  natsConnection* connection = connect_to(setting);
  natsSubscription* subscription = nullptr;
  check(natsConnection_QueueSubscribe(&subscription, connection, kSubject, "workers", echo, nullptr),
        "subscribe");
  for (;;) ::pause();
}

// Replies come on the library's thread, which also sends the next request; the books are under the lock.
struct Loading {
  explicit Loading(Load& of) : load(of) {}

  Load& load;
  natsConnection* connection = nullptr;
  std::mutex mutex;
  std::condition_variable changed;
  bool worker_is_there = false;

  void send(Slot slot, Time now) {
    const std::string& bytes = load.send(slot, now);
    check(natsConnection_PublishRequest(connection, kSubject, kInbox, bytes.data(),
                                        static_cast<int>(bytes.size())),
          "publish");
  }

  void on_reply(natsMsg* message) {
    // Without a worker the server answers by itself, with nothing.
    if (natsMsg_GetDataLength(message) < static_cast<int>(sizeof(Slot))) return;
    const Slot slot = slot_of(natsMsg_GetData(message));
    const std::lock_guard lock(mutex);
    if (slot == kProbe) {
      worker_is_there = true;
      changed.notify_all();
      return;
    }
    const Time now = Clock::now();
    if (load.answered(slot, now)) send(slot, now);
    if (load.done()) changed.notify_all();
  }
};

void on_message(natsConnection*, natsSubscription*, natsMsg* message, void* loading) {
  static_cast<Loading*>(loading)->on_reply(message);
  natsMsg_Destroy(message);
}

void run_load(const Setting& setting, Load& load) {
  // Never destroyed: the library's thread may look at it until the process ends.
  Loading& loading = *new Loading(load);
  loading.connection = connect_to(setting);
  natsSubscription* subscription = nullptr;
  check(natsConnection_Subscribe(&subscription, loading.connection, kInbox, on_message, &loading),
        "subscribe");
  eventually("a worker answers", [&] {
    std::unique_lock lock(loading.mutex);
    loading.send(kProbe, Clock::now());
    return loading.changed.wait_for(lock, std::chrono::milliseconds(20),
                                    [&] { return loading.worker_is_there; });
  });

  std::unique_lock lock(loading.mutex);
  load.begin(Clock::now());
  for (Slot slot = 0; slot < load.window(); ++slot) loading.send(slot, Clock::now());
  loading.changed.wait(lock, [&] { return load.done(); });
}

}  // namespace

const Peer kNats{"nats", serve, work, run_load};

}  // namespace redoubt::peers
