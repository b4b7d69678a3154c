"""`tallystick watch` on a ledger that a real second process writes; `show` and `regate` by turns."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tallystick import Guard
from tests.cli.conftest import Cli
from tests.runtime.test_progress_reports import CONTRACT, TASK, marked, pay, played, read

WRITER = """
import sys
from tallystick import Guard
from tests.runtime.test_progress_reports import CONTRACT, TASK, played, marked, Stage
with Guard(CONTRACT, sys.argv[1], report="xml") as guard:
    run = guard.run(TASK, run_id="r")
    def say(stage):
        run.says("assistant", marked("So far.", Stage.READY))
        print(stage, flush=True)
        sys.stdin.readline()
    played(run, say)
    run.finish(marked("Done.", "completed"))
"""


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    """A ledger with one run that has ended: its agent reported `ready` at every stage."""
    file = tmp_path / "runs.db"
    with Guard(CONTRACT, file, report="xml") as guard:
        run = guard.run(TASK, run_id="r")

        def say(_: object) -> None:
            run.says("assistant", marked("So far.", "ready_for_action"))
            run.says("user", "and?")

        played(run, say)
        assert run.finish(marked("Done.", "completed")).accepted
    return file


def test_watch_follows_a_second_process_and_ends_with_its_run(tmp_path: Path, root: Path) -> None:
    file = tmp_path / "live.db"
    env = {**os.environ, "COLUMNS": "160", "NO_COLOR": "1"}
    writer = subprocess.Popen(
        [sys.executable, "-c", WRITER, str(file)], cwd=root, env=env, text=True,
        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
    )  # fmt: skip
    assert writer.stdin is not None
    assert writer.stdout is not None
    assert writer.stdout.readline().strip() == "needs_information"
    command = [str(Path(sys.executable).parent / "tallystick"), "watch", "r", "--ledger", str(file)]
    now = json.loads(subprocess.run([*command, "--once", "--json"], env=env, capture_output=True, check=True).stdout)
    assert (now["stage"], now["report"]["value"], now["agreement"]) == (
        "needs_information", "ready_for_action", "ahead"
    )  # fmt: skip
    assert (now["status"], now["standing"]) == (None, "live")
    watcher = subprocess.Popen(command, env=env, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert watcher.stdout is not None
    shown = ""
    for words, stage in (
        ("[needs information]", "ready_for_action"),
        ("[ready]", "post_observation_continue"),
        ("[post-observation]", "completed"),
        ("[completed]", ""),
    ):
        while words not in shown:  # the writer goes on once the watcher has drawn what it wrote
            line = watcher.stdout.readline()
            assert line, shown
            shown += line
        writer.stdin.write("\n")
        writer.stdin.flush()
        assert writer.stdout.readline().strip() == stage
    assert writer.wait(30) == 0
    rest, errors = watcher.communicate(timeout=30)
    shown += rest
    assert watcher.returncode == 0, errors
    assert "ended: CERTIFIED" in shown
    assert "ready_for_action: stale when it said so" in shown
    writer.stdin.close()
    writer.stdout.close()


def test_watch_once_draws_obligations_reasons_and_the_report(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "open.db"
    with Guard(CONTRACT, file, report="xml") as guard:
        run = guard.run(TASK, run_id="r")
        read(run, "B-1")
        pay(run, "B-1")
        run.says("assistant", marked("[bold]All done\x1b[31m", "completed"))
        found = cli("watch", file, "--once")
        assert found.code == 0
        told = cli("watch", "r", "--ledger", file, "--once", "--json").json
        run.suspend()
    assert "[needs information]" in found.out
    assert "[x]" in found.out
    assert "premature when it said so" in found.out
    assert 'read: get_bill {"bill":"B-2"}' in found.out
    assert [o["state"] for o in told["obligations"]] == ["discharged", "open"]
    assert told["missing"][0]["reads"] == [{"tool": "get_bill", "args": {"bill": "B-2"}}]
    assert told["reports"] == {"premature": 1}


def test_watch_names_what_cannot_be_watched(cli: Cli, ledger: Path, tmp_path: Path) -> None:
    assert cli("watch", "r", "--once").code == 2
    assert cli("watch", "nobody", "--ledger", ledger, "--once").code == 2
    other = tmp_path / "x.json"
    other.write_text("{}")
    assert "no ledger" in cli("watch", other).err
    assert "named twice" in cli("watch", ledger, "r", "--ledger", ledger).err


def test_watch_takes_ledger_and_run_in_the_order_of_the_other_commands(cli: Cli, ledger: Path) -> None:
    known = cli("watch", "r", "--ledger", ledger, "--once")
    assert known.code == 0
    assert cli("watch", ledger, "r", "--once") == known
    assert "no run `x`" in cli("watch", ledger, "x", "--once").err


def test_a_turn_as_text_is_its_ruling_and_what_the_agent_is_told() -> None:
    guard = Guard(CONTRACT)
    run = guard.run(TASK)
    read(run, "B-1")
    assert str(run.turn()) == "go_on"
    turn = run.turn(marked("Both are paid.", "completed"), user_has_more=False)
    assert str(turn) == f"re_prompt\n{turn.prompt}"
    for bill in ("B-1", "B-2"):
        read(run, bill)
        pay(run, bill)
    assert str(run.turn(marked("Both are paid.", "completed"))) == "stop: the run has ended CERTIFIED"


def test_watch_of_a_run_that_has_ended_ends_at_once(cli: Cli, ledger: Path) -> None:
    told = cli("watch", "r", "--ledger", ledger, "--json").json
    assert (told["stage"], told["status"], told["reports"]) == (
        "completed", "CERTIFIED", {"ahead": 1, "match": 2, "stale": 2}
    )  # fmt: skip


# ---------------------------------------------------------------- by turns


def test_show_has_the_stage_after_each_turn_beside_what_was_reported(cli: Cli, ledger: Path) -> None:
    told = cli("show", ledger, "r", "--json").json["turns"]
    speech = [(t["stage"], t["reported"], t["agreement"]) for t in told if not t["called"]]
    assert speech == [
        ("needs_information", "ready_for_action", "ahead"),
        ("ready_for_action", "ready_for_action", "match"),
        ("post_observation_continue", "ready_for_action", "stale"),
        ("completed", "ready_for_action", "stale"),
        ("completed", "completed", "match"),
    ]
    assert [t["stage"] for t in told if t["called"]] == [
        "needs_information", "ready_for_action", "post_observation_continue", "completed"
    ]  # fmt: skip
    shown = cli("show", ledger, "r").out
    assert "stage after it" in shown
    assert "stage by the record: completed" in shown


def chat(file: Path, marks: tuple[str, str]) -> Path:
    """A chat: a read of both bills, a question, the payments, the last word."""

    def calls(*made: tuple[str, str, Any]) -> list[dict[str, Any]]:
        ids = [f"{tool}-{bill}" for tool, bill, _ in made]
        asked = [
            {"id": i, "type": "function", "function": {"name": t, "arguments": json.dumps({"bill": b})}}
            for i, (t, b, _) in zip(ids, made, strict=True)
        ]
        answers = [{"role": "tool", "tool_call_id": i, "content": json.dumps(r)}
                   for i, (_, _, r) in zip(ids, made, strict=True)]  # fmt: skip
        return [{"role": "assistant", "content": None, "tool_calls": asked}, *answers]

    bills = ("B-1", "B-2")
    messages = [
        {"role": "user", "content": "Pay B-1 and B-2."},
        *calls(*(("get_bill", b, {"id": b, "status": "open"}) for b in bills)),
        {"role": "assistant", "content": marks[0]},
        {"role": "user", "content": "Yes."},
        *calls(*(("pay", b, {"status": "paid"}) for b in bills)),
        {"role": "assistant", "content": marks[1]},
    ]
    file.write_text(json.dumps({"messages": messages}))
    return file


def task(folder: Path) -> tuple[object, ...]:
    (folder / "c.yaml").write_text(CONTRACT.text)
    (folder / "t.yaml").write_text("bindings: {bills: [B-1, B-2]}\n")
    return ("--contract", folder / "c.yaml", "--task", folder / "t.yaml")


def outcomes(told: Any) -> dict[str, tuple[str, int | None]]:
    return {r["policy"]: (r["outcome"], r["turn"]) for r in told["recordings"]}


def test_a_conversation_is_shown_by_turns_under_a_contract_and_a_task(cli: Cli, tmp_path: Path) -> None:
    file = chat(tmp_path / "chat.json", ("May I?", marked("Done.", "post_observation_continue")))
    told = cli("show", file, *task(tmp_path), "--json").json
    assert [(t["called"], t["stage"]) for t in told["turns"]] == [
        (True, "ready_for_action"), (False, "ready_for_action"), (True, "completed"), (False, "completed")
    ]  # fmt: skip
    assert told["turns"][-1]["agreement"] == "stale"
    assert told["stage"]["stage"] == "completed"
    bare = cli("show", file)
    assert bare.code == 0
    assert "the stage needs a contract" in bare.err


def test_regate_is_exact_where_both_policies_cause_the_same_input_and_says_so_elsewhere(
    cli: Cli, tmp_path: Path
) -> None:
    plain = chat(tmp_path / "plain.json", ("May I?", "Done."))
    found = cli("regate", plain, *task(tmp_path), "--json").json
    assert outcomes(found) == {
        "B1": ("not regatable", None),  # its agent is told to report, this one was not
        "B2": ("ends as recorded", None),
        "A": ("not regatable", None),  # it asks again where the recording goes to the user
        "A-matched": ("not regatable", None),
        "B2-reports": ("not regatable", None),
        "A-stop": ("correct stop", 2),  # as soon as the record says so
    }
    assert "same" not in str(found)

    silent = chat(tmp_path / "silent.json", ("May I?", marked("Done.", "completed")))
    found = outcomes(cli("regate", silent, *task(tmp_path), "--json").json)
    assert found["B1"] == ("dead end", 1)
    assert found["B2-reports"] == ("ends as recorded", None)
    assert found["B2"] == ("not regatable", None)

    early = chat(tmp_path / "early.json", (marked("Done.", "completed"), marked("Done.", "completed")))
    assert outcomes(cli("regate", early, *task(tmp_path), "--json").json)["B1"] == ("premature stop", 1)

    good = chat(tmp_path / "good.json", (marked("May I?", "ready_for_action"), marked("Done.", "completed")))
    told = cli("regate", good, *task(tmp_path), "--policy", "B1", "--json").json
    assert outcomes(told) == {"B1": ("correct stop", 3)}
    assert told["policies"]["B1"] == {"exact": 1, "not_regatable": 0, "outcomes": {"correct stop": 1}}


def test_regate_without_a_contract_judges_no_stage(cli: Cli, tmp_path: Path) -> None:
    file = chat(tmp_path / "chat.json", (marked("May I?", "ready_for_action"), marked("Done.", "completed")))
    told = cli("regate", file, "--policy", "A-stop", "--policy", "B1", "--json").json
    assert outcomes(told) == {"A-stop": ("not regatable", None), "B1": ("stops", 3)}
    assert told["recordings"][0]["why_not"] == "the stage needs a contract"


def test_regate_reads_runs_of_a_ledger_and_their_own_end(cli: Cli, ledger: Path, tmp_path: Path) -> None:
    found = cli("regate", ledger, "--json").json
    by = outcomes(found)
    assert by["A-stop"][0] == "correct stop"
    assert by["B1"][0] == "correct stop"  # its agent reported, and each report went to the user until the last
    assert by["B2"][0] == "not regatable"  # its agent is not told to report
    shown = cli("regate", ledger, "r", "--policy", "A-stop")
    assert "A-stop: 1 exact: 1 correct stop; 0 not regatable" in shown.out
    assert cli("regate", ledger, "--policy", "C").code == 2
    assert cli("regate", ledger, "--contract", tmp_path / "c.yaml").code == 2
    assert cli("regate", ledger, "--encoding", "yaml").code == 2
    assert cli("regate", ledger, "--not-told-to-report").code == 2


@pytest.mark.parametrize(("policy", "mark", "end"), [("B1", "completed", "correct stop"), ("B1", "", "dead end")])
def test_a_run_that_a_marker_ended_is_regated_as_it_ended(
    cli: Cli, tmp_path: Path, policy: str, mark: str, end: str
) -> None:
    """Recorded under B1 and judged by B1, a run ends where it did."""
    file = tmp_path / "b1.db"
    with Guard(CONTRACT, file, stop_policy=policy) as guard:
        run = guard.run(TASK, run_id="r")
        read(run, "B-1")
        read(run, "B-2")
        run.turn()
        run.says("assistant", marked("May I?", "ready_for_action"))
        run.turn(marked("May I?", "ready_for_action"))
        run.says("user", "Yes.")
        pay(run, "B-1")
        pay(run, "B-2")
        run.turn()
        last = marked("Done.", mark) if mark else "Done."
        run.says("assistant", last)
        assert run.turn(last).status == "UNCERTIFIED"
    told = cli("regate", file, "--policy", "B1", "--json").json
    (row,) = told["recordings"]
    assert (row["outcome"], row["turn"]) == (end, row["turns"] - 1)


def runs(file: Path, policy: str, *turns: str, report: Any = None, close: bool = False) -> Path:
    """A run of a read of both bills, then words that each go to the user."""
    with Guard(CONTRACT, file, stop_policy=policy, report=report) as guard:
        run = guard.run(TASK, run_id="r")
        read(run, "B-1")
        read(run, "B-2")
        run.turn()
        for text in turns:
            run.turn(text, user_has_more=True)
            run.says("user", "Go on.")
        if close:
            run.turn("I am done.")
        else:
            run.suspend()
    return file


def test_an_agent_that_was_told_to_report_and_never_did_is_regated_as_one_that_was_told(
    cli: Cli, tmp_path: Path
) -> None:
    file = runs(tmp_path / "r.db", "B2", "May I?", report="xml", close=True)
    found = outcomes(cli("regate", file, "--json").json)
    assert found["B1"] == ("dead end", 2)
    assert found["B2"] == ("not regatable", None)
    assert found["B2-reports"] == ("not regatable", None)
    assert cli("regate", file, "--not-told-to-report").code == 2


def test_no_policy_ends_where_a_recording_merely_stops(cli: Cli, tmp_path: Path) -> None:
    found = cli("regate", runs(tmp_path / "r.db", "B2", "May I?"), "--json").json
    assert {r["outcome"] for r in found["recordings"]} == {"not regatable"}
    file = chat(tmp_path / "chat.json", ("May I?", "Done."))
    messages = json.loads(file.read_text())["messages"]
    file.write_text(json.dumps({"messages": messages[:4]}))  # the agent was just told what its calls returned
    found = cli("regate", file, "--json").json
    assert {r["outcome"] for r in found["recordings"]} == {"not regatable"}


def test_reports_in_the_encoding_that_nobody_named_are_not_taken_for_missing_ones(cli: Cli, tmp_path: Path) -> None:
    file = chat(tmp_path / "json.json", ('May I?\n"stage": "ready_for_action"', 'Done.\n"stage": "completed"'))
    (row,) = cli("regate", file, "--policy", "B1", "--json").json["recordings"]
    assert row["outcome"] == "not regatable"
    assert "--encoding" in row["why_not"]
    assert outcomes(cli("regate", file, "--policy", "B1", "--encoding", "json", "--json").json) == {"B1": ("stops", 3)}
    assert outcomes(cli("regate", file, "--policy", "B1", "--encoding", "xml", "--json").json)["B1"] == ("dead end", 1)


def test_words_of_one_message_are_never_hidden_behind_the_calls_of_the_next(cli: Cli, tmp_path: Path) -> None:
    file = chat(tmp_path / "chat.json", (marked("Done.", "completed"), marked("Done.", "completed")))
    messages = [m for m in json.loads(file.read_text())["messages"] if m.get("content") != "Yes."]
    file.write_text(json.dumps({"messages": messages}))
    found = outcomes(cli("regate", file, *task(tmp_path), "--json").json)
    assert found["B1"] == ("premature stop", 1)
    assert found["B2-reports"] == ("not regatable", None)  # nobody knows what the user would have said
