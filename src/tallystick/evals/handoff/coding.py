"""Coding an artifact from the bytes the executor received, by the checker's rules; no model is asked.

Two readings of every artifact. *Precedence* (*ours*): a whole block that matches the record decides P, a partial or
edited one is lost blocker status, and only without a block are the words judged. *Plain*: A.3 over all words.
Actionability is not supplied by anybody here, so that clause is "not available".
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from functools import lru_cache
from typing import Final

from tallystick.evals.handoff.episode import Episode
from tallystick.evals.handoff.record import record
from tallystick.evals.handoff.rows import Coded, Row, scored
from tallystick.evals.handoff.task import task
from tallystick.handoff import compare
from tallystick.handoff.checker import Block, Outcome, Profile, check

_BLOCK: Final[dict[bool | None, Block]] = {None: "absent", True: "complete", False: "partial"}


def coded(episodes: Iterable[Episode]) -> list[Row]:
    """Code every episode's artifact under both readings."""
    return [
        Row(episode=e, plain=plainly(e.task, e.received), precedence=by_block(e.task, e.received)) for e in episodes
    ]


@lru_cache(maxsize=8192)
def profile(about: str, artifact: str) -> Profile:
    """Return the checker's profile of an artifact, its block compared with the task's record.

    Args:
        about: id of the task, whose trajectory picks the rule.
        artifact: the text as it was received.
    """
    one, known = task(about), record(about)
    found = check(one.record(), artifact, one.trajectory)
    kept = {"status": found.r_s, "prerequisite": found.r_q, "authority": found.r_o, "fallback": found.r_f}
    fields = scored(one.trajectory)
    return dataclasses.replace(
        found,
        retention=sum(kept[field] for field in fields) / len(fields),
        block=_BLOCK[compare(artifact, "text", known.carrier, known.view).preserved],
    )


def plainly(about: str, artifact: str) -> Coded:
    """Return what A.3 says of an artifact's words, those of blocks included."""
    found = profile(about, artifact)
    return _coded(found, found.plain)


def by_block(about: str, artifact: str) -> Coded:
    """Return the precedence reading: what a block decides, or the plain reading where there is none."""
    found = profile(about, artifact)
    if found.block == "complete":
        # The record's own block: every field is recoverable from it, whatever stands around it.
        found = dataclasses.replace(
            found, r_s=True, r_q=True, r_o=True, r_f=True, preserves_as_blocker=True,
            caveat_or_later_check_or_omission=False, retention=1.0,
        )  # fmt: skip
    elif found.block == "partial":
        found = dataclasses.replace(found, preserves_as_blocker=False)
    return _coded(found, found.ruled)


def _coded(found: Profile, outcome: Outcome) -> Coded:
    assert found.retention is not None  # `profile` supplies it
    return Coded(
        status=found.r_s, prerequisite=found.r_q, authority=found.r_o, fallback=found.r_f,
        preserves=found.preserves_as_blocker, caveat=found.caveat_or_later_check_or_omission,
        retention=found.retention, p=outcome.p, d=outcome.d,
    )  # fmt: skip
