// Where payloads' bytes come from; see payload.h. Most are small, and a thread that forwards requests takes
// and gives back several a request: those blocks wait in lists of the thread that let go of them last.
#include "core/payload.h"

#include <array>

// A block that is used again would hide what the sanitizers look for. GCC and clang tell of them differently.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define REDOUBT_PLAIN_PAYLOADS
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define REDOUBT_PLAIN_PAYLOADS
#endif
#endif

namespace redoubt::payload_memory {

#ifdef REDOUBT_PLAIN_PAYLOADS

void* take(size_t bytes) { return ::operator new(bytes); }
void give_back(void* block, size_t) noexcept { ::operator delete(block); }

#else

namespace {

constexpr size_t kStep = 32;      // sizes of blocks, head included, are multiples of it
constexpr size_t kClasses = 8;    // larger ones are not kept
constexpr uint32_t kKept = 1024;  // blocks of one size that a thread keeps

struct Free {
  Free* next;
};
struct List {
  Free* first;
  uint32_t size;
};
// Without constructor and destructor, so that finding it costs nothing.
struct Lists {
  std::array<List, kClasses> of;
  bool watched, closed;
};
constinit thread_local Lists lists{};

// Gives everything back when the thread ends; payloads may outlive that.
struct Closing {
  ~Closing() {
    lists.closed = true;
    for (List& list : lists.of)
      while (Free* block = list.first) {
        list.first = block->next;
        ::operator delete(block);
      }
  }
};

size_t class_of(size_t bytes) { return (bytes - 1) / kStep; }

}  // namespace

void* take(size_t bytes) {
  const size_t size = class_of(bytes);
  if (size >= kClasses) return ::operator new(bytes);
  List& list = lists.of[size];
  Free* block = list.first;
  if (block == nullptr) return ::operator new((size + 1) * kStep);
  list.first = block->next;
  --list.size;
  return block;
}

void give_back(void* block, size_t bytes) noexcept {
  const size_t size = class_of(bytes);
  if (size >= kClasses || lists.closed || lists.of[size].size >= kKept) return ::operator delete(block);
  if (!lists.watched) {
    lists.watched = true;
    static thread_local Closing closing;
  }
  List& list = lists.of[size];
  list.first = new (block) Free{list.first};
  ++list.size;
}

#endif

}  // namespace redoubt::payload_memory
