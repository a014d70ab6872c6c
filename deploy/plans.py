#!/usr/bin/env python3
"""Judges what plans.sh has measured: prints a line of figures for each thing that must hold, and exits 1 if one does not."""
import json
import re
import sys

failed = False


def read(path):
    """The objects of a file, one a line."""
    with open(path, encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def only(path):
    return read(path)[0]


def holds(name, condition, text):
    global failed
    failed |= not condition
    print(f"{'holds' if condition else 'DOES NOT HOLD'}  {name}: {text}", flush=True)


def rejected(result):
    """Not answered, or not in time."""
    return result["sent"] - result["ok"]


def share(part, whole):
    return f"{100 * part / max(whole, 1):.2f} %"


def p99(result):
    return result["latency_us"]["p99"] / 1000


def is_whole(result):
    return result["lost"] == result["duplicated"] == result["unexpected"] == 0


def of_class(low, low_status, high, high_status):
    low, high = only(low), only(high)
    sent = [only(path)["counters"]["backups"]["sent"] for path in (low_status, high_status)]
    holds("class", sent[1] > sent[0] and rejected(high) < rejected(low) and is_whole(low) and is_whole(high),
          f"of replicas with a rare slow mode, --class 0.9 sent {share(sent[1], high['sent'])} backups and "
          f"{share(rejected(high), high['sent'])} of {high['sent']} came late; "
          f"--class 0.1 {share(sent[0], low['sent'])} and {share(rejected(low), low['sent'])}")


def of_crash(result, status):
    result, backups = only(result), only(status)["counters"]["backups"]
    without = result["sent"] - backups["planned"]
    holds("crash", rejected(result) <= without and is_whole(result) and only(status)["counters"]["replicas_lost"] == 1,
          f"one of four replicas killed at load 0.5, of {result['sent']} requests {without} had no backup "
          f"({backups['without_slot']} for want of a free time), {rejected(result)} came late; "
          f"the slowest took {result['latency_us']['max'] / 1000:.0f} ms of 400")


def of_hang(single, backup, status):
    single, backup, backups = only(single), only(backup), only(status)["counters"]["backups"]
    without = backup["sent"] - backups["planned"]
    holds("hang", rejected(backup) <= without and rejected(single) > 0 and is_whole(single) and is_whole(backup),
          f"one of four replicas stopped at load 0.5 and not given up, of {backup['sent']} requests {without} had no backup, "
          f"{rejected(backup)} came late, {backups['sent']} backups were sent; with single {rejected(single)} came late")


def of_tail(single, _, hedge, hedge_status):
    single, hedge, status = only(single), only(hedge), only(hedge_status)
    extra, admitted = status["counters"]["hedges"], status["counters"]["admitted"]
    holds("tail", p99(hedge) < p99(single) / 3 and extra <= 0.1 * admitted + 1 and is_whole(hedge),
          f"one of 16 replicas is ten times slower, at load 0.05 p99 with hedge {p99(hedge):.0f} ms, with single "
          f"{p99(single):.0f} ms; {share(extra, admitted)} extra copies, "
          f"after {status['services'][0]['hedge_delay_us'] / 1000:.1f} ms at the end")


def of_budget(result, status):
    result, states = only(result), read(status)
    extras = [state["counters"]["hedges"] for state in states]
    firsts = [state["counters"]["admitted"] for state in states]
    windows = [(extras[i + 1] - extras[i]) / max(firsts[i + 1] - firsts[i], 1) for i in range(len(states) - 1)]
    # What was saved up before counts in the first: up to 20 copies.
    first = (extras[1] - extras[0] - 20) / max(firsts[1] - firsts[0], 1)
    holds("budget", max([first] + windows[1:]) <= 0.101 and is_whole(result),
          f"one of 8 replicas slower by a fifth, at load 0.7 the extra copies of every 5 s are "
          f"{', '.join(f'{100 * window:.1f}' for window in windows)} % of requests; p99 {p99(result):.0f} ms")


def of_bounds(result, status):
    result, services = only(result), [state["services"][0] for state in read(status)]
    delays = [service["hedge_delay_us"] for service in services]
    least, most = services[0]["hedge_least_us"], services[0]["hedge_most_us"]
    holds("bounds", least <= min(delays) and max(delays) <= most and is_whole(result),
          f"one of three replicas killed, the hedge delay stays within {min(delays) / 1000:.1f} .. {max(delays) / 1000:.1f} ms, "
          f"bounds {least / 1000:.0f} .. {most / 1000:.0f}; of {result['sent']} requests {rejected(result)} were not answered")


def of_spare(*paths):
    results = {}
    for path in paths:
        load, policy = re.search(r"spare-(\d+)-(\w+)$", path).groups()
        results[int(load), policy] = only(path)
    loads = sorted({load for load, _ in results})
    print("       load   rejected: backup    spare      p99 of what was answered: backup    spare")
    for load in loads:
        backup, spare = results[load, "backup"], results[load, "spare"]
        print(f"       {load / 100:.1f}{share(rejected(backup), backup['sent']):>20}{share(rejected(spare), spare['sent']):>11}"
              f"{p99(backup):>27.0f} ms{p99(spare):>10.0f} ms")
    total = {policy: sum(rejected(results[load, policy]) for load in loads) for policy in ("backup", "spare")}
    worse = all(results[load, "spare"]["ok"] <= results[load, "backup"]["ok"] * 1.02 or
                rejected(results[load, "spare"]) >= rejected(results[load, "backup"]) for load in loads)
    sent = sum(result["sent"] for result in results.values()) / 2
    holds("spare", total["backup"] < total["spare"] and worse and all(map(is_whole, results.values())),
          f"of six replicas, two of them spares with spare: over all loads it rejects {share(total['spare'], sent)}, "
          f"backup {share(total['backup'], sent)}")


def of_auto(*paths):
    points = sorted({re.search(r"auto-([a-z-]+)-(?:auto|single|per-level|sim)$", path).group(1) for path in paths})
    of = {(point, kind): only(path) for path in paths for point in points for kind in ("auto", "single", "per-level", "sim")
          if path.endswith(f"auto-{point}-{kind}")}
    print("       point                   auto  one copy  two copies   auto in virtual time")
    behind = []
    for point in points:
        timely = {kind: of[point, kind]["timely"] for kind in ("auto", "single", "per-level")}
        best = max(timely["single"], timely["per-level"])
        # Two runs of real time do not meet the same arrivals: three standard errors, and a point for the machine.
        sent = of[point, "auto"]["sent"]
        slack = 0.01 + 3 * (2 * max(best * (1 - best), 0.001) / sent) ** 0.5
        if timely["auto"] < best - slack:
            behind.append(point)
        print(f"       {point:<20}{timely['auto']:>8.4f}{timely['single']:>10.4f}{timely['per-level']:>12.4f}"
              f"{of[point, 'sim']['timely']['mean']:>16.4f}")
    holds("auto", not behind, "at a dozen points auto is no worse than one copy and two" if not behind
          else f"auto is worse at {', '.join(behind)}")


JUDGES = {"auto": of_auto, "class": of_class, "crash": of_crash, "hang": of_hang, "tail": of_tail, "budget": of_budget, "bounds": of_bounds,
          "spare": of_spare}
JUDGES[sys.argv[1]](*sys.argv[2:])
sys.exit(failed)
