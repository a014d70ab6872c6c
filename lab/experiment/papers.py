#!/usr/bin/env python3
"""Makes the tables of docs/redundancy.md, between its markers: what copies are worth by the formulas of `redoubt model`,
in virtual time (redoubt-experiment) and, where asked for, with real processes (deploy/redundancy.sh).

The programs must have been built. In virtual time the same figures come out every time; without --daemons or --results
the table of the daemons stays as it is.
"""
import argparse
import concurrent.futures
import json
import os
import re
import statistics
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BIN = os.path.join(ROOT, "build", "bin")
PAGE = os.path.join(ROOT, "docs", "redundancy.md")

# Two levels of eight replicas, and one of five.
TWO = ["--levels", "2", "--replicas", "8", "--service", "exp(400ms)"]
ONE = ["--replicas", "5", "--service", "exp(400us)"]
ONE_LIMIT = ["--wait-limit", "800us"]
RANDOM = ["--pick", "random", "--replica-threshold", "8192"]
STUBBORN = ["--stubborn"]

# (levels, rate, copies, redundancy): first wait, winner's wait, found by an independent simulation.
UNDISTURBED = {
    (1, 2000, 1, "per-level"): (.9703, .9703),
    (1, 2000, 2, "per-level"): (.9906, .9845),
    (1, 2000, 3, "per-level"): (.9870, .9795),
    (2, 3, 1, "per-level"): (.8152, .8152),
    (2, 3, 2, "per-level"): (.9011, .8231),
    (2, 3, 3, "per-level"): (.8896, .7902),
    (2, 3, 2, "paths"): (.8478, .7663),
    (2, 3, 3, "paths"): (.7923, .6833),
    (2, 8, 1, "per-level"): (.4965, .4965),
    (2, 8, 2, "per-level"): (.2279, .2054),
}
# (rate, copies): timely and copies executed, under each disposal, found by the same.
DISPOSALS = ["none", "expire", "two-phase", "on-completion"]
DISPOSED = {
    (3, 2): [(.8231, 4.00), (.9421, 3.33), (.9432, 3.31), (.9437, 3.29)],
    (5, 2): [(.6255, 4.00), (.8786, 2.95), (.8807, 2.93), (.8826, 2.91)],
    (5, 3): [(.4119, 6.00), (.9047, 3.95), (.9088, 3.91), (.9129, 3.85)],
    (8, 2): [(.2054, 4.00), (.7782, 2.50), (.7821, 2.49), (.7857, 2.47)],
}
# Rate: S2 with two copies, S1 with two, one copy; with `expire`.
ARRANGED = {3: (.9421, .9188, .8449), 5: (.8786, .8417, .7636), 8: (.7782, .7314, .6641)}
# (rate of the daemons, copies, redundancy, disposal); they run forty times as fast as the simulators.
DAEMONS = {
    (120, 2, "per-level", "expire"): .9421,
    (120, 2, "paths", "expire"): .9188,
    (120, 1, "single", "expire"): .8449,
    (120, 2, "per-level", "none"): .8231,
    (320, 1, "single", "none"): .4965,
    (320, 2, "per-level", "none"): .2054,
    (320, 2, "per-level", "two-phase"): .7821,
}
FASTER = 40
# What sleeping for 10 ms comes to, until the next copy starts, and what is left of 5 ms once handlers of both levels have
# been woken; measured where the published table was made.
REAL_SERVICE, REAL_LIMIT = "exp(10.15ms)", "4.8ms"


class Simulator:
    """Runs points of redoubt-experiment, each once. A table is worked out twice: to learn what it needs, and to make it."""

    def __init__(self, requests):
        self.requests = requests
        self.known = {}

    def __call__(self, *flags):
        return self.known.setdefault(tuple(str(flag) for flag in flags))

    def run_all(self):
        missing = [flags for flags, found in self.known.items() if found is None]
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            for number, (flags, found) in enumerate(zip(missing, pool.map(self.run, missing)), 1):
                if sys.stderr.isatty():
                    print(f"point {number} of {len(missing)}", end="\r", file=sys.stderr)
                self.known[flags] = found

    def run(self, flags):
        command = [os.path.join(BIN, "redoubt-experiment"), *flags, "--requests", str(self.requests), "--warm-up", "3000"]
        return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def two_levels(rate, copies, redundancy="per-level", disposal="none", limit="200ms", service="exp(400ms)"):
    return ["--levels", "2", "--replicas", "8", "--service", service, "--wait-limit", limit, *RANDOM, *STUBBORN, "--rate", rate, "--copies", copies, "--redundancy", redundancy,
            "--disposal", disposal]


def one_level(rate, copies, redundancy):
    return [*ONE, *ONE_LIMIT, *RANDOM, *STUBBORN, "--rate", rate, "--copies", copies, "--redundancy", redundancy,
            "--disposal", "none"]


def formula(levels, rate, copies, redundancy, limit="200ms"):
    cluster = ["--levels", "2", "--servers", "8", "--service-time", "400ms", "--wait-limit", limit] if levels == 2 else [
        "--servers", "5", "--service-time", "400us", *ONE_LIMIT]
    command = [os.path.join(BIN, "redoubt"), "model", "redundancy", *cluster, "--rate", str(rate), "--copies", str(copies),
               "--option", "S1" if redundancy == "paths" else "S2", "--json"]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)[0]


def share(found, which="timely"):
    return f"{found[which]['mean']:.4f}" if found else ""


def executed(found):
    return f"{found['copies_executed']['mean']:.2f}" if found else ""


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows])


def undisturbed(simulator):
    rows = []
    for (levels, rate, copies, redundancy), (first, winner) in UNDISTURBED.items():
        found = simulator(*(two_levels(rate, copies, redundancy) if levels == 2 else one_level(rate, copies, redundancy)))
        cluster = "two levels of 8" if levels == 2 else "one level of 5"
        rows.append([cluster, f"{rate:,}", copies, redundancy, f"{formula(levels, rate, copies, redundancy)['probability']:.4f}",
                     share(found, "first_timely"), f"{first:.4f}", share(found), f"{winner:.4f}"])
    return table(["cluster", "requests/s", "copies", "arranged", "formula", "first wait: simulator", "independent",
                  "winner's wait: simulator", "independent"], rows)


def disposed(simulator):
    rows = []
    for (rate, copies), published in DISPOSED.items():
        row = [rate, copies]
        for disposal, (timely, run) in zip(DISPOSALS, published):
            found = simulator(*two_levels(rate, copies, disposal=disposal))
            row.append(f"{share(found)} ({executed(found)}) · {timely:.4f} ({run:.2f})")
        rows.append(row)
    return table(["requests/s", "copies", *(f"`{disposal}`" for disposal in DISPOSALS)], rows)


def arranged(simulator):
    rows = []
    for rate, published in ARRANGED.items():
        found = [simulator(*two_levels(rate, copies, redundancy, "expire"))
                 for copies, redundancy in ((2, "per-level"), (2, "paths"), (1, "single"))]
        rows.append([rate, *(f"{share(one)} · {other:.4f}" for one, other in zip(found, published))])
    return table(["requests/s", "two copies, `per-level`", "two copies, `paths`", "one copy"], rows)


def first_phase(simulator):
    rows = []
    for portion in ("0.1", "0.25", "0.5", "0.75", "1"):
        row = [portion]
        for rate, copies in ((3, 2), (5, 3), (8, 2)):
            found = simulator(*two_levels(rate, copies, disposal=f"two-phase:{portion}"))
            row.append(f"{share(found)} ({executed(found)})")
        rows.append(row)
    return table(["first phase", "3 requests/s, two copies", "5 requests/s, three copies", "8 requests/s, two copies"], rows)


def bold_best(cells):
    shares = [float(cell) if re.match(r"[\d.]+$", cell) else -1 for cell in cells]
    return [f"**{cell}**" if share == max(shares) else cell for cell, share in zip(cells, shares)]


def is_stable(rate, copies):
    return rate * copies * .4 / 8 < 1


def how_many(simulator):
    rows, copies = [], (1, 2, 3, 4)
    for rate in (1, 3, 5, 8, 12):
        # Beyond what replicas can do queues grow for ever, and nothing is to be told.
        none = [share(simulator(*two_levels(rate, k))) if is_stable(rate, k) else "unstable" for k in copies]
        expire = [share(simulator(*two_levels(rate, k, disposal="expire"))) for k in copies]
        rows.append([rate, *bold_best(none), *bold_best(expire)])
    return table(["requests/s", *(f"`{disposal}`: {k}" for disposal in ("none", "expire") for k in copies)], rows)


def by_limit(simulator):
    rows, copies, rate = [], (1, 2, 3, 4), 3
    for limit in ("50ms", "200ms", "800ms", "1600ms"):
        formulas = [f"{formula(2, rate, k, 'per-level', limit)['probability']:.4f}" for k in copies]
        found = [simulator(*two_levels(rate, k, limit=limit)) for k in copies]
        firsts, winners = ([share(one, which) for one in found] for which in ("first_timely", "timely"))
        rows.append([limit, *bold_best(formulas), *bold_best(firsts), *bold_best(winners)])
    return table(["limit", *(f"{count}: {k}" for count in ("formula", "first wait", "winner's wait") for k in copies)], rows)


def placed(simulator):
    rows = []
    for rate in (3, 5, 8, 12):
        row = [rate]
        for pick in ("random", "p2c", "least-loaded"):
            for copies in (1, 2):
                # Of a flag that is given twice the last one counts.
                row.append(share(simulator(*two_levels(rate, copies, disposal="expire"), "--pick", pick)))
        rows.append(row)
    return table(["requests/s", *(f"`{pick}`, {count}" for pick in ("random", "p2c", "least-loaded")
                                  for count in ("one copy", "two"))], rows)


def odd_ones(simulator):
    rows = []
    for text, oddity in (("all are well", []), ("one of each level is 8 times slower", ["--slow", "8"]),
                         ("one of each level fails every other time", ["--fail", "0.5"])):
        row = [text]
        for rate in (3, 8):
            for copies in (1, 2):
                found = simulator(*TWO, *oddity, "--pick", "least-loaded", "--rate", rate, "--copies", copies, "--redundancy",
                                  "per-level", "--disposal", "on-completion", "--deadline", "2s")
                row.append(share(found))
        rows.append(row)
    return table(["replicas", *(f"{rate} requests/s, {count}" for rate in (3, 8) for count in ("one copy", "two"))], rows)


def daemons(simulator, runs):
    rows = []
    for point, published in DAEMONS.items():
        rate, copies, redundancy, disposal = point
        found = simulator(*two_levels(rate // FASTER, copies, redundancy, disposal))
        real = simulator(*two_levels(rate, copies, redundancy, disposal, REAL_LIMIT, REAL_SERVICE))
        shares = [run[point]["timely"] for run in runs]
        waits = [run[point]["wait_us"]["mean"] / 1000 for run in runs]
        wait = f"{real['mean_wait_us']['mean'] / 1000:.2f} · {statistics.median(waits):.2f}" if real else ""
        rows.append([rate, copies, redundancy, f"`{disposal}`", f"{published:.4f}", share(found), share(real),
                     f"{statistics.median(shares):.4f} ({min(shares):.4f} to {max(shares):.4f})", wait])
    return table(["requests/s", "copies", "arranged", "disposal", "independent", "simulator", "at the machine's pace", "daemons",
                  "mean wait ms: at that pace · daemons"], rows)


def kept(path):
    with open(path, encoding="utf-8") as file:
        lines = [json.loads(line) for line in file]
    return {(run["rate"], run["copies"], run["redundancy"], run["disposal"]): run["result"] for run in lines}


def measure(rounds):
    """Results of the daemons, each round under its own load."""
    with tempfile.TemporaryDirectory() as folder:
        for number in range(rounds):
            path = os.path.join(folder, "results")
            # What is out of its bounds it says itself; here all figures are shown.
            subprocess.run([os.path.join(ROOT, "deploy", "redundancy.sh"), "--results", path], check=False, stdout=sys.stderr)
            yield kept(path)


def fill(page, name, text):
    pattern = re.compile(rf"(<!-- table: {name} -->\n).*?(<!-- end of the table -->)", re.S)
    page, count = pattern.subn(lambda match: match.group(1) + text + "\n" + match.group(2), page)
    if count != 1:
        sys.exit(f"papers: {PAGE} has {count} places for the table '{name}': mark one with <!-- table: {name} -->")
    return page


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--requests", type=int, default=500_000, help="of each point in virtual time (%(default)s)")
    parser.add_argument("--daemons", type=int, default=0, metavar="ROUNDS", help="of deploy/redundancy.sh, to be run now")
    parser.add_argument("--results", nargs="+", default=[], metavar="FILE", help="that earlier rounds of it have kept")
    arguments = parser.parse_args()

    for program in ("redoubt", "redoubt-experiment"):
        if not os.path.exists(os.path.join(BIN, program)):
            sys.exit(f"papers: {BIN}/{program} is missing: cmake --preset release && "
                     "cmake --build build --target programs redoubt-experiment")
    runs = [kept(path) for path in arguments.results] + list(measure(arguments.daemons))
    simulator = Simulator(arguments.requests)
    tables = {"undisturbed": undisturbed, "disposed": disposed, "arranged": arranged, "first phase": first_phase,
              "how many": how_many, "by limit": by_limit, "placed": placed, "odd ones": odd_ones}
    if runs:
        tables["daemons"] = lambda simulator: daemons(simulator, runs)
    for make in tables.values():
        make(simulator)
    simulator.run_all()
    with open(PAGE, encoding="utf-8") as file:
        page = file.read()
    for name, make in tables.items():
        page = fill(page, name, make(simulator))
    with open(PAGE, "w", encoding="utf-8") as file:
        file.write(page)


if __name__ == "__main__":
    main()
