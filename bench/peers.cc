// peers PEER WINDOW [MILLISECONDS]: one closed-loop measurement of one other broker, as one JSON line. See
// peers.h for what is measured and deploy/bench-peers.sh for the comparison.
#include "bench/peers.h"

#include <netinet/in.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <thread>

namespace redoubt::peers {

void give_up(const std::string& what) {
  std::fprintf(stderr, "peers: %s\n", what.c_str());
  std::_Exit(1);
}

void pause_a_moment() { std::this_thread::sleep_for(std::chrono::milliseconds(5)); }

namespace {

constexpr size_t kPayload = 64;
constexpr uint16_t kFirstPort = 20000, kLastPort = 32000;

bool is_free(uint16_t port) {
  const int socket = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(port);
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  const bool bound = bind(socket, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
  close(socket);
  return bound;
}

// Each process starts to look somewhere else.
uint16_t free_port() {
  static auto port = static_cast<uint16_t>(kFirstPort + getpid() % (kLastPort - kFirstPort));
  for (int tried = 0; tried <= kLastPort - kFirstPort; ++tried) {
    if (++port > kLastPort) port = kFirstPort;
    if (is_free(port)) return port;
  }
  give_up("no port is free");
}

// A process of its own, which does not outlive this one.
class Child {
 public:
  Child(void (*run)(const Setting&), const Setting& setting) : id_(fork()) {
    if (id_ != 0) return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    run(setting);
    std::_Exit(1);
  }
  ~Child() {
    kill(id_, SIGKILL);
    waitpid(id_, nullptr, 0);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

 private:
  pid_t id_;
};

const Peer* find(const std::string& name) {
  for (const Peer* peer : {&kRelay, &kNats, &kZmq})
    if (peer->name == name) return peer;
  return nullptr;
}

int measure(const Peer& peer, uint32_t window, Duration length) {
  const Setting setting{.clients = free_port(), .workers = free_port(), .window = window};
  const Child server(peer.serve, setting);
  const Child worker(peer.work, setting);
  // A lost request would otherwise be waited for without end.
  alarm(static_cast<unsigned>(to_seconds(length)) + 30);
  Load load(window, kPayload, length);
  peer.load(setting, load);
  const Histogram& latency = load.latency_ns();
  const auto us = [&](double p) { return static_cast<double>(latency.quantile(p)) / 1e3; };
  std::printf(R"({"peer":"%s","window":%u,"requests":%llu,"rps":%.0f,"latency_us":{"p50":%.1f,"p99":%.1f}})"
              "\n",
              peer.name, window, static_cast<unsigned long long>(latency.count()),
              static_cast<double>(latency.count()) / load.seconds(), us(0.5), us(0.99));
  return 0;
}

}  // namespace
}  // namespace redoubt::peers

int main(int argc, char** argv) {
  using namespace redoubt;
  const peers::Peer* peer = argc > 2 ? peers::find(argv[1]) : nullptr;
  const int window = peer != nullptr ? std::atoi(argv[2]) : 0;
  const int length_ms = argc > 3 ? std::atoi(argv[3]) : 2000;
  if (peer == nullptr || window < 1 || window > 100'000 || length_ms < 1) {
    std::fputs("usage: peers relay|nats|zmq WINDOW [MILLISECONDS]\n", stderr);
    return 2;
  }
  return peers::measure(*peer, static_cast<uint32_t>(window), std::chrono::milliseconds(length_ms));
}
