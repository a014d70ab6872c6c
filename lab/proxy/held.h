// Held: the bytes of one direction of one connection that have arrived and not gone on, and when they may.
// Pure: it is told the time.
#pragma once

#include <deque>
#include <string>
#include <string_view>

#include "core/time.h"
#include "lab/proxy/treatment.h"

namespace redoubt::lab {

class Held {
 public:
  size_t size() const { return bytes_.size() - begin_; }
  bool empty() const { return size() == 0; }
  // How many bytes may still be added.
  size_t room() const;

  void add(std::string_view bytes, Time now);

  // How many may go on now. More may be due when these are gone.
  size_t due(const Treatment& treatment, Time now) const;
  // When more will be due, if it is time that holds them up; else kNever.
  Time next_due(const Treatment& treatment) const;

  std::string_view first(size_t count) const { return std::string_view(bytes_).substr(begin_, count); }
  // The first bytes have gone on.
  void gone(size_t count, const Treatment& treatment, Time now);
  void clear();

 private:
  // What came in one read.
  struct Arrival {
    Time at;
    size_t bytes;
  };

  std::string bytes_;
  size_t begin_ = 0;  // what stands before it has gone
  std::deque<Arrival> arrivals_;
  Time paid_until_ = Time::min();  // what has gone at a rate has used it up until then
};

}  // namespace redoubt::lab
