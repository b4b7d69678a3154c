"""The corruption gate: it passes the suite's scorer on live replies, and catches scorers broken on purpose."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from tallystick.errors import InputError
from tallystick.evals.lifecycle import obligations
from tallystick.evals.lifecycle.corruption import SUCCESSES, gate, inverted, main
from tallystick.evals.lifecycle.row import Reply, Row
from tallystick.evals.lifecycle.score import Score, score
from tallystick.evals.lifecycle.suite.kept import rows as rows_of
from tallystick.evals.lifecycle.suite.reporters import scripted
from tallystick.evals.lifecycle.suite.run import answered
from tallystick.evals.lifecycle.suite.studies import items
from tests.evals_lifecycle.scoring.made import row, said


def replies(study: str, *who: str, times: int = 1) -> list[Row]:
    found = items(study)
    return [r for w in who for r in rows_of(found, answered(found, scripted(f"scripted:{w}"), times))]


@pytest.fixture(scope="module")
def live() -> list[Row]:
    return replies("main", "truthful", "lost", "stale", "alarms")


def forgiving(one: Row, found: Score, *codes: str) -> Score:
    return msgspec.structs.replace(found, code="CLEAN") if found.code in codes else found


BROKEN: dict[str, Callable[[Row], Score]] = {
    "value not compared": lambda r: forgiving(r, score(r), "STATE_WRONG"),
    "silence is fine": lambda r: forgiving(r, score(r), "APP_MISS"),
    "alarms not looked at": lambda r: forgiving(r, score(r), "APP_FALSE_ALARM"),
    "gold written over by the report": lambda r: score(
        msgspec.structs.replace(r, expected=score(r).value or r.expected)
    ),
    "nothing is ever clean": lambda r: msgspec.structs.replace(score(r), code="MALFORMED"),
    "everything is clean": lambda r: msgspec.structs.replace(score(r), code="CLEAN"),
    "the deployment's name decides": lambda r: (
        msgspec.structs.replace(score(r), code="CLEAN") if r.deployment == "scripted:truthful" else score(r)
    ),
    "silent where nothing is due is an error": lambda r: (
        score(r) if r.due else msgspec.structs.replace(score(r), code="APP_MISS")
    ),
}


def test_the_suites_scorer_passes(live: list[Row]) -> None:
    """Blanked: only not-due rows are clean, and all of them. Inverted: none. Righted: all."""
    found = gate(live)
    assert found.passed, found.failures
    blank, inverse = found.replayed["blanked"], found.replayed["inverted"]
    assert (blank.clean_due, blank.clean_not_due) == (0, blank.not_due)
    assert (inverse.clean_due, inverse.clean_not_due) == (0, 0)
    assert inverse.measures == dict.fromkeys(SUCCESSES, 0.0)
    assert found.replayed["righted"].measures == dict.fromkeys(SUCCESSES, 1.0)


@pytest.mark.parametrize("fault", BROKEN)
def test_a_broken_scorer_is_caught(fault: str, live: list[Row]) -> None:
    """Each breaks one rule, and fails the gate."""
    found = gate(live, BROKEN[fault])
    assert not found.passed
    assert found.failures


@pytest.mark.parametrize("study", ["five_arms", "negative", "thinking", "bundle", "crossed"])
def test_the_gate_passes_on_the_other_studies(study: str) -> None:
    """Constant arms and positions where nothing is due included."""
    assert gate(replies(study, "truthful", "lost")).passed


def test_the_matched_obligations_have_a_gate_of_their_own() -> None:
    """In both views, with their own corruptions; the stage gate's corruptions would leave O1 and O2 alone."""
    rows = replies("obligations", "truthful", "lost", "premature")
    for view in obligations.VIEWS:
        found = gate(rows, lambda r, v=view: obligations.score(r, v), obligations.CORRUPTIONS)  # type: ignore[misc]
        assert found.passed, found.failures
    assert not gate(rows, lambda r: forgiving(r, obligations.score(r), "STATE_WRONG"), obligations.CORRUPTIONS).passed
    assert not gate(rows, obligations.score).passed


def test_inverting_never_makes_a_wrong_value_right() -> None:
    """Whatever was said, what is said after inversion is not the expected value."""
    for value in ("completed", "post_observation_continue", "qzx", "stage", "e"):
        for encoding in ("xml", "json"):
            one = row("step", encoding=encoding, reply=said(value, encoding))  # type: ignore[arg-type]
            assert score(inverted(one)).code != "CLEAN"


def test_the_gate_needs_an_answered_row() -> None:
    """Rows lost to transport show nothing."""
    with pytest.raises(InputError, match="no rows"):
        gate([row(reply=Reply(valid=False))])


def test_the_command_says_what_failed(tmp_path: Path, capsys: pytest.CaptureFixture[str], live: list[Row]) -> None:
    """0 where the gate passes, 2 where the file is no rows."""
    path = tmp_path / "rows.jsonl"
    path.write_bytes(b"\n".join(msgspec.json.encode(r) for r in live[:50]))
    assert main([str(path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["passed"] is True
    assert main([str(path)]) == 0
    assert "corruption gate passed" in capsys.readouterr().out
    path.write_text('{"study": 1}\n', encoding="utf-8")
    assert main([str(path)]) == 2
    assert "rows.jsonl:1" in capsys.readouterr().err
    assert main([str(tmp_path / "none")]) == 2
