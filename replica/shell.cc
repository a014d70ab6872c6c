// The replica's contact with the world; see shell.h.
#include "replica/shell.h"

#include <algorithm>
#include <asio/post.hpp>
#include <utility>

namespace redoubt::replica {

namespace {

// A broker that has not been reached after this is worth a line in the log.
constexpr Duration kWatch = std::chrono::seconds(1);
constexpr Duration kDrainPause = std::chrono::milliseconds(1);

Settings complete(Settings settings, const std::vector<Address>& brokers,
                  const std::vector<Service>& services) {
  settings.brokers = static_cast<uint32_t>(brokers.size());
  settings.services.clear();
  for (const Service& service : services) settings.services.push_back(service.name);
  return settings;
}

}  // namespace

Shell::Shell(std::vector<Address> brokers, Duration busy_poll, Settings settings,
             std::vector<Service> services, Reports reports, Workers::Hooks hooks)
    : loop_(busy_poll),
      services_(std::move(services)),
      workers_count_(settings.workers),
      core_(complete(settings, brokers, services_)),
      reports_(std::move(reports)),
      brokers_(brokers.size()),
      timer_(loop_.io()),
      watch_(loop_.io()),
      drain_(loop_.io()) {
  for (uint32_t i = 0; i < brokers.size(); ++i)
    brokers_[i].dialer = std::make_unique<net::Dialer>(
        loop_, brokers[i].host, brokers[i].port, settings.incarnation + i,
        [this, i](asio::ip::tcp::socket socket) { on_connected(i, std::move(socket)); });
  const bool all_inline =
      std::all_of(services_.begin(), services_.end(), [](const Service& s) { return s.runs_inline; });
  if (all_inline) return;
  hooks.wake = [this] { asio::post(loop_.io(), [this] { on_worker(); }); };
  workers_ = std::make_unique<Workers>(services_, workers_count_, std::move(hooks));
}

Shell::~Shell() = default;

void Shell::run() {
  for (Broker& broker : brokers_) broker.dialer->dial();
  watch();
  loop_.run([this] { arm(); });
}

void Shell::ask_stop() {
  asio::post(loop_.io(), [this] {
    leaving_ = true;
    for (Broker& broker : brokers_) broker.dialer->stop();
    happened(Clock::now(), StopAsked{});
  });
}

// When what has just arrived was received, or later, when the last copy of this turn ended that ran inline.
// Never the turn's beginning: a stamp from before the frame was even sent would make it the fastest ever
// seen, and all later ones look late (core/transit.h). Reading the clock costs too much to do it again.
Time Shell::now() { return std::max(newest_, loop_.now()); }

void Shell::on_message(net::Link& link, wire::Message& message) {
  const Time now = this->now();
  const LinkId id = LinkId::of(link.id());
  if (auto* copy = std::get_if<wire::Copy>(&message))
    return happened(now, CopyArrived{id, std::move(*copy), link.payload_skipped()});
  if (auto* halt = std::get_if<wire::Halt>(&message)) return happened(now, HaltArrived{id, std::move(*halt)});
  if (auto* dummy = std::get_if<wire::Dummy>(&message)) return happened(now, DummyArrived{id, *dummy});
  if (auto* adopt = std::get_if<wire::Adopt>(&message))
    return happened(now, AdoptArrived{id, std::move(*adopt)});
  if (auto* announce = std::get_if<wire::Announce>(&message))
    return happened(now, AnnounceArrived{id, *announce});
  if (auto* welcome = std::get_if<wire::Welcome>(&message))
    return happened(now, WelcomeArrived{id, std::move(*welcome)});
  // The link keeps a goodbye's words and gives them with on_lost.
  if (!std::holds_alternative<wire::Goodbye>(message))
    happened(now, StrayArrived{id, wire::name_of(message)});
}

void Shell::on_connected(uint32_t index, asio::ip::tcp::socket socket) {
  Broker& broker = brokers_[index];
  const LinkId id{index, ++broker.generation};
  broker.link =
      std::make_shared<net::Link>(loop_, std::move(socket), static_cast<net::LinkUser&>(*this), id.number());
  broker.link->start();
  happened(Clock::now(), LinkUp{id});
}

void Shell::on_lost(net::Link& link, wire::CloseReason reason, const std::string& text) {
  const LinkId id = LinkId::of(link.id());
  std::string why = text;
  if (reason != wire::CloseReason::kNone) why = std::string(wire::name_of(reason)) + ": " + text;
  tell(id.broker, "link lost: " + why);
  happened(Clock::now(), LinkLost{id});
  left(id.broker);
}

void Shell::on_worker() {
  workers_->collect(from_workers_);
  const Time now = Clock::now();
  for (Event& event : from_workers_) happened(now, std::move(event));
  from_workers_.clear();
}

void Shell::happened(Time now, Event event) {
  // What happened before the last inline copy ended may be told only now.
  newest_ = std::max(newest_, now);
  core_.step(newest_, std::move(event), effects_);
  // An effect can lead to the next step at once (a copy that runs inline), whose effects then follow these.
  for (size_t i = 0; i < effects_.size(); ++i) {
    if (auto* send = std::get_if<Send>(&effects_[i])) {
      perform(*send);  // no step: it may stay where it is
      continue;
    }
    Effect effect = std::move(effects_[i]);
    std::visit([this](auto& what) { perform(what); }, effect);
  }
  effects_.clear();
}

void Shell::perform(Send& effect) {
  net::Link* link = find(effect.link);
  if (!link) return;
  if (const auto* dummy = std::get_if<wire::Dummy>(&effect.message)) return link->send_first(*dummy);
  std::visit([link](const auto& message) { link->send(message); }, effect.message);
}

void Shell::perform(Admit& effect) {
  if (net::Link* link = find(effect.link)) link->set_max_payload(effect.max_payload);
}

void Shell::perform(CloseLink& effect) {
  net::Link* link = find(effect.link);
  if (!link) return;
  tell(effect.link.broker, std::string("link closed: ") + wire::name_of(effect.reason) + ": " + effect.text);
  link->close(effect.reason, std::move(effect.text));
  left(effect.link.broker);
}

void Shell::perform(Registered& effect) {
  Broker& broker = brokers_[effect.link.broker];
  broker.dialer->succeeded();
  broker.registered = true;
  broker.told.clear();
  reports_.log(Reports::Level::kInfo,
               "registered at broker " + effect.broker + " (" + broker.dialer->address() + ")");
  if (ready_) return;
  ready_ = true;
  reports_.ready(effect.broker);
}

void Shell::perform(StartCopy& effect) {
  const Service& service = services_[effect.service];
  if (!service.runs_inline) return workers_->start(std::move(effect));
  const auto announce = [this, &effect] {
    newest_ = Clock::now();
    core_.step(newest_, CopyStarted{effect.copy}, effects_);
  };
  CopyEnded ended = run_copy(service, effect, std::stop_token(), workers_count_, announce);
  newest_ = ended.ended_at;
  core_.step(newest_, std::move(ended), effects_);
}

void Shell::perform(StopCopy& effect) {
  if (workers_) workers_->stop(effect.copy);
}

void Shell::perform(Warn& effect) { tell(effect.link.broker, effect.text); }

void Shell::perform(Finished&) {
  drain_until_ = later(Clock::now(), kDrainLimit);
  asio::post(loop_.io(), [this] { drain(); });
}

// The last answers leave before the links are closed.
void Shell::drain() {
  const bool unsent = std::any_of(brokers_.begin(), brokers_.end(), [](const Broker& broker) {
    return broker.link && broker.link->unsent() > 0;
  });
  if (unsent && Clock::now() < drain_until_) {
    drain_.expires_after(kDrainPause);
    drain_.async_wait([this](const asio::error_code&) { drain(); });
    return;
  }
  for (Broker& broker : brokers_)
    if (broker.link) broker.link->close(wire::CloseReason::kStopping, "the replica has stopped");
  loop_.stop();
}

net::Link* Shell::find(LinkId id) {
  net::Link* link = brokers_[id.broker].link.get();
  return link && link->id() == id.number() ? link : nullptr;
}

// A link is gone: the next one is tried.
void Shell::left(uint32_t index) {
  Broker& broker = brokers_[index];
  broker.link.reset();
  const bool registered = std::exchange(broker.registered, false);
  if (leaving_) return;
  // If it was the manager, the next one may be a broker that has just come back.
  if (registered)
    for (Broker& other : brokers_) other.dialer->hurry();
  broker.dialer->dial();
  watch();
}

void Shell::tell(uint32_t index, const std::string& trouble) {
  Broker& broker = brokers_[index];
  if (broker.told == trouble) return;
  broker.told = trouble;
  reports_.log(Reports::Level::kWarning, "broker " + broker.dialer->address() + ": " + trouble);
}

void Shell::watch() {
  watch_.expires_after(kWatch);
  watch_.async_wait([this](const asio::error_code& error) {
    if (error) return;
    for (uint32_t i = 0; i < brokers_.size(); ++i)
      if (!brokers_[i].registered && !brokers_[i].dialer->last_error().empty())
        tell(i, "not reached, still trying: " + brokers_[i].dialer->last_error());
  });
}

// One timer: moved only when it would fire too late, for moving it costs more than firing once in vain.
void Shell::arm() {
  const Time next = core_.next_deadline();
  if (next >= armed_) return;
  armed_ = next;
  timer_.expires_at(next);
  timer_.async_wait([this](const asio::error_code& error) {
    if (error) return;
    armed_ = kNever;
    happened(Clock::now(), TimePassed{});
  });
}

}  // namespace redoubt::replica
