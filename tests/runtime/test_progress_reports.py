"""Where a run stands, and what its model said beside it: compared at that very point, counted, and never believed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tallystick import Guard, InputError
from tallystick.contracts import parse
from tallystick.gates.stage import Stage
from tallystick.model.events import Reported
from tallystick.progress import AGREEMENTS, Agreement, compared
from tallystick.runtime.run import Run
from tallystick.runtime.standing import followed
from tests.runtime.shop import Clock

CONTRACT = parse("""
contract: bills/1
entities:
  bill: {id: id, status: string}
tools:
  get_bill: {effect: read, args: {bill: id}, target: bill(args.bill), yields: {bill: {id: /id, status: /status}}}
  pay:
    effect: write
    args: {bill: id}
    target: bill(args.bill)
    once_per: args.bill
    ok: result.status == "paid"
    requires: [{id: open, fact: bill.status == "open"}]
task:
  inputs: {bills: list(id)}
  owes: [{id: paid, by: pay, each: bills, for: bill(item)}]
""")
TASK = {"bindings": {"bills": ["B-1", "B-2"]}}


def read(run: Run, bill: str) -> None:
    run.call("get_bill", {"bill": bill}, lambda bill: {"id": bill, "status": "open"})


def pay(run: Run, bill: str) -> None:
    run.call("pay", {"bill": bill}, lambda bill: {"status": "paid"})


def marked(text: str, stage: str) -> str:
    return f"{text}\n<stage>{stage}</stage>"


def played(run: Run, say: Any) -> None:
    """A run whose agent speaks once at each stage after its first call, and says what `say` makes of the stage."""
    read(run, "B-1")
    say(Stage.NEEDS_INFO)
    read(run, "B-2")
    say(Stage.READY)
    pay(run, "B-1")
    say(Stage.POST_OBS)
    pay(run, "B-2")
    say(Stage.COMPLETED)


@pytest.mark.parametrize(
    ("body", "derived", "agreement"),
    [
        (Reported(stage="ready_for_action"), Stage.READY, "match"),
        (Reported(stage="POST_OBS"), Stage.POST_OBS, "match"),
        (Reported(stage="ready_for_action"), Stage.POST_OBS, "stale"),
        (Reported(stage="needs_information"), Stage.COMPLETED, "stale"),
        (Reported(stage="completed"), Stage.NEEDS_INFO, "premature"),
        (Reported(stage="post_observation_continue"), Stage.READY, "ahead"),
        (Reported(stage="nearly"), Stage.READY, "unknown"),
        (Reported(text="<stage>"), Stage.READY, "malformed"),
        (Reported(), Stage.READY, "absent"),
    ],
)
def test_a_report_is_told_apart_by_what_it_says_of_the_stage(
    body: Reported, derived: Stage, agreement: Agreement
) -> None:
    assert compared(body, derived) == agreement


def test_every_report_is_compared_with_the_stage_as_it_was_when_it_was_made() -> None:
    guard = Guard(CONTRACT, report="xml")
    run = guard.run(TASK)
    run.says("assistant", "Hello. What shall I pay?")
    assert run.progress().report is None  # nothing was due before the first tool had answered

    seen: list[tuple[str | None, str | None]] = []

    def say(stage: Stage) -> None:
        run.says("assistant", marked("So far.", stage))
        found = run.progress()
        assert found.stage is stage
        seen.append((found.agreement, found.now))

    played(run, say)
    assert seen == [("match", "match")] * 4
    assert run.progress().counts == {"match": 4}


def test_a_report_that_was_true_may_be_stale_by_now_and_both_are_said() -> None:
    run = Guard(CONTRACT, report="json").run(TASK)
    read(run, "B-1")
    read(run, "B-2")
    run.says("assistant", 'Shall I?\n"stage": "ready_for_action"')
    pay(run, "B-1")
    found = run.progress()
    assert (found.stage, found.agreement, found.now) == (Stage.POST_OBS, "match", "stale")
    told = found.to_json()
    assert told["report"]["value"] == "ready_for_action"
    assert [o["state"] for o in told["obligations"]] == ["discharged", "open"]


def test_absent_and_malformed_reports_are_recorded_where_one_was_due() -> None:
    run = Guard(CONTRACT, report="xml").run(TASK)
    read(run, "B-1")
    run.says("assistant", "I looked.")
    assert run.progress().agreement == "absent"
    run.says("assistant", "<stage>completed</stage> it is.")
    assert run.progress().agreement == "malformed"
    run.says("assistant", "cut of", truncated=True)  # it may have been going to
    run.says("user", "and?")
    assert run.progress().counts == {"absent": 1, "malformed": 1}


def test_after_a_true_report_of_completion_no_further_one_is_due() -> None:
    run = Guard(CONTRACT, report="xml").run(TASK)
    played(run, lambda stage: run.says("assistant", marked("So far.", stage)))
    run.says("user", "thanks")
    run.says("assistant", "You are welcome.")
    assert run.progress().counts == {"match": 4}


def test_no_report_moves_a_stage_or_a_verdict() -> None:
    run = Guard(CONTRACT, report="xml").run(TASK)
    read(run, "B-1")
    run.report("completed", "all done")
    found = run.progress()
    assert found.stage is Stage.NEEDS_INFO
    assert found.agreement == "premature"
    answer = run.finish(marked("All is done.", "completed"))
    assert not answer.accepted
    assert run.progress().counts == {"premature": 2}


def test_the_text_of_a_finish_is_read_for_its_report_once() -> None:
    run = Guard(CONTRACT, report="xml").run(TASK)
    played(run, lambda stage: None)
    run.says("assistant", marked("Done.", "completed"))
    assert run.finish(marked("Done.", "completed")).accepted
    assert run.progress().counts == {"match": 1}
    assert run.progress().status == "CERTIFIED"


def test_the_same_words_again_after_a_refused_stop_are_another_report() -> None:
    run = Guard(CONTRACT, report="xml").run(TASK)
    read(run, "B-1")
    text = marked("All done.", "completed")
    run.says("assistant", text)
    run.finish(text)
    run.finish(text)
    assert run.progress().counts == {"premature": 2}
    run.turn(text)
    assert run.status is not None  # the same stop twice with nothing new: the run had ended by then
    assert run.progress().counts == {"premature": 2}


def test_a_later_tenure_and_a_reader_of_the_ledger_see_the_same_progress(tmp_path: Path) -> None:
    clock = Clock()
    with Guard(CONTRACT, tmp_path / "l.db", report="xml", clock=clock) as guard:
        run = guard.run(TASK, run_id="r")
        played(run, lambda stage: run.says("assistant", marked("So far.", Stage.READY)))
        before = run.progress()
        run.suspend()
        again = guard.resume("r")
        after = again.progress()
        told = followed(guard.store.events("r"))
        assert told is not None
        outside = told.progress(clock())
        again.suspend()
    assert before.counts == after.counts == outside.counts == {"ahead": 1, "match": 1, "stale": 2}
    assert before.report == after.report == outside.report
    assert after.to_json() | {"judged_upto": 0} == outside.to_json() | {"judged_upto": 0}
    assert before.standing.obligations == after.standing.obligations


def test_nothing_is_read_where_nobody_asked_for_reports() -> None:
    run = Guard(CONTRACT).run(TASK)
    read(run, "B-1")
    run.says("assistant", marked("So far.", "completed"))
    assert run.progress().report is None
    with pytest.raises(InputError, match="unknown encoding"):
        Guard(CONTRACT, report="yaml")  # type: ignore[arg-type]


# ---------------------------------------------------------------- metrics


def test_reports_are_counted_by_outcome_and_stage_and_nothing_else_is_told() -> None:
    sdk = pytest.importorskip("opentelemetry.sdk.metrics")
    export = pytest.importorskip("opentelemetry.sdk.metrics.export")
    reader = export.InMemoryMetricReader()
    provider = sdk.MeterProvider(metric_readers=[reader])
    run = Guard(CONTRACT, report="xml", metrics=provider).run(TASK)
    secret = "B-1 is paid from account 4711"
    played(run, lambda stage: run.says("assistant", marked(secret, Stage.READY)))
    run.says("assistant", secret)
    data = reader.get_metrics_data()
    assert data is not None
    (metric,) = data.resource_metrics[0].scope_metrics[0].metrics
    assert metric.name == "tallystick.progress.reports"
    points = {(p.attributes["tallystick.report.outcome"], p.attributes["tallystick.stage"]): p.value
              for p in metric.data.data_points}  # fmt: skip
    assert points == {
        ("ahead", "needs_information"): 1, ("match", "ready_for_action"): 1, ("stale", "post_observation_continue"): 1,
        ("stale", "completed"): 1, ("absent", "completed"): 1,
    }  # fmt: skip
    assert {outcome for outcome, _ in points} <= set(AGREEMENTS)
    assert "4711" not in str(data.to_json())
    assert all(set(p.attributes) == {"tallystick.report.outcome", "tallystick.stage"} for p in metric.data.data_points)


def test_a_meter_that_fails_stops_no_run() -> None:
    class Broken:
        def get_meter(self, _: str) -> Broken:
            return self

        def create_counter(self, *_: Any, **__: Any) -> Broken:
            return self

        def add(self, *_: Any) -> None:
            raise RuntimeError("no")

    run = Guard(CONTRACT, report="xml", metrics=Broken()).run(TASK)
    read(run, "B-1")
    run.says("assistant", marked("So far.", "completed"))
    assert run.progress().agreement == "premature"


def test_nothing_of_opentelemetry_is_imported_unless_it_is_asked_for_and_without_it_the_fix_is_named() -> None:
    code = """
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] == "opentelemetry":
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Absent())
from tallystick import Guard, InputError
from tallystick.contracts import parse
contract = parse("contract: c/1\\ntools:\\n  get: {effect: read}\\n")
run = Guard(contract, report="xml").run()
run.call("get", {}, lambda: {})
run.says("assistant", "<stage>completed</stage>")
assert run.progress().agreement == "premature"
assert not any(name.startswith("opentelemetry") for name in sys.modules)
try:
    Guard(contract, metrics=True)
except InputError as bad:
    print(bad)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert "tallystick[otel]" in done.stdout


def test_what_is_no_meter_provider_is_refused() -> None:
    with pytest.raises(InputError, match="no meter provider"):
        Guard(CONTRACT, metrics="yes")
