"""The bootstrap over clusters: `python benchmarks/bootstrap.py [--rounds N] [--json]`.

50,400 rows of (cluster, hit) in 12 clusters, 10,000 replicates. The naive baseline resamples clusters and concatenates
their rows, and is measured on a hundredth of the replicates. Times are CPU time of this thread.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable

import numpy as np

from tallystick.evals.common.intervals import bootstrap
from timing import Ratio, Timing, as_json, interleaved, table

ROWS, CLUSTERS, REPLICATES = 50_400, 12, 10_000
_PART = 100


def repeated(work: Callable[[], object], count: int) -> Callable[[], float]:
    def timed() -> float:
        begin = time.thread_time()
        for _ in range(count):
            work()
        return (time.thread_time() - begin) / count * 1e6

    return timed


def contenders() -> dict[str, Callable[[], float]]:
    draw = np.random.default_rng(1)
    cluster = np.arange(ROWS) % CLUSTERS
    hit = draw.random(ROWS) < 0.3 + 0.03 * cluster
    rows = [hit[cluster == c] for c in range(CLUSTERS)]

    def summed() -> list[tuple[int, int]]:
        hits, of = np.bincount(cluster, weights=hit), np.bincount(cluster)
        return [(int(h), int(n)) for h, n in zip(hits, of, strict=True)]

    def concatenated() -> None:
        for _ in range(REPLICATES // _PART):
            np.concatenate([rows[c] for c in draw.integers(CLUSTERS, size=CLUSTERS)]).mean()

    sums = summed()
    found = {
        "bootstrap() from sums per cluster": repeated(lambda: bootstrap(sums, replicates=REPLICATES), 5),
        "the same, with summing the rows": repeated(lambda: bootstrap(summed(), replicates=REPLICATES), 5),
    }
    naive = repeated(concatenated, 1)
    found["rows concatenated per replicate"] = lambda: naive() * _PART
    return found


def measure(rounds: int) -> tuple[list[Timing], list[Ratio]]:
    t = interleaved(contenders(), rounds=rounds)
    ours, naive = t["the same, with summing the rows"], t["rows concatenated per replicate"]
    return list(t.values()), [
        Ratio(name="5 ms / bootstrap() with summing the rows", value=5_000 / ours.median, least=1),
        Ratio(name="concatenated rows / bootstrap()", value=ours.speed_against(naive)),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args()
    timings, ratios = measure(options.rounds)
    if options.json:
        json.dump(
            {"rows": ROWS, "clusters": CLUSTERS, "rounds": options.rounds, **as_json(timings, ratios)}, sys.stdout
        )
        print()
    else:
        print(f"{ROWS} rows, {CLUSTERS} clusters, {REPLICATES} replicates, {options.rounds} interleaved rounds\n")
        print(table(timings, ratios))


if __name__ == "__main__":
    main()
