"""A caller who names the wrong tools or the wrong contract hears one sentence, not a finding for each call."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tallystick.audit.survey import check_contract, check_writes, tools_called
from tallystick.contracts import load
from tallystick.errors import InputError
from tests.audit.build import ASK, ORDER, agent, did
from tests.cli.conftest import Cli, cli  # noqa: F401 - a fixture

CANCEL = did("cancel_order", {"order_id": "O-17"}, {"status": "cancelled", "order_id": "O-17"})
OTHER = "contract: other/1\ntools:\n  deploy: {effect: write}\n"


@pytest.fixture
def traces(tmp_path: Path) -> Path:
    folder = tmp_path / "traces"
    folder.mkdir()
    for name, calls in (("a", (ORDER,)), ("b", (ORDER, CANCEL, CANCEL))):
        conversation = {"conversation": [ASK, agent("Done - I've cancelled O-17.", *calls)]}
        (folder / f"{name}.json").write_text(json.dumps(conversation), encoding="utf-8")
    return folder


def test_each_tool_called_is_named_once_and_bad_files_are_passed_over(traces: Path) -> None:
    (traces / "c.json").write_text("{", encoding="utf-8")
    assert list(tools_called([traces, traces / "missing"])) == ["get_order", "cancel_order"]


def test_writes_that_no_trace_calls_are_an_error_or_a_warning() -> None:
    called = ["get_order", "cancel_order"]
    assert check_writes(["cancel_order"], called) == []
    assert check_writes(["cancel_order", "ship"], called) == ["ship"]
    assert check_writes(["ship"], []) == ["ship"]
    with pytest.raises(InputError, match="no trace calls `nosuch`"):
        check_writes(["nosuch"], called)
    with pytest.raises(InputError, match="did you mean `cancel_order`"):
        check_writes(["get_order", "cancel_ordr"], called)


def test_a_contract_of_other_tools_is_one_error(traces: Path, tmp_path: Path, cli: Cli) -> None:  # noqa: F811
    file = tmp_path / "deploy.yaml"
    file.write_text(OTHER, encoding="utf-8")
    done = cli("audit", traces, "--contract", file)
    assert (done.code, done.out) == (2, "")
    assert done.err.count("\n") == 1
    assert "mentions none of the tools in these traces" in done.err
    check_contract(load(file), "x", [])  # traces without calls contradict nothing


def test_a_slip_in_writes_accuses_nobody(traces: Path, cli: Cli) -> None:  # noqa: F811
    done = cli("audit", traces, "--writes", "nosuch")
    assert (done.code, done.out) == (2, "")
    assert "no trace calls `nosuch`" in done.err
    some = cli("audit", traces, "--writes", "cancel_order,ship_parcel", "--json")
    assert some.code == 1
    assert some.err == "warning: no trace calls `ship_parcel`, named by --writes\n"


def test_a_tool_the_contract_leaves_out_is_one_finding_and_none_if_it_reads(
    traces: Path,
    tmp_path: Path,
    cli: Cli,  # noqa: F811
) -> None:
    file = tmp_path / "c.yaml"
    file.write_text(OTHER.replace("deploy", "ship_order"), encoding="utf-8")
    third = {"conversation": [ASK, agent("Shipped.", did("ship_order", {"order_id": "O-17"}, {"status": "shipped"}))]}
    (traces / "c.json").write_text(json.dumps(third), encoding="utf-8")
    reports = cli("audit", traces, "--contract", file, "--json").json["reports"]
    refused = [(r["trace"], f["call"]) for r in reports for f in r["findings"] if f["code"] == "act.refuse"]
    assert refused == [("b", "m1.c1")]


def test_a_broken_line_of_a_log_is_no_trace(tmp_path: Path, cli: Cli) -> None:  # noqa: F811
    file = tmp_path / "bad.jsonl"
    file.write_text(json.dumps({"messages": [ASK, agent("Hello.")]}) + '\n{"messages": [\n', encoding="utf-8")
    done = cli("audit", file)
    assert done.code == 2  # bad input, with everything whole in the file still audited
    assert "line 2: not JSON" in done.err
    assert "line.unreadable" in done.out
    assert done.out.splitlines()[-1].startswith("1 trace, 0 flagged")
    assert done.out.splitlines()[-1].endswith("1 line of a log unusable")


def test_nothing_to_audit_is_one_line(tmp_path: Path, cli: Cli) -> None:  # noqa: F811
    done = cli("audit", tmp_path / "missing.json")
    assert (done.code, done.out) == (2, "")
    assert done.err.count("\n") == 1
