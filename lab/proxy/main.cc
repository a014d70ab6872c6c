// redoubt-chaos: a proxy whose routes are treated as the lines on stdin say; see commands.h. It runs until a
// signal ends it, also when there are no more lines.
#include <spdlog/spdlog.h>
#include <unistd.h>

#include <array>
#include <asio/posix/stream_descriptor.hpp>
#include <asio/signal_set.hpp>

#include "lab/proxy/commands.h"
#include "lab/proxy/proxy.h"
#include "options/daemon.h"
#include "options/options.h"

namespace redoubt::lab {
namespace {

struct Flags {
  std::vector<std::string> routes;
  uint64_t seed = 1;
  DaemonFlags daemon;
};

// Lines, as they come; a file and /dev/null do as well.
class Input {
 public:
  Input(net::Loop& loop, Commands& commands) : commands_(commands), stream_(loop.io()) {
    asio::error_code error;
    stream_.assign(::dup(STDIN_FILENO), error);
    if (error)
      spdlog::warn("no commands will be read from stdin: {}", error.message());
    else
      read();
  }

 private:
  void read() {
    stream_.async_read_some(asio::buffer(bytes_), [this](const asio::error_code& error, size_t size) {
      if (error) return;
      commands_.take({bytes_.data(), size});
      read();
    });
  }

  Commands& commands_;
  asio::posix::stream_descriptor stream_;
  std::array<char, 4096> bytes_;
};

Failure add_route(Proxy& proxy, const std::string& text) {
  const size_t equals = text.find('=');
  if (equals == std::string::npos)
    return Error{"has no target: write LISTEN=TARGET, as in 127.0.0.1:7500=127.0.0.1:7400"};
  const Result<Address> listen = parse_address(text.substr(0, equals));
  const Result<Address> target = parse_address(text.substr(equals + 1));
  if (!listen) return Error{listen.error()};
  if (!target) return Error{target.error()};
  return proxy.add(*listen, *target);
}

int run(const Flags& flags) {
  net::Loop loop;
  Proxy proxy(loop, flags.seed);
  std::vector<std::string> routes;
  for (const std::string& text : flags.routes) {
    if (const Failure failure = add_route(proxy, text)) {
      spdlog::error("--route {}: {}", text, failure->text);
      return 1;
    }
    const Route& added = proxy.route(proxy.size() - 1);
    routes.push_back(added.listen_address() + "=" + added.target_address());
  }
  Commands commands(proxy, [](const std::string& line) { print_line(line); });
  asio::signal_set signals(loop.io(), SIGTERM, SIGINT);
  signals.async_wait([&loop](const asio::error_code& error, int) {
    if (!error) loop.stop();
  });
  // A line may be waiting already: its answer comes after this.
  print_event("ready", {{"routes", routes}});
  const Input input(loop, commands);
  loop.run([] {});
  print_event("stopped");
  return 0;
}

}  // namespace
}  // namespace redoubt::lab

int main(int argc, char** argv) {
  using namespace redoubt;
  lab::Flags flags;
  Options options("redoubt-chaos",
                  "A TCP proxy on loopback that delays, stalls, drops and cuts as the lines on "
                  "stdin say; for tests.");
  options.add("route", flags.routes, "listen here, lead there; again for each further one")
      .shaped("LISTEN=TARGET")
      .must_be_given();
  options.add("seed", flags.seed, "of the garbage");
  add_daemon_flags(options, flags.daemon);
  if (const Parsed parsed = options.parse(argc, argv); !parsed.run) return parsed.finish();
  start_daemon("redoubt-chaos", flags.daemon);
  return lab::run(flags);
}
