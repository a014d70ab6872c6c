// Standby: a broker that follows a manager's checkpoint stream. It holds a table and how far it is, and has
// no member that could dispatch anything. A newly collected state takes the place of the old one only when it
// is complete: until then the old one is what could be ruled with.
#pragma once

#include <memory>
#include <string>

#include "broker/group/table.h"
#include "wire/message.h"

namespace redoubt::broker {

class Standby {
 public:
  // `held_limit`: see Table.
  explicit Standby(uint64_t held_limit) : held_limit_(held_limit) {}
  // With what a manager had when it stepped down.
  Standby(uint64_t held_limit, std::unique_ptr<Table> table, wire::Position position)
      : held_limit_(held_limit), table_(std::move(table)), position_(position) {}

  // A message of the stream; it may be moved out of. The answer is empty, or why it makes no sense: the link
  // is to be closed then, and what follows on a new one begins with a Collect.
  std::string take(Time now, Duration charge, wire::Message& message);
  // The stream has ended: what has not been collected to its end is thrown away.
  void stream_lost();

  // How far the complete state is; epoch 0: there is none.
  wire::Position position() const { return position_; }
  uint64_t hash() const { return table_ ? table_->hash() : 0; }
  // Bytes of this stream so far: the sender's measure of what has arrived.
  uint64_t received() const { return received_; }
  // It takes in every change of the manager as it comes.
  bool follows() const { return following_; }
  const Table* table() const { return table_.get(); }

  // The state, for a manager to be made of. What stays behind holds nothing.
  std::unique_ptr<Table> give_up();

 private:
  std::string collect(const wire::Collect& collect);
  std::string check(const wire::Epoch& epoch, uint64_t seq) const;
  void count(uint64_t seq);
  Table* target() { return loading_ ? loading_.get() : table_.get(); }

  uint64_t held_limit_;
  std::unique_ptr<Table> table_, loading_;
  wire::Position position_;  // of table_
  wire::Position loading_position_;
  uint64_t received_ = 0;
  bool following_ = false;
};

}  // namespace redoubt::broker
