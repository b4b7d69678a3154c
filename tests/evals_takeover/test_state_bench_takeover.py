"""Scripted successors finish recorded prefixes: right or not at all."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from tallystick.cli.app import app
from tallystick.evals.takeover.report import report
from tallystick.evals.takeover.run import Plan, run
from tallystick.evals.takeover.state_bench import Frontier, StateBench
from tallystick.evals.takeover.successors import Mode, mistaken
from tallystick.evals.takeover.surface import Opened
from tests.evals_takeover import state_bench_checkout as made

OUTCOMES: dict[Mode, set[str]] = {
    "omitting": {"residual.coverage"},
    "false_claim": {"residual.coverage"},
    "repeating": {"residual.duplicate"},
    "wrong_entity": {"residual.coverage", "residual.duplicate", "residual.effect"},
}
"""What each mistake is rejected for: at least one of these."""


@pytest.fixture(scope="module")
def live(tmp_path_factory: pytest.TempPathFactory) -> StateBench:
    return StateBench(folder=made.written(tmp_path_factory.mktemp("checkout")))


def first(surface: StateBench) -> Frontier:
    (found,) = [one for one in surface.cuts if "/1-" in one.id]
    return found


def finish(opened: Opened, one: Frontier, proposal: Mapping[str, Any]) -> Any:
    for number, wanted in enumerate(one.gold.owed):
        if f"gold-{number}" not in opened.run.view.obligations:
            opened.run.oblige(f"gold-{number}", tool=wanted.tool, args=wanted.args)
    return opened.run.take_over(lambda _: proposal, attempts=1, allow=one.allow, free=one.free)


def taken_over(one: Frontier, proposal: Mapping[str, Any]) -> tuple[Any, bool, list[str]]:
    with one.open() as opened:
        came = finish(opened, one, proposal)
        return came, opened.correct(), [call.tool for call in opened.meter.dispatched]


def test_the_recorded_remainder_is_admitted_and_finishes_the_task(live: StateBench) -> None:
    one = first(live)
    came, right, dispatched = taken_over(one, one.gold.proposal)
    assert (came.status, came.reason) == ("complete", "takeover.complete")
    assert right
    assert dispatched == ["cancel_booking"]


@pytest.mark.parametrize("mode", sorted(OUTCOMES))
def test_a_mistake_is_rejected_before_anything_is_dispatched(live: StateBench, mode: Mode) -> None:
    one = first(live)
    proposal = mistaken(mode, one.gold)
    assert proposal != one.gold.proposal
    came, right, dispatched = taken_over(one, proposal)
    assert came.status == "bottom"
    assert {code for decision in came.decisions for code in decision.codes} & OUTCOMES[mode]
    assert dispatched == []
    assert not right


def test_a_doubtful_prefix_is_not_taken_over_until_it_is_settled(live: StateBench) -> None:
    (one,) = [cut for cut in live.cuts if "/4-" in cut.id]
    came, _, dispatched = taken_over(one, one.gold.proposal)
    assert (came.status, came.reason) == ("bottom", "residual.doubt")
    assert dispatched == []
    with one.open() as opened:
        opened.run.settle_by_query()
        assert not opened.run.view.doubts
        came = finish(opened, one, one.gold.proposal)
        assert came.status == "complete", came.reasons
        assert opened.correct()


def test_a_remainder_that_lacks_the_customers_answer_is_not_carried_out(live: StateBench) -> None:
    """BK-3 was never previewed, so nobody told the customer what it costs: the plan stops before its first write."""
    (one,) = [cut for cut in live.cuts if cut.kind == "travel, several turns"]
    came, right, dispatched = taken_over(one, one.gold.proposal)
    assert came.status == "bottom"
    assert dispatched == []
    assert not right


def test_the_suite_reports_stages_and_what_the_surface_measured(live: StateBench) -> None:
    told = report(run(Plan(successors=("perfect", "omitting")), live))
    full = told["full"]
    assert (full["episodes"], full["false_complete"], full["writes_under_rejected"]) == (7, 0, 0)
    assert told["obligations_from"] == "gold"
    assert told["direct"]["correct"] == told["direct"]["engaged"]
    omitting = told["successors"]["omitting"]["stages"]
    # One script sees an error that changed the state, and mends.
    assert (omitting["direct"]["engaged"], omitting["direct"]["false_complete"]) == (5, 4)
    assert omitting["full"]["false_complete"] == 0
    assert told["of_the_surface"]["world"] == "simulator"
    assert told["unengaged"] == {"residual.doubt": 2}


def test_the_command_runs_it_from_a_folder_the_user_names(live: StateBench) -> None:
    arguments = ["eval", "takeover", "--surface", "state-bench", "--json", "--successor", "perfect", "--stage", "full"]
    done = CliRunner().invoke(app, [*arguments, "--state-bench", str(live.folder), "--episodes", "1"])
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout[done.stdout.index("{") :])
    assert told["full"]["correct"] == 1
    assert told["of_the_surface"]["recordings"] == len(made.EPISODES)


def test_no_folder_and_a_folder_without_recordings_are_clear_errors(tmp_path: Path) -> None:
    for extra, words in (([], "--state-bench DIR"), (["--state-bench", str(tmp_path)], "neither a checkout")):
        done = CliRunner().invoke(app, ["eval", "takeover", "--surface", "state-bench", *extra])
        assert done.exit_code != 0
        assert words in done.output.replace("\n", " ") + str(done.exception or "")
