"""`tallystick draft` and `tallystick mine`: what is printed, what is written, what is never overwritten."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Cli
from tests.drafting.shop import WRITES, Run


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder of nine trajectories, labels for eight of them, and the tools."""
    traces = tmp_path / "shop"
    traces.mkdir()
    for n in range(9):
        run = Run(n=n, skip=frozenset({"policy"} if n == 8 else ()))
        run.say("user", "Please refund the first item.")
        run.order()
        run.refund()
        (traces / f"t{n}.json").write_text(json.dumps({"conversation": run.turns}))
    labels = [json.dumps({"trajectory": f"t{n}", "ok": n < 8}) for n in range(9)]
    (tmp_path / "labels.jsonl").write_text("\n".join(labels))
    (tmp_path / "tools.json").write_text(json.dumps(WRITES))
    return tmp_path


def test_a_draft_is_printed_and_accepted(cli: Cli, folder: Path) -> None:
    """What is printed is the contract and nothing else; saved, `check` accepts it."""
    done = cli("draft", folder / "tools.json")
    assert (done.code, done.err) == (0, "")
    (folder / "c.yaml").write_text(done.out)
    checked = cli("check", folder / "c.yaml")
    assert checked.code == 0
    assert "note: it owes nothing" in checked.err


@pytest.mark.parametrize("command", [["draft", "tools.json"], ["mine", "shop"]], ids=lambda c: c[0])
def test_a_first_contract_says_that_it_owes_nothing(
    cli: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch, command: list[str]
) -> None:
    """Its head says what a certificate under it is worth."""
    monkeypatch.chdir(folder)
    head = " ".join(line.removeprefix("# ") for line in cli(*command).out.split("contract:")[0].splitlines())
    assert "It owes nothing yet, so a run under it is certified for what it claims" in head


def test_mining_writes_contract_and_report(cli: Cli, folder: Path) -> None:
    """Labels leave out the ninth, so the policy is a rule; the report names every call that taught it."""
    args = [
        "mine",
        folder / "shop",
        "--tools",
        folder / "tools.json",
        "-o",
        folder / "c.yaml",
        "--report",
        folder / "r",
    ]
    done = cli(*args, "--labels", folder / "labels.jsonl")
    assert done.code == 0
    assert "8 good of 9 trajectories" in done.err
    assert cli("check", folder / "c.yaml").code == 0
    report = json.loads((folder / "r").read_bytes())
    policy = next(r for r in report["rules"] if r["form"] == "policy")
    assert policy["in_force"]
    assert [c["trace"] for c in policy["taught_by"]] == [f"t{n}" for n in range(8)]
    assert cli(*args, "--good-only", ",".join(f"t{n}" for n in range(8))).code == 0  # the very same bytes


def test_an_edited_contract_is_never_overwritten_unasked(cli: Cli, folder: Path) -> None:
    """A file that says something else stays as it is, unless `--force` is given."""
    out = folder / "c.yaml"
    out.write_text("# mine now\n")
    for command in (["draft", folder / "tools.json"], ["mine", folder / "shop"]):
        done = cli(*command, "-o", out)
        assert done.code == 2
        assert "the file exists and says something else" in done.err
        assert out.read_text() == "# mine now\n"
    assert cli("draft", folder / "tools.json", "-o", out, "--force").code == 0
    assert out.read_text().startswith("# A first contract, drafted")
    assert not list(folder.glob(".*.part"))


@pytest.mark.parametrize(
    "args",
    [
        ["draft"],
        ["draft", "nope.json"],
        ["mine", "nope"],
        ["mine", "shop", "--labels", "nope"],
        ["mine", "shop", "--labels", "labels.jsonl", "--good-only", "t1"],
        ["mine", "shop", "--good-only", "t99"],
        ["mine", "shop", "--min-support", "0"],
        ["mine", "shop", "--tools", "labels.jsonl"],
        ["mine", "shop", "--tools", "other.json"],
        ["mine", "tools.json"],
        ["draft", "tools.json", "-o", "no/such/folder/c.yaml"],
    ],
    ids=" ".join,
)
def test_misuse_is_one_line_and_exit_2(
    cli: Cli, folder: Path, monkeypatch: pytest.MonkeyPatch, args: list[str]
) -> None:
    """Whatever is missing or contradicts itself, there is one clear line and nothing on stdout."""
    monkeypatch.chdir(folder)
    (folder / "other.json").write_text('{"tools": [{"name": "get_weather", "inputSchema": {"type": "object"}}]}')
    done = cli(*args)
    assert (done.code, done.out) == (2, "")
    assert done.err.startswith("error: ")
    assert done.err.count("\n") == 1
