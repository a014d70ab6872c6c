// The flags that say what a request is and whom to send it to: the same for `call` and `bench`.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "client/client.h"
#include "core/address.h"
#include "core/result.h"
#include "core/time.h"
#include "options/options.h"

namespace redoubt::tool {

struct RequestFlags {
  std::vector<Address> brokers{Address{"127.0.0.1", 7400}};
  std::string cluster = ClientOptions{}.cluster;
  std::vector<std::string> levels;
  std::vector<uint32_t> copies;
  Duration deadline = std::chrono::seconds(5);
  Duration wait_limit = Duration::zero();
  std::string redundancy, disposal;  // empty: as the brokers' settings say
  double service_class = redoubt::Request{}.service_class;
  Duration service_time = Duration::zero();
};

// Where the brokers are and which cluster they must be.
void add_broker_flags(Options& options, RequestFlags& flags);
void add_request_flags(Options& options, RequestFlags& flags);

// The request without its payload; an error when flags do not fit each other.
Result<Request> request_of(const RequestFlags& flags);
// A client of these brokers. An error when the flags cannot be.
Result<ClientOptions> client_options_of(const RequestFlags& flags);

}  // namespace redoubt::tool
