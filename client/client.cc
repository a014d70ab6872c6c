// The public face of the client library; see client.h. Everything is done by the shell.
#include "client/client.h"

#include <unistd.h>

#include <condition_variable>
#include <mutex>
#include <random>
#include <stdexcept>

#include "client/shell.h"
#include "net/limits.h"
#include "wire/limits.h"

namespace redoubt {
namespace {

uint64_t new_incarnation() {
  std::random_device random;
  const uint64_t number = (uint64_t{random()} << 32) | random();
  return number == 0 ? 1 : number;
}

static_assert(ClientOptions{}.busy_poll == net::kBusyPoll, "the same everywhere, unless told");

client::ShellSettings settings_of(ClientOptions options) {
  if (options.brokers.empty())
    throw std::invalid_argument("a client needs the address of at least one broker");
  if (options.name.empty()) options.name = "client-" + std::to_string(getpid());
  if (options.name.size() > wire::kMaxNameBytes || options.cluster.size() > wire::kMaxNameBytes)
    throw std::invalid_argument("the names of a client and of its cluster have at most " +
                                std::to_string(wire::kMaxNameBytes) + " bytes");
  if (options.busy_poll < Duration::zero() || options.busy_poll > net::kMostBusyPoll)
    throw std::invalid_argument("a client's busy_poll is from 0 to one second");
  client::ShellSettings settings;
  for (const std::string& broker : options.brokers) {
    Result<Address> address = parse_address(broker);
    if (!address) throw std::invalid_argument(address.error());
    settings.brokers.push_back(*address);
  }
  settings.greeting = {std::move(options.name), std::move(options.cluster), new_incarnation()};
  settings.overtime = options.overtime;
  settings.busy_poll = options.busy_poll;
  return settings;
}

// What a blocking call waits for.
template <class Value>
class Arrival {
 public:
  auto completion() {
    return [this](Value&& value) {
      // Told under the lock: once it is free, this object may be gone.
      const std::lock_guard lock(mutex_);
      value_ = std::move(value);
      there_ = true;
      arrived_.notify_one();
    };
  }
  Value wait() {
    std::unique_lock lock(mutex_);
    arrived_.wait(lock, [this] { return there_; });
    return std::move(value_);
  }

 private:
  std::mutex mutex_;
  std::condition_variable arrived_;
  Value value_;
  bool there_ = false;
};

Reply refused_here() {
  Reply reply;
  reply.status = Status::kRefused;
  reply.reason = Refusal::kInvalid;
  reply.text = "a call that blocks was made on the client's own thread: use async_call there";
  return reply;
}

}  // namespace

namespace client {

Canceller::Canceller(std::weak_ptr<Shell> shell, std::shared_ptr<Ticket> ticket)
    : shell_(std::move(shell)), ticket_(std::move(ticket)) {}

void Canceller::operator()(asio::cancellation_type type) const {
  if (type == asio::cancellation_type::none) return;
  if (const auto shell = shell_.lock()) shell->cancel(ticket_);
}

}  // namespace client

Client::Client(ClientOptions options)
    : shell_(std::make_shared<client::Shell>(settings_of(std::move(options)))) {
  shell_->start();
}

Client::~Client() { shell_->stop(); }

Reply Client::call(const Request& request) {
  if (shell_->on_own_thread()) return refused_here();
  Arrival<Reply> arrival;
  shell_->call(request, arrival.completion(), nullptr);
  return arrival.wait();
}

std::vector<Reply> Client::call_batch(std::span<const Request> requests) {
  if (shell_->on_own_thread()) return std::vector<Reply>(requests.size(), refused_here());
  Arrival<std::vector<Reply>> arrival;
  shell_->call_batch(requests, arrival.completion(), nullptr);
  return arrival.wait();
}

void Client::start(const Request& request, client::Completion<Reply> completion,
                   std::shared_ptr<client::Ticket> ticket) {
  shell_->call(request, std::move(completion), std::move(ticket));
}

void Client::start_batch(std::span<const Request> requests, client::Completion<std::vector<Reply>> completion,
                         std::shared_ptr<client::Ticket> ticket) {
  shell_->call_batch(requests, std::move(completion), std::move(ticket));
}

std::shared_ptr<client::Ticket> Client::new_ticket() { return std::make_shared<client::Ticket>(); }

std::string Client::status_json(std::chrono::nanoseconds timeout) { return shell_->status_json(timeout); }
bool Client::connected() const { return shell_->connected(); }
std::string Client::connection() const { return shell_->connection(); }
ClientStats Client::stats() const { return shell_->stats(); }
uint64_t Client::incarnation() const { return shell_->incarnation(); }
uint64_t Client::next_seq() const { return shell_->next_seq(); }
asio::io_context::executor_type Client::get_executor() const { return shell_->executor(); }

}  // namespace redoubt
