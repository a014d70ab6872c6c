// A client in ten lines: `asker ADDRESS TEXT` prints the answer.
#include <redoubt/client.h>

#include <iostream>

int main(int, char** argv) {
  redoubt::Client client({.brokers = {argv[1]}});
  const redoubt::Request request{
      .levels = {{"shout", 2}}, .payload = argv[2], .deadline = std::chrono::seconds(20)};
  const redoubt::Reply reply = client.call(request);
  std::cout << reply.payload.view() << reply.text << '\n';
  return reply.ok() ? 0 : 1;
}
