"""What a run comes to, as plain JSON values: per stage for the first successor, then everything for each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import msgspec

from tallystick.evals.takeover import measures
from tallystick.evals.takeover.audits import audited
from tallystick.evals.takeover.rows import STAGES, Row
from tallystick.evals.takeover.run import Ran, engaged_share
from tallystick.evals.takeover.surfaces import ATTACHED, SURFACES, not_run

SOURCE_NOTES = {
    "task": "the task itself says what is owed",
    "gold": "obligations were built from gold: an upper bound, no recall",
    "model": "a model read what is owed",
}


def report(ran: Ran) -> dict[str, Any]:
    """Return the report of a scripted run.

    Its members named as the stages hold the measures of the first successor, as `measures.measured` defines them;
    `successors` holds stages, scores, kinds, mistakes and audits of each; `of_the_surface` what the surface measures of
    its frontiers before anybody takes over, where it does.
    """
    names = list(dict.fromkeys(r.successor for r in ran.rows))
    own = {name: [r for r in ran.rows if r.successor == name] for name in names}
    told: dict[str, Any] = {
        **measures.by_stage(own[names[0]]),
        "surface": ran.surface,
        "successor": names[0],
        "scripted": all(r.scripted for r in ran.rows),
        "settings": dict(ran.settings),
        "obligations_from": ran.source,
        "engaged_percent": engaged_share(ran.rows),
        "unengaged": dict(Counter({r.frontier: r.why for r in ran.rows if not r.engaged}.values()).most_common()),
        "successors": {name: of_successor(rows, ran) for name, rows in own.items()},
        "of_the_surface": dict(ran.own),
        "surfaces": {
            name: _ran(ran) if name == ran.surface else not_run(name)
            for name in dict.fromkeys((ran.surface, *SURFACES, *ATTACHED))
        },
    }
    plain: dict[str, Any] = msgspec.to_builtins(told)
    return plain


def _ran(ran: Ran) -> str:
    """Say that it was run, and what answered after the frontier where a surface has more than one world."""
    world = ran.own.get("world")
    return f"run ({world})" if world else "run"


def of_successor(rows: Sequence[Row], ran: Ran) -> dict[str, Any]:
    """Return what one successor's rows come to."""
    by = {stage: [r for r in rows if r.stage == stage] for stage in STAGES}
    by = {stage: own for stage, own in by.items() if own}
    full = by.get("full", [])
    return {
        "stages": {stage: measures.measured(own) for stage, own in by.items()},
        "scores": {stage: measures.scores(own) for stage, own in by.items()},
        "kinds": {stage: measures.by_kind(own) for stage, own in by.items()},
        "modes": {stage: measures.by_mode(own) for stage, own in by.items()},
        "interventions": {stage: measures.interventions(own) for stage, own in by.items()},
        "ended": {stage: measures.reasons(own) for stage, own in by.items()},
        "audit": audited(ran.contracts, full),
    }
