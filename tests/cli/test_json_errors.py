"""With `--json`, stdout is one JSON object whatever happens."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Cli

MISUSE = [
    ["runs", "missing.db"],
    ["runs"],
    ["runs", "a.db", "--ledger", "b.db"],
    ["show", "missing.db"],
    ["recheck", "missing.db"],
    ["verify", "missing.jsonl"],
    ["approve", "missing.db"],
    ["settle", "missing.db"],
    ["settle", "missing.db", "c1", "--happened", "--did-not-happen"],
    ["export", "missing.db", "r", "-o", "x"],
    ["audit", "missing.json", "--format", "nonsense"],
    ["demo", "--faults", "gremlins"],
    ["keygen", "no/such/folder/key.pem"],
    ["show", "x.db", "--nonsense"],
]


@pytest.mark.parametrize("args", MISUSE, ids=" ".join)
def test_bad_input_is_one_error_object(
    cli: Cli, args: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Exit 2, `{"error": {message, where, fix}}` on stdout, and the same in one line on stderr."""
    monkeypatch.chdir(tmp_path)
    done = cli(*args, "--json")
    assert done.code == 2
    assert done.json.keys() == {"error"}
    assert done.json["error"].keys() == {"message", "where", "fix"}
    assert done.json["error"]["message"] in done.err
    assert done.err.count("\n") == 1
    assert cli(*args).out == ""


@pytest.mark.parametrize("args", [["audit", "missing.json"], ["check", "missing.yaml"]], ids=lambda a: a[0])
def test_audit_and_check_say_what_was_wrong_with_each_file(
    cli: Cli, args: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They go on with other files, so their own object holds the errors."""
    monkeypatch.chdir(tmp_path)
    done = cli(*args, "--json")
    assert done.code == 2
    assert "error" not in done.json


def test_an_invalid_contract_lists_its_problems(cli: Cli, tmp_path: Path) -> None:
    """Where a contract is what cannot be used, each problem has its place."""
    contract, trace = tmp_path / "c.yaml", tmp_path / "t.json"
    contract.write_text("contract: a/1\ntools: {x: {effect: nonsense}}\n", encoding="utf-8")
    trace.write_text('{"messages": [{"role": "user", "content": "x"}]}', encoding="utf-8")
    error = cli("audit", trace, "--contract", contract, "--json").json["error"]
    assert error["problems"][0]["line"] == 2
