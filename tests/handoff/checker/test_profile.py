"""The decision rule of appendix A.3, over every profile there is."""

from __future__ import annotations

import itertools

import pytest

from tallystick.errors import InputError
from tallystick.handoff.checker import TRAJECTORIES, Profile, check
from tallystick.handoff.checker.profile import BLOCKS

NAMES = ("r_s", "r_q", "r_o", "r_f", "preserves_as_blocker", "caveat_or_later_check_or_omission")
EVERY = [
    Profile(trajectory=t, actionability=a, retention=r, **dict(zip(NAMES, bits, strict=True)))
    for bits in itertools.product((False, True), repeat=6)
    for t in TRAJECTORIES
    for a in (None, 0.74, 0.75)
    for r in (None, 0.59, 0.60)
]


def test_preserved_and_deactivated_exclude_each_other_and_the_rest_is_residual() -> None:
    for one in EVERY:
        o = one.plain
        assert [o.p, o.d, o.u].count(True) == 1


def test_the_rule_is_the_papers_line_by_line() -> None:
    for one in EVERY:
        static = one.trajectory == "static"
        enough = one.actionability is None or one.actionability >= 0.75
        below = static and one.retention is not None and one.retention < 0.60
        p = one.preserves_as_blocker and one.r_f and not one.caveat_or_later_check_or_omission and enough
        if static:
            p = p and one.r_q and not below
        assert one.plain.p == p
        evidence = one.caveat_or_later_check_or_omission or not one.preserves_as_blocker or not one.r_f or below
        assert one.plain.d == (not p and evidence)
        assert one.plain.c == all((one.r_s, one.r_q, one.r_o, one.r_f))


def test_a_whole_block_decides_and_a_partial_one_never_preserves() -> None:
    for one in EVERY:
        of = {b: Profile(**{n: getattr(one, n) for n in NAMES}, trajectory=one.trajectory, block=b) for b in BLOCKS}
        assert of["complete"].ruled.p
        assert of["complete"].ruled.c
        assert of["partial"].ruled.d
        assert of["absent"].ruled == of["absent"].plain
        assert of["complete"].plain == of["absent"].plain  # the words read the same, whatever is beside them


@pytest.mark.parametrize(
    ("wrong", "where"),
    [
        ({"trajectory": "circular"}, "trajectory"),
        ({"block": "torn"}, "block"),
        ({"actionability": 1.5}, "actionability"),
        ({"retention": -0.1}, "retention"),
        ({"artifact": 3}, "artifact"),
        ({"task": "T01"}, "task"),
        ({"artifact": "x" * 200_001}, "artifact"),
    ],
)
def test_what_cannot_be_checked_is_an_input_error_that_says_where(wrong: dict[str, object], where: str) -> None:
    given: dict[str, object] = {"task": {"z": {}}, "artifact": "stop", "trajectory": "static", **wrong}
    with pytest.raises(InputError) as bad:
        check(**given)  # type: ignore[arg-type] # the point of the test
    assert bad.value.where == where
