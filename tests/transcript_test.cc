// Transcripts: every file of tests/scenarios/ is a story of commands and everything the broker did. A block
// is commands, a line `----`, then what happened, up to an empty line; other lines are prose.
// `transcript_test --rewrite DIR` writes what happens now into the files: read the difference before you
// commit it.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>

#include "tests/broker_world.h"

namespace redoubt::testing {
namespace {

namespace fs = std::filesystem;

std::vector<std::string> lines_of(const fs::path& path) {
  std::ifstream in(path);
  std::vector<std::string> lines;
  for (std::string line; std::getline(in, line);) lines.push_back(line);
  return lines;
}

// Plays the file and returns it as it should be.
std::string play(const fs::path& path) {
  BrokerWorld world;
  std::ostringstream out;
  const std::vector<std::string> lines = lines_of(path);
  for (size_t i = 0; i < lines.size(); ++i) {
    // A block begins where a `----` follows before the next empty line.
    size_t rule = i;
    while (rule < lines.size() && !lines[rule].empty() && lines[rule] != "----") ++rule;
    if (lines[i].empty() || lines[i] == "----" || rule >= lines.size() || lines[rule].empty()) {
      out << lines[i] << "\n";
      continue;
    }
    std::string happened;
    for (; i < rule; ++i) {
      out << lines[i] << "\n";
      try {
        happened += world.run(lines[i]);
      } catch (const std::exception& error) {
        happened += std::string("error: ") + error.what() + "\n";
      }
    }
    out << "----\n" << happened;
    while (i + 1 < lines.size() && !lines[i + 1].empty()) ++i;
  }
  return out.str();
}

std::vector<fs::path> scenarios(const fs::path& folder) {
  std::vector<fs::path> files;
  for (const auto& entry : fs::directory_iterator(folder))
    if (entry.path().extension() == ".txt") files.push_back(entry.path());
  std::sort(files.begin(), files.end());
  return files;
}

class Transcript : public ::testing::TestWithParam<fs::path> {};

TEST_P(Transcript, IsWhatHappens) {
  std::ifstream in(GetParam());
  std::stringstream written;
  written << in.rdbuf();

  const std::string happened = play(GetParam());

  EXPECT_EQ(happened, written.str());
  EXPECT_EQ(happened.find("\nerror: "), std::string::npos);
}

std::string name_of_file(const ::testing::TestParamInfo<fs::path>& file) {
  std::string name = file.param.stem().string();
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Broker, Transcript, ::testing::ValuesIn(scenarios(REDOUBT_SCENARIOS)), name_of_file);

}  // namespace

int rewrite(const fs::path& folder) {
  for (const fs::path& path : scenarios(folder)) {
    const std::string text = play(path);
    std::ofstream(path) << text;
    std::cout << "rewrote " << path << "\n";
  }
  return 0;
}

}  // namespace redoubt::testing

int main(int argc, char** argv) {
  if (argc == 3 && std::string(argv[1]) == "--rewrite") return redoubt::testing::rewrite(argv[2]);
  ::testing::InitGoogleTest(&argc, argv);
  return RUN_ALL_TESTS();
}
