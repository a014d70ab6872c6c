#!/usr/bin/env python3
"""rejections.py [--svg FILE] [--requests N]: rejections against load with backup and with spare, in virtual time.

Six equal replicas, one of which vanishes for a second every ten seconds; what it held is lost. With `spare` the last one
or two do nothing but run again what was lost; with `backup` all work, and a request keeps a time for a second copy. The
load is the share of all six. Rejected is what was refused or not answered by the deadline of ten service times. Prints a
table in Markdown, and draws it. Exit status: 0 if backup rejects less than either spare wherever anything is rejected.
"""
import argparse
import json
import subprocess
import sys

PROGRAM = "build/bin/redoubt-experiment"
SCHEMES = [  # name, flags, colour
    ("backup", ["--redundancy", "backup"], "#1b7837"),
    ("spare, 1 of 6", ["--redundancy", "spare", "--spares", "1"], "#e08214"),
    ("spare, 2 of 6", ["--redundancy", "spare", "--spares", "2"], "#b2182b"),
]
LOADS = [0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1]
CLUSTER = ["--replicas", "6", "--service", "exp(10ms)", "--deadline", "100ms", "--vanish", "10s,1s"]


def rejected(flags, load, requests):
    """The share that was refused or late, and its standard error."""
    command = [PROGRAM, *CLUSTER, *flags, "--load", str(load), "--requests", str(requests)]
    result = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return 1 - result["timely"]["mean"], result["timely"]["error"]


def percent(value):
    return f"{100 * value:.2f} %"


def table(points):
    print("| load | " + " | ".join(name for name, _, _ in SCHEMES) + " |")
    print("|---|" + "---|" * len(SCHEMES))
    for load in LOADS:
        cells = (f"{percent(share)} ± {percent(error)}" for share, error in points[load])
        print(f"| {load:.1f} | " + " | ".join(cells) + " |")


def draw(points, path):
    width, height, left, right, top, bottom = 720, 440, 78, 20, 52, 58
    highest = max(share for row in points.values() for share, _ in row)
    ticks = 0.1 if highest > 0.25 else 0.05
    most = (int(highest / ticks) + 1) * ticks

    def x(load):
        return left + (load - LOADS[0]) / (LOADS[-1] - LOADS[0]) * (width - left - right)

    def y(share):
        return height - bottom - share / most * (height - top - bottom)

    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
             'font-family="sans-serif" font-size="14" role="img">',
             "<title>Rejections against load: backup and spare</title>",
             f'<rect width="{width}" height="{height}" fill="white"/>',
             f'<text x="{left}" y="28" font-size="16" font-weight="bold">Six replicas, one of which crashes now and then: '
             "rejected requests</text>"]
    tick = 0
    while tick * ticks <= most + 1e-9:
        at = y(tick * ticks)
        lines += [f'<line x1="{left}" x2="{width - right}" y1="{at:.1f}" y2="{at:.1f}" stroke="#ddd"/>',
                  f'<text x="{left - 8}" y="{at + 5:.1f}" text-anchor="end">{100 * tick * ticks:.0f} %</text>']
        tick += 1
    for load in LOADS:
        lines += [f'<line x1="{x(load):.1f}" x2="{x(load):.1f}" y1="{y(0):.1f}" y2="{y(0) + 5:.1f}" stroke="black"/>',
                  f'<text x="{x(load):.1f}" y="{y(0) + 22:.1f}" text-anchor="middle">{load:.1f}</text>']
    lines += [f'<path d="M{left} {top} V{y(0):.1f} H{width - right}" fill="none" stroke="black"/>',
              f'<text x="{(left + width - right) / 2}" y="{height - 12}" text-anchor="middle">'
              "load, as a share of what all six replicas can do</text>",
              f'<text transform="translate(20 {(top + height - bottom) / 2}) rotate(-90)" text-anchor="middle">'
              "refused or late, share of requests</text>"]
    for number, (name, _, colour) in enumerate(SCHEMES):
        places = [(x(load), y(points[load][number][0])) for load in LOADS]
        lines.append(f'<polyline points="{" ".join(f"{a:.1f},{b:.1f}" for a, b in places)}" fill="none" stroke="{colour}" '
                     'stroke-width="2.5"/>')
        lines += [f'<circle cx="{a:.1f}" cy="{b:.1f}" r="4" fill="{colour}"/>' for a, b in places]
        at = top + 20 + 24 * number
        lines += [f'<line x1="{left + 20}" x2="{left + 56}" y1="{at}" y2="{at}" stroke="{colour}" stroke-width="2.5"/>',
                  f'<circle cx="{left + 38}" cy="{at}" r="4" fill="{colour}"/>',
                  f'<text x="{left + 66}" y="{at + 5}">{name}</text>']
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(lines + ["</svg>\n"]))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--svg", help="where to draw it")
    parser.add_argument("--requests", type=int, default=200_000, help="of each point (default: %(default)s)")
    flags = parser.parse_args()
    points = {load: [rejected(scheme, load, flags.requests) for _, scheme, _ in SCHEMES] for load in LOADS}
    table(points)
    if flags.svg:
        draw(points, flags.svg)
    clear = [load for load, row in points.items() if any(share > 0.001 for share, _ in row)]
    return 0 if all(points[load][0][0] < min(share for share, _ in points[load][1:]) for load in clear) else 1


if __name__ == "__main__":
    sys.exit(main())
