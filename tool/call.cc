// `redoubt call`: one request, its result on stdout, its end in the exit code. Ctrl-C cancels it.
#include <unistd.h>

#include <asio/bind_cancellation_slot.hpp>
#include <asio/bind_executor.hpp>
#include <asio/cancellation_signal.hpp>
#include <asio/signal_set.hpp>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>
#include <string>

#include "client/client.h"
#include "tool/base64.h"
#include "tool/commands.h"
#include "tool/output.h"
#include "tool/request_flags.h"
#include "wire/limits.h"

namespace redoubt::tool {
namespace {

using Json = nlohmann::ordered_json;
using File = std::unique_ptr<std::FILE, int (*)(std::FILE*)>;

int keep_open(std::FILE*) { return 0; }

// "-" is the standard stream, which stays open.
File open_file(const std::string& path, const char* mode, std::FILE* standard) {
  if (path == "-") return {standard, keep_open};
  return {std::fopen(path.c_str(), mode), std::fclose};
}

Result<Payload> read_input(const std::string& path) {
  const File file = open_file(path, "rb", stdin);
  if (!file) return Error{"cannot read '" + path + "': " + std::strerror(errno)};
  std::string bytes;
  char block[64 * 1024];
  while (const size_t size = std::fread(block, 1, sizeof block, file.get())) {
    bytes.append(block, size);
    if (bytes.size() > wire::kMaxMaxPayload)
      return Error{"'" + path + "' is larger than any broker's limit, " +
                   format_size({wire::kMaxMaxPayload})};
  }
  if (std::ferror(file.get())) return Error{"cannot read '" + path + "': " + std::strerror(errno)};
  return Payload(bytes);
}

Failure write_output(const std::string& path, std::string_view bytes) {
  const File file = open_file(path, "wb", stdout);
  if (!file) return Error{"cannot write '" + path + "': " + std::strerror(errno)};
  return write_all(file.get(), bytes, path);
}

std::string to_json(const Reply& reply, uint64_t client) {
  Json json;
  json["status"] = name_of(reply.status);
  if (reply.reason != Refusal::kNone) json["reason"] = name_of(reply.reason);
  if (!reply.text.empty()) json["text"] = reply.text;
  if (reply.status != Status::kOk) {
    json["level"] = reply.level;
    json["running"] = reply.running;
  }
  json["payload_base64"] = base64(reply.payload.view());
  json["latency_us"] = to_us(reply.latency);
  json["wait_us"] = to_us(reply.wait);
  json["levels"] = Json::array();
  for (const LevelTiming& level : reply.levels)
    json["levels"].push_back({{"service", level.service},
                              {"replica", level.replica},
                              {"copies", level.copies},
                              {"wait_us", to_us(level.wait)},
                              {"service_us", to_us(level.service_time)}});
  json["id"] = std::to_string(client) + "-" + std::to_string(reply.seq);
  return json.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

int exit_code_of(const Reply& reply) {
  switch (reply.status) {
    case Status::kOk:
      return kExitOk;
    case Status::kFailed:
      return kExitFailed;
    case Status::kRefused:
      return kExitRefused;
    case Status::kExpired:
      return kExitExpired;
    case Status::kCancelled:
      return kExitInterrupted;
    case Status::kNoBroker:
      return kExitNoBroker;
  }
  return kExitFailed;
}

// For stderr: what kind of end it was, and what was said about it.
std::string explanation(const Reply& reply) {
  std::string text = reply.status == Status::kRefused ? std::string("refused (") + name_of(reply.reason) + ")"
                     : reply.status == Status::kFailed    ? "the service failed"
                     : reply.status == Status::kExpired   ? "too late"
                     : reply.status == Status::kCancelled ? "interrupted"
                                                          : "no broker answers";
  if (!reply.text.empty()) text += ": " + reply.text;
  return text;
}

class Call : public Command {
 public:
  explicit Call(Options& program)
      : options_(program.command("call", "Sends one request and prints its result.")) {
    add_request_flags(options_, request_);
    options_.section("Input and output");
    options_.add("input", input_, "the payload; - is stdin, which is not read if it is a terminal")
        .shaped("FILE|-")
        .must_not_be_empty();
    options_.add("output", output_, "where the result goes; - is stdout")
        .shaped("FILE|-")
        .must_not_be_empty();
    options_.add("json", json_, "one object with status, result and timing instead of the result's bytes");
    options_.exits(kExitOk, "done");
    options_.exits(kExitFailed, "the service failed, or the result could not be written");
    options_.exits(kExitRefused, "refused; the reason is on stderr");
    options_.exits(kExitExpired, "deadline or wait limit exceeded");
    options_.exits(kExitNoBroker, "no broker answers");
    options_.exits(kExitInterrupted, "interrupted; the request is cancelled");
  }

  bool chosen() const override { return options_.chosen(); }
  int run() override;

 private:
  Reply send(Client& client, const Request& request);

  Options& options_;
  RequestFlags request_;
  std::optional<std::string> input_;
  std::string output_ = "-";
  bool json_ = false;
};

Reply Call::send(Client& client, const Request& request) {
  asio::io_context io(1);
  asio::cancellation_signal cancel;
  asio::signal_set signals(io, SIGINT, SIGTERM);
  signals.async_wait([&](const asio::error_code& error, int) {
    if (!error) cancel.emit(asio::cancellation_type::terminal);
  });
  Reply reply;
  client.async_call(request,
                    asio::bind_cancellation_slot(cancel.slot(), asio::bind_executor(io, [&](Reply ended) {
                                                   reply = std::move(ended);
                                                   signals.cancel();
                                                 })));
  io.run();
  return reply;
}

int Call::run() {
  Result<Request> request = request_of(request_);
  if (!request) return options_.usage_error(request.error()).finish();
  Result<ClientOptions> options = client_options_of(request_);
  if (!options) return options_.usage_error(options.error()).finish();
  // A person at a terminal who gave no input has none; a script that has none gives /dev/null.
  if (input_ || isatty(STDIN_FILENO) == 0) {
    Result<Payload> payload = read_input(input_.value_or("-"));
    if (!payload) return options_.usage_error("--input: " + payload.error()).finish();
    request->payload = *payload;
  }

  // The broker knows where an expired request stood, and its word may come a moment after the deadline.
  options->overtime = std::chrono::milliseconds(100);
  Client client(*std::move(options));
  const Reply reply = send(client, *request);

  // Silence of a broker that is there is an expiry; of one that has gone, it is that nobody answers.
  const bool gone = reply.status == Status::kExpired && !reply.answered && !client.connected();
  if (gone)
    std::fprintf(stderr, "redoubt call: no broker answers any more: %s: %s\n", reply.text.c_str(),
                 client.connection().c_str());
  else if (reply.status != Status::kOk)
    std::fprintf(stderr, "redoubt call: %s\n", explanation(reply).c_str());
  Failure unwritten;
  if (json_)
    unwritten = write_output(output_, to_json(reply, client.incarnation()));
  else if (reply.status == Status::kOk)
    unwritten = write_output(output_, reply.payload.view());
  if (unwritten) {
    std::fprintf(stderr, "redoubt call: %s\n", unwritten->text.c_str());
    return kExitFailed;
  }
  return gone ? kExitNoBroker : exit_code_of(reply);
}

}  // namespace

std::unique_ptr<Command> make_call(Options& program) { return std::make_unique<Call>(program); }

}  // namespace redoubt::tool
