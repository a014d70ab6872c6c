// A replica in ten lines: answers in capitals.
#include <redoubt/replica.h>

#include <algorithm>
#include <cctype>

int main(int argc, char** argv) {
  return redoubt::serve(argc, argv, {{"shout", [](const redoubt::Task& task) {
                                        std::string text = task.payload.str();
                                        std::ranges::transform(text, text.begin(), ::toupper);
                                        return text;
                                      }}});
}
