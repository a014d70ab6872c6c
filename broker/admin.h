// Admin: the broker's HTTP port for people and monitoring, on threads of its own, and the thread that writes
// status texts. The deciding thread only copies a snapshot for it.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "broker/snapshot.h"

namespace redoubt::broker {

class Admin {
 public:
  // `ask` gives a snapshot from any thread, or nothing when the broker does not answer in time.
  using Ask = std::function<std::unique_ptr<Snapshot>()>;

  explicit Admin(Ask ask);
  ~Admin();

  // Serves /healthz, /readyz, /status and /metrics. Returns an empty text, or why it cannot listen.
  std::string listen(const std::string& host, uint16_t port);
  // "127.0.0.1:7401", or empty when it does not listen.
  const std::string& address() const;

  // Writes the status somewhere else than in the calling thread, then calls back from there.
  void write_status(Snapshot view, std::function<void(std::string)> done);

  // No call of `ask` after this.
  void stop();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace redoubt::broker
