// Completion: what is to be called once with a value, and moved until then. Small callables live inside:
// calling back costs no allocation. Installed as <redoubt/completion.h>, a part of <redoubt/client.h>. Not
// thread-safe.
#pragma once

#include <cstddef>
#include <new>
#include <type_traits>
#include <utility>

namespace redoubt::client {

template <class Value>
class Completion {
 public:
  static constexpr size_t kInline = 112;

  Completion() = default;

  template <class Call>
  requires(!std::is_same_v<std::decay_t<Call>, Completion> &&
           std::is_invocable_v<std::decay_t<Call>&, Value&&>)
      Completion(Call&& call) {  // NOLINT: meant to convert
    using Held = std::decay_t<Call>;
    if constexpr (kFits<Held>) {
      new (storage_) Held(std::forward<Call>(call));
      how_ = &kHowInline<Held>;
    } else {
      new (storage_) Held*(new Held(std::forward<Call>(call)));
      how_ = &kHowOutside<Held>;
    }
  }

  Completion(Completion&& other) noexcept { take(other); }
  Completion& operator=(Completion&& other) noexcept {
    if (this != &other) {
      reset();
      take(other);
    }
    return *this;
  }
  ~Completion() { reset(); }

  explicit operator bool() const { return how_ != nullptr; }

  // Calls it and lets go of it. The callable may keep the value by moving from it, or leave it alone: then
  // its memory stays with the caller.
  void operator()(Value&& value) {
    how_->call(storage_, std::move(value));
    reset();
  }

  void reset() {
    if (how_ == nullptr) return;
    how_->destroy(storage_);
    how_ = nullptr;
  }

 private:
  struct How {
    void (*call)(void* held, Value&& value);
    void (*move)(void* from, void* to);
    void (*destroy)(void* held);
  };

  template <class Held>
  static constexpr bool kFits =
      sizeof(Held) <= kInline &&
      alignof(Held) <= alignof(std::max_align_t) && std::is_nothrow_move_constructible_v<Held>;

  template <class Held>
  static constexpr How kHowInline{
      [](void* held, Value&& value) { (*static_cast<Held*>(held))(std::move(value)); },
      [](void* from, void* to) {
        new (to) Held(std::move(*static_cast<Held*>(from)));
        static_cast<Held*>(from)->~Held();
      },
      [](void* held) { static_cast<Held*>(held)->~Held(); },
  };

  template <class Held>
  static constexpr How kHowOutside{
      [](void* held, Value&& value) { (**static_cast<Held**>(held))(std::move(value)); },
      [](void* from, void* to) { new (to) Held*(*static_cast<Held**>(from)); },
      [](void* held) { delete *static_cast<Held**>(held); },
  };

  void take(Completion& other) {
    if (other.how_ == nullptr) return;
    other.how_->move(other.storage_, storage_);
    how_ = std::exchange(other.how_, nullptr);
  }

  alignas(std::max_align_t) std::byte storage_[kInline];
  const How* how_ = nullptr;
};

}  // namespace redoubt::client
