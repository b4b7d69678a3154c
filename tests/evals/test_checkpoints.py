"""The labelled checkpoints, and what the evaluator makes of them."""

from __future__ import annotations

from collections import Counter

import pytest

from tallystick.evals.evidence import checkpoints
from tallystick.evals.evidence import score as evaluator


def test_the_shipped_set_is_what_it_says() -> None:
    """150 supported and 150 unsupported moments, over all domains and acting protocols, each made one way."""
    points = checkpoints.shipped()
    assert Counter(p.supported for p in points) == {True: 150, False: 150}
    assert len({(p.case, p.how, len(p.calls)) for p in points}) == 300
    assert {p.case.split("-")[-2] for p in points} == {"v1", "v2", "v3"}
    assert len(Counter(p.how for p in points if not p.supported)) == 10
    assert set(Counter(p.how for p in points if not p.supported).values()) == {15}


def test_the_evaluator_is_within_the_published_audit_figures() -> None:
    """False acceptance at most 2.0%, false rejection at most 1.3%, on the frozen transcripts."""
    told = checkpoints.audit(checkpoints.shipped())
    assert told.checkpoints == 300
    assert told.false_acceptance <= 0.020
    assert told.false_rejection <= 0.013


def test_a_lenient_and_a_strict_evaluator_are_told_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    """The audit can fail both ways."""
    points = checkpoints.shipped()
    with monkeypatch.context() as patch:
        patch.setattr(evaluator.Observed, "status", lambda *_: "established")
        assert checkpoints.audit(points).false_acceptance > 0.02
    with monkeypatch.context() as patch:
        patch.setattr(evaluator, "_asks", lambda *_: False)
        assert checkpoints.audit(points).false_rejection > 0.5


def test_the_shipped_set_is_what_the_paths_give() -> None:
    """Made again, the set is the same, byte for byte."""
    assert checkpoints.text(checkpoints.made()) == checkpoints.data(checkpoints.FILE)
