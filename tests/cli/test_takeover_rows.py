"""`show` has a row for each event of a successor's tenure, with the reasons of a rejection, and no arguments."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from tallystick.cli.app import app
from tallystick.demo.desk import Faults
from tallystick.runtime.successors import ScriptedSuccessor
from tests.runtime.takeover_desk import check, forked, frontier, rest

RUN = CliRunner()


def recorded(folder: Path) -> Path:
    """A run with a tenure that failed live, and one whose first proposal was rejected."""

    def trying(brief: Any) -> Any:
        brief.replica.call("payments", {"invoice_id": "I-7"})
        return {"calls": [check()]}

    ledger = folder / "ledger.db"
    with frontier(folder, faults=Faults(nested_error=True), ledger=ledger) as (run, desk, receipt):
        assert run.take_over(ScriptedSuccessor([rest(receipt)]), name="first").reason == "takeover.mismatch"
        assert run.take_over(ScriptedSuccessor([trying, rest(receipt)]), name="second", replica=forked(desk)).complete
    return ledger


def test_each_event_of_a_tenure_is_one_sentence_with_its_reasons(tmp_path: Path) -> None:
    shown = RUN.invoke(app, ["show", str(recorded(tmp_path))], env={"COLUMNS": "200"})
    assert shown.exit_code == 0
    for wanted in (
        "frozen for first (explicit)",
        "tenure t1: send (call c3) failed, residual.unmatched",
        "tenure t1 over: bottom (takeover.mismatch), changes dispatched: 1",
        "tenure t2, proposal 1, graph",
        "1 call tried on a replica: refuse",
        "residual.coverage `delivered` is not covered",
        "tenure t2, proposal 2, graph",
        "discharged: delivered",
        "tenure t2 over: complete (takeover.complete), changes dispatched: 1",
    ):
        assert wanted in shown.output


def test_with_json_the_decision_about_a_proposal_is_values(tmp_path: Path) -> None:
    shown = RUN.invoke(app, ["show", str(recorded(tmp_path)), "--json"])
    events = json.loads(shown.stdout)["events"]
    judged = [event["body"] for event in events if event["body"]["kind"] == "takeover.judged"]
    assert [body["decision"]["verdict"] for body in judged] == ["admit", "refuse", "admit"]


def test_a_recheck_of_it_reproduces(tmp_path: Path) -> None:
    found = RUN.invoke(app, ["recheck", str(recorded(tmp_path)), "--json"])
    assert found.exit_code == 0
