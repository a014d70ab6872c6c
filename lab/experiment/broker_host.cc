// The broker in virtual time; see broker_host.h.
#include "lab/experiment/broker_host.h"

#include "lab/experiment/request.h"

namespace redoubt::experiment {

using namespace broker;

namespace {

constexpr LinkId kClientLink{uint64_t{1} << 32};

Settings settings_of(const World& world) {
  Settings settings = world.setup.broker;
  settings.name = "broker";
  settings.seed = world.draws.picks();
  return settings;
}

// A link's low half is the replica's place behind the client, the high half the generation.
LinkId link_of(const Letter& letter) {
  return LinkId{(uint64_t{letter.generation} << 32) | (letter.replica + 1)};
}

}  // namespace

BrokerHost::BrokerHost(World& world) : world_(world), core_(settings_of(world)) {}

void BrokerHost::begin() {
  const wire::Hello hello{.version_min = wire::kVersionMin,
                          .version_max = wire::kVersionMax,
                          .role = wire::Role::kClient,
                          .name = "client",
                          .cluster = "redoubt",
                          .incarnation = 1,
                          .link_generation = 1,
                          .sent_us = to_us(world_.now - world_.setup.delay)};
  step(ClientUp{kClientLink, hello});
}

void BrokerHost::receive(Letter& letter) {
  const LinkId link = link_of(letter);
  if (const auto* submitted = std::get_if<Submitted>(&letter.content))
    take(*submitted);
  else if (auto* done = std::get_if<wire::Done>(&letter.content))
    step(CopyDone{link, *done, false});
  else if (const auto* started = std::get_if<wire::Started>(&letter.content))
    step(CopyStarted{link, *started});
  else if (const auto* dummy = std::get_if<wire::Dummy>(&letter.content))
    step(DummyArrived{link, *dummy});
  else if (const auto* joining = std::get_if<Joining>(&letter.content))
    take(link, letter, *joining);
  else if (const auto* holding = std::get_if<wire::Holding>(&letter.content))
    step(HoldingArrived{link, *holding});
  else if (std::holds_alternative<LinkGone>(letter.content))
    step(LinkLost{link, "it vanished"});
  else
    CHECK(false);
}

void BrokerHost::take(const Submitted& submitted) {
  submit_.requests.resize(1);
  fill_request(world_.setup, submitted.seq, submit_.requests.front());
  submit_.low_water = submitted.low_water;
  submit_.sent_us = submitted.sent_us;
  step(SubmitArrived{kClientLink, submit_, false});
}

void BrokerHost::take(LinkId link, const Letter& letter, const Joining& joining) {
  const Settings& settings = core_.state().settings;
  world_.send(Letter::To::kReplica, letter.replica, letter.generation,
              wire::Welcome{.version = wire::kVersionMax,
                            .name = settings.name,
                            .epoch = core_.state().epoch,
                            .max_payload = settings.max_payload,
                            .heartbeat_us = static_cast<uint64_t>(to_us(settings.heartbeat)),
                            .dead_after_us = static_cast<uint64_t>(to_us(settings.dead_after)),
                            .sent_us = to_us(world_.now),
                            .rules = true});
  step(ReplicaUp{link, joining.hello, joining.registration, {}});
}

void BrokerHost::step(const Event& event) {
  core_.step(world_.now, event, effects_);
  for (Effect& effect : effects_) carry_out(effect);
  effects_.clear();
  world_.timers.set(kBrokerTimer, core_.next_deadline());
}

void BrokerHost::carry_out(Effect& effect) {
  if (auto* one = std::get_if<SendCopy>(&effect)) return send_copy(*one);
  if (const auto* one = std::get_if<SendReply>(&effect))
    return world_.send(
        Letter::To::kClient, 0, 0,
        Answered{one->reply.seq, one->reply.status, from_us(static_cast<int64_t>(one->reply.wait_us))});
  if (auto* one = std::get_if<SendHalt>(&effect)) return send(one->to, std::move(one->halt));
  if (const auto* one = std::get_if<SendDummy>(&effect)) return send(one->to, one->dummy);
  if (auto* one = std::get_if<SendAdopt>(&effect)) return send(one->to, std::move(one->adopt));
  // Nobody breaks the protocol or falls silent; everything else is for other brokers and for logs.
  CHECK(!std::holds_alternative<CloseLink>(effect));
}

void BrokerHost::send_copy(SendCopy& send) {
  // What it had waited at this level before it was sent, here or in vain at a replica.
  const Copy& copy = *core_.state().copies.find(CopyId::of(send.copy.copy));
  const auto replica = static_cast<uint32_t>(static_cast<uint64_t>(send.to)) - 1;
  world_.ledger.copy_sent(send.copy.request.seq, send.copy.level, {copy.path, replica},
                          world_.now - copy.waited_here);
  this->send(send.to, std::move(send.copy));
}

void BrokerHost::send(LinkId to, Letter::Content content) {
  const auto number = static_cast<uint64_t>(to);
  world_.send(Letter::To::kReplica, static_cast<uint32_t>(number) - 1, static_cast<uint32_t>(number >> 32),
              std::move(content));
}

}  // namespace redoubt::experiment
