"""`tallystick certificate`, and `verify` of certificates: what they print, and the exit codes as documented."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tallystick import Guard
from tallystick.demo.desk import Desk
from tallystick.ledger.keys import make_signing_key
from tests.certificates.desk import CONTRACT, settle_invoice
from tests.cli.conftest import Cli
from tests.runtime.shop import Clock


@pytest.fixture
def made(tmp_path: Path, cli: Cli) -> Path:
    """A ledger with a certified run `r` and an abandoned run `u`, a key, an export and a certificate of `r`."""
    desk = Desk.create(tmp_path / "desk.db")
    task = {"bindings": {"invoice": "I-7"}}
    with Guard(CONTRACT, tmp_path / "ledger.db", tools=desk.tools(), clock=Clock()) as guard:
        with guard.run(task, run_id="r") as run:
            assert settle_invoice(run).accepted
        with guard.run(task, run_id="u"):
            pass
    make_signing_key(tmp_path / "key")
    ledger, key = tmp_path / "ledger.db", tmp_path / "key"
    assert cli("export", ledger, "r", "--out", tmp_path / "run.jsonl", "--sign-with", key).code == 0
    done = cli("certificate", "r", "--ledger", ledger, "--key", key, "--out", tmp_path / "cert.json")
    assert done.code == 0, done.err
    assert "tallystick verify" in done.out
    return tmp_path


def test_a_certificate_is_made_later_and_verifies(made: Path, cli: Cli) -> None:
    done = cli("verify", made / "cert.json", "--ledger", made / "run.jsonl", "--key", made / "key.pub")
    assert (done.code, done.err) == (0, "")
    assert done.out.startswith("authentic: run r up to event ")
    assert done.out.endswith(", acted, 1 claim\n")
    told = cli("verify", made / "cert.json", "--ledger", made / "run.jsonl", "--key", made / "key.pub", "--json").json
    assert (told["ok"], told["authentic"], told["problems"]) == (True, "authentic", [])
    assert told["passed"] == ["envelope", "signature", "export", "chain", "stop", "gate", "checks", "binding"]
    assert told["certificate"]["claims"][0]["slot"] == "amount_paid"


def test_the_same_certificate_comes_out_each_time(made: Path, cli: Cli) -> None:
    args = ("certificate", "r", "--ledger", made / "ledger.db", "--key", made / "key")
    told = cli(*args, "--out", made / "again.json", "--json").json
    assert (told["run"], told["outcome"], told["claims"]) == ("r", "acted", 1)
    assert (made / "again.json").read_bytes() == (made / "cert.json").read_bytes()
    assert json.loads((made / "again.json").read_bytes())["signatures"][0]["keyid"] == told["key_id"]


def test_without_a_key_it_is_intact_and_nobody_knows_whose(made: Path, cli: Cli) -> None:
    """As for an export: exit code 0, and a note that says what was not shown."""
    done = cli("verify", made / "cert.json", "--ledger", made / "run.jsonl")
    assert done.code == 0
    assert done.out.startswith("intact, unauthenticated: run r")
    assert "--key" in done.err


def test_what_does_not_verify_exits_with_1_and_names_the_step(made: Path, cli: Cli) -> None:
    raw = (made / "cert.json").read_bytes()
    make_signing_key(made / "other")
    other = cli("verify", made / "cert.json", "--ledger", made / "run.jsonl", "--key", made / "other.pub")
    assert other.code == 1
    assert "signature: signed by another key" in other.out
    assert "[signature.other_key]" in other.out
    for text in (raw[:-2], raw.replace(b"a", b"b", 1), b"", b"hello\n", b"{}"):
        (made / "bad.json").write_bytes(text)
        done = cli("verify", made / "bad.json", "--ledger", made / "run.jsonl", "--key", made / "key.pub", "--json")
        assert (done.code, done.json["ok"], done.json["authentic"]) == (1, False, "not authentic")
        assert done.json["problems"][0]["step"] == "envelope"
        assert done.json["certificate"] is None


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("verify", "cert.json"), "against the export"),
        (("verify", "cert.json", "--key", "key.pub"), "against the export"),
        (("verify", "cert.json", "--ledger", "ledger.db"), "carries no signature"),
        (("verify", "run.jsonl", "--ledger", "run.jsonl"), "an export, and no certificate"),
        (("verify", "ledger.db", "--ledger", "run.jsonl"), "carries no signature"),
        (("verify", "cert.json", "--ledger", "none"), "no such file"),
        (("verify", "cert.json", "--ledger", "run.jsonl", "--key", "key"), "private key"),
        (("certificate", "u", "--ledger", "ledger.db", "--key", "key", "--out", "x"), "only a CERTIFIED run"),
        (("certificate", "none", "--ledger", "ledger.db", "--key", "key", "--out", "x"), "no run `none`"),
        (("certificate", "r", "--ledger", "run.jsonl", "--key", "key", "--out", "x"), "no ledger"),
        (("certificate", "r", "--ledger", "ledger.db", "--key", "none", "--out", "x"), "cannot be used"),
        (("certificate", "r", "--ledger", "ledger.db", "--key", "key.pub", "--out", "x"), ""),
        (("certificate", "r", "--ledger", "ledger.db", "--out", "x"), "--key"),
        (("certificate", "r", "--ledger", "ledger.db", "--key", "key", "--out", "ledger.db"), "SQLite"),
    ],
)
def test_what_cannot_be_used_exits_with_2(
    made: Path, cli: Cli, monkeypatch: pytest.MonkeyPatch, args: tuple[str, ...], message: str
) -> None:
    monkeypatch.chdir(made)
    done = cli(*args)
    assert (done.code, done.out) == (2, "")
    assert message in done.err.lower() or message in done.err
    assert not (made / "x").exists()


def test_ledger_and_run_may_be_given_in_the_order_of_the_other_commands(made: Path, cli: Cli) -> None:
    done = cli("certificate", made / "ledger.db", "r", "--key", made / "key", "--out", made / "again.json")
    assert done.code == 0
    assert (made / "again.json").read_bytes() == (made / "cert.json").read_bytes()


def test_a_certificate_that_is_to_be_shown_is_called_by_its_name(made: Path, cli: Cli) -> None:
    done = cli("show", made / "cert.json")
    assert (done.code, done.out) == (2, "")
    assert "this is a certificate" in done.err


def test_show_and_recheck_know_certificates(made: Path, cli: Cli) -> None:
    shown = cli("show", made / "run.jsonl")
    assert "bound to the record and verified" in shown.out
    assert "run ended: CERTIFIED" in shown.out
    assert cli("recheck", made / "run.jsonl").code == 0
    assert cli("verify", made / "ledger.db").code == 0
