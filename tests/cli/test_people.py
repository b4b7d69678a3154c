"""`approve`, `settle` and `recheck` on runs that a guard really made."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import msgspec
import pytest

from tallystick import Guard, Principal, Run
from tallystick.contracts import parse
from tallystick.ledger.keys import public_bytes, signing_key
from tallystick.ledger.sqlite import SQLiteStore
from tallystick.model.decision import Verdict, decision_of
from tallystick.model.events import Event, Refusal, seal
from tests.cli.conftest import Cli

CONTRACT = """\
contract: transfers/1
tools:
  status: {effect: read, args: {id: id}}
  transfer:
    effect: write
    args: {id: id}
    needs_approval: finance
    ok: result.ok
  post:
    effect: write
    args: {id: id}
    ok: result.ok
"""


class Bank:
    """Counts what really happened; `lost` makes the next posting's answer get lost."""

    def __init__(self) -> None:
        self.done: list[str] = []
        self.lost = False

    def transfer(self, id: str) -> dict[str, bool]:  # noqa: A002 - the contract's argument
        self.done.append(id)
        return {"ok": True}

    def post(self, id: str) -> dict[str, bool]:  # noqa: A002
        self.done.append(id)
        if self.lost:
            raise TimeoutError("no answer")
        return {"ok": True}


@pytest.fixture
def bank() -> Bank:
    """A bank that answers."""
    return Bank()


@pytest.fixture
def key(tmp_path: Path) -> Path:
    """The key of finance, a principal of the run."""
    signing_key(tmp_path / "finance.pem")
    return tmp_path / "finance.pem"


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    """Where the run is kept."""
    return tmp_path / "runs.db"


@pytest.fixture
def run(tmp_path: Path, ledger: Path, bank: Bank, key: Path) -> Iterator[Run]:
    """A live run in which finance may sign."""
    finance = Principal(id="ann", role="finance", public_key=public_bytes(signing_key(key)))
    tools = {"transfer": bank.transfer, "post": bank.post, "status": lambda id: {"id": id}}  # noqa: A006
    with (
        Guard(parse(CONTRACT), ledger, tools=tools) as guard,
        guard.run(run_id="r", principals=[finance]) as run,
    ):
        yield run


def test_a_held_call_runs_once_after_its_approval(cli: Cli, run: Run, bank: Bank, ledger: Path, key: Path) -> None:
    """The approver lists what waits and signs; the very same call then runs, once, and no other call does."""
    assert run.call("transfer", {"id": "I-7"}).refused
    [waiting] = cli("approve", ledger, "--json").json["pending"]
    assert (waiting["tool"], waiting["args"]) == ("transfer", {"id": "I-7"})
    assert str(waiting["number"]) in cli("approve", ledger).out
    signed = cli("approve", ledger, waiting["number"], "--key", key, "--expires", "15m")
    assert signed.code == 0, signed
    assert signed.out.startswith('approved by ann: transfer({"id":"I-7"}), once; ')
    assert run.call("transfer", {"id": "I-8"}).refused
    assert run.call("transfer", {"id": "I-7"}).ran
    assert not run.call("transfer", {"id": "I-7"}).ran
    assert bank.done == ["I-7"]


def test_a_denied_call_does_not_run(cli: Cli, run: Run, bank: Bank, ledger: Path, key: Path) -> None:
    """`--deny` is signed and recorded too."""
    run.call("transfer", {"id": "I-7"})
    [waiting] = cli("approve", ledger, "--json").json["pending"]
    assert cli("approve", ledger, waiting["number"], "--key", key, "--deny", "--json").json["decision"] == "deny"
    assert run.call("transfer", {"id": "I-7"}).refused
    assert bank.done == []


def test_only_a_principal_s_key_signs(cli: Cli, run: Run, ledger: Path, tmp_path: Path) -> None:
    """No key, a missing key (which is not made), and somebody else's key are bad input."""
    run.call("transfer", {"id": "I-7"})
    [waiting] = cli("approve", ledger, "--json").json["pending"]
    signing_key(tmp_path / "other.pem")
    for args in ([], ["--key", tmp_path / "none.pem"], ["--key", tmp_path / "other.pem"]):
        done = cli("approve", ledger, waiting["number"], *args)
        assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)
    assert not (tmp_path / "none.pem").exists()
    assert cli("approve", ledger, 999, "--key", tmp_path / "other.pem").code == 2
    assert cli("approve", ledger, waiting["number"], "--key", tmp_path / "other.pem", "--expires", "soon").code == 2
    assert len(cli("approve", ledger, "--json").json["pending"]) == 1


@pytest.mark.parametrize("happened", [True, False])
def test_a_person_settles_a_doubt(cli: Cli, run: Run, bank: Bank, ledger: Path, key: Path, happened: bool) -> None:
    """While in doubt nothing like it runs; settled as done it is handed back, settled as not done it runs."""
    bank.lost = True
    assert run.call("post", {"id": "I-7"}).in_doubt
    bank.lost = False
    assert not run.call("post", {"id": "I-7"}).ran
    [doubt] = cli("settle", ledger, "--json").json["in_doubt"]
    assert doubt["tool"] == "post"
    assert cli("settle", ledger, doubt["call"], "--key", key).code == 2  # it must be said what happened
    said = "--happened" if happened else "--did-not-happen"
    done = cli("settle", ledger, doubt["call"], said, "--key", key, "--note", "called the bank")
    assert done.code == 0, done
    again = run.call("post", {"id": "I-7"})
    assert again.ran is not happened
    assert len(bank.done) == (1 if happened else 2)
    assert cli("settle", ledger, doubt["call"], said, "--key", key).code == 2  # no longer in doubt


def test_every_decision_of_a_run_is_made_again(cli: Cli, run: Run, ledger: Path, key: Path, tmp_path: Path) -> None:
    """From the ledger and from its export, decisions reproduce; a record whose rules were changed does not."""
    run.call("transfer", {"id": "I-7"})
    run.call("post", {"id": "I-7"})
    run.close()
    found = cli("recheck", ledger, "--json")
    assert (found.code, found.json["reproduces"]) == (0, True)
    assert found.json["runs"][0]["compared"] >= 3
    out = tmp_path / "r.jsonl"
    cli("export", ledger, "r", "-o", out, "--sign-with", key)
    assert "run r reproduces" in cli("recheck", out).out
    assert "run r reproduces" in cli("recheck", ledger, "r").out
    assert cli("recheck", out, "r").code == 2


def test_a_record_with_another_verdict_does_not_recheck(cli: Cli, run: Run, ledger: Path, tmp_path: Path) -> None:
    """A chain that was computed again around a changed decision is consistent, and still does not follow from it."""

    run.call("transfer", {"id": "I-7"})
    run.close()
    store, forged = SQLiteStore(ledger, read_only=True), SQLiteStore(tmp_path / "forged.db")

    lease = forged.acquire("r", "test", datetime.now(UTC), 60)
    prev = "0" * 64
    for sealed in store.events("r"):
        event: Event = msgspec.structs.replace(sealed.event, prev=prev)
        if isinstance(event.body, Refusal):
            decision = msgspec.structs.replace(decision_of(event.body.decision), verdict=Verdict.REFUSE)
            event = msgspec.structs.replace(event, body=msgspec.structs.replace(event.body, decision=decision.text()))
        again = seal(event)
        forged.append(lease, again, durable=False)
        prev = again.digest
    forged.close()
    done = cli("recheck", tmp_path / "forged.db")
    assert done.code == 1
    assert "does not reproduce" in done.out
    assert "another verdict: recorded `refuse" in done.out
    assert json.loads(cli("recheck", tmp_path / "forged.db", "--json").out)["reproduces"] is False


def test_what_waits_in_any_run_is_listed_and_signed_without_naming_the_run(
    cli: Cli, run: Run, bank: Bank, ledger: Path, key: Path
) -> None:
    """Across runs each entry names its run; a number that is one call's needs no `--run`."""
    run.call("transfer", {"id": "I-7"})
    finance = Principal(id="ann", role="finance", public_key=public_bytes(signing_key(key)))
    tools = {"transfer": bank.transfer, "post": bank.post, "status": lambda id: {"id": id}}  # noqa: A006
    with (
        Guard(parse(CONTRACT), ledger, tools=tools) as guard,
        guard.run(run_id="other", principals=[finance]) as other,
    ):
        other.call("status", {"id": "I-8"})
        other.call("transfer", {"id": "I-8"})
        bank.lost = True
        assert other.call("post", {"id": "I-9"}).in_doubt
        bank.lost = False
        listed = cli("approve", ledger, "--json").json
        assert listed["run"] is None
        assert [(w["run"], w["args"], w["posted"]) for w in listed["pending"]] == [
            ("r", {"id": "I-7"}, None),
            ("other", {"id": "I-8"}, None),
        ]
        number = listed["pending"][1]["number"]
        assert cli("approve", ledger, number, "--key", key, "--json").json["run"] == "other"
        assert cli("approve", ledger, "--json").json["pending"][1]["posted"] == "approve"
        assert "an approval is posted" in cli("approve", ledger, "--run", "other").out
        assert other.call("transfer", {"id": "I-8"}).ran
        [doubt] = cli("settle", ledger, "--json").json["in_doubt"]
        assert doubt["run"] == "other"
        both = cli("settle", ledger, doubt["call"], "--happened", "--did-not-happen", "--key", key)
        assert (both.code, both.err.count("\n")) == (2, 1)
        assert "contradict" in both.err
        assert cli("settle", ledger, doubt["call"], "--happened", "--key", key, "--json").json["run"] == "other"


def test_what_is_no_key_and_what_is_no_time_to_come_are_named(cli: Cli, run: Run, ledger: Path, key: Path) -> None:
    """A ledger given for a key is not told to be less readable; a span in the past is said to be past."""
    run.call("transfer", {"id": "I-7"})
    [waiting] = cli("approve", ledger, "--json").json["pending"]
    assert ": not a key (fix: " in cli("approve", ledger, waiting["number"], "--key", ledger).err
    half = cli("approve", ledger, waiting["number"], "--key", f"{key}.pub")
    assert (half.code, half.out) == (2, "")
    assert f"this is the public half, which cannot sign (fix: give the signing key, `{key}`)" in half.err
    assert "`-5m` is in the past" in cli("approve", ledger, waiting["number"], "--key", key, "--expires", "-5m").err


def test_a_call_under_way_is_listed_beside_the_doubts(cli: Cli, tmp_path: Path) -> None:
    """On stdout and in the JSON: whoever looks while it runs is not told that all is well."""
    ledger = tmp_path / "way.db"
    seen = []

    def post(id: str) -> dict[str, bool]:  # noqa: A002 - the contract's argument
        seen.extend([cli("settle", ledger), cli("settle", ledger, "--json")])
        return {"ok": True}

    tools = {"transfer": post, "post": post, "status": lambda id: {"id": id}}  # noqa: A006
    with Guard(parse(CONTRACT), ledger, tools=tools) as guard, guard.run(run_id="r", without_approvers=True) as run:
        assert run.call("post", {"id": "I-7"}).ran
        text, told = seen
        assert text.out.startswith("run r: no receipt yet for c1 (post)\n   live; lease until ")
        assert "run r: nothing is in doubt yet" in text.err
        [under_way] = told.json["under_way"]
        assert (told.json["in_doubt"], under_way["call"], under_way["tool"]) == ([], "c1", "post")
        assert cli("settle", ledger, "--json").json == {"run": "r", "in_doubt": [], "under_way": []}
        assert cli("settle", ledger).out == ""
