// A command as a process of its own group; see child.h.
#include "replica/child.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <mutex>
#include <set>

#include "core/check.h"
#include "replica/limits.h"

namespace redoubt::replica {

namespace {

std::mutex children_mutex;
std::set<pid_t> children;  // guarded by children_mutex; each is the leader of its group

struct Pipe {
  Descriptor read, write;
  bool open() {
    std::array<int, 2> ends{};
    if (::pipe2(ends.data(), O_CLOEXEC) != 0) return false;
    read = Descriptor(ends[0]);
    write = Descriptor(ends[1]);
    return true;
  }
};

// All that the child needs between fork and exec, where it may neither allocate nor lock.
struct Prepared {
  int input = -1, output = -1, errors = -1, status = -1;
  const char* line = nullptr;
  char* const* environment = nullptr;
  Time start_before;
  pid_t parent = 0;
  int most_descriptors = 0;
};

// What the child writes to its status pipe when it does not become the command: the reason, which is 0 for
// "too late".
[[noreturn]] void give_up(const Prepared& prepared, int reason) {
  [[maybe_unused]] const ssize_t ignored = ::write(prepared.status, &reason, sizeof reason);
  ::_exit(127);
}

void keep_only_standard_descriptors(int most) {
  if (::close_range(3, ~0U, CLOSE_RANGE_CLOEXEC) == 0) return;
  for (int descriptor = 3; descriptor < most; ++descriptor) ::fcntl(descriptor, F_SETFD, FD_CLOEXEC);
}

[[noreturn]] void become_command(const Prepared& prepared) {
  ::setpgid(0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != prepared.parent) ::_exit(127);
  // The process's handlers must be gone before a signal can get through: they would talk to the parent's
  // pipes.
  for (int number = 1; number < NSIG; ++number) ::signal(number, SIG_DFL);
  sigset_t none;
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  if (::dup2(prepared.input, 0) < 0 || ::dup2(prepared.output, 1) < 0) give_up(prepared, errno);
  if (prepared.errors >= 0 && ::dup2(prepared.errors, 2) < 0) give_up(prepared, errno);
  keep_only_standard_descriptors(prepared.most_descriptors);
  const char* arguments[] = {"sh", "-c", prepared.line, nullptr};
  // Whatever stood still since the copy was dealt out: this look is the last thing before the command.
  if (Clock::now() >= prepared.start_before) give_up(prepared, 0);
  ::execve("/bin/sh", const_cast<char* const*>(arguments), prepared.environment);
  give_up(prepared, errno);
}

// The process's environment with `added` in the place of what has the same key.
std::vector<char*> environment_with(const std::vector<std::string>& added) {
  std::vector<char*> all;
  for (const std::string& entry : added) all.push_back(const_cast<char*>(entry.c_str()));
  for (char** entry = environ; entry && *entry; ++entry) {
    const std::string_view own(*entry);
    const std::string_view key = own.substr(0, own.find('=') + 1);
    const bool replaced =
        !key.empty() && std::any_of(added.begin(), added.end(),
                                    [&](const std::string& other) { return other.starts_with(key); });
    if (!replaced) all.push_back(*entry);
  }
  all.push_back(nullptr);
  return all;
}

int most_descriptors() {
  rlimit limit{};
  ::getrlimit(RLIMIT_NOFILE, &limit);
  return static_cast<int>(std::min<rlim_t>(limit.rlim_cur, 65536));
}

// Were one of them closed, a pipe would take its number and the child would mix them up.
void need_standard_descriptors() {
  static const bool done = [] {
    int descriptor = 0;
    while ((descriptor = ::open("/dev/null", O_RDWR)) >= 0 && descriptor <= 2) {
    }
    ::close(descriptor);
    return true;
  }();
  (void)done;
}

void make_non_blocking(const Descriptor& descriptor) {
  if (descriptor) ::fcntl(descriptor.get(), F_SETFL, ::fcntl(descriptor.get(), F_GETFL) | O_NONBLOCK);
}

}  // namespace

void Descriptor::close() {
  if (number_ >= 0) ::close(std::exchange(number_, -1));
}

StopWake::StopWake(const std::stop_token& stop)
    : event_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)), callback_(stop, Ring{event_.get()}) {}

void StopWake::Ring::operator()() const {
  const uint64_t one = 1;
  [[maybe_unused]] const ssize_t ignored = ::write(descriptor, &one, sizeof one);
}

Child::~Child() {
  if (alive()) reap();
}

Child::Started Child::start(const Command& command) {
  CHECK(!alive());
  need_standard_descriptors();
  const auto failed = [this](const char* what) {
    error_ = std::string("cannot start the command: ") + what + ": " + std::strerror(errno);
    return Started::kFailed;
  };
  Pipe input, output, errors, status;
  if (!input.open() || !output.open() || !status.open() || (command.takes_stderr && !errors.open()))
    return failed("pipe");
  const std::vector<char*> environment = environment_with(command.environment);
  const Prepared prepared{.input = input.read.get(),
                          .output = output.write.get(),
                          .errors = errors.write.get(),
                          .status = status.write.get(),
                          .line = command.line.c_str(),
                          .environment = environment.data(),
                          .start_before = command.start_before,
                          .parent = ::getpid(),
                          .most_descriptors = most_descriptors()};
  {
    // Nothing can come between a child's begin and its name in the list.
    const std::lock_guard lock(children_mutex);
    const pid_t pid = ::fork();
    if (pid == 0) become_command(prepared);
    if (pid < 0) return failed("fork");
    ::setpgid(pid, pid);  // the child does the same: whoever comes first
    children.insert(pid);
    pid_ = pid;
  }
  status.write.close();
  end_ = Descriptor(static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)));
  input_ = std::move(input.write);
  output_ = std::move(output.read);
  errors_ = std::move(errors.read);
  for (const Descriptor* own : {&input_, &output_, &errors_}) make_non_blocking(*own);

  int reason = 0;
  ssize_t told = 0;
  while ((told = ::read(status.read.get(), &reason, sizeof reason)) < 0 && errno == EINTR) {
  }
  if (told == 0 && end_) return Started::kYes;  // closed by becoming the command
  const int begin_failed = told == 0 ? errno : reason;
  reap();
  if (told > 0 && reason == 0) return Started::kExpired;
  errno = begin_failed;
  return failed("/bin/sh");
}

bool Child::ended() const {
  pollfd end{end_.get(), POLLIN, 0};
  return ::poll(&end, 1, 0) > 0;
}

void Child::signal(int number) const {
  if (alive()) ::kill(-pid_, number);
}

int Child::reap() {
  CHECK(alive());
  int status = 0;
  {
    // The leader is not waited for before this, so that the group's number cannot have gone to others.
    const std::lock_guard lock(children_mutex);
    ::kill(-pid_, SIGKILL);
    children.erase(pid_);
  }
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  for (Descriptor* own : {&input_, &output_, &errors_, &end_}) own->close();
  return status;
}

int Child::stop() {
  input_.close();
  signal(SIGTERM);
  pollfd end{end_.get(), POLLIN, 0};
  ::poll(&end, 1, static_cast<int>(to_us(kKillAfter) / 1000));
  return reap();
}

std::string describe_end(int wait_status) {
  if (WIFEXITED(wait_status)) return "exited with status " + std::to_string(WEXITSTATUS(wait_status));
  const int number = WTERMSIG(wait_status);
  const char* name = ::sigdescr_np(number);
  return "was killed by signal " + std::to_string(number) + " (" + (name ? name : "unknown") + ")";
}

void kill_all_children() {
  const std::lock_guard lock(children_mutex);
  for (const pid_t pid : children) ::kill(-pid, SIGKILL);
}

int ms_until(Time time) {
  if (time == kNever) return -1;
  const int64_t left = to_us(time - Clock::now()) / 1000 + 1;
  return static_cast<int>(std::clamp<int64_t>(left, 0, 1'000'000));
}

ReadEnd read_some(int descriptor, std::string& out, size_t most) {
  std::array<char, 65536> buffer;
  for (;;) {
    const ssize_t got = ::read(descriptor, buffer.data(), std::min(most, buffer.size()));
    if (got > 0) {
      out.append(buffer.data(), static_cast<size_t>(got));
      return ReadEnd::kMore;
    }
    if (got == 0) return ReadEnd::kClosed;
    if (errno == EINTR) continue;
    return errno == EAGAIN || errno == EWOULDBLOCK ? ReadEnd::kNothingNow : ReadEnd::kClosed;
  }
}

bool write_some(int descriptor, std::string_view& bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written >= 0) {
      bytes.remove_prefix(static_cast<size_t>(written));
      continue;
    }
    if (errno == EINTR) continue;
    return errno == EAGAIN || errno == EWOULDBLOCK;
  }
  return true;
}

}  // namespace redoubt::replica
