"""Running a study: scripted reporters are measured back, raw replies are kept, runs go on, folders are not mixed up."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tallystick.errors import InputError
from tallystick.evals.lifecycle import obligations
from tallystick.evals.lifecycle.score import score
from tallystick.evals.lifecycle.suite import kept, repairs
from tallystick.evals.lifecycle.suite.asking import Deployment, precheck
from tallystick.evals.lifecycle.suite.report import report, text
from tallystick.evals.lifecycle.suite.reporters import BEHAVIOURS, Scripted, scripted
from tallystick.evals.lifecycle.suite.run import Plan, answered, rows_in, run
from tallystick.evals.lifecycle.suite.studies import STUDIES, items
from tallystick.models import ChatEndpoint
from tests.cli.conftest import Cli, cli
from tests.evals.fake_model import call, endpoint

__all__ = ["cli"]

CODE = {
    "miss": "APP_MISS", "diverge": "APP_DIVERGENCE", "malformed": "MALFORMED", "stale": "STATE_WRONG",
    "premature": "STATE_WRONG", "alarm": "APP_FALSE_ALARM", "silent_act": "CLEAN", "transport": "TRANSPORT",
    None: "CLEAN",
}  # fmt: skip


@pytest.mark.parametrize("behaviour", [b for b in BEHAVIOURS if b != "lost"])
@pytest.mark.parametrize("study", [s for s in STUDIES if s not in ("obligations", "five_arms")])
def test_a_scripted_fault_gets_its_code_at_every_checkpoint_of_every_study(study: str, behaviour: str) -> None:
    """In both encodings and all arms; what no report is due of cannot be missed."""
    one = scripted(f"scripted:{behaviour}")
    for item in items(study):
        fault = one.fault(item, 0)
        code = score(kept.row_of(item, one.answer(item, 0))).code
        if item.arm.duty == "none" and fault != "transport":
            # Nothing is due without a demand, so only an alarm, or nothing, can be seen.
            assert code == ("APP_FALSE_ALARM" if fault == "alarm" else "CLEAN")
        else:
            assert code == CODE[fault], item.id


@pytest.mark.parametrize("behaviour", ["truthful", "silent", "acts", "alarms", "drops"])
def test_obligations_have_their_scripted_faults_seen_by_their_own_verifier(behaviour: str) -> None:
    """O1, O2 in both views, O3."""
    one = scripted(f"scripted:{behaviour}")
    for item in items("obligations"):
        fault = one.fault(item, 0)
        row = kept.row_of(item, one.answer(item, 0))
        for view in obligations.VIEWS:
            code = obligations.score(row, view).code
            if fault in (None, "transport") or row.due or fault == "alarm":
                assert code == CODE[fault], (item.id, view)
            else:
                assert code == "CLEAN"


def test_a_scripted_reporter_repeats_itself_and_keeps_to_its_rates() -> None:
    """Draws depend on item and repetition only; over many they come near what was stated."""
    one = scripted("scripted:lost")
    mid = [i for i in items("main") if i.checkpoint == "step"]
    drawn = [one.fault(i, n) for i in mid for n in range(40)]
    assert drawn == [one.fault(i, n) for i in mid for n in range(40)]
    for fault, p in BEHAVIOURS["lost"]["step"].items():
        assert abs(drawn.count(fault) / len(drawn) - p) < 0.04
    assert scripted("scripted:acts:0.5").name == "scripted:acts@0.5"


@pytest.mark.parametrize("name", ["scripted:nobody", "scripted:acts:2", "scripted:acts:x"])
def test_a_scripted_name_that_means_nothing_is_refused(name: str) -> None:
    """Behaviours and probabilities are checked."""
    with pytest.raises(InputError):
        scripted(name)


# ---------------------------------------------------------------------- keeping


def _plan(**changed: Any) -> Plan:
    return Plan(**{"study": "negative", "repetitions": 2, **changed})


def test_a_killed_run_goes_on_and_ends_like_one_that_was_not(tmp_path: Path) -> None:
    """What was answered is not asked again, a line that was cut is, and the rows are the same."""
    whole = run(_plan(), scripted("scripted:lost"), tmp_path / "whole")
    raw = (tmp_path / "whole" / kept.REPLIES).read_bytes()
    cut = tmp_path / "cut"
    cut.mkdir()
    (cut / kept.SETTINGS).write_bytes((tmp_path / "whole" / kept.SETTINGS).read_bytes())
    (cut / kept.REPLIES).write_bytes(raw[: len(raw) // 2])
    asked: list[str] = []

    class Counting(Scripted):
        def answer(self, item: Any, repetition: int) -> Any:
            asked.append(item.id)
            return super().answer(item, repetition)

    again = run(_plan(), Counting(behaviour="lost", rates=BEHAVIOURS["lost"]), cut)
    assert again == whole
    assert 0 < len(asked) < len(whole)
    assert len(raw.splitlines()) == len((cut / kept.REPLIES).read_bytes().splitlines())


def test_transport_failures_are_asked_again_and_enter_no_denominator(tmp_path: Path) -> None:
    """They are kept, counted on their own, and made good by the next run."""
    dropping = Scripted(behaviour="drops", rates=BEHAVIOURS["drops"])
    rows = run(_plan(), dropping, tmp_path)
    assert {score(r).code for r in rows} == {"TRANSPORT"}
    told = report([tmp_path])
    assert "analysis" not in told
    assert told["admission"]["excluded"][0]["reason"] == "no data"
    healed = Scripted(behaviour="drops", rates={})
    assert {score(r).code for r in run(_plan(), healed, tmp_path)} == {"CLEAN"}


def test_a_folder_is_one_run(tmp_path: Path) -> None:
    """Another study, deployment, language or number of repetitions is refused, and says what differs."""
    run(_plan(), scripted("scripted"), tmp_path)
    for plan, who, names in (
        (_plan(study="bundle"), "scripted", "study"), (_plan(), "scripted:acts", "deployment"),
        (_plan(language="en"), "scripted", "language"), (_plan(repetitions=3), "scripted", "repetitions"),
    ):  # fmt: skip
        with pytest.raises(InputError, match=names):
            run(plan, scripted(who), tmp_path)


def test_replies_to_another_suite_are_not_scored(tmp_path: Path) -> None:
    """A stored reply carries the digest of what was asked."""
    run(_plan(), scripted("scripted"), tmp_path)
    replies = kept.read(tmp_path)
    (tmp_path / kept.REPLIES).unlink()
    kept.append(tmp_path, msgspec.structs.replace(replies[0], digest="0" * 64))
    with pytest.raises(InputError, match="not the one that was asked"):
        rows_in(tmp_path)


def _edited(path: Path, **changed: Any) -> None:
    told = json.loads(path.read_text())
    path.write_text(json.dumps({k: v for k, v in (told | changed).items() if v != "gone"}))


@pytest.mark.parametrize(
    "changed",
    [{"deployment": "gone"}, {"deployment": 5}, {"deployment": "scripted:acts"}, {"arms": 5}, {"arms": "baseline"},
     {"arms": ["gold"]}, {"repetitions": "x"}, {"repetitions": 1}, {"study": "gone"}, {"study": "x"}, {"limit": 2},
     {"language": "en"}],
)  # fmt: skip
def test_what_a_damaged_folder_says_of_itself_is_refused_in_one_line(
    cli: Cli, tmp_path: Path, changed: dict[str, Any]
) -> None:
    run(_plan(study="main", arms=("baseline",), repetitions=2, limit=4), scripted("scripted"), tmp_path)
    _edited(tmp_path / kept.SETTINGS, **changed)
    assert cli("eval", "lifecycle", "--report", tmp_path).code == 2


def test_a_damaged_precheck_or_a_reply_that_nobody_planned_is_refused_in_one_line(cli: Cli, tmp_path: Path) -> None:
    run(_plan(), scripted("scripted"), tmp_path)
    one = kept.read(tmp_path)[0]
    for changed in ({"deployment": "other"}, {"repetition": -1}, {"repetition": 999}, {"source": "x"}):
        kept.append(tmp_path, msgspec.structs.replace(one, **changed))
        assert cli("eval", "lifecycle", "--report", tmp_path).code == 2
        lines = (tmp_path / kept.REPLIES).read_bytes().splitlines(keepends=True)
        (tmp_path / kept.REPLIES).write_bytes(b"".join(lines[:-1]))
    assert cli("eval", "lifecycle", "--report", tmp_path).code == 0
    for damaged in ("{", "{}", "[]"):
        (tmp_path / kept.PRECHECK).write_text(damaged)
        assert cli("eval", "lifecycle", "--report", tmp_path).code == 2


@pytest.mark.parametrize(
    "plan", [{"study": "none"}, {"arms": ("x",)}, {"repetitions": 0}, {"limit": 0}, {"language": "fr"}]
)
def test_a_plan_that_cannot_be_is_refused(plan: dict[str, Any]) -> None:
    """Before anybody is asked."""
    with pytest.raises(InputError):
        _plan(**plan).chosen()


def test_a_limit_takes_scenarios_and_checkpoints_in_turn() -> None:
    """Twelve stimuli of main meet twelve scenarios and every checkpoint."""
    few = Plan(study="main", limit=12).chosen()
    assert len({i.scenario for i in few}) == 12
    assert len({i.checkpoint for i in few}) == 5


def test_runs_of_two_studies_are_not_reported_together(tmp_path: Path) -> None:
    """Nor one deployment twice."""
    run(_plan(), scripted("scripted"), tmp_path / "a")
    run(_plan(study="bundle"), scripted("scripted"), tmp_path / "b")
    run(_plan(), scripted("scripted:acts"), tmp_path / "c")
    with pytest.raises(InputError, match="never pooled"):
        report([tmp_path / "a", tmp_path / "b"])
    with pytest.raises(InputError, match="two folders"):
        report([tmp_path / "a", tmp_path / "a"])
    both = report([tmp_path / "a", tmp_path / "c"])
    assert list(both["admission"]["admitted"]) == ["scripted:truthful", "scripted:acts"]
    assert "scripted reporters, not models" in text(both)


@pytest.mark.parametrize("study", STUDIES)
def test_every_study_reports_and_passes_the_corruption_gate(study: str, tmp_path: Path) -> None:
    """Tables for each, from kept replies alone."""
    run(Plan(study=study, repetitions=1, limit=60), scripted("scripted:lost"), tmp_path)
    told = report([tmp_path], fit=False)
    assert told["corruption"]["passed"], told["corruption"]["failures"]
    assert "published" in text(told)


# ---------------------------------------------------------------------- a model


def _served(base_url: str, **more: Any) -> Deployment:
    return Deployment(
        name="fake", asked="fake", endpoint=ChatEndpoint(base_url=base_url, timeout=20), max_tokens=32, **more
    )


def test_a_model_is_asked_exactly_the_frozen_stimulus(tmp_path: Path) -> None:
    """Messages and tools are the item's, the seed is the repetition, and text and calls are kept raw."""
    seen: list[dict[str, Any]] = []

    def answer(request: dict[str, Any]) -> dict[str, Any]:
        seen.append(request)
        if len(seen) % 2:
            return call("create_event", '{"broken', len(seen))
        return {"role": "assistant", "content": "ok <think>x</think>"}

    with endpoint(answer) as url:
        rows = run(_plan(limit=3), _served(url, temperature=0.5), tmp_path, probes=2)
    study = {i.id: i for i in items("negative")}
    asked = seen[2:]
    assert [r["seed"] for r in asked] == [0, 1] * 3
    for request, row in zip(asked, rows, strict=True):
        assert request["messages"] == json.loads(json.dumps(list(study[row.stimulus].messages)))
        assert [t["function"] for t in request["tools"]] == list(study[row.stimulus].tools)
        assert request["temperature"] == 0.5
    raws = kept.read(tmp_path)
    assert {c.raw for r in raws for c in r.calls} == {'{"broken'}
    assert sum(r.inline_reasoning for r in raws) == 3
    assert {r.mode for row in rows for r in [row.reply]} == {"speak", "act"}
    assert len(seen) == 8, "the precheck is two probes, and nothing is asked twice"
    with endpoint(answer) as url:
        run(_plan(limit=3), _served(url, temperature=0.5), tmp_path)
    assert len(seen) == 8


def test_thinking_lanes_send_their_own_fields_and_are_checked(tmp_path: Path) -> None:
    """Reasoning in every on reply and in no off reply verifies the toggle; otherwise nothing is concluded."""

    def thinks(request: dict[str, Any]) -> dict[str, Any]:
        on = request.get("chat_template_kwargs", {}).get("enable_thinking")
        return {"role": "assistant", "content": "ok", **({"reasoning_content": "hm"} if on else {})}

    with endpoint(thinks) as url:
        run(Plan(study="thinking", repetitions=1, limit=24), _served(url), tmp_path / "a", probes=1)
    with endpoint(lambda _: {"role": "assistant", "content": "ok"}) as url:
        run(Plan(study="thinking", repetitions=1, limit=24), _served(url), tmp_path / "b", probes=1)
    assert report([tmp_path / "a"])["manipulation"]["fake"]["verified"] is True
    assert report([tmp_path / "b"])["manipulation"]["fake"]["verified"] is False
    assert "NOT verified" in text(report([tmp_path / "b"]))


def test_a_deployment_that_fails_its_precheck_is_asked_nothing_more(tmp_path: Path) -> None:
    """Transport and identity; the folder keeps why."""
    seen: list[Any] = []

    def down(request: dict[str, Any]) -> dict[str, Any]:
        seen.append(request)
        return {"status": 503}

    with endpoint(down) as url, pytest.raises(InputError, match="not admitted: transport"):
        run(_plan(), _served(url), tmp_path, probes=3)
    assert len(seen) == 6
    assert not (tmp_path / kept.REPLIES).exists()
    told = json.loads((tmp_path / kept.PRECHECK).read_text())
    assert (told["probes"], told["answered"], told["needed"]) == (3, 0, 3)
    with endpoint(lambda _: {"role": "assistant", "content": "ready"}) as url:
        with pytest.raises(InputError, match="too few"):
            run(_plan(), _served(url), tmp_path, probes=0)
        assert precheck(_served(url), 20).needed == 18


def test_an_endpoint_that_goes_down_ends_the_run_and_it_goes_on_later(tmp_path: Path) -> None:
    """Five failures in a row; what was answered stays."""
    seen: list[Any] = []

    def dies(request: dict[str, Any]) -> dict[str, Any]:
        seen.append(request)
        return {"status": 500} if len(seen) > 4 else {"role": "assistant", "content": "hello"}

    with endpoint(dies) as url, pytest.raises(InputError, match="5 failures one after another"):
        run(_plan(), _served(url), tmp_path, probes=1)
    with endpoint(lambda _: {"role": "assistant", "content": "hello"}) as url:
        rows = run(_plan(), _served(url), tmp_path)
    assert len(rows) == 72
    assert all(r.reply.valid for r in rows)


# ---------------------------------------------------------------------- repairs


def test_repairs_are_asked_of_their_own_populations_and_resumed(tmp_path: Path) -> None:
    """Omissions are replayed and questioned; wrong states are questioned, with and without their marker."""
    asked: list[dict[str, Any]] = []

    def model(request: dict[str, Any]) -> dict[str, Any]:
        last = request["messages"][-1]["content"]
        if "which stage" in last:
            asked.append(request)
            return {"role": "assistant", "content": "ready_for_action"}
        if "append the required stage marker" in last:
            asked.append(request)
            return {"role": "assistant", "content": "Sorry.\n<stage>ready_for_action</stage>"}
        ready = request["messages"][-1]["role"] == "user"
        return {"role": "assistant", "content": "Shall I?" if ready else "Well.\n<stage>completed</stage>"}

    plan = Plan(study="main", language="en", arms=("baseline",), repetitions=1, limit=60)
    with endpoint(model) as url:
        run(plan, _served(url), tmp_path, probes=1)
        for one in repairs.REPAIRS:
            repairs.run(one, _served(url), tmp_path, limit=4)
        before = len(asked)
        repairs.run("replay", _served(url), tmp_path, limit=4)
        assert len(asked) == before, "a repair that was answered is not asked again"
    told = repairs.told(tmp_path)
    assert set(told["repairs"]) == set(repairs.REPAIRS)
    assert all(one["asked"] == 4 for one in told["repairs"].values())
    omitted = repairs.eligible("replay", tmp_path)
    wrong = repairs.eligible("question_wrong", tmp_path)
    assert {score(kept.row_of(s.item, s.raw)).code for s in omitted} == {"APP_MISS"}
    assert {score(kept.row_of(s.item, s.raw)).code for s in wrong} == {"STATE_WRONG"}
    cut = repairs.messages("marker_removed", wrong[0])
    assert [m["content"] for m in cut[-2:-1]] == ["Well."]
    assert repairs.messages("replay_newline", omitted[0])[-2]["content"] == "Shall I?\n"
    assert repairs.messages("replay", omitted[0])[-2]["content"] == "Shall I?"
    # Half of the stimuli ask for JSON, in which the continuation's XML is no report; a question has no encoding.
    assert told["repairs"]["replay_newline"]["correct"] == 2
    assert told["repairs"]["question"]["correct"] == 4
    assert told["paired"] == {"rows": 4, "question_only": 2, "replay_only": 0}
    assert "published" in repairs.text(told)


def test_an_answer_to_the_question_names_one_stage_or_none() -> None:
    """Two different stages in one answer are no signal; a continuation must be a whole report."""
    one = items("main", "en")[0]
    assert repairs.signal("question", one, "It is `completed`.") == "completed"
    assert repairs.signal("question", one, "completed or ready_for_action") is None
    assert repairs.signal("question", one, "done") is None
    assert repairs.signal("replay", one, "completed") is None
    assert repairs.signal("replay", one, "x\n<stage>completed</stage>") == "completed"


def test_scripted_reporters_have_no_second_thoughts(tmp_path: Path) -> None:
    """Repairs are for the deployment that made the replies."""
    run(_plan(), scripted("scripted"), tmp_path)
    with pytest.raises(InputError, match="no second thoughts"):
        repairs.run("replay", scripted("scripted"), tmp_path)
    with pytest.raises(InputError, match="holds replies of"):
        repairs.run("replay", _served("http://127.0.0.1:9/v1"), tmp_path)


# ---------------------------------------------------------------------- the command


def test_the_command_runs_reports_and_labels_what_is_scripted(cli: Cli, tmp_path: Path) -> None:
    """One study end to end, then its report from the folder alone."""
    out = str(tmp_path / "run")
    args = ("--study", "negative", "--model", "scripted:lost", "--repetitions", "1", "--out", out, "--json")
    told = cli("eval", "lifecycle", *args)
    assert told.json["scripted"] == ["scripted:lost"]
    assert told.json["study"] == "negative"
    shown = cli("eval", "lifecycle", "--report", out)
    assert shown.code == 0
    assert "scripted reporters, not models: scripted:lost" in shown.out
    assert (tmp_path / "run" / "report.txt").read_text() == shown.out
    assert cli("eval", "lifecycle-repairs", out, "--json").json["repairs"]["replay"]["asked"] == 0


@pytest.mark.parametrize(
    "args",
    [[], ["--study", "main"], ["--study", "main", "--model", "scripted"], ["--list", "--study", "main"],
     ["--list", "--repetitions", "3"], ["--report", "OUT", "--temperature", "1"],
     ["--study", "main", "--model", "gpt-x", "--base-url", "http://x", "--out", "OUT", "--temperature", "nan"],
     ["--study", "nope", "--model", "scripted", "--out", "OUT"], ["--report", "OUT"],
     ["--study", "main", "--model", "scripted", "--out", "OUT", "--language", "de"],
     ["--study", "main", "--model", "scripted", "--base-url", "http://x", "--out", "OUT"],
     ["--study", "main", "--model", "gpt-x", "--out", "OUT"],
     ["--study", "main", "--model", "scripted", "--out", "OUT", "--thinking-on", "[1]"]],
)  # fmt: skip
def test_what_cannot_be_run_is_one_line_and_code_2(cli: Cli, tmp_path: Path, args: list[str]) -> None:
    """Nothing is started."""
    told = cli("eval", "lifecycle", *[str(tmp_path / "o") if a == "OUT" else a for a in args])
    assert told.code == 2
    assert not (tmp_path / "o" / kept.REPLIES).exists()


def test_replies_can_be_had_without_keeping_them() -> None:
    """For measuring many rows without a folder."""
    found = list(answered(items("bundle"), scripted("scripted"), 2))
    assert len(found) == 48
