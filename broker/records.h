// Records: how requests ended, kept until their clients' low-water marks pass them, so that the same id sent
// again is answered and not executed. Their bodies (results, texts) are bounded: over a client's own limit
// its oldest go, over that of all together the new one is not kept. The same on a manager and on its
// standbys.
#pragma once

#include <algorithm>

#include "broker/limits.h"
#include "core/payload.h"
#include "wire/message.h"

namespace redoubt::broker {

struct Record {
  wire::Status status = wire::Status::kOk;
  wire::Refusal reason = wire::Refusal::kNone;
  Payload body;  // the result, or the text of what happened
  bool body_dropped = false;
};

class Records {
 public:
  uint64_t bytes() const { return bytes_; }

  // `client` has `entries` (a SeqWindow of Records), `retained` and `oldest_retained`.
  template <class Client>
  void retain(Client& client, Record& record, Payload body) {
    // Small ones still find room when large ones have used theirs up.
    const uint64_t limit = body.size() <= kSmallResult ? 2 * kRetainedInAll : kRetainedInAll;
    if (bytes_ + body.size() > limit) {
      record.body_dropped = true;
      return;
    }
    client.retained += body.size();
    bytes_ += body.size();
    record.body = std::move(body);
    client.oldest_retained = std::max(client.oldest_retained, client.entries.begin());
    for (; client.retained > kRetainedBytes && client.oldest_retained < client.entries.end();
         ++client.oldest_retained) {
      Record& oldest = client.entries[client.oldest_retained];
      oldest.body_dropped = oldest.body_dropped || !oldest.body.empty();
      let_go(client, oldest);
    }
  }

  template <class Client>
  void let_go(Client& client, Record& record) {
    client.retained -= record.body.size();
    bytes_ -= record.body.size();
    record.body = {};
  }

 private:
  uint64_t bytes_ = 0;
};

}  // namespace redoubt::broker
