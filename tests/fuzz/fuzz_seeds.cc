// Writes the fuzzer's first inputs into a folder: a small frame of each kind, and some of several frames.
#include <cstdio>
#include <fstream>

#include "tests/frames.h"
#include "tests/random_message.h"

namespace {

using namespace redoubt;

// fuzz_codec's input: how to split, then the bytes.
void write(const std::string& folder, const std::string& name, const std::string& bytes) {
  std::ofstream file(folder + "/" + name, std::ios::binary);
  file << '\x41' << bytes;
}

// One whose frame is small: the fuzzer tries more of those in the same time.
wire::Message small(size_t kind) {
  wire::Message smallest;
  size_t least = ~size_t{0};
  for (uint64_t seed = 0; seed < 2000; ++seed) {
    testing::RandomMessages random(seed);
    random.set_payload_limit(5);
    wire::Message message = random.of_kind(kind);
    const size_t size = testing::frame_of(message).size();
    const bool many = kind == wire::Message(wire::Submit{}).index();
    if (many && std::get<wire::Submit>(message).requests.size() < 2) continue;
    if (size < 30 || size >= least) continue;
    least = size;
    smallest = std::move(message);
  }
  return smallest.index() ? smallest : testing::RandomMessages(1).of_kind(kind);
}

}  // namespace

int main(int count, char** arguments) {
  if (count != 2) {
    std::fprintf(stderr, "usage: fuzz_seeds FOLDER\n");
    return 2;
  }
  std::string all;
  for (size_t kind = 1; kind < testing::kKinds; ++kind) {
    const wire::Message message = small(kind);
    const std::string frame = testing::frame_of(message);
    write(arguments[1], wire::name_of(message), frame);
    all += frame;
  }
  write(arguments[1], "all", all);
  wire::Done large;
  large.payload = testing::RandomMessages(1).payload(1000);
  write(arguments[1], "skipped", testing::frame_of(large) + testing::frame_of(wire::Dummy{}));
  return 0;
}
