// The client library. Installed as <redoubt/client.h>; needs Asio and nothing else of what Redoubt is built
// with.
//
//   redoubt::Client client({.brokers = {"10.0.0.1:7400", "10.0.0.2:7400"}});
//   redoubt::Request request{.levels = {{"decode", 2}, {"detect", 3}}, .payload = bytes, .deadline = 50ms};
//   redoubt::Reply reply = client.call(request);
//
// A call always ends, at its deadline at the latest, with exactly one Reply; what went wrong is a status in
// it, not an exception. While a broker is lost the client keeps its calls and sends them again, with the same
// id, to the next broker: a request may be executed more than once, its reply is delivered once.
//
// Limits: 16 levels, 64 copies each; a broker's payload limit (16 MiB by default); 2^18 numbers between the
// oldest open request and the newest. What passes one ends as kRefused and costs no connection.
#pragma once

#include <redoubt/completion.h>
#include <redoubt/request.h>

#include <asio/any_io_executor.hpp>
#include <asio/associated_cancellation_slot.hpp>
#include <asio/associated_executor.hpp>
#include <asio/async_result.hpp>
#include <asio/dispatch.hpp>
#include <asio/execution/outstanding_work.hpp>
#include <asio/io_context.hpp>
#include <asio/prefer.hpp>
#include <asio/system_executor.hpp>
#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace redoubt {

struct ClientOptions {
  // `host:port` or `[::1]:port`; a connection is kept to each, and the one that rules is used.
  std::vector<std::string> brokers{};
  std::string name{};               // for people, in logs and status; empty: `client-<process id>`
  std::string cluster = "redoubt";  // brokers of another cluster refuse this client
  // How long past its deadline a call waits for the broker's own word on it. Zero, the default: a call ends
  // at its deadline, whoever is silent. For measuring programs, which tell "expired" from "lost".
  std::chrono::nanoseconds overtime = std::chrono::nanoseconds::zero();
  // While answers come quickly the client's thread asks for the next one for so long before it sleeps, which
  // spares a call tens of microseconds and keeps a processor busy meanwhile. Zero: it sleeps at once. From 0
  // to one second.
  std::chrono::nanoseconds busy_poll = std::chrono::microseconds(100);
};

struct ClientStats {
  uint64_t submitted = 0;   // calls that were given a number
  uint64_t resent = 0;      // requests sent again, after a lost connection or to another broker
  uint64_t duplicated = 0;  // second replies to a request by the same broker; not delivered
  uint64_t repeated = 0;    // second replies after another broker took over, to be expected; not delivered
  uint64_t unexpected = 0;  // replies to no request of this client; not delivered
  uint64_t late = 0;        // replies after a call's own end; not delivered
  uint64_t stale = 0;       // replies of a broker that had been given up for a newer one; not delivered
  uint64_t failovers = 0;   // times a broker of another epoch took over
};

namespace client {
class Shell;
struct Ticket;

// Cancels calls from wherever it is invoked; does nothing once they have ended or the client is gone.
class Canceller {
 public:
  Canceller(std::weak_ptr<Shell> shell, std::shared_ptr<Ticket> ticket);
  void operator()(asio::cancellation_type type) const;

 private:
  std::weak_ptr<Shell> shell_;
  std::shared_ptr<Ticket> ticket_;
};

// Wraps a handler: called on its own executor if it has one, else where the outcome arises.
template <class Value, class Handler>
Completion<Value> on_its_executor(Handler handler) {
  auto executor = asio::get_associated_executor(handler);
  if constexpr (std::is_same_v<decltype(executor), asio::system_executor>) {
    return [handler = std::move(handler)](Value&& value) mutable { std::move(handler)(std::move(value)); };
  } else {
    auto work = asio::prefer(executor, asio::execution::outstanding_work.tracked);
    return [work = std::move(work), handler = std::move(handler)](Value&& value) mutable {
      asio::dispatch(work, [handler = std::move(handler), value = std::move(value)]() mutable {
        std::move(handler)(std::move(value));
      });
    };
  }
}
}  // namespace client

// All functions may be called from several threads at once, except construction and destruction.
//
// The client has a thread of its own, on which everything happens. A completion handler without an associated
// executor runs on that thread: it must not block and must not throw, and should be quick. Calls made there
// skip every hand-over and are sent together at the end of the turn.
class Client {
 public:
  // Returns at once and connects in the background. Throws std::invalid_argument when there is no broker's
  // address or one cannot be read, or a name is longer than 255 bytes.
  explicit Client(ClientOptions options);
  // Ends every open call with kCancelled. Handlers that run on the client's thread have returned when it
  // returns; it may itself be destroyed there, by one of its own handlers: then the rest ends after that
  // handler.
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // Blocks until the outcome is there. Not on the client's own thread: there it is refused as invalid.
  Reply call(const Request& request);
  // Sends all of them together and blocks until the last outcome is there; replies in the order of the
  // requests.
  std::vector<Reply> call_batch(std::span<const Request> requests);

  // Completion signature: void(Reply). The request is copied, its payload's bytes shared. A handler that
  // takes `const Reply&` leaves the reply's memory to be used again. Any cancellation through the token's
  // slot ends the call with kCancelled, and what it has started is stopped as well as possible.
  template <class CompletionToken>
  auto async_call(const Request& request, CompletionToken&& token) {
    return asio::async_initiate<CompletionToken, void(Reply)>(Calling{this}, token, request);
  }

  // Completion signature: void(std::vector<Reply>), in the order of the requests.
  template <class CompletionToken>
  auto async_call_batch(std::span<const Request> requests, CompletionToken&& token) {
    return asio::async_initiate<CompletionToken, void(std::vector<Reply>)>(
        CallingBatch{this}, token, std::vector<Request>(requests.begin(), requests.end()));
  }

  // The ruling broker's status as JSON; where nobody rules, after half of `timeout`, that of a standby, whose
  // `trouble` tells why. Blocks for `timeout` at most, then returns an empty string.
  std::string status_json(std::chrono::nanoseconds timeout = std::chrono::seconds(1));

  // Is there a broker in use? A call need not wait for it.
  bool connected() const;

  // The address of the broker in use, or why there is none.
  std::string connection() const;

  ClientStats stats() const;

  // Random, new for every Client; with a request's `seq` its id, everywhere: a replica's children are given
  // it as REDOUBT_REQUEST=<incarnation>-<seq>, both decimal.
  uint64_t incarnation() const;

  // The `seq` the next call will have, or 0 if it would be refused for too many open ones. Exact on the
  // client's thread.
  uint64_t next_seq() const;

  // The client's own thread: for programs that want their timers and their calls there.
  asio::io_context::executor_type get_executor() const;

 private:
  void start(const Request& request, client::Completion<Reply> completion,
             std::shared_ptr<client::Ticket> ticket);
  void start_batch(std::span<const Request> requests, client::Completion<std::vector<Reply>> completion,
                   std::shared_ptr<client::Ticket> ticket);
  static std::shared_ptr<client::Ticket> new_ticket();

  // Only calls that can be cancelled pay for a ticket.
  template <class Handler>
  std::shared_ptr<client::Ticket> ticket_for(const Handler& handler) {
    auto slot = asio::get_associated_cancellation_slot(handler);
    if (!slot.is_connected()) return nullptr;
    std::shared_ptr<client::Ticket> ticket = new_ticket();
    slot.template emplace<client::Canceller>(shell_, ticket);
    return ticket;
  }

  struct Calling {
    Client* client;
    template <class Handler>
    void operator()(Handler&& handler, const Request& request) const {
      auto ticket = client->ticket_for(handler);
      client->start(request, client::on_its_executor<Reply>(std::forward<Handler>(handler)),
                    std::move(ticket));
    }
  };
  struct CallingBatch {
    Client* client;
    template <class Handler>
    void operator()(Handler&& handler, const std::vector<Request>& requests) const {
      auto ticket = client->ticket_for(handler);
      client->start_batch(requests,
                          client::on_its_executor<std::vector<Reply>>(std::forward<Handler>(handler)),
                          std::move(ticket));
    }
  };

  std::shared_ptr<client::Shell> shell_;
};

}  // namespace redoubt
