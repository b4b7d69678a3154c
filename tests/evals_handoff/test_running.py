"""A model behind an endpoint: asked once for each question, kept, resumed, reported from what is kept."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tallystick.errors import InputError
from tallystick.evals.handoff import kept
from tallystick.evals.handoff.asking import answer_of
from tests.cli.conftest import Cli, cli
from tests.evals.fake_model import endpoint

__all__ = ["cli"]


class Fake:
    """A careless model: it writes the first sentence of what it is given, and takes the first label."""

    def __init__(self, broken: int = 0) -> None:
        self.requests: list[dict[str, Any]] = []
        self.broken = broken

    def __call__(self, request: dict[str, Any]) -> dict[str, Any]:
        self.requests.append(request)
        if self.broken and len(self.requests) > self.broken:
            return {"status": 500, "message": "gone"}
        shape = request.get("response_format")
        prompt = request["messages"][-1]["content"]
        if shape is None:
            return {"role": "assistant", "content": prompt.split("\n")[0]}
        properties = shape["json_schema"]["schema"]["properties"]
        told = {name: one["enum"][0] if "enum" in one else "missing" in prompt for name, one in properties.items()}
        return {"role": "assistant", "content": json.dumps(told)}


def test_a_run_is_kept_goes_on_and_is_reported_from_what_is_kept(cli: Cli, tmp_path: Path) -> None:
    out = tmp_path / "out"
    args = ("eval", "handoff", "--model", "fake", "--panel", "main", "--limit", "14", "--out", str(out), "--json")
    broken = Fake(broken=20)
    with endpoint(broken) as url:
        stopped = cli(*args, "--base-url", url)
    assert stopped.code == 2
    assert "goes on from here" in stopped.err
    before = len(kept.read(out))
    fake = Fake()
    with endpoint(fake) as url:
        done = cli(*args, "--base-url", url)
    told = json.loads(done.out)
    assert done.code == 0
    assert told["episodes"] == {"main": 14}
    assert told["missing"] == {}
    keys = {r.key for r in kept.read(out).values() if not r.failure}
    assert len(fake.requests) == len(keys) - (before - _failures(out))  # nothing was asked twice
    again = json.loads(cli("eval", "handoff", "--report", str(out), "--panel", "main", "--json").out)
    assert again["readings"] == told["readings"]
    assert (out / "report.txt").exists()
    assert (out / "figures" / "conditions.svg").exists()


def _failures(out: Path) -> int:
    return len({r.key for r in _all(out) if r.failure})


def _all(out: Path) -> list[kept.Reply]:
    import msgspec

    return [msgspec.json.decode(line, type=kept.Reply) for line in (out / kept.REPLIES).read_bytes().splitlines()]


def test_a_scripted_reviewer_is_named_and_not_asked(cli: Cli, tmp_path: Path) -> None:
    fake = Fake()
    with endpoint(fake) as url:
        done = cli(
            "eval", "handoff", "--model", "fake", "--base-url", url, "--panel", "main", "--limit", "3", "--reviewer",
            "scripted", "--out", str(tmp_path / "o"),
        )  # fmt: skip
    assert done.code == 0
    assert "D_up is 1 by construction" in done.out
    roles = {r.role for r in kept.read(tmp_path / "o").values()}
    assert "reviewer" not in roles
    assert "competence" in roles


def test_no_request_of_an_executor_holds_more_than_its_sight(cli: Cli, tmp_path: Path) -> None:
    fake = Fake()
    with endpoint(fake) as url:
        cli("eval", "handoff", "--model", "fake", "--base-url", url, "--panel", "main", "--limit", "14", "--out",
            str(tmp_path / "o"))  # fmt: skip
    asked = [r for r in fake.requests if "You have only this text" in r["messages"][-1]["content"]]
    assert 0 < len(asked) <= 14  # equal artifacts of one task are one question
    assert all(len(r["messages"]) == 1 and r["messages"][0]["role"] == "user" for r in asked)


def test_another_runs_folder_is_refused(cli: Cli, tmp_path: Path) -> None:
    kept.settle(tmp_path, {"model": "a"})
    with pytest.raises(InputError):
        kept.settle(tmp_path, {"model": "b"})
    with pytest.raises(InputError):
        kept.settings_of(tmp_path / "none")
    assert cli("eval", "handoff", "--report", str(tmp_path / "none")).code == 2


def test_a_line_cut_off_by_a_kill_is_asked_again(tmp_path: Path) -> None:
    kept.settle(tmp_path, {"model": "a"})
    kept.append(tmp_path, kept.Reply(key="1", role="executor", prompt="p", text="t"))
    whole = (tmp_path / kept.REPLIES).read_bytes()
    (tmp_path / kept.REPLIES).write_bytes(whole + b'{"key": "2", "ro')
    assert set(kept.read(tmp_path)) == {"1"}
    kept.settle(tmp_path, {"model": "a"})
    assert (tmp_path / kept.REPLIES).read_bytes() == whole
    (tmp_path / kept.REPLIES).write_bytes(b"[]\n")
    with pytest.raises(InputError):
        kept.read(tmp_path)


@pytest.mark.parametrize(
    ("text", "found"),
    [('{"a": 1}', {"a": 1}), ('Sure: {"a": 1} .', {"a": 1}), ("", {}), ("}{", {}), ("{bad}", {}), ("[1]", {})],
)
def test_a_reply_that_holds_no_object_answers_nothing(text: str, found: dict[str, Any]) -> None:
    assert answer_of(text) == found


def test_the_command_line_counts_runs_and_refuses_what_would_do_nothing(cli: Cli, tmp_path: Path) -> None:
    assert json.loads(cli("eval", "handoff", "--list", "--json").out)["episodes_per_model"] == 216
    told = cli("eval", "handoff", "--model", "reference", "--panel", "gate", "--limit", "4", "--reading", "plain")
    assert told.code == 0
    assert "not from any model" in told.out
    for args in (
        (), ("--list", "--model", "reference"), ("--model", "fake"), ("--model", "reference", "--reading", "x"),
        ("--model", "reference", "--base-url", "http://127.0.0.1:1/v1"), ("--model", "reference", "--panel", "x"),
        ("--model", "fake", "--out", str(tmp_path / "x")), ("--model", "reference", "--substrate", "x"),
        ("--list", "--reviewer", "model"), ("--model", "reference", "--api-key-env", "X"),
        ("--report", "x", "--substrate", "plain"), ("--report", "x", "--base-url", "http://127.0.0.1:1/v1"),
        ("--report", "x", "--blind", "y", "--reading", "plain"), ("--model", "reference", "--reviewer", "model"),
    ):  # fmt: skip
        assert cli("eval", "handoff", *args).code == 2, args
    assert "--api-key-env would do nothing" in cli("eval", "handoff", "--list", "--api-key-env", "X").err
    assert "`reference`" in cli("eval", "handoff", "--model", "refrence").err


def test_a_panel_named_twice_is_played_once_and_a_figure_has_something_to_show(cli: Cli, tmp_path: Path) -> None:
    twice = ("--panel", "main", "--panel", "main", "--limit", "2", "--out", str(tmp_path), "--json")
    done = cli("eval", "handoff", "--model", "reference", *twice)
    told = json.loads(done.out)
    assert told["episodes"] == {"main": 2}
    assert told["settings"][0]["reviewer"] == "scripted"
    assert told["readings"]["precedence"]["contrasts"] == []
    assert not (tmp_path / "figures" / "link.svg").exists()
    assert "report.txt, report.json, figures/" in done.err


def test_where_no_reply_comes_the_reason_is_said(cli: Cli, tmp_path: Path) -> None:
    args = ("--model", "fake", "--panel", "main", "--limit", "1", "--out", str(tmp_path / "o"))
    with endpoint(lambda _: {"status": 500, "message": "gone"}) as url:
        found = cli("eval", "handoff", *args, "--base-url", url)
    assert found.code == 2
    assert "no episode has all its replies" in found.err
    assert "500" in found.err


@pytest.mark.parametrize("name", ["langgraph", "autogen"])
def test_scripts_score_alike_whatever_carries_their_words(cli: Cli, name: str) -> None:
    pytest.importorskip("langgraph" if name == "langgraph" else "autogen_agentchat")
    args = ("eval", "handoff", "--model", "reference", "--panel", "transport", "--json", "--substrate")
    told = [json.loads(cli(*args, one).out) for one in ("plain", name)]
    for reading in ("precedence", "plain"):
        plain, carried = (one["readings"][reading]["transport"] for one in told)
        assert plain["plain"] == carried[name]


def test_folders_of_one_model_on_several_substrates_are_one_report(cli: Cli, tmp_path: Path) -> None:
    for name in ("plain", "langgraph"):
        pytest.importorskip("langgraph")
        cli("eval", "handoff", "--model", "reference", "--panel", "transport", "--substrate", name, "--limit", "10",
            "--out", str(tmp_path / name))  # fmt: skip
    both = ("--report", str(tmp_path / "plain"), "--report", str(tmp_path / "langgraph"))
    told = json.loads(cli("eval", "handoff", *both, "--json").out)
    assert list(told["readings"]["plain"]["transport"]) == ["plain", "langgraph"]
    assert cli("eval", "handoff", *both[:2], *both[:2]).code == 2
    assert cli("eval", "handoff", *both[:2], "--panel", "main").code == 2


def test_a_blind_sample_holds_the_artifact_and_nothing_of_condition_checker_or_endpoint(
    cli: Cli, tmp_path: Path
) -> None:
    out, file = tmp_path / "o", tmp_path / "sheets.jsonl"
    cli(
        "eval", "handoff", "--model", "reference", "--panel", "compression", "--panel", "restoration", "--out", str(out)
    )
    assert cli("eval", "handoff", "--report", str(out), "--blind", str(file)).code == 0
    sheets = [json.loads(line) for line in file.read_text().splitlines()]
    key = [json.loads(line) for line in Path(f"{file}.key").read_text().splitlines()]
    assert len(sheets) == len({s["id"] for s in sheets}) == 240
    assert [s["id"] for s in sheets] == [k["id"] for k in key]
    assert all(set(s) == {"id", "artifact", "rubric", "contract", "task"} for s in sheets)
    assert len({k["condition"] for k in key}) > 6
    assert cli("eval", "handoff", "--model", "reference", "--blind", str(file)).code == 2
