// What a replica runs in the tests of time: appends "WALL-CLOCK-SECONDS $REDOUBT_REQUEST" to the file it is
// given, then echoes its input. Small, for its own start must not count: a shell with `date` took up to 25 ms
// on a busy machine.
#include <fcntl.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <ctime>

int main(int argc, char** argv) {
  timespec now{};
  clock_gettime(CLOCK_REALTIME, &now);
  const char* request = std::getenv("REDOUBT_REQUEST");
  if (argc != 2 || request == nullptr) return 2;
  char line[256];
  const int size = std::snprintf(line, sizeof line, "%lld.%09ld %s\n", static_cast<long long>(now.tv_sec),
                                 now.tv_nsec, request);
  const int file = open(argv[1], O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
  if (file < 0 || write(file, line, static_cast<size_t>(size)) != size) return 1;
  for (ssize_t got = 0; (got = read(STDIN_FILENO, line, sizeof line)) > 0;)
    if (write(STDOUT_FILENO, line, static_cast<size_t>(got)) != got) return 1;
  return 0;
}
