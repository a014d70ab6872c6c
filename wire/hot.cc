// Field numbers are those of proto/client.proto and proto/replica.proto; see hot.h.
#include "wire/hot.h"

#include <algorithm>

#include "wire/limits.h"
#include "wire/reuse.h"

namespace redoubt::wire::hot {
namespace {

// Fields of Envelope.
constexpr uint32_t kSubmit = 16, kReply = 19, kCopy = 33, kDone = 36;

constexpr size_t fields(size_t count) { return count * Writer::kMostAField; }

void put(uint32_t field, const Epoch& epoch, Writer& to) {
  char* const content = to.begin(field);
  to.number(1, epoch.number);
  to.number(2, epoch.broker);
  to.end(content);
}

void put(uint32_t field, const Load& load, Writer& to) {
  char* const content = to.begin(field);
  to.number(1, load.queued);
  to.number(2, load.running);
  to.end(content);
}

void put(uint32_t field, const Request& request, Writer& to) {
  char* const content = to.begin(field);
  to.number(1, request.seq);
  for (const Level& level : request.levels) {
    char* const inner = to.begin(2);
    to.text(1, level.service);
    to.number(2, level.copies);
    to.end(inner);
  }
  to.number(3, request.deadline_us);
  if (request.wait_limit_us) to.number(4, request.wait_limit_us);
  to.number(5, static_cast<uint64_t>(request.disposal));
  if (request.resend) to.number(6, 1);
  to.number(7, request.payload.size());
  to.end(content);
}

void put(uint32_t field, const LevelReport& report, Writer& to) {
  char* const content = to.begin(field);
  to.text(1, report.service);
  to.text(2, report.replica);
  to.number(3, report.copies);
  to.number(4, report.wait_us);
  to.number(5, report.service_us);
  to.end(content);
}

// ---- reading

bool get(std::string_view bytes, Epoch& to) {
  to = {};
  Reader in(bytes);
  while (in.next()) switch (in.tag()) {
      case number_tag(1):
        to.number = in.number();
        break;
      case number_tag(2):
        to.broker = in.number32();
        break;
      default:
        return false;
    }
  return in.ok();
}

bool get(std::string_view bytes, Load& to) {
  to = {};
  Reader in(bytes);
  while (in.next()) switch (in.tag()) {
      case number_tag(1):
        to.queued = in.number32();
        break;
      case number_tag(2):
        to.running = in.number32();
        break;
      default:
        return false;
    }
  return in.ok();
}

bool get(std::string_view bytes, Level& to) {
  to.service.clear();
  to.copies = 0;
  Reader in(bytes);
  while (in.next()) switch (in.tag()) {
      case bytes_tag(1):
        to.service = in.text();
        break;
      case number_tag(2):
        to.copies = in.number32();
        break;
      default:
        return false;
    }
  return in.ok();
}

bool get(std::string_view bytes, LevelReport& to) {
  to.service.clear();
  to.replica.clear();
  to.copies = 0;
  to.wait_us = to.service_us = 0;
  Reader in(bytes);
  while (in.next()) switch (in.tag()) {
      case bytes_tag(1):
        to.service = in.text();
        break;
      case bytes_tag(2):
        to.replica = in.text();
        break;
      case number_tag(3):
        to.copies = in.number32();
        break;
      case number_tag(4):
        to.wait_us = in.number();
        break;
      case number_tag(5):
        to.service_us = in.number();
        break;
      default:
        return false;
    }
  return in.ok();
}

// The next element of a list whose memory is used again.
template <class T>
T& element(std::vector<T>& list, size_t& count) {
  if (count == list.size()) list.emplace_back();
  return list[count++];
}

bool get(std::string_view bytes, Request& to, uint32_t& share) {
  to.seq = to.deadline_us = to.wait_limit_us = 0;
  to.disposal = Disposal::kNone;
  to.resend = false;
  to.payload = {};
  share = 0;
  size_t levels = 0;
  Reader in(bytes);
  while (in.next()) switch (in.tag()) {
      case number_tag(1):
        to.seq = in.number();
        break;
      case bytes_tag(2):
        if (levels == kMaxLevels || !get(in.text(), element(to.levels, levels))) return false;
        in.repeats();
        break;
      case number_tag(3):
        to.deadline_us = std::min(in.number(), kMaxBudgetUs);
        break;
      case number_tag(4):
        to.wait_limit_us = std::min(in.number(), kMaxBudgetUs);
        break;
      case number_tag(5):
        to.disposal = in.one_of(Disposal::kOnStart);
        break;
      case number_tag(6):
        to.resend = in.flag();
        break;
      case number_tag(7):
        share = in.number32();
        break;
      default:
        return false;
    }
  to.levels.resize(levels);
  return in.ok();
}

bool get(std::string_view bytes, Submit& to, std::vector<uint32_t>& shares) {
  to.low_water = 0;
  to.sent_us = 0;
  shares.clear();
  size_t requests = 0;
  Reader in(bytes);
  while (in.next()) switch (in.tag()) {
      case number_tag(1):
        to.low_water = in.number();
        break;
      case number_tag(2):
        to.sent_us = in.signed_number();
        break;
      case bytes_tag(3):
        if (requests == kMaxBatch) return false;
        if (!get(in.text(), element(to.requests, requests), shares.emplace_back())) return false;
        in.repeats();
        break;
      default:
        return false;
    }
  to.requests.resize(requests);
  return in.ok() && requests > 0;
}

bool get(std::string_view bytes, Copy& to) {
  to = {};
  Reader in(bytes);
  while (in.next()) switch (in.tag()) {
      case fixed_tag(1):
        to.copy = in.fixed();
        break;
      case bytes_tag(2):
        if (!get(in.text(), to.epoch)) return false;
        break;
      case number_tag(3):
        to.service = in.number32();
        break;
      case number_tag(4):
        to.level = in.number32();
        break;
      case fixed_tag(5):
        to.request.client = in.fixed();
        break;
      case number_tag(6):
        to.request.seq = in.number();
        break;
      case number_tag(7):
        to.attempt = in.number32();
        break;
      case number_tag(8):
        to.deadline_us = std::min(in.number(), kMaxBudgetUs);
        break;
      case number_tag(9):
        to.wait_us = std::min(in.number(), kMaxBudgetUs);
        break;
      case number_tag(10):
        to.limits_wait = in.flag();
        break;
      case number_tag(11):
        to.tell_start = in.flag();
        break;
      case number_tag(12):
        to.sent_us = in.signed_number();
        break;
      default:
        return false;
    }
  return in.ok();
}

bool get(std::string_view bytes, Done& to) {
  to.copy = to.wait_ns = to.service_ns = 0;
  to.epoch = {};
  to.level = 0;
  to.fate = Fate::kOk;
  to.text.clear();
  to.started_expired = false;
  to.load = {};
  Reader in(bytes);
  while (in.next()) switch (in.tag()) {
      case fixed_tag(1):
        to.copy = in.fixed();
        break;
      case bytes_tag(2):
        if (!get(in.text(), to.epoch)) return false;
        break;
      case number_tag(3):
        to.level = in.number32();
        break;
      case number_tag(4):
        to.fate = in.one_of(Fate::kHaltedRunning);
        break;
      case bytes_tag(5):
        to.text = in.text();
        break;
      case number_tag(6):
        to.wait_ns = std::min(in.number(), kMaxBudgetUs * 1000);
        break;
      case number_tag(7):
        to.service_ns = std::min(in.number(), kMaxBudgetUs * 1000);
        break;
      case number_tag(8):
        to.started_expired = in.flag();
        break;
      case bytes_tag(9):
        if (!get(in.text(), to.load)) return false;
        break;
      default:
        return false;
    }
  return in.ok() && to.text.size() <= kMaxTextBytes;
}

bool get(std::string_view bytes, Reply& to) {
  to.seq = to.wait_us = 0;
  to.status = Status::kOk;
  to.reason = Refusal::kNone;
  to.text.clear();
  to.level = 0;
  to.running = false;
  size_t levels = 0;
  Reader in(bytes);
  while (in.next()) switch (in.tag()) {
      case number_tag(1):
        to.seq = in.number();
        break;
      case number_tag(2):
        to.status = in.one_of(Status::kCancelled);
        break;
      case number_tag(3):
        to.reason = in.one_of(Refusal::kResultGone);
        break;
      case bytes_tag(4):
        to.text = in.text();
        break;
      case number_tag(5):
        to.level = in.number32();
        break;
      case number_tag(6):
        to.running = in.flag();
        break;
      case number_tag(7):
        to.wait_us = in.number();
        break;
      case bytes_tag(8):
        if (levels == kMaxLevels || !get(in.text(), element(to.levels, levels))) return false;
        in.repeats();
        break;
      default:
        return false;
    }
  to.levels.resize(levels);
  return in.ok();
}

// What follows a tag, if that is all there is.
bool sole_content(std::string_view bytes, std::string_view& content) {
  Reader in(bytes);
  content = in.text();
  return in.ok() && in.at_end();
}

}  // namespace

size_t most_of(const Submit& message) {
  size_t most = fields(3);
  for (const Request& request : message.requests) {
    most += fields(7);
    for (const Level& level : request.levels) most += fields(3) + level.service.size();
  }
  return most;
}

char* write(const Submit& message, char* at) {
  Writer to(at);
  char* const content = to.begin(kSubmit);
  to.number(1, message.low_water);
  to.signed_number(2, message.sent_us);
  for (const Request& request : message.requests) put(3, request, to);
  to.end(content);
  return to.at();
}

size_t most_of(const Copy&) { return fields(15); }

char* write(const Copy& message, char* at) {
  Writer to(at);
  char* const content = to.begin(kCopy);
  to.fixed(1, message.copy);
  put(2, message.epoch, to);
  to.number(3, message.service);
  if (message.level) to.number(4, message.level);
  to.fixed(5, message.request.client);
  to.number(6, message.request.seq);
  if (message.attempt) to.number(7, message.attempt);
  to.number(8, message.deadline_us);
  if (message.limits_wait) {
    to.number(9, message.wait_us);
    to.number(10, 1);
  }
  if (message.tell_start) to.number(11, 1);
  to.signed_number(12, message.sent_us);
  to.end(content);
  return to.at();
}

size_t most_of(const Done& message) { return fields(14) + message.text.size(); }

char* write(const Done& message, char* at) {
  Writer to(at);
  char* const content = to.begin(kDone);
  to.fixed(1, message.copy);
  put(2, message.epoch, to);
  if (message.level) to.number(3, message.level);
  if (message.fate != Fate::kOk) to.number(4, static_cast<uint64_t>(message.fate));
  if (!message.text.empty()) to.text(5, message.text);
  to.number(6, message.wait_ns);
  to.number(7, message.service_ns);
  if (message.started_expired) to.number(8, 1);
  put(9, message.load, to);
  to.end(content);
  return to.at();
}

size_t most_of(const Reply& message) {
  size_t most = fields(8) + message.text.size();
  for (const LevelReport& level : message.levels)
    most += fields(6) + level.service.size() + level.replica.size();
  return most;
}

char* write(const Reply& message, char* at) {
  Writer to(at);
  char* const content = to.begin(kReply);
  to.number(1, message.seq);
  if (message.status != Status::kOk) to.number(2, static_cast<uint64_t>(message.status));
  if (message.reason != Refusal::kNone) to.number(3, static_cast<uint64_t>(message.reason));
  if (!message.text.empty()) to.text(4, message.text);
  if (message.level) to.number(5, message.level);
  if (message.running) to.number(6, 1);
  to.number(7, message.wait_us);
  for (const LevelReport& level : message.levels) put(8, level, to);
  to.end(content);
  return to.at();
}

bool read(std::string_view envelope, Message& out, std::vector<uint32_t>& shares) {
  // All hot kinds have a tag of two bytes, and nothing stands behind the message.
  if (envelope.size() < 3) return false;
  const auto tag = static_cast<uint32_t>((static_cast<uint8_t>(envelope[0]) & 0x7f) |
                                         (static_cast<uint8_t>(envelope[1]) << 7));
  if (static_cast<uint8_t>(envelope[0]) < 0x80) return false;
  std::string_view content;
  if (!sole_content(envelope.substr(2), content)) return false;
  switch (tag) {
    case bytes_tag(kSubmit):
      return get(content, reuse<Submit>(out), shares);
    case bytes_tag(kCopy):
      return get(content, reuse<Copy>(out));
    case bytes_tag(kDone):
      return get(content, reuse<Done>(out));
    case bytes_tag(kReply):
      return get(content, reuse<Reply>(out));
    default:
      return false;
  }
}

}  // namespace redoubt::wire::hot
