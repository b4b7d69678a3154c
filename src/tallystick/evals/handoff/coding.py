"""Coding an artifact from the bytes the executor received: the checker's fields, and the decision rule of appendix A.3.

Two readings of every artifact. *Precedence* (*ours*): a whole block that matches the record decides P, a partial or
edited one is lost blocker status, and only without a block are the words judged. *Plain*: A.3 over all words.
Actionability is not supplied by anybody here, so that clause is "not available".
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

import msgspec

from tallystick.errors import InputError
from tallystick.evals.handoff.episode import Episode
from tallystick.evals.handoff.record import record
from tallystick.evals.handoff.rows import RETAINED, Coded, Row, scored
from tallystick.evals.handoff.task import Trajectory, task
from tallystick.handoff import compare


def coded(episodes: Iterable[Episode]) -> list[Row]:
    """Code every episode's artifact under both readings."""
    return [
        Row(episode=e, plain=plainly(e.task, e.received), precedence=by_block(e.task, e.received)) for e in episodes
    ]


@lru_cache(maxsize=8192)
def plainly(about: str, artifact: str) -> Coded:
    """Return what A.3 says of an artifact's words.

    Args:
        about: id of the task, whose trajectory picks the rule.
        artifact: the text as it was received, blocks included.
    """
    one = task(about)
    found = _checked(one.record(), artifact, one.trajectory)
    kept = {
        "status": bool(found.r_s), "prerequisite": bool(found.r_q), "authority": bool(found.r_o),
        "fallback": bool(found.r_f),
    }  # fmt: skip
    fields = scored(one.trajectory)
    retention = sum(kept[field] for field in fields) / len(fields)
    preserves, caveat = bool(found.preserves_as_blocker), bool(found.caveat_or_later_check_or_omission)
    p, d = decided(one.trajectory, preserves=preserves, caveat=caveat, retention=retention, **kept)
    return Coded(**kept, preserves=preserves, caveat=caveat, retention=retention, p=p, d=d)


def _checked(about: dict[str, Any], artifact: str, trajectory: Trajectory) -> Any:
    try:
        check = importlib.import_module("tallystick.handoff.checker").check
    except ModuleNotFoundError:
        raise InputError("artifacts cannot be coded without the checker", where="tallystick.handoff.checker") from None
    return check(about, artifact, trajectory)


def decided(
    trajectory: Trajectory, *, preserves: bool, caveat: bool, retention: float, prerequisite: bool, fallback: bool,
    **_: bool,
) -> tuple[bool, bool]:  # fmt: skip
    """Return P and D by appendix A.3, actionability not being available."""
    p = preserves and fallback and not caveat
    if trajectory == "static":
        p = p and prerequisite and retention >= RETAINED
    below = trajectory == "static" and retention < RETAINED
    return p, not p and (caveat or not preserves or not fallback or below)


@lru_cache(maxsize=8192)
def by_block(about: str, artifact: str) -> Coded:
    """Return the precedence reading: what a block decides, or the plain reading where there is none."""
    plain = plainly(about, artifact)
    known = record(about)
    held = compare(artifact, "text", known.carrier, known.view).preserved
    if held is None:
        return plain
    if held:
        return Coded(
            status=True, prerequisite=True, authority=True, fallback=True, preserves=True, caveat=False, retention=1.0,
            p=True, d=False,
        )  # fmt: skip
    # Which fields the words still hold is what the plain reading says; that they bind no more is the precedence.
    return msgspec.structs.replace(plain, preserves=False, p=False, d=True)
