"""Figures and the page: drawn from a report alone, nothing fetched, the published never as ours."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tallystick.errors import InputError
from tallystick.evals.evidence import figures
from tallystick.evals.evidence.page import page
from tallystick.evals.evidence.run import run
from tallystick.evals.evidence.scripted import Scripted
from tallystick.evals.evidence.study import study


@pytest.fixture(scope="module")
def report() -> dict[str, Any]:
    return run(Scripted(fault="acts_early", p=0.5), limit=40, resample=False)


@pytest.fixture(scope="module")
def arms() -> dict[str, Any]:
    return study(Scripted(fault="stops_early", p=0.5), ["interventions", "matched"], limit=6, resample=False)


def drawn(told: dict[str, Any]) -> dict[str, str]:
    pytest.importorskip("matplotlib", reason="the `evals` extra is not installed")
    return dict(figures.inline(told))


def test_a_reports_figures_name_the_agent_and_the_source_of_what_is_not_ours(report: dict[str, Any]) -> None:
    """Three figures; the published configurations are labelled published, in the figure itself."""
    found = drawn(report)
    assert set(found) == {"ecs", "splits", "readiness"}
    assert "scripted:acts_early@0.5" in found["ecs"]
    assert "published: GLM-ZCode" in found["ecs"]
    assert "not ours" in found["ecs"]
    assert "published" not in found["splits"]


def test_the_same_report_gives_the_same_svg(report: dict[str, Any]) -> None:
    assert drawn(report) == drawn(report)


def test_derived_sets_have_their_own_figures(arms: dict[str, Any], tmp_path: Path) -> None:
    """Interventions by arm, static beside interactive; PNG and SVG."""
    assert set(drawn(arms)) == {"interventions", "static-interactive"}
    names = figures.save(arms, tmp_path)
    assert len(names) == 4
    assert all((tmp_path / n).stat().st_size > 5_000 for n in names)
    assert (tmp_path / "interventions.png").read_bytes().startswith(b"\x89PNG")


def test_the_page_fetches_nothing_and_runs_nothing(report: dict[str, Any], arms: dict[str, Any]) -> None:
    """No script, no link, no address but names of XML vocabularies; every definition and the overlap note."""
    for told in (report, arms):
        text = page(told)
        assert not re.search(r"<script|<link|<img|@import|url\(http|\bsrc=", text)
        assert set(re.findall(r'(?:href|src)="([^"#][^"]*)"', text)) <= {""}
        assert "Diagnostics overlap by design" in text
        assert "not ours" in text


def test_names_are_shown_and_never_read_as_markup(report: dict[str, Any]) -> None:
    """An agent's name is the user's."""
    text = page({**report, "agent": "<script>alert(1)</script>"})
    assert "<script" not in text


def test_without_matplotlib_the_page_has_its_tables(report: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """A missing extra costs figures only, and is said."""
    monkeypatch.setitem(__import__("sys").modules, "matplotlib", None)
    with pytest.raises(InputError, match="matplotlib"):
        figures.draw(report)
    text = page(report)
    assert "No figures: figures need matplotlib" in text
    assert "<table>" in text


def test_arms_are_paired_with_their_base(arms: dict[str, Any]) -> None:
    """Each arm beside the one it differs from; a scripted agent acts in the original only."""
    found = {(p["base"], p["arm"], p["measure"]): p for p in arms["paired"]}
    assert ("pairs", "pairs-interactive", "exact") in found
    assert found["original", "withheld", "acted"]["difference"] < 0
    assert found["withheld", "distractors", "information_calls"]["scenarios"] == 6
