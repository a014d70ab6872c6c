// redoubt-sim: plays clusters in virtual time, one seed after the other, and says which seed breaks what.
#include <iostream>

#include "lab/sim/cluster.h"
#include "options/options.h"

namespace redoubt::sim {
namespace {

struct Flags {
  uint64_t seed = 0;
  uint64_t first = 1, seeds = 100;
  uint32_t requests = 200;
  bool trace = false;
  std::string only;
};

// What a seed's cluster is like.
Story setup_of(uint64_t seed, const Flags& flags) {
  Random random(seed ^ 0x5eed);
  Story setup;
  setup.seed = seed;
  setup.replicas = 4 + static_cast<uint32_t>(random.below(5));
  setup.clients = 2 + static_cast<uint32_t>(random.below(3));
  setup.requests = flags.requests;
  setup.ack = static_cast<broker::CheckpointAck>(random.below(3));
  setup.discard = random.chance(0.15);
  if (flags.only == "mixed") {
    static constexpr uint32_t kBrokers[] = {1, 2, 3, 3, 5};
    setup.brokers = kBrokers[random.below(5)];
    setup.witness = setup.brokers == 3 && random.chance(0.5);
    setup.quorum = setup.brokers < 3 ? broker::Quorum::kOne : broker::Quorum::kMajority;
    // Fewer than three have no majority that remembers: their clients would wait for an epoch that nobody
    // knows.
    setup.blank_restarts = setup.brokers >= 3 && random.chance(0.3);
  }
  setup.slow_disks = random.chance(0.1);
  return setup;
}

// Leaves out faults as long as the same thing breaks.
std::vector<Fault> shrink(const Story& setup, std::vector<Fault> faults) {
  for (size_t i = 0; i < faults.size();) {
    std::vector<Fault> fewer = faults;
    fewer.erase(fewer.begin() + static_cast<std::ptrdiff_t>(i));
    if (play(setup, fewer, Telling::kNothing).ok)
      ++i;
    else
      faults = std::move(fewer);
  }
  return faults;
}

void report(const Story& setup, const Verdict& verdict) {
  std::cout << "seed " << setup.seed << " (" << setup.brokers << " brokers): " << verdict.failure << "\n";
  const std::vector<Fault> faults = shrink(setup, plan_faults(setup));
  for (const Fault& fault : faults) std::cout << "  " << fault.text() << "\n";
  const Verdict again = play(setup, faults, Telling::kTheEnd);
  std::cout << "  with these faults alone: " << again.failure << "\n";
  const size_t from = again.story.size() > 60 ? again.story.size() - 60 : 0;
  for (size_t i = from; i < again.story.size(); ++i) std::cout << "    " << again.story[i] << "\n";
}

int run(const Flags& flags) {
  if (flags.seed) {
    const Story setup = setup_of(flags.seed, flags);
    const Verdict verdict =
        play(setup, plan_faults(setup), flags.trace ? Telling::kEverything : Telling::kTheEnd);
    if (!verdict.ok && !flags.trace) report(setup, verdict);
    std::cout << (verdict.ok ? "holds" : verdict.failure) << "\n";
    return verdict.ok ? 0 : 1;
  }
  Judge::Totals all;
  uint64_t bad = 0, steps = 0;
  for (uint64_t seed = flags.first; seed < flags.first + flags.seeds; ++seed) {
    const Story setup = setup_of(seed, flags);
    const Verdict verdict = play(setup, plan_faults(setup), Telling::kNothing);
    all.requests += verdict.totals.requests;
    all.ok += verdict.totals.ok;
    all.failovers += verdict.totals.failovers;
    all.stale += verdict.totals.stale;
    all.executions += verdict.totals.executions;
    steps += verdict.steps;
    if (verdict.ok) continue;
    if (++bad <= 3)
      report(setup, verdict);
    else
      std::cout << "seed " << seed << ": " << verdict.failure << "\n";
    if (bad >= 20) break;
  }
  std::cout << flags.seeds << " clusters, " << bad << " broken; " << all.requests << " requests, " << all.ok
            << " ok, " << all.executions << " executions, " << all.failovers << " promotions (" << all.stale
            << " stale), " << steps << " steps\n";
  return bad == 0 ? 0 : 1;
}

}  // namespace
}  // namespace redoubt::sim

int main(int argc, char** argv) {
  using namespace redoubt;
  sim::Flags flags;
  Options options("redoubt-sim", "Plays whole clusters in virtual time and checks that nothing breaks.");
  options.add("seed", flags.seed, "play this one alone (0: many)");
  options.add("first", flags.first, "the first seed of many");
  options.add("seeds", flags.seeds, {1, 1'000'000'000}, "how many");
  options.add("requests", flags.requests, {1, 100000}, "of each client");
  options.add("only", flags.only, "'mixed': groups of 1, 2, 3 and 5 brokers, with witnesses; else 3");
  options.add("trace", flags.trace, "tell everything that happens");
  if (const Parsed parsed = options.parse(argc, argv); !parsed.run) return parsed.finish();
  return sim::run(flags);
}
