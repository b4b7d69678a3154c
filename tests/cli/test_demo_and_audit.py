"""The two main jobs, from the command line, on real input."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Cli


def test_the_demo_reads_at_a_glance(cli: Cli) -> None:
    """Paid twice beside paid once; no receipt beside one; believed beside refused twice, then accepted."""
    done = cli("demo")
    assert done.code == 0
    rows = {line.split("│")[1].strip(): line.split("│")[2:4] for line in done.out.splitlines() if line.startswith("│")}
    assert [cell.split() for cell in rows["paid for I-7"]] == [
        ["840.00", "EUR", "paid", "twice"],
        ["420.00", "EUR", "paid", "once"],
    ]
    assert [cell.strip() for cell in rows["receipt delivered"]] == ["no", "yes"]
    assert [cell.strip() for cell in rows['agent said "done"']] == ["believed", "refused twice, then accepted"]
    assert [cell.strip() for cell in rows["final status"]] == ["none", "CERTIFIED"]
    assert "scripted agent, simulated desk" in done.out


def test_the_demo_s_ledger_is_kept_listed_exported_and_authentic(cli: Cli, tmp_path: Path) -> None:
    """The kept run is a run like any other."""
    ledger, out = tmp_path / "demo.db", tmp_path / "demo.jsonl"
    found = cli("demo", "--ledger", ledger, "--json").json
    [row] = cli("runs", "--ledger", ledger, "--json").json["runs"]
    assert (row["run"], row["status"]) == (found["guarded"]["run"], "CERTIFIED")
    shown = cli("show", ledger).out
    assert "run ended: CERTIFIED" in shown
    assert "stage by the record: completed\n  done: paid, delivered\n" in shown
    assert cli("show", ledger, "--json").json["stage"]["stage"] == "completed"
    assert cli("export", ledger, row["run"], "-o", out).code == 0
    assert cli("verify", out, "--key", f"{ledger}.key.pub", "--json").json["authentic"] == "authentic"


def test_a_clean_trace_is_0_a_finding_is_1_a_bad_file_is_2(cli: Cli, tmp_path: Path) -> None:
    """The exit code says what there is to look at."""
    call = {"id": "c1", "type": "function", "function": {"name": "get_order", "arguments": '{"id": "O-1"}'}}
    clean = [
        {"role": "user", "content": "where is order O-1?"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": '{"id": "O-1", "status": "shipped"}'},
        {"role": "assistant", "content": "It is shipped."},
    ]
    good, found, bad = tmp_path / "good.json", tmp_path / "found.json", tmp_path / "bad.json"
    good.write_text(json.dumps({"messages": clean}), encoding="utf-8")
    call["function"] = {"name": "cancel_order", "arguments": '{"id": "O-9"}'}  # nobody ever named O-9
    found.write_text(json.dumps({"messages": clean}), encoding="utf-8")
    bad.write_text('{"messages": [', encoding="utf-8")
    assert cli("audit", good, "--json").code == 0
    one = cli("audit", found, "--json")
    assert (one.code, one.json["summary"]["traces"]) == (1, 1)
    two = cli("audit", good, bad, "--json")
    assert two.code == 2
    assert two.json["summary"]["traces"] == 1
    assert two.err.startswith(f"error: {bad}: ")
    assert "Traceback" not in two.err


def test_the_tools_that_write_can_be_named(cli: Cli, tmp_path: Path) -> None:
    """With `--writes` nothing is guessed."""
    call = {"id": "c1", "type": "function", "function": {"name": "frobnicate", "arguments": "{}"}}
    messages = [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": "{}"},
        {"role": "assistant", "content": "ok"},
    ]
    file = tmp_path / "t.json"
    file.write_text(json.dumps({"messages": messages}), encoding="utf-8")
    [guessed] = cli("audit", file, "--json").json["reports"]
    [named] = cli("audit", file, "--writes", "frobnicate", "--json").json["reports"]
    assert (guessed["tools"]["frobnicate"]["effect"], guessed["tools"]["frobnicate"]["guess"]) == ("unknown", True)
    assert (named["tools"]["frobnicate"]["effect"], named["tools"]["frobnicate"]["guess"]) == ("write", False)


@pytest.mark.parametrize("domain", ["travel", "customer_support", "shopping_assistant"])
def test_the_recorded_conversations_are_audited_without_a_contract(cli: Cli, shared: Path, domain: str) -> None:
    """Every recorded call has its result, guesses are marked, and there is something to find."""
    done = cli("audit", shared / "data" / "state-bench" / "trajectories" / domain, "--json")
    assert done.code == 1
    summary = done.json["summary"]
    assert summary["traces"] >= 66
    assert summary["calls"] == summary["paired"] > 0
    assert summary["guessed_writes"]
    assert all(t["guess"] for r in done.json["reports"] for t in r["tools"].values() if "its name says" in t["because"])
