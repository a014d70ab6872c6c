// A message's memory is used again by the next one of its kind. Private to the codec.
#pragma once

#include "wire/message.h"

namespace redoubt::wire {

// The alternative's object with its memory, if `message` holds one already; what is in it is of the past.
template <class T>
T& reuse(Message& message) {
  if (T* same = std::get_if<T>(&message)) return *same;
  return message.emplace<T>();
}

}  // namespace redoubt::wire
