"""What rows come to, stage by stage. Every figure is a count or a share of rows; nothing is modelled."""

from __future__ import annotations

import statistics
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from tallystick.evals.common.intervals import wilson
from tallystick.evals.takeover.rows import HOLD, STAGES, Row


def by_stage(rows: Iterable[Row]) -> dict[str, dict[str, Any]]:
    """Return the measures of every stage that has rows, in the paper's order."""
    found = list(rows)
    return {stage: measured(own) for stage in STAGES if (own := [r for r in found if r.stage == stage])}


def measured(rows: Sequence[Row]) -> dict[str, Any]:
    """Return the measures of some rows of one stage.

    - episodes: all; engaged: those in which a contract was frozen. The others keep their prefix's outcome.
    - correct: the world is as the task wants it, over all episodes.
    - partial_after_live_failure: a write took effect, a live call failed, and the episode is not correct.
    - writes_under_rejected: writes dispatched for a proposal that whole-graph admission rejects.
    - duplicate_effects: effects that had been realised before.
    - false_complete: ended as a success, and not correct.
    - needless_refusal: episodes in which something was refused of a proposal that would have been right.
    - rejections: by code, each rejected proposal or refused call once, by its first reason, or as `duplicate` where it
      has that one; holds are `hold`.
    - tokens: as the successors reported them; 0 for scripted ones.
    """
    return {
        "episodes": len(rows),
        "engaged": sum(r.engaged for r in rows),
        "correct": sum(r.correct for r in rows),
        "partial_after_live_failure": sum(r.partial for r in rows),
        "writes_under_rejected": sum(r.rejected_writes for r in rows),
        "duplicate_effects": sum(r.duplicates for r in rows),
        "false_complete": sum(r.false_complete for r in rows),
        "needless_refusal": sum(r.needless for r in rows),
        "rejections": dict(Counter(i.code for r in rows for i in r.interventions).most_common()),
        "tokens": sum(r.tokens for r in rows),
    }


def scores(rows: Sequence[Row]) -> dict[str, Any]:
    """Return the score in percent: mean and SD over complete runs, or Wilson's interval where there is one run."""
    runs: dict[int, list[Row]] = {}
    for row in rows:
        runs.setdefault(row.round, []).append(row)
    shares = [100 * sum(r.correct for r in own) / len(own) for own in runs.values()]
    interval = wilson(sum(r.correct for r in rows), len(rows)) if len(runs) == 1 else None
    return {
        "mean": statistics.fmean(shares) if shares else None,
        "sd": statistics.stdev(shares) if len(shares) > 1 else None,
        "runs": len(shares),
        "interval": None if interval is None else [100 * interval[0], 100 * interval[1]],
    }


def by_kind(rows: Sequence[Row]) -> dict[str, dict[str, int]]:
    """Return per sort of prefix: episodes, engaged, correct."""
    found: dict[str, dict[str, int]] = {}
    for row in rows:
        one = found.setdefault(row.kind, {"episodes": 0, "engaged": 0, "correct": 0})
        one["episodes"] += 1
        one["engaged"] += row.engaged
        one["correct"] += row.correct
    return dict(sorted(found.items()))


def by_mode(rows: Sequence[Row]) -> dict[str, dict[str, Any]]:
    """Return the measures per mistake that scripted successors made; {} for models."""
    modes = dict.fromkeys(r.mode for r in rows if r.mode and r.engaged)
    return {mode: measured([r for r in rows if r.mode == mode and r.engaged]) for mode in sorted(modes)}


def interventions(rows: Sequence[Row]) -> dict[str, Any]:
    """Return how often something was stopped, how often before the first live write, and whether it rechecks.

    A *hold* (ours; the paper does not define its 81) is an answer that neither admits nor rejects: evidence that could
    be had is missing, and the reads that would give it are named.
    """
    found = [i for r in rows for i in r.interventions if i.of != "done"]
    rejected = [i for i in found if i.code != HOLD]
    checked = [i for i in rejected if i.again is not None]
    return {
        "interventions": len(found),
        "before_first_write": sum(i.before for i in found),
        "rejections": len(rejected),
        "holds": len(found) - len(rejected),
        "codes": dict(Counter(i.code for i in rejected).most_common()),
        "rechecked": len(checked),
        "rechecked_alike": sum(bool(i.again) for i in checked),
        "done_refused": sum(i.of == "done" for r in rows for i in r.interventions),
    }


def reasons(rows: Sequence[Row]) -> Mapping[str, int]:
    """Return why engaged episodes did not end as a success."""
    return dict(Counter(r.reason for r in rows if r.engaged and not r.complete and r.reason).most_common())
