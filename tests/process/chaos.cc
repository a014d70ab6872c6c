// A running redoubt-chaos; see chaos.h.
#include "chaos.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <stdexcept>

#include "../poll.h"
#include "socket.h"

namespace redoubt::test {

Chaos::Chaos(const Texts& targets, const std::string& log) {
  Texts command{REDOUBT_CHAOS};
  for (const std::string& target : targets) {
    addresses_.push_back("127.0.0.1:" + std::to_string(free_port()));
    command.insert(command.end(), {"--route", addresses_.back() + "=" + target});
  }
  // For reading, too: the other end can then be opened at once, and never sees an end.
  const std::string fifo = log + ".in";
  if (::mkfifo(fifo.c_str(), 0600) == 0) commands_ = ::open(fifo.c_str(), O_RDWR | O_CLOEXEC);
  if (commands_ < 0) throw std::runtime_error("cannot make " + fifo);
  process_ = std::make_unique<Process>(command, log, fifo);
  if (process_->event("ready").empty())
    throw std::runtime_error("redoubt-chaos did not start: " + process_->err());
}

Chaos::~Chaos() {
  process_.reset();
  if (commands_ >= 0) ::close(commands_);
}

Process::Fields Chaos::command(const std::string& line) {
  const std::string sent = line + "\n";
  if (::write(commands_, sent.data(), sent.size()) != static_cast<ssize_t>(sent.size()))
    throw std::runtime_error("redoubt-chaos takes no commands");
  std::vector<Process::Fields> lines;
  const bool answered = eventually([&] {
    lines = process_->events();
    return lines.size() > answered_;
  });
  if (!answered) throw std::runtime_error("no answer to '" + line + "': " + process_->err());
  const Process::Fields& answer = lines[answered_++];
  if (answer.at("event") == "error") throw std::runtime_error("'" + line + "': " + answer.at("text"));
  return answer;
}

void Chaos::treat(size_t route, const std::string& direction, const std::string& what) {
  const size_t space = what.find(' ');
  command(what.substr(0, space) + " " + std::to_string(route) + " " + direction +
          (space == std::string::npos ? "" : what.substr(space)));
}

}  // namespace redoubt::test
