"""The printed report: ours with counts and definitions, the published beside and marked."""

from __future__ import annotations

from tallystick.evals.evidence.measures import DEFINITIONS
from tallystick.evals.evidence.run import run
from tallystick.evals.evidence.scripted import Scripted
from tallystick.evals.evidence.tables import text


def test_a_report_shows_what_ran_how_it_is_defined_and_what_is_not_ours() -> None:
    """Agent, gate, seed, counts, every definition, the overlap note, the published figures with their places."""
    shown = text(run(Scripted(fault="wrong_entity", p=0.5), limit=30, gated=True))
    assert "scripted agent `scripted:wrong_entity@0.5`, behind the act gate; seed tallystick-evidence-1" in shown
    assert "on a wrong entity 0" in shown
    assert all(f"{name}: {words}" in shown for name, words in DEFINITIONS.items())
    assert "Diagnostics overlap by design" in shown
    ours, _, theirs = shown.partition("published (arXiv 2610.07753v1; not ours")
    assert "GLM-ZCode" in theirs
    assert "GLM-ZCode" not in ours
    assert "C.1 p. 18" in theirs


def test_a_report_says_with_which_settings_a_model_ran() -> None:
    """What was kept with the episodes stands above the table."""
    told = run(Scripted(), limit=5, resample=False, settings={"harness": "loop", "max_turns": 8})
    assert "harness loop, max turns 8" in text(told)
