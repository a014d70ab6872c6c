// The shell's part in the bounds: what waits at all links together for peers to read it; see shell.h.
//
// A reply has left the limits of requests, a copy whose request has ended, too; and the limit of one link
// does not bound many. So what waits for all clients is bounded, and what waits for all replicas and brokers;
// beyond that the links with the most of it are closed, largest first, until a part of the limit is free.
//
// The search is no lever for an attacker: it looks only at links at which something waits, and each one ends
// at least one of them and frees a part of the limit. It comes again only when as much has been asked for
// anew, and who is closed has to dial and greet again, which costs us more than a look at some thousand
// numbers.
#include <algorithm>

#include "broker/shell.h"

namespace redoubt::broker {

using wire::CloseReason;

void Shell::bound_unread() {
  const size_t limit = std::max(settings().held_limit, kUnreadInAll);
  // A client's replies are its own: what it has asked for twice counts twice.
  if (unread_.bytes() > limit)
    close_who_read_least(net::largest(unread_.shares(), limit - limit / kUnreadFreed), limit, "clients");
  if (unread_by_peers_.bytes() > limit) bound_unread_by_peers(limit);
}

// Copies of one request wait at many replicas and are one payload, which --held-limit counts while the
// request lives: here it counts by parts, so that only what nobody else needs comes to more than the limit.
// That takes a walk over all that waits, so it is done now and then.
void Shell::bound_unread_by_peers(size_t limit) {
  if (loop_.now() < look_at_peers_) return;
  look_at_peers_ = later(loop_.now(), kLookAtUnread);
  std::vector<net::Unsent::Share> shares = unread_by_peers_.shares();
  for (net::Unsent::Share& share : shares)
    if (Connection* connection = find(LinkId{share.link})) share.bytes = connection->link().own_unsent();
  size_t all = 0;
  for (const net::Unsent::Share& share : shares) all += share.bytes;
  if (all > limit)
    close_who_read_least(net::largest(std::move(shares), limit - limit / kUnreadFreed), limit,
                         "replicas and brokers");
}

void Shell::close_who_read_least(const std::vector<net::Unsent::Share>& who, size_t limit, const char* kind) {
  for (const net::Unsent::Share& share : who) {
    Connection* connection = find(LinkId{share.link});
    if (!connection) continue;
    close(*connection, CloseReason::kSlow,
          "it leaves " + std::to_string(share.bytes >> 20) + " MiB unread, the most of all " + kind +
              ", which leave more than " + std::to_string(limit >> 20) + " MiB together");
  }
}

}  // namespace redoubt::broker
