"""Estimators against counting by hand, and their denominators."""

from __future__ import annotations

import itertools
import random

import msgspec
import pytest

from tallystick.errors import InputError
from tallystick.evals.lifecycle import measures as m
from tallystick.evals.lifecycle.columns import REPORTED, columns
from tallystick.evals.lifecycle.row import Reply, Row
from tallystick.evals.lifecycle.score import CODES, score
from tallystick.gates.stage import Stage
from tests.evals_lifecycle.scoring.made import STAGE, plan, row, said

TEXTS = (
    said(), Reply(mode="act"), Reply(valid=False), said(text="<stage>x"), said("qzx"),
    *(said(s.value) for s in Stage), *(said(s.value, mode="act") for s in Stage),
)  # fmt: skip


@pytest.fixture(scope="module")
def mixed() -> list[Row]:
    """Three deployments, five scenarios, every kind of reply at every checkpoint."""
    draw = random.Random(3)
    return [
        row(checkpoint, deployment=d, scenario=f"s{n}", reply=draw.choice(TEXTS))
        for d, n, checkpoint, _ in itertools.product("abc", range(5), STAGE, range(6))
    ]


def test_measures_are_the_papers_counts(mixed: list[Row]) -> None:
    """Each estimator of equations 6 to 11, counted row by row in plain Python."""
    scored = [(r, score(r)) for r in mixed]
    answered = [(r, s) for r, s in scored if s.s]
    due = [s for r, s in answered if r.due]
    off = [s for r, s in answered if not r.due]
    right = [s for s in due if s.m and s.e and s.v and s.f]
    false = [s for r, s in answered if s.value == "completed" and r.stage is not Stage.COMPLETED]
    by_hand = {
        "theta": (len(right), len(due)),
        "phi": (len(right), sum(s.m for s in due)),
        "emission": (sum(s.e for s in due), len(due)),
        "omega": (sum(not s.e for s in off), len(off)),
        "mu": (len(false), len(answered)),
        "nu": (len(false), sum(s.e for _, s in answered)),
        "omission": (sum(s.m and not s.e for s in due), len(due)),
        "divergence": (sum(not s.m for s in due), len(due)),
        "malformed": (sum(s.m and s.e and not s.f for s in due), len(due)),
        "wrong_value": (sum(s.m and s.f and not s.v for s in due), len(due)),
    }
    c = columns(mixed)
    assert {k: (v.hits, v.of) for k, v in m.tally(c).items()} == by_hand
    assert set(by_hand) == set(m.MEASURES)
    only = c.only(deployment="b")
    assert m.measure(only, "theta").hits == sum(r.deployment == "b" and r.due and s.code == "CLEAN" for r, s in scored)


def test_theta_by_checkpoint_is_theta_by_stage(mixed: list[Row]) -> None:
    """Each due checkpoint has a stage of its own; where nothing is due there is no theta."""
    c = columns(mixed)
    found = m.by_checkpoint(c)
    assert list(found) == ["wait", "ready", "step", "done"]
    for place, one in found.items():
        assert one == m.measure(c, "theta", c.at(STAGE[place]))


def test_denominators_add_up(mixed: list[Row]) -> None:
    """Every row has one code, and transport is in no other denominator."""
    told = m.denominators(columns(mixed))
    assert told["rows"] == len(mixed) == sum(told[code] for code in CODES)
    assert told["transport"] == told["TRANSPORT"] == sum(not r.reply.valid for r in mixed) > 0
    assert told["responses"] == told["due"] + told["not_due"] == told["rows"] - told["transport"]


def test_composition_and_matrix_cover_every_due_response(mixed: list[Row]) -> None:
    """Shares of due responses add up to one; the matrix has each of them once, its diagonal the clean ones."""
    c = columns(mixed)
    assert sum(one.hits for one in m.composition(c).values()) == m.denominators(c)["due"]
    counts = m.matrix(c)
    assert sum(sum(line.values()) for line in counts.values()) == m.denominators(c)["due"]
    assert sum(counts[s.value][s.value] for s in Stage) == m.measure(c, "theta").hits
    assert sum(line["tool call"] for line in counts.values()) == m.measure(c, "divergence").hits
    assert sum(line["no report"] for line in counts.values()) == m.measure(c, "omission").hits
    assert all(tuple(line) == REPORTED for line in counts.values())


@pytest.mark.parametrize(
    ("checkpoint", "value", "kind"),
    [
        ("step", "needs_information", "stale"), ("done", "ready_for_action", "stale"), ("step", "qzx", "other"),
        ("wait", "completed", "premature"), ("wait", "ready_for_action", "ahead"),
        ("ready", "post_observation_continue", "ahead"),
    ],
)  # fmt: skip
def test_wrong_values_are_of_one_kind(checkpoint: str, value: str, kind: str) -> None:
    """Stale, premature, ahead, or none of the stages."""
    found = m.wrong_values(columns([row(checkpoint, reply=said(value))]))
    assert {k: v.hits for k, v in found.items()} == {k: int(k == kind) for k in found}
    assert all(v.of == 1 for v in found.values())


def test_an_empty_denominator_is_not_estimable() -> None:
    """Phi where every turn calls a tool: no number, and the table says so."""
    c = columns([row("step", scenario=s, reply=Reply(mode="act")) for s in ("s1", "s2")])
    one = m.measure(c, "phi")
    assert one.value is None
    assert one.wilson is None
    assert one.over_scenarios.shown().startswith("not estimable")
    assert m.measure(c, "theta").value == 0
    assert m.delta(c).shown().startswith("not estimable")


def test_delta_is_intermediate_minus_terminal() -> None:
    """All encodings pooled; negative where the middle is lost, with the floor of the exact test at six scenarios."""
    rows = plan({"wait": 1, "ready": 0, "step": 0, "done": 1}, scenarios=6, repetitions=4, encodings=("xml", "json"))
    found = m.delta(columns(rows))
    assert found.value == pytest.approx(1 / 3 - 1)
    assert found.p == pytest.approx(2 / 2**6)
    assert found.degenerate
    assert found.shown(sign=True) == "-66.7 [degenerate]"


def test_crossed_effects_are_the_differences_put_in() -> None:
    """Cells made of stated main effects and one interaction give them back exactly (equation 16)."""
    factors = {"a": ("0", "1"), "b": ("0", "1"), "c": ("0", "1")}
    rows = []
    for a, b, c, n in itertools.product((0, 1), (0, 1), (0, 1), range(4)):
        right = 2 + 4 * a + 1 * b + 3 * a * b  # of 20; c does nothing
        levels = {"a": str(a), "b": str(b), "c": str(c)}
        values = ("post_observation_continue" if k < right else None for k in range(20))
        rows += [row("step", scenario=f"s{n}", factors=levels, reply=said(v)) for v in values]
    found = m.crossed(columns(rows), factors, "theta")
    assert {k: round(20 * (v.value or 0), 9) for k, v in found.items()} == {
        "a": 5.5, "b": 2.5, "c": 0, "a x b": 3, "a x c": 0, "b x c": 0,
    }  # fmt: skip
    less = m.crossed(columns([r for r in rows if r.factors["c"] == "0"]), factors, "theta")
    assert all(v.value is None for v in less.values())


def test_rows_that_cannot_be_told_apart_are_refused() -> None:
    """No rows, or a factor that hides a field."""
    with pytest.raises(InputError, match="no rows"):
        columns([])
    with pytest.raises(InputError, match="arm"):
        columns([msgspec.structs.replace(row(), factors={"arm": "x"})])
