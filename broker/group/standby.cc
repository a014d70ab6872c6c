// Following the stream; see standby.h.
#include "broker/group/standby.h"

#include "wire/stream.h"

namespace redoubt::broker {

std::string Standby::take(Time now, Duration charge, wire::Message& message) {
  if (const auto* begin = std::get_if<wire::Collect>(&message)) return collect(*begin);
  const auto take_in = [&](auto& change, auto apply) {
    const uint64_t bytes = wire::stream_bytes(change);
    std::string why = check(change.epoch, change.seq);
    if (why.empty()) why = apply(change);
    if (why.empty()) count(change.seq);
    received_ += bytes;
    return why;
  };
  const auto plain = [&](auto& change) {
    return take_in(change, [&](auto& one) { return target()->apply(one); });
  };
  if (auto* add = std::get_if<wire::Add>(&message))
    return take_in(*add, [&](wire::Add& one) { return target()->apply(now, charge, one); });
  if (auto* remove = std::get_if<wire::Remove>(&message)) return plain(*remove);
  if (auto* mark = std::get_if<wire::Mark>(&message)) return plain(*mark);
  if (auto* gone = std::get_if<wire::ClientGone>(&message)) return plain(*gone);
  return "a message that is not part of the checkpoint stream";
}

// Whether this change belongs here, and none before it is missing.
std::string Standby::check(const wire::Epoch& epoch, uint64_t seq) const {
  if (loading_) {
    if (epoch != loading_position_.epoch) return "a change of another epoch within a collection";
    // While collecting only changes of what has been sent already come: numbers are left out, none comes
    // twice.
    return seq != 0 && seq <= loading_position_.seq ? "a change twice" : "";
  }
  if (!following_) return "a change before a collection";
  if (epoch != position_.epoch) return "a change of another epoch";
  if (seq != position_.seq + 1)
    return "change " + std::to_string(seq) + " after change " + std::to_string(position_.seq);
  return {};
}

// It has been taken in whole.
void Standby::count(uint64_t seq) {
  if (!loading_)
    position_.seq = seq;
  else if (seq != 0)
    loading_position_.seq = seq;
}

std::string Standby::collect(const wire::Collect& message) {
  if (!message.end) {
    loading_ = std::make_unique<Table>(held_limit_);
    loading_position_ = {message.epoch, 0};
    following_ = false;
    received_ = 0;
    return {};
  }
  if (!loading_ || message.epoch != loading_position_.epoch || message.seq < loading_position_.seq)
    return "the end of a collection that did not begin";
  if (message.count != loading_->open() || message.hash != loading_->hash())
    return "the collected state is not the manager's: " + std::to_string(loading_->open()) + " requests of " +
           std::to_string(message.count);
  table_ = std::move(loading_);
  position_ = {message.epoch, message.seq};
  following_ = true;
  return {};
}

void Standby::stream_lost() {
  loading_.reset();
  following_ = false;
  received_ = 0;
}

std::unique_ptr<Table> Standby::give_up() {
  stream_lost();
  position_ = {};
  return std::move(table_);
}

}  // namespace redoubt::broker
