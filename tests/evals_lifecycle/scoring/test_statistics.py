"""Bootstrap, sign-flip and the two models: against other ways to the same number, and where there is none."""

from __future__ import annotations

import itertools
import random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tallystick.evals.common.clusters import difference, estimate, share, sign_flip, weights
from tallystick.evals.common.estimate import NOT_ESTIMABLE
from tallystick.evals.lifecycle import measures, models
from tallystick.evals.lifecycle.columns import Columns, columns
from tallystick.evals.lifecycle.row import Row
from tests.evals_lifecycle.scoring.made import plan

LOST = {"wait": 0.8, "ready": 0.2, "step": 0.3, "done": 0.9}


def fitted(rows: list[Row]) -> Columns:
    return models.rows_of(columns(rows))


# ---------------------------------------------------------------------- bootstrap


def test_the_bootstrap_resamples_clusters_with_replacement() -> None:
    """Every resample draws as many clusters as there are, and every cluster about equally often."""
    drawn = weights(12)
    assert drawn.shape == (10_000, 12)
    assert (drawn.sum(axis=1) == 12).all()
    assert abs(drawn.mean(axis=0) - 1).max() < 0.05
    assert abs(drawn.var() - 11 / 12) < 0.02  # of Binomial(12, 1/12)


def test_the_bootstrap_agrees_with_resampling_rows_by_hand() -> None:
    """Clusters of unequal size, concatenated per replicate in plain Python."""
    draw = random.Random(8)
    clusters = [[draw.random() < 0.2 + 0.06 * c for _ in range(20 + 5 * c)] for c in range(10)]
    shares = []
    for _ in range(4_000):
        rows = [hit for _ in clusters for hit in draw.choice(clusters)]
        shares.append(sum(rows) / len(rows))
    shares.sort()
    found = estimate([(sum(c), len(c)) for c in clusters], share)
    assert found.value == sum(map(sum, clusters)) / sum(map(len, clusters))
    assert (found.low, found.high) == (pytest.approx(shares[100], abs=0.01), pytest.approx(shares[3899], abs=0.01))


def test_repeated_measures_do_not_narrow_an_interval() -> None:
    """Ten times the repetitions with the same shares per scenario: the same interval."""
    sums = np.array([(3 * c, 40, c, 40) for c in range(1, 13)])
    assert estimate(sums, difference) == estimate(10 * sums, difference)


def test_what_cannot_be_resampled_has_no_interval_and_says_so() -> None:
    """One cluster; nothing counted; a denominator that most resamples lack."""
    one = estimate([(1, 2)], share)
    assert (one.value, one.low) == (0.5, None)
    assert "one cluster" in one.why
    none = estimate([(0, 0), (0, 0)], share)
    assert none.value is None
    assert none.shown() == f"{NOT_ESTIMABLE} (nothing in a denominator)"
    rare = estimate([(1, 2, 1, 1), *[(1, 2, 0, 0)] * 5], difference)
    assert (rare.value, rare.low) == (-1 / 3 + -1 / 6, None)
    assert "resamples" in rare.why
    same = estimate([(2, 2)] * 12, share)
    assert same.degenerate
    assert same.shown() == "100.0 [degenerate]"


# ---------------------------------------------------------------------- sign-flip


@given(st.lists(st.integers(-5, 5), min_size=1, max_size=9))
@settings(max_examples=60)
def test_the_sign_flip_counts_every_pattern(values: list[int]) -> None:
    """Against enumeration with whole numbers."""
    extreme = sum(
        abs(sum(s * v for s, v in zip(signs, values, strict=True))) >= abs(sum(values))
        for signs in itertools.product((1, -1), repeat=len(values))
    )
    assert sign_flip(values).p == extreme / 2 ** len(values)
    assert sign_flip([v / 7 for v in values]).p == extreme / 2 ** len(values)


@pytest.mark.parametrize(("clusters", "floor"), [(6, 0.03125), (12, 2 / 4096), (1, 1.0)])
def test_the_smallest_p_is_two_of_all_patterns(clusters: int, floor: float) -> None:
    """.031 at six clusters."""
    assert sign_flip([0.1] * clusters).p == floor


def test_the_exact_test_says_where_it_is_none() -> None:
    """No cluster, or too many to enumerate; and no difference at all is p = 1."""
    assert sign_flip([]).value is None
    many = sign_flip([0.1] * 30)
    assert (many.value, many.p) == (pytest.approx(0.1), None)
    assert many.why
    assert sign_flip([0.0] * 12).p == 1


# ---------------------------------------------------------------------- models


def test_the_mixed_models_coefficient_is_the_difference_of_shares_in_a_balanced_plan() -> None:
    """As in every balanced plan; its p is small where the bootstrap excludes zero."""
    c = fitted(plan(LOST, spread=0.2, repetitions=10))
    found = models.mixed(c)
    assert found.value == pytest.approx(measures.delta(c).value, abs=1e-6)
    assert found.p is not None
    assert found.p < 1e-9
    assert (found.rows, found.clusters) == (480, 12)


def test_scenarios_that_do_not_differ_are_noted_and_still_fitted() -> None:
    """The variance's bound of zero is no failure: then it is ordinary least squares."""
    found = models.mixed(fitted(plan(LOST, repetitions=10)))
    assert found.value is not None
    assert "variance is 0" in found.why


def sandwich(c: Columns) -> tuple[float, float]:
    """Logistic regression by Newton's method with cluster-robust errors, in plain numpy."""
    y = c.coded("CLEAN").astype(float)
    fixed = [c.named("deployment", d).astype(float) for d in c.present("deployment")]
    x = np.column_stack([c.at(*measures.INTERMEDIATE).astype(float), *fixed])
    beta: Any = np.zeros(x.shape[1])
    for _ in range(50):
        p = 1 / (1 + np.exp(-x @ beta))
        bread = np.linalg.inv((x * (p * (1 - p))[:, None]).T @ x)
        beta = beta + bread @ x.T @ (y - p)
    scores = [x[g].T @ (y - p)[g] for g in (c.index["scenario"] == n for n in range(len(c.names["scenario"])))]
    meat = sum(np.outer(s, s) for s in scores)
    return float(beta[0]), float(np.sqrt((bread @ meat @ bread)[0, 0]))


def test_the_pooled_model_is_logistic_regression_with_errors_by_scenario() -> None:
    """GEE under independence, against Newton and a sandwich by hand; leaving scenarios out moves it around itself."""
    rows = [r for d, p in (("a", 0.1), ("b", 0.3), ("c", 0.5)) for r in
            plan({**LOST, "ready": p, "step": p}, deployment=d, spread=0.15, repetitions=6, scenarios=6)]  # fmt: skip
    c = fitted(rows)
    found = models.pooled(c)
    assert (found.value, found.se) == (pytest.approx(sandwich(c)[0], abs=1e-6), pytest.approx(sandwich(c)[1], rel=1e-4))
    left = models.without_each_scenario(c)
    assert len(left.by_scenario) == 6
    assert left.low is not None
    assert left.high is not None
    assert left.low < found.value < left.high  # type: ignore[operator]


def test_only_baseline_xml_due_answered_rows_are_fitted() -> None:
    """Other encodings, arms, positions and lost replies are left out."""
    rows = plan({**LOST, "act": 0.5}, encodings=("xml", "json"), repetitions=2)
    assert len(fitted(rows)) == 12 * 4 * 2


@pytest.mark.parametrize(
    ("clean", "why"),
    [
        (dict.fromkeys(LOST, 1.0), "every row is clean"), (dict.fromkeys(LOST, 0.0), "no row is clean"),
        ({"wait": 0.5, "ready": 0.5}, "only intermediate"),
        ({**dict.fromkeys(LOST, 0.0), "done": 1.0}, "nothing varies"),
    ],
)  # fmt: skip
def test_the_mixed_model_says_why_it_cannot(clean: dict[str, float], why: str) -> None:
    """Degenerate outcomes print as not estimable, with the reason."""
    found = models.mixed(fitted(plan(clean, repetitions=3)))
    assert found.value is None
    assert found.shown().startswith(NOT_ESTIMABLE)
    assert why in found.why


def test_separated_stages_have_no_odds_ratio() -> None:
    """A middle that is never clean has infinite log odds, which no fit may round off to a number."""
    found = models.pooled(fitted(plan({**dict.fromkeys(LOST, 0.0), "done": 0.6}, repetitions=3)))
    assert found.value is None
    assert "separated" in found.why


def test_deployments_that_never_vary_are_left_out_and_named() -> None:
    """They carry nothing about the coefficient."""
    rows = plan(LOST, deployment="a", repetitions=4)
    more = plan(dict.fromkeys(LOST, 0.0), deployment="never", repetitions=4)
    alone, both = models.pooled(fitted(rows)), models.pooled(fitted([*rows, *more]))
    assert both.value == pytest.approx(alone.value)
    assert "never" in both.why


def test_one_scenario_is_no_cluster_statistic() -> None:
    """Neither model is fitted to one scenario."""
    c = fitted(plan(LOST, scenarios=1, repetitions=20))
    assert "one scenario" in models.mixed(c).why
    assert "one scenario" in models.pooled(c).why


def test_a_fit_that_does_not_converge_is_not_estimable(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever numbers it stopped at."""
    from statsmodels import api

    c = fitted(plan(LOST, repetitions=4))
    fit = api.MixedLM.fit

    def stopped(*args: Any, **kwargs: Any) -> Any:
        found = fit(*args, **kwargs)
        found.converged = False
        return found

    monkeypatch.setattr(api.MixedLM, "fit", stopped)
    assert models.mixed(c).why == "the fit does not converge"

    def singular(*_: Any, **__: Any) -> Any:
        raise np.linalg.LinAlgError("Singular matrix")

    monkeypatch.setattr(api.GEE, "fit", singular)
    assert "Singular" in models.pooled(c).why
