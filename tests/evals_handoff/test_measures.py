"""The estimands on rows whose answers are known."""

from __future__ import annotations

import math
from typing import Any

import pytest

from tallystick.evals.handoff import logistic, measures
from tallystick.evals.handoff.episode import Episode
from tallystick.evals.handoff.rows import Coded, Row
from tallystick.evals.handoff.tables import published
from tallystick.evals.handoff.task import tasks


def row(condition: str, about: int = 0, *, d: bool = False, y: bool = False, **more: Any) -> Row:
    one = tasks()[about % 32]
    coded = Coded(
        status=not d, prerequisite=True, authority=True, fallback=True, preserves=not d, caveat=d, retention=1.0,
        p=more.pop("p", not d), d=d,
    )  # fmt: skip
    told: dict[str, Any] = {
        "study": "main", "source": f"main/{condition}/{one.id}/note", "trajectory": one.trajectory, "form": "note",
        "route": "label", "control": "plain", "substrate": "plain", "model": "m", "reviewer": "r", "transformer": "t",
        "executor": "e", "d_up": True, "competent": True, "received": "x", "sha256": "0", "sight": "x",
        "action": "wait", "recognised": not y, "allowed": True,
    }  # fmt: skip
    episode = Episode(**{**told, **more, "condition": condition, "task": one.id, "domain": one.domain, "forbidden": y})
    return Row(episode=episode, precedence=coded, plain=coded)


def test_differences_are_condition_minus_control_and_tasks_are_the_clusters() -> None:
    rows = [row("P0", n) for n in range(8)] + [row("P4", n, d=n % 2 == 0, y=n % 4 == 0) for n in range(8)]
    (found,) = measures.contrasts(rows, "plain")
    assert (found.condition, found.control, found.n) == ("P4", "P0", (8, 8))
    assert (found.delta_p.value, found.delta_d.value, found.delta_y.value) == (0.5, 0.5, 0.25)
    assert found.delta_d.clusters == 8
    assert found.delta_d.low is not None
    assert found.delta_d.low < 0.5


def test_only_episodes_identified_upstream_count() -> None:
    rows = [row("P0", n) for n in range(4)] + [row("P4", n, d=True, d_up=n < 2) for n in range(4)]
    (found,) = measures.contrasts(rows, "plain")
    assert found.n == (2, 2)
    assert measures.contrasts([row("P0", 0), row("P4", 0, d_up=False)], "plain") == []


def test_unmatched_tasks_do_not_count() -> None:
    (found,) = measures.contrasts([row("P0", 0), row("P0", 1), row("P4", 1, d=True)], "plain")
    assert found.n == (1, 1)


def test_preserved_deactivated_and_residual_are_a_partition() -> None:
    rows = [row("P4", 0), row("P4", 1, d=True), row("P4", 2, p=False)]
    told = measures.matrix(rows, "plain")["P4"]
    assert [told[k].hits for k in "PDU"] == [1, 1, 1]


def test_flips_give_the_papers_states_from_the_papers_gaps() -> None:
    # Rates of tables 2 and 6 by condition, 336 control and 960 transformed episodes.
    table = published()["main"]["rows"]
    rows: list[Row] = []
    for condition, (n, _, d, y, _) in table.items():
        hits_d, hits_y = round(n * d / 100), round(n * y / 100)
        rows += [row(condition, k, d=k < hits_d, y=k < hits_y) for k in range(n)]
    assert len(rows) == 1296
    told = measures.outcomes("plain")
    theirs = published()["flips"]["rows"]
    for at, name in enumerate(("D", "Y")):
        for one in measures.flipped(rows, told[name]):
            assert one.state == theirs[round(100 * one.share)][at]
    assert measures.gap(rows, told["D"]) == pytest.approx(0.51, abs=0.005)
    assert measures.gap(rows, told["Y"]) == pytest.approx(0.283, abs=0.005)


def test_nothing_to_compare_is_not_estimable() -> None:
    told = measures.outcomes("plain")
    assert math.isnan(measures.gap([row("P4", 0)], told["D"]))
    assert {one.state for one in measures.flipped([row("P4", 0)], told["D"])} == {"not estimable"}
    spans = measures.spans([row("P0", 0), row("P4", 0, d=True)], "plain")
    assert spans["leave_one_model_out"]["D"].low is None
    assert spans["balanced"]["D"].low == 1.0


def test_leaving_a_domain_out_moves_the_gap_only_by_that_domain() -> None:
    rows = [row("P0", n) for n in range(20)]
    rows += [row("P4", n, d=tasks()[n].domain == "restricted_docs") for n in range(20)]
    told = measures.spans(rows, "plain")["leave_one_domain_out"]["D"]
    assert told.by_slice["restricted_docs"] == 0.0
    assert told.low == 0.0
    assert told.high == pytest.approx(4 / 16, abs=0.02)


def test_transition_loss_is_identified_upstream_and_not_recognised() -> None:
    rows = [row("S3", 20, y=True), row("S3", 21, y=True, d_up=False), row("S3", 22)]
    assert measures.matrix(rows, "plain")["S3"]["transition_loss"].hits == 1


# ---------------------------------------------------------------------- odds ratios


def test_one_predictor_has_the_odds_ratio_of_a_table_with_half_added_to_each_cell() -> None:
    rows = [row("P0", n, d=n < 1) for n in range(10)] + [row("P4", n, d=n < 7) for n in range(12)]
    found = logistic.odds_ratios(rows, "plain")["D on transformation"]
    assert found.value == pytest.approx((7.5 * 9.5) / (5.5 * 1.5), rel=1e-6)
    assert found.low is not None
    assert found.low < found.value < (found.high or 0)


def test_separation_has_a_finite_estimate_and_degenerate_data_none() -> None:
    apart = [row("P0", n) for n in range(10)] + [row("P4", n, d=True) for n in range(10)]
    found = logistic.odds_ratios(apart, "plain")
    assert found["D on transformation"].value == pytest.approx(21.0**2, rel=1e-4)
    assert found["Y on transformation"].value is None
    assert "does not vary" in found["Y on transformation"].why
    assert logistic.odds_ratios(apart[:10], "plain")["D on transformation"].value is None


def test_two_predictors_that_are_one_are_not_estimable() -> None:
    rows = [row("P4", n, d=True, y=n % 2 == 0) for n in range(6)] + [row("S3", n, y=False) for n in range(20, 26)]
    assert "one" in logistic.odds_ratios(rows, "plain")["Y on D"].why
