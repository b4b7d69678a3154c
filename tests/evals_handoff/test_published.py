"""Every published figure stands in the seed as it is printed there."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from tallystick.evals.handoff.tables import published


@pytest.fixture(scope="module")
def seed(shared: Path) -> str:
    return (shared / "seeds" / "constraint-weakening.txt").read_text(encoding="utf-8")


def glued(row: Sequence[float | None], digits: int = 1) -> str:
    """A table's row as the extracted text prints it: count and values without a space between them."""
    first, *rest = row
    return f"{first}" + "".join("\u2013" if v is None else f"{v:.{digits}f}" for v in rest)


@pytest.mark.shared
@pytest.mark.parametrize("table", ["main", "losses", "compression", "restoration", "leave_out", "endpoint"])
def test_rows_are_the_papers(seed: str, table: str) -> None:
    for name, row in published()[table]["rows"].items():
        if name == "Direct controls":
            assert "Direct controls3360.00.00.0 † 0.00.0" in seed
            continue
        # Table 2 prints no transition loss, table 6 does; in the seed both stand as they are glued here.
        assert glued(row) in seed, (table, name)


@pytest.mark.shared
def test_contrasts_and_their_intervals_are_the_papers(seed: str) -> None:
    for name, row in published()["contrasts"]["rows"].items():
        told = "".join(f"{v[0]:.1f} [{v[1]:.1f}, {v[2]:.1f}]" for v in (row["D"], row["Y"]))
        assert told in seed, name


@pytest.mark.shared
def test_transport_is_the_papers(seed: str) -> None:
    for substrate, rows in published()["transport"]["substrates"].items():
        for name, (n, p, d, y) in rows.items():
            assert glued([n, d / 100, y / 100, p / 100], digits=3) in seed, (substrate, name)


@pytest.mark.shared
def test_odds_and_ranges_are_the_papers(seed: str) -> None:
    for value, low, high in published()["odds"]["rows"].values():
        assert f"{value}boot CI [{low}, {high}]" in seed
    for row in published()["spans"]["rows"].values():
        assert "".join(f"{low}\u2013{high}" for low, high in (row["D"], row["Y"])) in seed
    for share, states in published()["flips"]["rows"].items():
        assert f"{share}%{''.join(states)}" in seed
