// Carrying a broker; see shell.h.
#include "broker/shell.h"

#include <asio/post.hpp>
#include <future>
#include <utility>

#include "net/limits.h"

namespace redoubt::broker {

using wire::CloseReason;

namespace {
constexpr Duration kStopPause = std::chrono::milliseconds(5);  // between two looks whether all is written

std::string host_of(const std::string& address) { return address.substr(0, address.rfind(':')); }

static_assert(kSettling > net::kLongestDialPause + net::kConnectLimit, "by then all who live are back");
}  // namespace

Shell::Shell(Settings settings, GroupSettings group, Memory memory, ShellSettings shell_settings,
             Observer observer, std::unique_ptr<MemoryFile> file)
    : loop_(shell_settings.busy_poll),
      node_(std::move(settings), std::move(group), memory),
      shell_settings_(std::move(shell_settings)),
      observer_(std::move(observer)),
      listener_(loop_, [this](asio::ip::tcp::socket socket) { accepted(std::move(socket)); }),
      timer_(loop_.io()),
      file_(std::move(file)) {
  if (file_)
    file_->start(
        [this](uint64_t number) { asio::post(loop_.io(), [this, number] { step(Persisted{number}); }); });
}

Shell::~Shell() = default;

void Shell::run() {
  loop_.run([this] { turn_end(); });
}

// ---- links

void Shell::accepted(asio::ip::tcp::socket socket) {
  if (in_handshake_ >= kMaxStrangers) {
    // The socket closes without a word: a flood of callers is not worth an answer each.
    ++links_.turned_away;
    return;
  }
  const auto slot = connections_.take();
  const LinkId id{slot.number()};
  connections_[slot].connection = std::make_unique<Connection>(*this, loop_, std::move(socket), id);
  ++links_.accepted;
  ++in_handshake_;
  strangers_.push_back({later(loop_.now(), kHandshakeLimit), id});
  connections_[slot].connection->link().start();
}

Connection* Shell::find(LinkId id) {
  Slot* slot = connections_.find(Handle<Slot>::of(static_cast<uint64_t>(id)));
  return slot ? slot->connection.get() : nullptr;
}

void Shell::forget(Connection& connection) {
  if (connection.stage() == Connection::Stage::kClient) --clients_;
  if (connection.in_handshake() && connection.dialler() == Connection::kAccepted) --in_handshake_;
  const auto slot = Handle<Slot>::of(static_cast<uint64_t>(connection.id()));
  closed_.push_back(std::move(connections_[slot].connection));
  connections_.give_back(slot);
}

void Shell::greeted(Connection& connection) {
  if (connection.dialler() == Connection::kAccepted) --in_handshake_;
  if (connection.stage() == Connection::Stage::kClient) {
    ++clients_;
    connection.link().count_in(unread_);
  } else {
    connection.link().count_in(unread_by_peers_);
  }
  if (reads_held_ && connection.is_guest()) connection.link().pause_reading(true);
}

// Both brokers have let each other in: what kept them apart is told again if it returns.
void Shell::proved(const Connection& connection) {
  refused_.erase(connection.hello().name);
  if (connection.place() < told_.size()) told_[connection.place()] = {};
}

// The same refusal of the same peer is worth one line, not one at every try.
bool Shell::refused_before(const std::string& who, const std::string& why) {
  if (refused_.size() >= kMaxRefused && !refused_.contains(who)) refused_.clear();
  return std::exchange(refused_[who], why) == why;
}

void Shell::close(Connection& connection, CloseReason reason, const std::string& text) {
  connection.link().close(reason, text);
  lost(connection, reason, text);
}

void Shell::lost(Connection& connection, CloseReason reason, const std::string& text) {
  if (reason != CloseReason::kNone) {
    ++links_.closed[static_cast<size_t>(reason)];
    const std::string who = connection.hello().name.empty() ? "a stranger" : connection.hello().name;
    const bool one_of_two = connection.hello().role == wire::Role::kBroker &&
                            (reason == CloseReason::kReplaced || reason == CloseReason::kDuplicateName);
    const bool refused =
        reason == CloseReason::kGroup || reason == CloseReason::kCluster || reason == CloseReason::kVersion;
    // Whoever we dialled and did not get to know is told of below, by its dialler.
    const bool ours = connection.dialler() != Connection::kAccepted && connection.hello().name.empty();
    // A stranger comes from another port each time.
    const std::string from = connection.hello().name.empty() ? host_of(connection.link().peer()) : who;
    const bool repeated = (refused || connection.in_handshake()) && refused_before(from, text);
    if (!one_of_two && !ours && !repeated)
      observer_.note({Note::Kind::kLinkClosed, who + " at " + connection.link().peer(),
                      std::string(wire::name_of(reason)) + ": " + text});
  }
  // Whoever is lost for the first time is dialled at once; one that is refused, or refuses us, again and
  // again with pauses.
  net::Dialer* dialer = connection.place() < dialers_.size() ? dialers_[connection.place()].get() : nullptr;
  if (dialer && connection.has_lasted(loop_.now())) dialer->succeeded();
  const bool known = !connection.in_handshake();
  const LinkId id = connection.id();
  const uint32_t dialler = connection.dialler();
  forget(connection);
  if (known) step(LinkLost{id, text});
  if (dialler == Connection::kAccepted) return;
  const bool linked = node_.election().peer(dialler + 1).up;  // by another one of the two
  if (!known && !linked && std::exchange(told_[dialler].unlinked, text) != text)
    observer_.note({Note::Kind::kGroup, dialers_[dialler]->address(), "no link to it: " + text});
  dial_again(dialler);
}

void Shell::close_strangers() {
  while (!strangers_.empty()) {
    Connection* connection = find(strangers_.front().link);
    const bool waiting = connection && connection->in_handshake();
    if (waiting && strangers_.front().until > loop_.now()) return;
    strangers_.pop_front();
    if (waiting) close(*connection, CloseReason::kHandshakeTime, "said neither hello nor who it is in time");
  }
}

wire::Welcome Shell::welcome() {
  const Settings& settings = node_.settings();
  return {.version = wire::kVersionMax,
          .name = settings.name,
          .epoch = node_.epoch(),
          .max_payload = settings.max_payload,
          .heartbeat_us = static_cast<uint64_t>(to_us(settings.heartbeat)),
          .dead_after_us = static_cast<uint64_t>(to_us(settings.dead_after)),
          .sent_us = to_us(loop_.now()),
          .rules = node_.rules()};
}

// ---- the core

void Shell::step(const Event& event) {
  node_.step(loop_.now(), event, effects_);
  // Carrying out an effect may close a link, which is an event again; its effects come after these.
  if (carrying_out_) return;
  carrying_out_ = true;
  for (size_t i = 0; i < effects_.size(); ++i) carry_out(effects_[i]);
  effects_.clear();
  carrying_out_ = false;
  // Nothing has to outlive this process: what is to be written down counts at once.
  if (written_.empty()) return;
  const uint64_t last = written_.back();
  written_.clear();
  step(Persisted{last});
}

void Shell::carry_out(Effect& effect) {
  if (const auto* note = std::get_if<Note>(&effect)) return observer_.note(*note);
  if (const auto* closing = std::get_if<CloseLink>(&effect)) {
    Connection* connection = find(closing->link);
    if (!connection) return;
    const CloseLink copy = *closing;  // the effects may grow and move
    return close(*connection, copy.reason, copy.text);
  }
  const auto send = [&](LinkId to, const auto& message) {
    if (Connection* connection = find(to)) connection->link().send(message);
  };
  if (const auto* one = std::get_if<SendCopy>(&effect)) return send(one->to, one->copy);
  if (const auto* one = std::get_if<SendReply>(&effect)) return send(one->to, one->reply);
  if (const auto* one = std::get_if<SendHalt>(&effect)) return send(one->to, one->halt);
  if (const auto* one = std::get_if<SendDummy>(&effect)) {
    if (Connection* connection = find(one->to)) connection->link().send_first(one->dummy);
    return;
  }
  if (const auto* one = std::get_if<SendAdopt>(&effect)) return send(one->to, one->adopt);
  if (send_to_brokers(effect)) return;
  if (const auto* dial = std::get_if<Dial>(&effect)) return carry_out(*dial);
  if (const auto* persist = std::get_if<Persist>(&effect)) return carry_out(*persist);
  if (const auto* told = std::get_if<Announce>(&effect)) return announce(*told);
  if (const auto* hold = std::get_if<HoldReads>(&effect)) return hold_reads(hold->held);
  if (const auto* role = std::get_if<RoleChanged>(&effect)) return observer_.role(*role);
  if (std::get_if<Left>(&effect)) stop_at_ = loop_.now();  // at the end of the turn, when all is written
}

// ---- turns

void Shell::turn_end() {
  closed_.clear();
  close_strangers();
  bound_unread();
  if (node_.next_deadline() <= loop_.now()) step(Tick{});
  if (node_.owes_acknowledgement()) step(TurnEnded{});
  if (!status_askers_.empty() && !writing_status_) write_status();
  if (stopping_ && ((node_.election().settings().size <= 1 && all_is_answered()) || loop_.now() >= stop_at_))
    finish();
  arm();
}

void Shell::arm() {
  Time due = std::min(node_.next_deadline(), stop_at_);
  if (stopping_) due = std::min(due, later(loop_.now(), kStopPause));
  if (!strangers_.empty()) due = std::min(due, strangers_.front().until);
  if (due >= armed_) return;
  armed_ = due;
  timer_.expires_at(due);
  timer_.async_wait([this](const asio::error_code& error) {
    if (!error) armed_ = kNever;  // what is due is done at the end of this turn
  });
}

// ---- observers

Snapshot Shell::take_snapshot() {
  Snapshot view = snapshot_of(node_, loop_.now());
  view.address = view.brokers.front().address = address();
  add_unreached(view);
  view.clients = clients_;
  view.links = links_;
  return view;
}

std::unique_ptr<Snapshot> Shell::snapshot() {
  // Shared: the loop may come to it after the asker has given up.
  auto taken = std::make_shared<std::promise<std::unique_ptr<Snapshot>>>();
  auto future = taken->get_future();
  asio::post(loop_.io(), [this, taken] { taken->set_value(std::make_unique<Snapshot>(take_snapshot())); });
  constexpr auto kLimit = std::chrono::seconds(1);
  return future.wait_for(kLimit) == std::future_status::ready ? future.get() : nullptr;
}

void Shell::answer_status(Connection& connection) {
  // Who asks again before it has been answered gets one answer.
  if (!status_writer_ || std::exchange(connection.asks_status, true)) return;
  status_askers_.push_back(connection.id());
}

// One snapshot for all who have asked by now, and one at a time: who asks often must not cost the others
// anything.
void Shell::write_status() {
  writing_status_ = true;
  status_writer_(take_snapshot(), [this, askers = std::exchange(status_askers_, {})](std::string text) {
    asio::post(loop_.io(), [this, askers, status = wire::StatusReply{Payload(text)}] {
      writing_status_ = false;
      for (const LinkId id : askers) {
        Connection* asker = find(id);
        if (!asker) continue;
        asker->asks_status = false;
        asker->link().send(status);
      }
    });
  });
}

// ---- stopping

void Shell::stop(Duration limit) {
  if (stopping_) return finish();
  stopping_ = true;
  stop_at_ = later(Clock::now(), limit);
  // One of a group goes on until it has handed over, and who is to follow it may have to find it.
  if (node_.election().settings().size <= 1) listener_.close();
  step(StopAsked{});
}

bool Shell::all_is_answered() {
  bool all = (!node_.state() || node_.state()->requests.size() == 0);
  connections_.each([&](Handle<Slot>, Slot& slot) { all = all && slot.connection->link().unsent() == 0; });
  return all;
}

void Shell::finish() {
  connections_.each([&](Handle<Slot>, Slot& slot) {
    slot.connection->link().close(CloseReason::kStopping, "the broker is stopping");
  });
  loop_.stop();
}

}  // namespace redoubt::broker
