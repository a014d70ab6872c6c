// `redoubt status`: asks the broker that rules what it knows.
#include <cstdio>

#include "client/client.h"
#include "tool/commands.h"
#include "tool/output.h"
#include "tool/request_flags.h"
#include "tool/status_table.h"

namespace redoubt::tool {
namespace {

class StatusCommand : public Command {
 public:
  explicit StatusCommand(Options& program)
      : options_(program.command("status", "Shows the brokers, the replicas and the load.")) {
    add_broker_flags(options_, flags_);
    options_.add("timeout", timeout_, {std::chrono::milliseconds(1), std::chrono::hours(1)},
                 "to wait for an answer");
    options_.add("json", json_, "the broker's own JSON instead of a table");
    options_.exits(kExitOk, "a broker has answered, the one that rules or, where nobody does, a standby");
    options_.exits(kExitFailed, "its answer makes no sense, or could not be written");
    options_.exits(kExitNoBroker, "no broker answers");
  }

  bool chosen() const override { return options_.chosen(); }

  int run() override {
    Result<ClientOptions> options = client_options_of(flags_);
    if (!options) return options_.usage_error(options.error()).finish();
    Client client(*std::move(options));
    const std::string json = client.status_json(timeout_);
    if (json.empty()) {
      std::fprintf(stderr, "redoubt status: no broker answers: %s\n", client.connection().c_str());
      return kExitNoBroker;
    }
    const Result<std::string> shown = json_ ? Result<std::string>(json + "\n") : status_table(json);
    const Failure failure = shown ? print(*shown) : Failure(Error{shown.error()});
    if (!failure) return kExitOk;
    std::fprintf(stderr, "redoubt status: %s\n", failure->text.c_str());
    return kExitFailed;
  }

 private:
  Options& options_;
  RequestFlags flags_;
  Duration timeout_ = std::chrono::seconds(2);
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_status(Options& program) { return std::make_unique<StatusCommand>(program); }

}  // namespace redoubt::tool
