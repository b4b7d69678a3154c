"""Secret fields never reach the store; equality on them is all that is left."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from tallystick import Guard, InputError
from tallystick.contracts import parse
from tallystick.model.canonical import canonical, digest
from tallystick.model.events import Intent, Receipt, Refusal
from tallystick.runtime.recheck import recheck
from tallystick.view import effect_keys
from tests.runtime.shop import events_of

CONTRACT = parse("""
contract: secrets/1
tools:
  login:
    effect: write
    args: {user: string, pin: string}
    secrets: [/args/pin, /result/token]
    once_per: [args.user, args.pin]
    ok: has(result.token)
""")
PIN = "hunter2-4711"


def login(user: str, pin: str) -> dict[str, Any]:
    assert pin == PIN  # the tool gets the real thing
    return {"token": "T-" + pin, "user": user}


def everything(folder: Path) -> bytes:
    return b"".join(p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file())


def test_no_secret_is_anywhere_in_the_ledger(tmp_path: Path) -> None:
    with Guard(CONTRACT, tmp_path / "ledger.db", tools={"login": login}) as guard:
        with guard.run(run_id="r") as run:
            outcome = run.call("login", {"user": "ann", "pin": PIN}, args_text=f'{{"user": "ann", "pin": "{PIN}"}}')
            assert outcome.result == {"token": "T-" + PIN, "user": "ann"}
            again = run.call("login", {"user": "ann", "pin": PIN})
            assert again.recorded  # equal secrets are equal
            assert again.result["token"].startswith("hmac:")
            run.call("login", {"user": "ann", "pin": PIN}, args_text="{cut " + PIN)
            run.call("login", args_text="{cut " + PIN)
            run.call("login", {"user": "ann", "pin": {"not": PIN}})
        assert recheck(guard.store.events("r")).reproduces
        bodies = [e.body for e in events_of(guard, "r")]
        intent = next(b for b in bodies if isinstance(b, Intent))
        receipt = next(b for b in bodies if isinstance(b, Receipt))
        assert intent.args.redacted == ["/pin"]
        assert receipt.result is not None
        assert receipt.result.redacted == ["/token"]
        assert sum(isinstance(b, Refusal) for b in bodies) == 4
    assert PIN.encode() not in everything(tmp_path)


def test_an_error_of_a_tool_with_secrets_keeps_only_its_kind(tmp_path: Path) -> None:
    def leak(user: str, pin: str) -> None:
        raise ValueError(f"bad pin {pin}")

    with Guard(CONTRACT, tmp_path / "ledger.db", tools={"login": leak}) as guard, guard.run(run_id="r") as run:
        assert run.call("login", {"user": "ann", "pin": PIN}).in_doubt
        receipt = events_of(guard, run)[-1].body
        assert isinstance(receipt, Receipt)
        assert receipt.error == "ValueError"
    assert PIN.encode() not in everything(tmp_path)


def test_the_runs_key_is_a_file_of_its_own_that_only_its_owner_reads(tmp_path: Path) -> None:
    guard = Guard(CONTRACT, tmp_path / "ledger.db", tools={"login": login})
    guard.run(run_id="a/b").suspend()
    (key,) = (tmp_path / "ledger.db.secrets").iterdir()
    assert key.name == "a%2Fb.key"
    assert key.stat().st_mode & 0o777 == 0o600
    assert len(key.read_bytes()) == 32
    assert key.parent.stat().st_mode & 0o777 == 0o700
    with guard.resume("a/b") as run:
        first = run.call("login", {"user": "ann", "pin": PIN})
        assert first.ran
    key.chmod(0o644)
    guard.run(run_id="other").close()
    if os.name == "posix":
        key.rename(key.with_name("c.key"))
        with pytest.raises(InputError, match="read by others"):
            guard.run(run_id="c")
        assert guard.store.lease("c") is None
    guard.close()


def test_marks_are_the_same_in_the_next_tenure_and_other_in_another_run(tmp_path: Path) -> None:
    guard = Guard(CONTRACT, tmp_path / "ledger.db", tools={"login": login})
    run = guard.run(run_id="r")
    run.call("login", {"user": "ann", "pin": PIN})
    run.suspend()
    with guard.resume("r") as again:
        assert again.call("login", {"user": "ann", "pin": PIN}).recorded
    with guard.run(run_id="s") as other:
        other.call("login", {"user": "ann", "pin": PIN})
    marks = [next(e.body.args.text for e in events_of(guard, r) if isinstance(e.body, Intent)) for r in ("r", "s")]
    assert marks[0] != marks[1]
    guard.close()


def test_a_contract_without_secrets_makes_no_key(tmp_path: Path) -> None:
    plain = parse("contract: plain/1\ntools:\n  look: {effect: read}\n")
    with Guard(plain, tmp_path / "ledger.db", tools={"look": lambda: 1}) as guard, guard.run() as run:
        run.call("look")
    assert not (tmp_path / "ledger.db.secrets").exists()


KEYED = parse("""
contract: keyed/1
tools:
  login:
    effect: write
    args: {user: string, pin: string, key: optional string}
    secrets: [/args/pin]
    idempotency_arg: key
    dedupes_by_key: true
    ok: result.ok
""")


def test_a_minted_key_cannot_be_guessed_from_the_secret(tmp_path: Path) -> None:
    args = {"user": "anna", "pin": "4711"}
    tool = KEYED.tools["login"]
    sent: list[str] = []

    def lost(user: str, pin: str, key: str) -> dict[str, bool]:
        sent.append(f"{user} {pin} {key}")
        raise TimeoutError

    with Guard(KEYED, tmp_path / "ledger.db", tools={"login": lost}) as guard:
        run = guard.run({})
        run.call("login", args)
        (call,) = run.view.calls.values()
        guessed = digest(canonical([run.id, list(effect_keys(tool, args)), "", 0]))[:32]
        assert call.idempotency_key not in (None, guessed)
        run.suspend()
        run = guard.resume(run.id)
        run.call("login", args)  # a retry in another tenure has the same key
        assert len(sent) == 2
        assert len(set(sent)) == 1
        run.close()
