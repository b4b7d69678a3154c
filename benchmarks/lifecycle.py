"""The lifecycle suite's scoring and statistics: `python benchmarks/lifecycle.py [--rounds N] [--json]`.

50,400 checkpoints as the main study has them (7 deployments, 12 scenarios, 5 checkpoints, 2 encodings, 3 arms, 20
repetitions), every reply a text of its own, half of them Chinese. Scored strictly, by column; the bootstrap has 10,000
replicates over 12 scenarios, from the rows on. Times are CPU time of this thread.
"""

from __future__ import annotations

import argparse
import itertools
import json
import random
import sys
import time
from collections.abc import Callable

import numpy as np

from tallystick.evals.common import clusters
from tallystick.evals.lifecycle import corruption, measures, models
from tallystick.evals.lifecycle.columns import columns
from tallystick.evals.lifecycle.row import Reply, Row
from tallystick.gates.stage import Stage
from timing import Ratio, Timing, as_json, interleaved, table

_STAGES = {
    "wait": Stage.NEEDS_INFO,
    "ready": Stage.READY,
    "act": Stage.READY,
    "step": Stage.POST_OBS,
    "done": Stage.COMPLETED,
}
# ruff: noqa: RUF001 - Chinese punctuation, as the main study has it
_TEXTS = (
    "好的，季度复盘会已经移到周四下午三点（{}），接下来我会通知所有参与者，请稍等。\n如有变化请随时告诉我。",
    "The meeting has moved to Thursday at 15:00 ({}). I will let the participants know next.\nTell me if that changes.",
)


def rows() -> list[Row]:
    """The main study's rows, answered by seven reporters that mostly lose the middle."""
    draw = random.Random(20261130)
    made = []
    for d, s, (place, stage), encoding, arm, repetition in itertools.product(
        range(7), range(12), _STAGES.items(), ("xml", "json"), ("baseline", "gold", "static"), range(20)
    ):
        due = place != "act"
        expected = ("active" if arm == "static" else stage.value) if due else None
        right = draw.random() < (0.85 if place == "done" else 0.3 + 0.05 * d + 0.02 * s)
        text = _TEXTS[repetition % 2].format(draw.random())
        made.append(
            Row(
                study="main",
                deployment=f"d{d}",
                scenario=f"s{s}",
                checkpoint=place,
                encoding=encoding,
                arm=arm,
                repetition=repetition,
                due=due,
                stage=stage,
                expected=expected,
                reply=Reply(
                    mode="act" if not right and draw.random() < 0.5 else "speak",
                    text=f"{text}\n{corruption.marker(expected, encoding)}" if right and expected else text,
                ),
            )
        )
    return made


def timed(work: Callable[[], object]) -> Callable[[], float]:
    def run() -> float:
        begin = time.thread_time()
        work()
        return (time.thread_time() - begin) * 1e6

    return run


def measure(rounds: int) -> tuple[list[Timing], list[Ratio], int]:
    made = rows()
    c = columns(made)
    fit = models.rows_of(c)
    cluster, hit, due = c.index["scenario"], c.coded("CLEAN"), c.s & c.due

    def bootstrap() -> None:
        clusters.weights.cache_clear()  # a first interval draws the resamples; those after it reuse them
        again()

    def again() -> None:
        sums = np.stack([np.bincount(cluster, weights=hit & due), np.bincount(cluster, weights=due)], axis=1)
        clusters.estimate(sums, clusters.share)

    contenders = {
        "score 50,400 checkpoints": timed(lambda: columns(made)),
        "the same, envelope-stripped": timed(lambda: columns(made, "envelope_stripped")),
        "every measure with its intervals": timed(lambda: measures.tally(c)),
        "one interval over scenarios, from the rows": timed(bootstrap),
        "a further one, resamples drawn": timed(again),
        "pooled GEE": timed(lambda: models.pooled(fit)),
    }
    found = interleaved(contenders, rounds=rounds)
    ratios = [
        Ratio(name="1 s / scoring", value=1e6 / found["score 50,400 checkpoints"].median, least=1),
        Ratio(
            name="5 ms / one interval", value=5e3 / found["one interval over scenarios, from the rows"].median, least=1
        ),
    ]
    return list(found.values()), ratios, len(made)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args()
    timings, ratios, count = measure(options.rounds)
    if options.json:
        json.dump({"rows": count, "rounds": options.rounds, **as_json(timings, ratios)}, sys.stdout)
        print()
    else:
        print(f"{count} checkpoints, {options.rounds} interleaved rounds\n")
        print(table(timings, ratios))


if __name__ == "__main__":
    main()
