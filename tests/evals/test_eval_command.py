"""`tallystick eval evidence` as a person and a program call it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Cli, cli

__all__ = ["cli"]


def test_list_counts_the_composition_of_the_paper(cli: Cli) -> None:
    """Exactly the fields that were promised, counted from the items, and the manifest holds."""
    told = cli("eval", "evidence", "--list", "--json").json
    assert set(told) == {"protocols", "domains", "v3", "reads", "manifest_ok"}
    assert told["protocols"] == {"Legacy": 86, "V0": 144, "V1": 162, "V2": 132, "V3": 132}
    assert sum(told["domains"].values()) == 656
    assert told["v3"] == {"nodes": 501, "edges": 439, "forks": 103, "joins": 96}
    assert set(told["reads"]) == {"mean_by_protocol", "max"}
    assert told["manifest_ok"] is True
    shown = cli("eval", "evidence", "--list")
    assert shown.code == 0
    assert "656 cases" in shown.out


def test_a_scripted_run_prints_one_object_and_tells_progress_elsewhere(cli: Cli) -> None:
    """Measures per protocol with intervals on stdout; how far it is on stderr."""
    done = cli("eval", "evidence", "--model", "scripted:acts_early:0.4", "--limit", 10, "--epochs", 2, "--json")
    assert done.code == 0
    assert done.json["episodes"] == 20
    par = done.json["protocols"]["V1"]["PAR"]
    assert par["wilson"][0] <= par["share"] <= par["wilson"][1]
    assert "20 of 20 episodes" in done.err


def test_the_gate_lets_no_early_or_wrong_entity_action_through(cli: Cli) -> None:
    """Zero effects of either kind, and a correct agent's successes unchanged."""
    for fault in ("acts_early:1", "wrong_entity:1"):
        told = cli(
            "eval", "evidence", "--model", f"scripted:{fault}", "--gated", "--limit", 30, "--epochs", 1, "--json"
        ).json
        assert told["effects"] == {"early": 0, "wrong_entity": 0}
        assert told["refused"] > 0
    told = cli(
        "eval", "evidence", "--model", "scripted:correct", "--gated", "--limit", 30, "--epochs", 1, "--json"
    ).json
    assert [p["ECS"]["share"] for p in told["protocols"].values()] == [1.0] * 5


def test_a_folder_keeps_the_run_and_other_settings_are_refused(cli: Cli, tmp_path: Path) -> None:
    """Episodes, report as JSON, text and page; going on is free; another seed or agent needs another folder."""
    base = ("eval", "evidence", "--model", "scripted:stops_early:0.5", "--limit", 10, "--epochs", 1, "--out", tmp_path)
    assert cli(*base).code == 0
    assert {p.name for p in tmp_path.iterdir()} >= {"episodes.jsonl", "settings.json", "report.json", "report.html"}
    assert json.loads((tmp_path / "report.json").read_text())["episodes"] == 10
    again = cli(*base)
    assert "of 10 episodes" not in again.err
    other = cli(*base, "--seed", "another")
    assert other.code == 2
    assert "other settings: seed" in other.err
    assert cli(*base, "--scgr", "eg").code == 2


def test_derived_sets_are_run_together_and_paired(cli: Cli) -> None:
    """A group's arms, each with its measures, and each beside its base."""
    options = ("--arm", "original", "--arm", "withheld", "--limit", 4, "--epochs", 1)
    told = cli("eval", "evidence", "--model", "scripted:correct", *options, "--json").json
    assert list(told["arms"]) == ["original", "withheld"]
    (pair,) = told["paired"]
    assert (pair["base"], pair["arm"], pair["difference"]) == ("original", "withheld", -1.0)
    shown = cli("eval", "evidence", "--model", "scripted:correct", *options)
    assert "arms beside their base" in shown.out
    assert "not ours" in shown.out


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ((), "nothing to run"),
        (("--model", "scripted:naps"), "no scripted fault"),
        (("--model", "gpt"), "needs an endpoint"),
        (("--model", "scripted", "--base-url", "http://127.0.0.1:1/v1"), "has no endpoint"),
        (("--model", "scripted", "--protocol", "V7"), "no protocol `V7`"),
        (("--model", "scripted", "--arm", "warmth"), "no derived set `warmth`"),
        (("--model", "scripted", "--scgr", "best"), "no variant `best`"),
        (("--model", "gpt", "--base-url", "http://127.0.0.1:1/v1", "--harness", "abacus"), "no harness `abacus`"),
        (("--model", "gpt", "--base-url", "http://127.0.0.1:1/v1", "--max-turns", "0"), "too few"),
        (("--model", "gpt", "--api-key-env", "TALLY_NO_SUCH_KEY"), "not set"),
    ],
)
def test_bad_choices_are_one_line(cli: Cli, options: tuple[str, ...], words: str) -> None:
    """Exit code 2 and what would be right, before anything runs."""
    done = cli("eval", "evidence", *options)
    assert done.code == 2
    assert words in done.err
    assert done.out == ""


@pytest.mark.parametrize("beside", [["--limit", "3"], ["--check"], ["--model", "scripted:correct"]])
def test_nothing_given_beside_a_listing_is_passed_over_in_silence(cli: Cli, beside: list[str]) -> None:
    done = cli("eval", "evidence", "--list", *beside)
    assert (done.code, done.out) == (2, "")
    assert beside[0] in done.err
