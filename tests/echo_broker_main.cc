// The scripted broker as a program that echoes: what the client's side alone can do is measured against it.
#include <chrono>
#include <csignal>
#include <cstdio>

#include "scripted_broker.h"

int main() {
  redoubt::test::ScriptedBroker broker;
  broker.remember_nothing();
  std::printf("%s\n", broker.address().c_str());
  std::fflush(stdout);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  sigaddset(&set, SIGINT);
  sigprocmask(SIG_BLOCK, &set, nullptr);
  int received = 0;
  sigwait(&set, &received);
}
