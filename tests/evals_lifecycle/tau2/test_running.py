"""Whole runs in Inspect, with mock models that follow a script; and what the benchmark's loop swallows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tallystick.cli.app import run as command
from tallystick.errors import InputError
from tallystick.evals.lifecycle.tau2 import episode as kept
from tallystick.evals.lifecycle.tau2.duty import DUTY
from tallystick.evals.lifecycle.tau2.report import report
from tallystick.evals.lifecycle.tau2.run import Plan, play
from tallystick.evals.lifecycle.tau2.tables import text
from tallystick.evals.tau2.package import of
from tallystick.evals.tau2.tasks import task_named, tasks
from tallystick.model import jsontext
from tests.evals_lifecycle.tau2.made import first


def plan(*ids: str, domain: Any = "telecom", **more: Any) -> Plan:
    return Plan(domain=domain, only=ids, **more)


@pytest.fixture(scope="module")
def two() -> tuple[str, str]:
    """A telecom task of several changes, and a transfer task."""
    return first("telecom", calls=4).id, next(t.id for t in tasks("telecom") if t.action)


def test_a_truthful_script_is_clean_and_the_benchmark_agrees(two: tuple[str, str], tmp_path: Path) -> None:
    from inspect_ai.log import list_eval_logs, read_eval_log

    episodes = play(plan(*two), "scripted:truthful", None, tmp_path)
    assert {e.task for e in episodes} == set(two)
    assert all(e.ended and not e.lost for e in episodes)
    (log,) = (read_eval_log(i) for i in list_eval_logs(str(tmp_path / "logs")))
    for sample in log.samples or []:
        scores = sample.scores or {}
        assert scores["by_duty"].value == 1
        assert scores["by_task"].value == "C"
    told = report([tmp_path])
    (found,) = told["analysis"]["deployments"].values()
    assert {p: (c["hits"], c["of"]) for p, c in found["stages"]["strict"].items()}["mid"][0] > 0
    assert found["denominators"]["CLEAN"] == found["denominators"]["rows"]
    assert found["completion"]["strict"]["hand-off"]["of"] == 3
    assert told["corruption"]["passed"]
    assert "scripted agents, not models: scripted:truthful" in text(told)
    assert "published: gpt-5.5" in text(told)


@pytest.mark.parametrize("domain", ["retail", "airline"])
def test_the_other_domains_run_too(domain: Any, tmp_path: Path) -> None:
    """A task that its author ends with a transfer, without any change."""
    task = next(t for t in tasks(domain) if [g.tool for g in t.gold] == ["transfer_to_human_agents"])
    (one,) = play(plan(task.id, domain=domain), "scripted:truthful", None, tmp_path)
    assert (one.lost, one.ended) == ("", True)
    told = report([tmp_path])
    (found,) = told["analysis"]["deployments"].values()
    assert found["stages"]["strict"]["pre"]["of"] == found["stages"]["strict"]["pre"]["hits"] == 1
    assert found["completion"]["strict"]["hand-off"]["of"] == 3
    assert "published" not in text(told)  # the paper's figures are telecom's


def test_the_block_stands_after_the_policy_and_is_all_that_is_added(tmp_path: Path) -> None:
    """The agent's only system message is the benchmark's, with the block at the end of the policy."""
    import inspect_ai.log as logs

    play(plan(first("telecom", calls=1).id), "scripted:truthful", None, tmp_path)
    (log,) = (logs.read_eval_log(i, resolve_attachments=True) for i in logs.list_eval_logs(str(tmp_path / "logs")))
    (sample,) = log.samples or []
    asked = next(e.input for e in sample.events if e.event == "model" and e.model == "mockllm/agent")
    (system,) = [m.text for m in asked if m.role == "system"]
    policy = of("telecom.agents").get_domain_policy(workflow=False)
    assert system.count(DUTY) == 1
    assert f"{policy}\n{DUTY}" in system
    assert system.replace(f"\n{DUTY}", "").count(policy) == 1


def test_an_exception_that_the_loop_swallows_loses_the_episode_and_is_never_the_models(
    two: tuple[str, str], tmp_path: Path
) -> None:
    from inspect_ai.log import list_eval_logs, read_eval_log

    (lost,) = play(plan(two[0]), "scripted:breaks", None, tmp_path)
    assert lost.lost == "swallowed error, agent: RuntimeError: scripted: in place of a message"
    assert not lost.ended
    assert [s.by for s in lost.steps] == ["user", "agent", "user"]  # ended there: nothing was asked after it
    (log,) = (read_eval_log(i) for i in list_eval_logs(str(tmp_path / "logs")))
    (sample,) = log.samples or []
    for score in (sample.scores or {}).values():
        assert score.value != score.value  # NaN: unscored, by us and by the benchmark's own scorer
        assert score.reason == lost.lost
    told = report([tmp_path])
    (counts,) = told["episodes"].values()
    assert counts["lost"] == [f"{two[0]}#0: {lost.lost}"]
    assert "analysis" not in told
    assert (tmp_path / "rows.jsonl").read_text("utf-8").count('"valid":false') == 1
    assert "nothing is scored" in text(told)


def test_a_tool_that_breaks_is_noticed_too(tmp_path: Path) -> None:
    """The customer's model calls a tool with what the tool does not foresee: no error of the agent's."""
    from inspect_ai import eval as inspect_eval
    from inspect_ai.model import ModelOutput, ModelUsage, get_model

    from tallystick.evals.lifecycle.tau2.inspect_task import EPISODE, duty_task

    task = first("telecom", calls=1)

    def with_usage(output: ModelOutput) -> ModelOutput:
        output.usage = ModelUsage()
        return output

    hello = with_usage(ModelOutput.from_content("mockllm", "hello"))
    breaks = with_usage(ModelOutput.for_tool_call("mockllm", "set_apn_settings", {"apn_settings": {"apn_name": 7}}))
    says = with_usage(ModelOutput.from_content("mockllm", "Try it.\n<stage>READY</stage>"))
    customer = get_model("mockllm/customer", custom_outputs=[hello, breaks, hello], memoize=False)
    agent = get_model("mockllm/agent", custom_outputs=[says, says], memoize=False)
    (log,) = inspect_eval(
        duty_task("telecom", [task]), model=agent, model_roles={"user": customer}, display="none", log_dir=str(tmp_path)
    )
    (sample,) = log.samples or []
    found = sample.store[EPISODE]
    assert found["lost"].startswith("swallowed error, user: ValidationError")
    assert len(found["steps"]) == 2


def test_lost_episodes_are_played_again_and_others_are_not(two: tuple[str, str], tmp_path: Path) -> None:
    play(plan(two[0]), "scripted:breaks", None, tmp_path)
    assert len(play(plan(two[0]), "scripted:breaks", None, tmp_path)) == 1
    assert len((tmp_path / kept.EPISODES).read_bytes().splitlines()) == 2
    other = tmp_path / "other"
    play(plan(two[1]), "scripted:silent", None, other)
    before = (other / kept.EPISODES).read_bytes()
    (other / kept.EPISODES).write_bytes(before + b'{"domain": "tele')  # killed while it wrote
    assert len(play(plan(two[1]), "scripted:silent", None, other)) == 1
    assert (other / kept.EPISODES).read_bytes() == before
    with pytest.raises(InputError, match="other settings: deployment, user"):
        play(plan(two[1]), "scripted:stale", None, other)


def test_inspect_finds_the_task_by_its_name(tmp_path: Path) -> None:
    from inspect_ai import eval as inspect_eval
    from inspect_ai.model import get_model

    from tallystick.evals.lifecycle.tau2.scripted import outputs

    models = {
        by: get_model(f"mockllm/{by}", custom_outputs=outputs("stale", by), memoize=False) for by in ("agent", "user")
    }
    (log,) = inspect_eval(
        "tallystick/tau2_duty", task_args={"domain": "telecom", "limit": 1}, model=models["agent"],
        model_roles={"user": models["user"]}, display="none", log_samples=False, log_dir=str(tmp_path),
    )  # fmt: skip
    assert log.status == "success"
    assert log.results is not None
    (by_duty,) = [s for s in log.results.scores if s.name == "by_duty"]
    measured = {k: v.value for k, v in by_duty.metrics.items()}
    assert measured["pre"] == measured["completed"] == measured["followed"] == 1
    assert measured["mid"] == 0


def test_the_command_says_where_the_authors_calls_complete_a_task(
    two: tuple[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert command(["eval", "lifecycle-tau2", "telecom", "--gold", "--task", two[0], "--task", two[1], "--json"]) == 0
    told = jsontext.loads(capsys.readouterr().out)
    assert (told["only_after_last"], told["by_action"], told["kept"]) == (1, 1, True)


def test_the_command_runs_keeps_and_reports(two: tuple[str, str], tmp_path: Path, capsys: Any) -> None:
    asked = ["eval", "lifecycle-tau2", "telecom", "--task", two[1], "--model", "scripted:premature", "--out"]
    assert command([*asked, str(tmp_path), "--json"]) == 0
    told = jsontext.loads(capsys.readouterr().out)
    assert told["scripted"] == ["scripted:premature"]
    assert told["no_user_mode"] == "not run"
    assert command(["eval", "lifecycle-tau2", "--report", str(tmp_path)]) == 0
    shown = capsys.readouterr().out
    assert (tmp_path / "report.txt").read_text("utf-8").rstrip() == shown.rstrip()
    assert {f.name for f in (tmp_path / "figures").iterdir()} == {"stages.svg", "stages.png"}


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["banking"], "there is no domain `banking`"),
        ([], "which domain?"),
        (["telecom"], "nothing to run"),
        (["telecom", "--task", "nope", "--gold"], "no base task `nope`"),
        (["telecom", "--model", "scripted:nope", "--out", "OUT"], "no scripted agent `nope`"),
        (["telecom", "--model", "scripted:stale", "--user", "mockllm/x", "--out", "OUT"], "follow one script"),
        (["telecom", "--model", "nope/nope", "--out", "OUT"], "no usable model"),
        (["telecom", "--limit", "0", "--gold"], "`0` is too few"),
        (["telecom", "--gold", "--out", "OUT"], "beside `--gold`, --out would do nothing"),
        (["telecom", "--report", "OUT"], "beside `--report`, DOMAIN would do nothing"),
        (["--report", "OUT"], "the folder holds no run"),
    ],
)
def test_what_cannot_be_done_is_one_clear_line(args: list[str], said: str, tmp_path: Path, capsys: Any) -> None:
    assert command(["eval", "lifecycle-tau2", *(str(tmp_path / "out") if a == "OUT" else a for a in args)]) == 2
    told = capsys.readouterr().err
    assert said in told
    assert "Traceback" not in told


def test_without_the_package_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "inspect_evals", None)
    monkeypatch.setitem(sys.modules, "inspect_evals.tau2", None)
    with pytest.raises(InputError, match=r"tallystick\[tau2\]"):
        of("nothing.loaded.yet")


def test_a_task_of_another_domain_is_not_found() -> None:
    with pytest.raises(InputError, match="no base task"):
        task_named("airline", first("telecom", calls=1).id)
