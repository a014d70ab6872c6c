// ZeroMQ's own broker: a ROUTER-DEALER proxy. High-water marks are off, for a window bounds the load already.
#include <zmq.h>

#include "bench/peers.h"

namespace redoubt::peers {
namespace {

std::string endpoint(uint16_t port) { return "tcp://127.0.0.1:" + std::to_string(port); }

void* socket_of(void* context, int type) {
  void* socket = zmq_socket(context, type);
  const int unlimited = 0;
  zmq_setsockopt(socket, ZMQ_SNDHWM, &unlimited, sizeof unlimited);
  zmq_setsockopt(socket, ZMQ_RCVHWM, &unlimited, sizeof unlimited);
  return socket;
}

void* connected(int type, uint16_t port) {
  void* socket = socket_of(zmq_ctx_new(), type);
  if (zmq_connect(socket, endpoint(port).c_str()) != 0) give_up("zmq_connect fails");
  return socket;
}

void* bound(void* context, int type, uint16_t port) {
  void* socket = socket_of(context, type);
  if (zmq_bind(socket, endpoint(port).c_str()) != 0) give_up("zmq_bind fails");
  return socket;
}

void serve(const Setting& setting) {
  void* context = zmq_ctx_new();
  zmq_proxy(bound(context, ZMQ_ROUTER, setting.clients), bound(context, ZMQ_DEALER, setting.workers),
            nullptr);
  give_up("zmq_proxy ended");
}

void work(const Setting& setting) {
  void* socket = connected(ZMQ_ROUTER, setting.workers);
  for (;;) {
    // The parts of a message come and go one by one: two addresses, then the payload.
    zmq_msg_t part;
    zmq_msg_init(&part);
    if (zmq_msg_recv(&part, socket, 0) < 0) give_up("zmq_msg_recv fails");
    if (zmq_msg_send(&part, socket, zmq_msg_more(&part) != 0 ? ZMQ_SNDMORE : 0) < 0)
      give_up("zmq_msg_send fails");
  }
}

void send(void* socket, const std::string& bytes) {
  if (zmq_send(socket, bytes.data(), bytes.size(), 0) < 0) give_up("zmq_send fails");
}

Slot receive(void* socket) {
  zmq_msg_t message;
  zmq_msg_init(&message);
  if (zmq_msg_recv(&message, socket, 0) < 0) give_up("zmq_msg_recv fails");
  const Slot slot = slot_of(zmq_msg_data(&message));
  zmq_msg_close(&message);
  return slot;
}

void run_load(const Setting& setting, Load& load) {
  void* socket = connected(ZMQ_DEALER, setting.clients);
  // Waits in the proxy until a worker is there.
  send(socket, load.send(kProbe, Clock::now()));
  receive(socket);

  load.begin(Clock::now());
  for (Slot slot = 0; slot < load.window(); ++slot) send(socket, load.send(slot, Clock::now()));
  while (!load.done()) {
    const Slot slot = receive(socket);
    const Time now = Clock::now();
    if (load.answered(slot, now)) send(socket, load.send(slot, now));
  }
}

}  // namespace

const Peer kZmq{"zmq", serve, work, run_load};

}  // namespace redoubt::peers
