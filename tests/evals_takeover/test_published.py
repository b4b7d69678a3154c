"""The paper's figures are transcribed as printed: what it says of them follows from them."""

from __future__ import annotations

from decimal import Decimal

import pytest

from tallystick.evals.common.exact import upper_limit
from tallystick.evals.takeover.costs import cost_percent, macro_gap
from tallystick.evals.takeover.published import published

ROWS = published()["results"]["rows"]


def _of(row: dict[str, object], part: int) -> dict[str, Decimal | None]:
    cells = row["cells"]
    assert isinstance(cells, list)
    return {n: None if c is None else Decimal(c[part]) for n, c in zip(published()["surfaces"], cells, strict=True)}


def _anchor(row: dict[str, object]) -> dict[str, object]:
    return next(r for r in ROWS if r["pair"] == row["pair"] and r["method"] == "strong full")


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row['pair']} {row['method']}")
def test_the_printed_cost_percent_is_the_mean_of_per_surface_ratios(row: dict[str, object]) -> None:
    """Our rule of cost over the printed cells gives the printed column, as far as printed digits allow."""
    ours = cost_percent(_of(row, 1), _of(_anchor(row), 1))
    assert ours == pytest.approx(float(row["cost_percent"]), abs=0.15)  # type: ignore[arg-type]


@pytest.mark.parametrize("row", [r for r in ROWS if r["gap"] is not None], ids=lambda r: f"{r['pair']} {r['method']}")
def test_the_printed_gap_is_the_difference_of_macro_scores(row: dict[str, object]) -> None:
    """Over the surfaces a method was evaluated on, as the paper says."""
    ours = {n: float(v) for n, v in _of(row, 0).items() if v is not None}
    anchor = {n: float(v) for n, v in _of(_anchor(row), 0).items() if v is not None}
    assert macro_gap(ours, anchor) == pytest.approx(float(row["gap"]), abs=0.1)  # type: ignore[arg-type]


def test_an_amount_is_never_a_float() -> None:
    """17.70 stays 17.70."""
    cell = next(r for r in ROWS if r["method"] == "strong full")["cells"][2]
    assert isinstance(cell[1], Decimal)
    assert str(cell[1]) == "17.70"


def test_what_the_text_does_not_print_is_blank_and_said_to_be() -> None:
    """No cell of ours fills a gap of the paper's."""
    stages = published()["stages"]
    assert stages["rows"]["contract_plan"][1] is None
    assert "not in the extracted text" in stages["missing"]


def test_the_audit_adds_up() -> None:
    """43 rejections are 25 + 10 + 8, and with the holds they are the interventions."""
    rows = published()["audits"]["rows"]
    assert sum(rows[f"rejections for {c}"] for c in ("coverage", "dependency", "grounding")) == rows["rejections"]
    assert rows["rejections"] + rows["holds"] == rows["interventions before the first live write"][1]


def test_none_of_fifty_gives_the_printed_bound() -> None:
    """One-sided 95% Clopper-Pearson."""
    limit = upper_limit(0, 50)
    assert limit is not None
    assert f"{100 * limit:.1f}" == str(published()["audits"]["rows"]["ungrounded live writes, upper bound (%)"])


@pytest.mark.parametrize(("hits", "of", "limit"), [(0, 1, 0.95), (1, 1, 1.0), (3, 50, 0.1478), (0, 10_000, 0.0002995)])
def test_the_exact_limit_is_the_textbooks(hits: int, of: int, limit: float) -> None:
    """Checked against the beta quantile."""
    assert upper_limit(hits, of) == pytest.approx(limit, rel=1e-3)


def test_nothing_counted_has_no_limit() -> None:
    """0 of 0 says nothing."""
    assert upper_limit(0, 0) is None
