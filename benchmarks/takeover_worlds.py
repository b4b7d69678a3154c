"""Random small worlds and proposals, half of them adversarial, each carried out live.

    python benchmarks/takeover_worlds.py --worlds 50000 --json

Of every world: the prefix runs through a real run, the contract is frozen, a scripted successor proposes, the gate and
its naive twin judge, what is admitted is carried out against a little shop (a share of whose calls fail), and every
decision is made again from the record. Then the shop's own journal is looked at: nothing done twice, nothing undone, no
choice broken; and where the tenure is complete, everything owed done. The successors are scripted; the figures say
nothing about models.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import sys
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.gates.residual.live_worlds import carried_out

CHUNK = 250


def part(bounds: tuple[int, int, float]) -> tuple[Counter[str], list[str]]:
    """Carry out the worlds of a range of seeds; return counts, and what should never have been."""
    counts, wrong = Counter[str](), []
    for seed in range(bounds[0], bounds[1]):
        found = carried_out(seed, faults=bounds[2])
        counts["worlds"] += 1
        counts[f"verdict {found.verdict or 'none: no contract'}"] += 1
        counts[f"end {found.status} {found.reason}"] += 1
        counts["complete"] += found.status == "complete"
        counts["writes"] += found.writes
        counts["bottom after a write"] += found.status == "bottom" and found.writes > 0
        for code in set(found.codes):
            counts[f"code {code}"] += 1
        wrong.extend(f"world {seed}: {text}" for text in found.wrong)
    return counts, wrong


def main() -> None:
    """Run and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--worlds", type=int, default=1_000)
    parser.add_argument("--first", type=int, default=0, help="seed of the first world")
    parser.add_argument("--faults", type=float, default=0.05, help="share of the shop's writes that fail")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    end = given.first + given.worlds
    parts = [(at, min(at + CHUNK, end), given.faults) for at in range(given.first, end, CHUNK)]
    counts, wrong = Counter[str](), []
    began = time.perf_counter()
    with multiprocessing.Pool(given.jobs) as pool:
        for more, bad in pool.imap_unordered(part, parts):
            counts.update(more)
            wrong.extend(bad)
            for text in bad:
                print(f"\r{text}", file=sys.stderr)
            print(f"\r{counts['worlds']} worlds, {len(wrong)} wrong", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    seconds = round(time.perf_counter() - began, 1)
    if given.json:
        print(json.dumps({"counts": dict(sorted(counts.items())), "wrong": wrong, "seconds": seconds}, indent=1))
    else:
        for name, number in sorted(counts.items()):
            print(f"{number:9,}  {name}")
        print(f"{len(wrong):9,}  wrong ({seconds} s)")
        print("\n".join(wrong[:50]))
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main()
