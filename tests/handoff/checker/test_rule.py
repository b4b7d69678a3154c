"""P, D, U and C are computed from the fields by the rule of appendix A.3, over every profile there is."""

from __future__ import annotations

import dataclasses
import itertools
from typing import Any

import pytest

from tallystick.handoff.checker import BLOCKS, TRAJECTORIES, Profile

FIELDS = ("r_s", "r_q", "r_o", "r_f", "preserves_as_blocker", "caveat_or_later_check_or_omission")
SCORES = (None, 0.0, 0.59, 0.60, 0.74, 0.75, 1.0)
EVERY = [
    Profile(trajectory=t, actionability=a, retention=r, **dict(zip(FIELDS, bits, strict=True)))
    for bits in itertools.product((False, True), repeat=len(FIELDS))
    for t in TRAJECTORIES for a in SCORES for r in SCORES
]  # fmt: skip


def test_exactly_one_of_preserved_deactivated_and_neither_holds() -> None:
    assert all(p.plain.p + p.plain.d + p.plain.u == 1 for p in EVERY)


def test_recoverable_is_all_four_fields_and_nothing_else() -> None:
    assert all(p.plain.c == (p.r_s and p.r_q and p.r_o and p.r_f) for p in EVERY)
    assert {(p.plain.p, p.plain.c) for p in EVERY} == set(itertools.product((False, True), repeat=2))


def test_losing_evidence_never_makes_an_artifact_preserved() -> None:
    for p in EVERY:
        weaker: list[dict[str, Any]] = [{f: False} for f in FIELDS[:-1]] + [{FIELDS[-1]: True}, {"actionability": 0.0}]
        assert p.plain.p or not any(dataclasses.replace(p, **w).plain.p for w in weaker)


def test_the_prerequisite_and_retention_count_only_in_the_static_rule() -> None:
    for p in EVERY:
        other = dataclasses.replace(p, r_q=not p.r_q, retention=0.0)
        if p.trajectory == "dynamic":
            assert (p.plain.p, p.plain.d) == (other.plain.p, other.plain.d)
        else:
            assert not (p.plain.p and (not p.r_q or (p.retention is not None and p.retention < 0.60)))


def test_low_actionability_alone_is_neither_preserved_nor_deactivated() -> None:
    whole = dict.fromkeys(FIELDS[:-1], True) | {FIELDS[-1]: False}
    for t in TRAJECTORIES:
        assert Profile(trajectory=t, actionability=0.74, **whole).plain.u
        assert Profile(trajectory=t, actionability=0.75, **whole).plain.p


@pytest.mark.parametrize("block", BLOCKS)
def test_a_block_decides_the_reading_with_precedence_and_never_the_plain_one(block: Any) -> None:
    for p in EVERY:
        with_block = dataclasses.replace(p, block=block)
        assert with_block.plain == p.plain
        expected = {"complete": (True, False), "partial": (False, True), "absent": (p.plain.p, p.plain.d)}[block]
        assert (with_block.ruled.p, with_block.ruled.d) == expected
