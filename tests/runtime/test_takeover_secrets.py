"""Secrets in a takeover: marks in the record and for the gates, the values for the live tools alone."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tallystick import Guard, Run, deepcopy_replica
from tallystick.contracts import parse
from tallystick.model.events import ResidualJudged
from tallystick.runtime.recheck import recheck
from tallystick.runtime.successors import Brief
from tests.runtime.test_secrets import everything

CONTRACT = parse("""
contract: vault/1
entities:
  account: {id: id, status: string}
tools:
  look:
    effect: read
    args: {account: id}
    target: account(args.account)
    yields: {account: {id: /id, status: /status}}
  open:
    effect: write
    args: {account: id, pin: string}
    target: account(args.account)
    once_per: args.account
    secrets: [/args/pin, /result/token]
    ok: has(result.token)
  use:
    effect: write
    args: {account: id, token: string}
    target: account(args.account)
    once_per: args.account
    secrets: [/args/token]
    ok: result.ok == true
task:
  owes:
    - {id: opened, by: open}
    - {id: used, by: use}
""")
PIN = "hunter2-4711"


class Vault:
    """What the live tools really got."""

    def __init__(self) -> None:
        self.got: list[str] = []

    def look(self, account: str) -> Any:
        return {"id": account, "status": "closed"}

    def open(self, account: str, pin: str) -> Any:
        self.got.append(pin)
        return {"token": f"T-{len(self.got)}-{pin}"}

    def use(self, account: str, token: str) -> Any:
        self.got.append(token)
        return {"ok": True}


def tools(vault: Vault) -> dict[str, Any]:
    return {"look": vault.look, "open": vault.open, "use": vault.use}


def proposal(pin: Any, token: Any) -> Mapping[str, Any]:
    return {
        "calls": [
            {"id": "open", "tool": "open", "args": {"account": "A-1", "pin": pin}},
            {"id": "use", "tool": "use", "args": {"account": "A-1", "token": token}},
        ]
    }


def started(folder: Path, vault: Vault) -> tuple[Guard, Run]:
    guard = Guard(CONTRACT, folder / "ledger.db", tools=tools(vault))
    run = guard.run(run_id="r")
    run.call("look", {"account": "A-1"})
    run.confirm("account", "A-1")
    return guard, run


def test_no_secret_of_a_proposal_or_a_replica_is_in_the_ledger_and_the_live_tool_gets_the_value(tmp_path: Path) -> None:
    vault = Vault()

    def successor(brief: Brief) -> Mapping[str, Any]:
        assert brief.replica is not None
        token = brief.replica.call("open", {"account": "A-1", "pin": PIN})["token"]
        brief.replica.call("use", {"account": "A-1", "token": token})
        return proposal(PIN, token)

    guard, run = started(tmp_path, vault)
    taken = run.take_over(successor, replica=deepcopy_replica(vault, tools), free={"open": "pin"})
    assert str(taken).startswith("complete")
    assert vault.got == [PIN, f"T-1-{PIN}"]
    (judged,) = [s.event.body for s in guard.store.events("r") if isinstance(s.event.body, ResidualJudged)]
    assert judged.proposal.redacted == ["/calls/0/args/pin", "/calls/1/args/token"]
    assert recheck(guard.store.events("r")).reproduces
    guard.close()
    assert PIN.encode() not in everything(tmp_path)


def test_a_reference_to_a_secret_of_a_live_receipt_is_bound_to_its_value(tmp_path: Path) -> None:
    vault = Vault()
    guard, run = started(tmp_path, vault)
    taken = run.take_over(
        lambda brief: proposal(PIN, {"$from": "open", "$at": "/token"}), free={"open": "pin"}, attempts=1
    )
    assert str(taken).startswith("complete")
    assert vault.got == [PIN, f"T-1-{PIN}"]
    assert recheck(guard.store.events("r")).reproduces
    guard.close()
    assert PIN.encode() not in everything(tmp_path)


def test_a_secret_whose_value_nobody_knows_any_more_is_not_sent(tmp_path: Path) -> None:
    vault = Vault()
    guard, run = started(tmp_path, vault)
    opened = run.call("open", {"account": "A-1", "pin": PIN})
    seen: list[Any] = []

    def successor(brief: Brief) -> Mapping[str, Any]:
        seen.extend(row["result"] for row in brief.evidence if row["tool"] == "open")
        args = {"account": "A-1", "token": {"$from": opened.receipt_id, "$at": "/token"}}
        return {"calls": [{"id": "use", "tool": "use", "args": args}]}

    taken = run.take_over(successor, attempts=1)
    assert (taken.status, taken.writes) == ("bottom", 0)
    assert seen[0]["token"].startswith("hmac:")
    assert vault.got == [PIN]
    assert taken.steps[0].code == "residual.grounding"
    run.close()
    assert recheck(guard.store.events("r")).reproduces
    guard.close()


@pytest.mark.parametrize("given", [f"no JSON {PIN}", f'{{"calls": {{"pin": "{PIN}"}}}}', f'{{"calls": [["{PIN}"]]}}'])
def test_of_a_proposal_nobody_can_read_nothing_is_kept_but_its_mark(tmp_path: Path, given: str) -> None:
    guard, run = started(tmp_path, Vault())
    assert run.take_over(lambda brief: given, attempts=1).reason == "takeover.attempts"
    run.close()
    assert recheck(guard.store.events("r")).reproduces
    guard.close()
    assert PIN.encode() not in everything(tmp_path)
