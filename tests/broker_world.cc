// The commands:
//   broker [queue-limit=N] [attempts=N] [threshold=N] [pick=...] [rate=R] [burst=N] [ack=none|one|all]
//          [policy=SERVICE(...)] [backup-factor=K] [heartbeat=D]
//          a new broker, always first
//   replica NAME SERVICE,... [workers=N] [queue=N] [spare]      client NAME      lose NAME      alive NAME
//   leaving NAME
//   submit CLIENT SEQ LEVEL[:K],... [deadline=D] [wait=D] [disposal=...] [redundancy=...] [class=N]
//   [service-time=D]
//          [payload=TEXT | bytes=N] [resend] [late=D] [low-water=N] [too-large]
//   batch CLIENT FIRST-SEQ COUNT LEVEL[:K],... [...]                         one frame with many requests
//   all-open CLIENT               what it had open before this link it has sent again by now
//   started REPLICA COPY          done REPLICA|- (who has it) COPY
//   ok|failed|expired|halted_queued|halted_running [TEXT]
//          [wait=D] [service=D] [epoch=N] [level=N] [started-expired]
//   cancel CLIENT SEQ             acknowledge CLIENT LOW-WATER
//   advance D                     time passes; what is due happens on the way
//   status                        what the broker holds and has counted
//   standby, pulse, committed, rule, holds     those who follow the checkpoint stream: standby_world.cc
// Copies are called c1, c2, … in the order in which they were sent.
#include "tests/broker_world.h"

#include <algorithm>
#include <stdexcept>

#include "tests/world_arguments.h"
#include "wire/policy_text.h"

namespace redoubt::testing {

using namespace broker;
using std::chrono::seconds;

namespace {

std::vector<std::string> split(const std::string& text, char by) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, by);) parts.push_back(part);
  return parts;
}

}  // namespace

BrokerWorld::BrokerWorld() : broker_(std::make_unique<Broker>(Settings{.name = "b"})), now_(seconds(1000)) {}

std::string BrokerWorld::run(const std::string& line) {
  static const std::map<std::string, Command> kCommands{{"broker", &BrokerWorld::set_up},
                                                        {"replica", &BrokerWorld::replica},
                                                        {"client", &BrokerWorld::client},
                                                        {"submit", &BrokerWorld::submit},
                                                        {"batch", &BrokerWorld::batch},
                                                        {"all-open", &BrokerWorld::all_open},
                                                        {"done", &BrokerWorld::done},
                                                        {"started", &BrokerWorld::started},
                                                        {"cancel", &BrokerWorld::cancel},
                                                        {"alive", &BrokerWorld::alive},
                                                        {"leaving", &BrokerWorld::leaving},
                                                        {"lose", &BrokerWorld::lose},
                                                        {"advance", &BrokerWorld::advance},
                                                        {"status", &BrokerWorld::status},
                                                        {"acknowledge", &BrokerWorld::acknowledge},
                                                        {"standby", &BrokerWorld::standby},
                                                        {"pulse", &BrokerWorld::pulse},
                                                        {"committed", &BrokerWorld::committed},
                                                        {"rule", &BrokerWorld::rule},
                                                        {"holds", &BrokerWorld::holds}};
  std::istringstream in(line);
  std::string command;
  in >> command;
  const auto found = kCommands.find(command);
  if (found == kCommands.end()) throw std::runtime_error("unknown command: " + line);
  Arguments arguments;
  for (std::string word; in >> word;) {
    const size_t equals = word.find('=');
    if (equals == std::string::npos)
      arguments.words.push_back(word);
    else
      arguments.named[word.substr(0, equals)] = word.substr(equals + 1);
  }
  out_.str({});
  (this->*found->second)(arguments);
  // The end of the turn.
  if (!state().halts.empty() && state().halts.top_key() <= now_) step(Tick{});
  return out_.str();
}

void BrokerWorld::set_up(Arguments& arguments) {
  Settings settings{.name = "b"};
  settings.queue_limit = static_cast<uint32_t>(arguments.number("queue-limit", settings.queue_limit));
  settings.attempts = static_cast<uint32_t>(arguments.number("attempts", settings.attempts));
  settings.replica_threshold = static_cast<uint32_t>(arguments.number("threshold", 0));
  settings.admit_rate = static_cast<double>(arguments.number("rate", 0));
  settings.admit_burst = static_cast<uint32_t>(arguments.number("burst", 1));
  settings.checkpoint_ack = ack_of(arguments.get("ack", "none"));
  settings.heartbeat = arguments.duration("heartbeat", settings.heartbeat);
  settings.dead_after = std::max(settings.dead_after, 10 * settings.heartbeat);
  settings.backup_factor = static_cast<double>(arguments.number("backup-factor", 1));
  if (arguments.named.count("policy")) {
    const auto named = parse_policy(arguments.named.at("policy"));
    if (!named) throw std::runtime_error(named.error());
    settings.policies.push_back(*named);
  }
  const std::string pick = arguments.get("pick", "least-loaded");
  settings.pick = pick == "random" ? Pick::kRandom : pick == "p2c" ? Pick::kTwoChoices : Pick::kLeastLoaded;
  broker_ = std::make_unique<Broker>(settings);
  standbys_.clear();
}

// ---- peers

LinkId BrokerWorld::link_of(const std::string& name) {
  const auto found = links_.find(name);
  if (found == links_.end()) throw std::runtime_error("nobody is called " + name);
  return found->second;
}

uint64_t BrokerWorld::copy_of(const std::string& name) {
  const size_t number = std::stoul(name.substr(1));
  if (number == 0 || number > copies_.size()) throw std::runtime_error("no copy is called " + name);
  return copies_[number - 1].copy;
}

std::string BrokerWorld::peer_of(LinkId link) const {
  const auto found = names_.find(link);
  return found == names_.end() ? "?" : found->second;
}

void BrokerWorld::replica(Arguments& arguments) {
  const std::string& name = arguments.at(0);
  const LinkId link{next_link_++};
  links_[name] = link;
  names_[link] = name;
  wire::Hello hello{1, 1, wire::Role::kReplica, name, "redoubt", ++next_incarnation_, 1, to_us(now_)};
  const wire::Register registration{
      split(arguments.at(1), ','), static_cast<uint32_t>(arguments.number("workers", 1)),
      static_cast<uint32_t>(arguments.number("queue", 100)), arguments.has("spare")};
  step(ReplicaUp{link, hello, registration, name + ":1"});
}

void BrokerWorld::client(Arguments& arguments) {
  const std::string& name = arguments.at(0);
  const LinkId link{next_link_++};
  links_[name] = link;
  names_[link] = name;
  if (!incarnations_.count(name)) incarnations_[name] = ++next_incarnation_;
  wire::Hello hello{
      1, 1, wire::Role::kClient, name, "redoubt", incarnations_[name], ++generations_[name], to_us(now_)};
  step(ClientUp{link, hello});
}

void BrokerWorld::lose(Arguments& arguments) {
  const LinkId link = link_of(arguments.at(0));
  stream_lost(link);
  step(LinkLost{link, "closed by the peer"});
}

void BrokerWorld::alive(Arguments& arguments) {
  const wire::Dummy dummy{.answer = false, .sent_us = to_us(now_)};
  step(DummyArrived{link_of(arguments.at(0)), dummy});
}

void BrokerWorld::leaving(Arguments& arguments) { step(ReplicaLeaving{link_of(arguments.at(0))}); }

// ---- clients

wire::Request BrokerWorld::request_of(Arguments& arguments, uint64_t seq) {
  wire::Request request;
  wire::Policy policy;
  if (arguments.named.count("redundancy")) {
    const auto redundancy = wire::parse_redundancy(arguments.named.at("redundancy"));
    if (!redundancy) throw std::runtime_error(redundancy.error());
    policy.redundancy = *redundancy;
  }
  if (arguments.named.count("disposal"))
    if (const Failure failure = wire::parse_disposal(arguments.named.at("disposal"), policy))
      throw std::runtime_error(failure->text);
  request.seq = seq;
  const std::string& levels = arguments.words.back() == "resend" || arguments.words.back() == "too-large"
                                  ? arguments.words[arguments.words.size() - 2]
                                  : arguments.words.back();
  for (const std::string& level : split(levels, ',')) {
    const size_t colon = level.find(':');
    const uint32_t copies =
        colon == std::string::npos ? 0 : static_cast<uint32_t>(std::stoul(level.substr(colon + 1)));
    request.levels.push_back({level.substr(0, colon), copies, policy});
  }
  request.deadline_us = static_cast<uint64_t>(to_us(arguments.duration("deadline", seconds(5))));
  request.wait_limit_us = static_cast<uint64_t>(to_us(arguments.duration("wait", Duration::zero())));
  request.service_class = static_cast<uint32_t>(arguments.number("class", 0));
  request.service_time_us =
      static_cast<uint64_t>(to_us(arguments.duration("service-time", Duration::zero())));
  request.resend = arguments.has("resend");
  request.payload = Payload(arguments.get("payload", std::string(arguments.number("bytes", 1), 'x')));
  return request;
}

void BrokerWorld::submit(Arguments& arguments) {
  wire::Submit submit;
  submit.low_water = arguments.number("low-water", 1);
  submit.sent_us = to_us(now_ - arguments.duration("late", Duration::zero()));
  submit.requests.push_back(request_of(arguments, std::stoull(arguments.at(1))));
  step(SubmitArrived{link_of(arguments.at(0)), submit, arguments.has("too-large")});
}

void BrokerWorld::batch(Arguments& arguments) {
  wire::Submit submit;
  submit.low_water = arguments.number("low-water", 1);
  submit.sent_us = to_us(now_);
  const uint64_t first = std::stoull(arguments.at(1)), count = std::stoull(arguments.at(2));
  for (uint64_t seq = first; seq < first + count; ++seq)
    submit.requests.push_back(request_of(arguments, seq));
  step(SubmitArrived{link_of(arguments.at(0)), submit, false});
}

void BrokerWorld::all_open(Arguments& arguments) {
  wire::Submit submit;
  submit.low_water = arguments.number("low-water", 1);
  submit.sent_us = to_us(now_);
  submit.all_open = true;
  step(SubmitArrived{link_of(arguments.at(0)), submit, false});
}

void BrokerWorld::cancel(Arguments& arguments) {
  const wire::Cancel cancel{1, {std::stoull(arguments.at(1))}};
  step(CancelArrived{link_of(arguments.at(0)), cancel});
}

void BrokerWorld::acknowledge(Arguments& arguments) {
  const wire::Acknowledge acknowledge{std::stoull(arguments.at(1))};
  step(AcknowledgeArrived{link_of(arguments.at(0)), acknowledge});
}

// ---- replicas

void BrokerWorld::started(Arguments& arguments) {
  const wire::Started started{copy_of(arguments.at(1)), broker_->state().epoch, {}};
  step(CopyStarted{link_of(arguments.at(0)), started});
}

void BrokerWorld::done(Arguments& arguments) {
  static const std::map<std::string, wire::Fate> kFates{{"ok", wire::Fate::kOk},
                                                        {"failed", wire::Fate::kFailed},
                                                        {"expired", wire::Fate::kExpired},
                                                        {"halted_queued", wire::Fate::kHaltedQueued},
                                                        {"halted_running", wire::Fate::kHaltedRunning}};
  const wire::Copy& copy = copies_.at(std::stoul(arguments.at(1).substr(1)) - 1);
  wire::Done done;
  done.copy = copy_of(arguments.at(1));
  done.epoch = broker_->state().epoch;
  done.epoch.number = arguments.number("epoch", done.epoch.number);
  done.level = static_cast<uint32_t>(arguments.number("level", copy.level));
  done.fate = kFates.at(arguments.at(2));
  const std::string text = arguments.words.size() > 3 ? arguments.words[3] : "";
  if (done.fate == wire::Fate::kOk)
    done.payload = Payload(text);
  else
    done.text = text;
  done.wait_ns = static_cast<uint64_t>(arguments.duration("wait", Duration::zero()).count());
  done.service_ns =
      static_cast<uint64_t>(arguments.duration("service", std::chrono::milliseconds(1)).count());
  done.started_expired = arguments.has("started-expired");
  const std::string& who = arguments.at(0);
  const Copy* out = state().copies.find(CopyId::of(done.copy));
  const LinkId from = who == "-" && out ? state().replicas[out->replica].link : link_of(who);
  step(CopyDone{from, done, arguments.has("too-large")});
}

// ---- time and what is seen

void BrokerWorld::advance(Arguments& arguments) {
  const auto by = parse_duration(arguments.at(0));
  if (!by) throw std::runtime_error(by.error());
  const Time end = now_ + *by;
  if (arguments.has("stalled")) {  // the process was stopped: nothing happened on the way
    now_ = end;
    step_all_due();
    return;
  }
  while (broker_->next_deadline() <= end) {
    now_ = std::max(now_, broker_->next_deadline());
    step_all_due();
  }
  now_ = end;
}

void BrokerWorld::step_all_due() {
  do step(Tick{});
  while (broker_->next_deadline() <= now_);
}

void BrokerWorld::step(const Event& event) {
  Effects effects;
  broker_->step(now_, event, effects);
  carry_out(effects);
}

void BrokerWorld::carry_out(const Effects& effects) {
  for (const Effect& effect : effects)
    if (!carry_to_standbys(effect)) print(effect);
}

void BrokerWorld::print(const Effect& effect) {
  if (const auto* send = std::get_if<SendCopy>(&effect)) {
    copies_.push_back(send->copy);
    const wire::Copy& copy = send->copy;
    out_ << "copy c" << copies_.size() << " -> " << peer_of(send->to) << ": service " << copy.service
         << " level " << copy.level + 1 << " request " << copy.request.seq << " attempt " << copy.attempt
         << " deadline " << format_duration(from_us(static_cast<int64_t>(copy.deadline_us)));
    if (copy.limits_wait) out_ << " wait " << format_duration(from_us(static_cast<int64_t>(copy.wait_us)));
    if (copy.tell_start) out_ << " tell-start";
    if (copy.phase_us) out_ << " phase " << format_duration(from_us(static_cast<int64_t>(copy.phase_us)));
    if (copy.extra) out_ << " extra";
    out_ << " " << shown(copy.payload) << "\n";
  } else if (const auto* halting = std::get_if<SendHalt>(&effect)) {
    for (const uint64_t id : halting->halt.copies) {
      const auto same = [&](const wire::Copy& copy) { return copy.copy == id; };
      const auto found = std::find_if(copies_.rbegin(), copies_.rend(), same);
      out_ << "halt c" << copies_.rend() - found << " -> " << peer_of(halting->to)
           << (halting->halt.at_once ? " at once" : "") << "\n";
    }
  } else if (const auto* replying = std::get_if<SendReply>(&effect)) {
    const wire::Reply& reply = replying->reply;
    out_ << "reply " << reply.seq << " -> " << peer_of(replying->to) << ": " << wire::name_of(reply.status);
    if (reply.reason != wire::Refusal::kNone) out_ << " " << wire::name_of(reply.reason);
    if (reply.status == wire::Status::kOk) out_ << " " << shown(reply.payload);
    if (!reply.text.empty()) out_ << " (" << reply.text << ")";
    if (reply.wait_us) out_ << " waited " << format_duration(from_us(static_cast<int64_t>(reply.wait_us)));
    for (const wire::LevelReport& level : reply.levels)
      out_ << " [" << level.service << " by " << level.replica << " of " << level.copies << "]";
    out_ << "\n";
  } else if (const auto* closing = std::get_if<CloseLink>(&effect)) {
    out_ << "close " << peer_of(closing->link) << ": " << wire::name_of(closing->reason) << " ("
         << closing->text << ")\n";
    stream_lost(closing->link);
  } else if (const auto* dummy = std::get_if<SendDummy>(&effect)) {
    out_ << "dummy -> " << peer_of(dummy->to) << (dummy->dummy.answer ? " answer" : "") << "\n";
  } else if (const auto* note = std::get_if<Note>(&effect)) {
    static constexpr const char* kKinds[] = {
        "replica joined", "replica lost",  "replica leaving", "replica left", "client joined", "client lost",
        "link closed",    "broker joined", "broker lost",     "in sync",      "out of sync",   "group"};
    out_ << "note: " << kKinds[static_cast<size_t>(note->kind)] << ": " << note->name << "\n";
  }
}

void BrokerWorld::status(Arguments&) {
  const State& state = broker_->state();
  out_ << "pending " << state.requests.size() << ", queued " << state.queued << ", copies out "
       << state.copies.size() << ", checkpoint " << state.checkpoint_seq
       << (state.state_hash ? "" : ", hash 0") << "\n";
  show_standbys();
  if (state.requests.size() == 0 && state.held_bytes != 0)
    out_ << "held bytes left: " << state.held_bytes << "\n";
  uint64_t retained = 0, entries = 0;
  state.clients.each([&](ClientId, const Client& one) {
    retained += one.retained;
    entries += one.entries.size();
  });
  if (retained != state.records.bytes()) out_ << "retained bytes do not add up\n";
  if (entries != state.window_entries) out_ << "window entries do not add up\n";
  const Counters& counters = state.counters;
  const auto line = [&](const char* what, auto names, const auto& values) {
    std::string text;
    for (size_t i = 0; i < values.size(); ++i)
      if (values[i]) text += std::string(" ") + names(i) + " " + std::to_string(values[i]);
    if (!text.empty()) out_ << what << ":" << text << "\n";
  };
  line(
      "requests", [](size_t i) { return wire::name_of(static_cast<wire::Status>(i)); }, counters.requests);
  line(
      "refusals", [](size_t i) { return wire::name_of(static_cast<wire::Refusal>(i)); }, counters.refusals);
  line(
      "copies", [](size_t i) { return kCopyFateNames[i]; }, counters.copies);
  line(
      "late", [](size_t i) { return kLateResultNames[i]; }, counters.late_results);
  const std::pair<const char*, uint64_t> extra[] = {{"hedges", counters.hedges},
                                                    {"idle", counters.extras},
                                                    {"gave way", counters.extras_gave_way},
                                                    {"allowance spent", counters.allowance_spent},
                                                    {"backups planned", counters.backups_planned},
                                                    {"sent", counters.backups_sent},
                                                    {"cancelled", counters.backups_cancelled},
                                                    {"without slot", counters.backups_without_slot},
                                                    {"rescued by spares", counters.rescued_by_spares}};
  std::string text;
  for (const auto& [what, count] : extra)
    if (count) text += std::string(" ") + what + " " + std::to_string(count);
  if (!text.empty()) out_ << "extra copies:" << text << "\n";
  if (counters.joined) out_ << "joined " << counters.joined << "\n";
  if (counters.answered_again) out_ << "answered again " << counters.answered_again << "\n";
}

}  // namespace redoubt::testing
