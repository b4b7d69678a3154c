"""The calibration set: frozen, labelled by construction, its halves apart; and a guard against a step back."""

from __future__ import annotations

import json
from collections import Counter
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
import yaml

from tallystick.evals.handoff.calibration import __main__ as command
from tallystick.evals.handoff.calibration import build
from tallystick.evals.handoff.calibration.score import FIELDS, expected, report

PACKAGE = "tallystick.evals.handoff.calibration"


def kept(name: str) -> str:
    return resources.files(PACKAGE).joinpath(name).read_text(encoding="utf-8")


def test_the_set_is_the_one_that_was_frozen() -> None:
    manifest = json.loads(kept("manifest.json"))
    assert build.digest() == manifest["sha256"]
    assert len(build.items()) == manifest["items"] == 180
    assert Counter(i.half for i in build.items()) == manifest["halves"]


def test_the_halves_share_no_task_and_no_wording() -> None:
    for condition, text in yaml.safe_load(kept("texts.yaml")).items():
        dev, scored = ({w for words in text[half].values() for w in words} for half in ("dev", "scored"))
        assert not dev & scored, condition
    tasks = {half: {i.task["id"] for i in build.items() if i.half == half} for half in ("dev", "scored")}
    assert not tasks["dev"] & tasks["scored"]
    assert len({i.artifact for i in build.items()}) == 180


def test_labels_follow_the_rule_and_every_outcome_occurs() -> None:
    rows = [expected(i) for i in build.items()]
    assert all(r["P"] + r["D"] + r["U"] == 1 for r in rows)
    assert all({r[f] for r in rows} == {0, 1} for f in (*FIELDS, "U"))


@pytest.fixture(scope="module")
def found() -> dict[str, Any]:
    return report()


@pytest.mark.parametrize("half", ["dev", "scored"])
def test_the_rules_read_what_they_read_before(found: dict[str, Any], half: str) -> None:
    """No first sight: both halves have been looked at by now."""
    assert found[half]["n"] == 90
    assert found[half]["mean_macro_f1"] >= 0.95
    assert min(found[half]["macro_f1"][f] for f in FIELDS) >= 0.9


def test_the_page_says_what_is_measured(found: dict[str, Any]) -> None:
    page = (Path(__file__).parents[3] / "docs/reference/handoff-checker.md").read_text(encoding="utf-8")
    (line,) = [n for n in page.splitlines() if n.startswith("| shipped | other")]
    other = found["scored"]
    figures = [other["mean_macro_f1"], *(other["macro_f1"][f] for f in ("P", "D", "C", "r_s", "r_q", "r_o", "r_f"))]
    assert line.split(" | ")[3:] == [*(f"{v:.3f}" for v in figures[:-1]), f"{figures[-1]:.3f} |"]


def test_confusions_are_the_fields_that_differ(found: dict[str, Any]) -> None:
    for half in ("dev", "scored"):
        counted = Counter(c["field"] for c in found[half]["confusions"])
        assert all(counted[f] == round((1 - found[half]["agreement"][f]) * 90) for f in FIELDS)


def test_the_command_prints_both_halves(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main([]) == 0
    assert "scored n=90" in capsys.readouterr().out
    assert command.main(["--json"]) == 0
    assert json.loads(capsys.readouterr().out)["items"] == 180
