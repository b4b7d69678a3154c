"""The offline check: only the pinned key's certificate of this very record, judged again, is authentic."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tallystick import InputError
from tallystick.certificates.check import STEPS, Checked, check_certificate
from tallystick.ledger.export import export
from tallystick.ledger.verify import verify
from tallystick.model.certificate import Certificate
from tests.certificates.desk import CONTRACT, KEY, NOW, OTHER, PUBLIC, Certified, certified, signed, stated


@pytest.fixture(scope="module")
def second(tmp_path_factory: pytest.TempPathFactory) -> Certified:
    """Another run of the same desk, which differs from the first in its id alone."""
    return certified(tmp_path_factory.mktemp("second"), "r2")


def steps(result: Checked) -> set[str]:
    """The steps that found something."""
    assert not result.ok
    assert result.authentic == "not authentic"
    return {fault.step for fault in result.problems}


def checked(desk: Certified, tmp_path: Path, envelope: bytes) -> Checked:
    """Check other envelope bytes against the run's own export."""
    file = tmp_path / "cert.json"
    file.write_bytes(envelope)
    return check_certificate(file, desk.export, PUBLIC)


def test_what_the_guard_certified_is_authentic(desk: Certified) -> None:
    found = check_certificate(desk.envelope, desk.export, PUBLIC)
    assert (found.ok, found.authentic, found.problems, found.passed) == (True, "authentic", (), STEPS)
    assert (found.certificate, found.later) == (desk.certificate, 0)


def test_without_a_key_nothing_is_authentic(desk: Certified) -> None:
    found = check_certificate(desk.envelope, desk.export)
    assert (found.ok, found.authentic) == (True, "intact, unauthenticated")
    assert set(STEPS) - set(found.passed) == {"signature"}


def test_another_key_shows_on_certificate_and_export(desk: Certified, tmp_path: Path) -> None:
    payload = desk.certificate.statement()
    assert steps(check_certificate(desk.envelope, desk.export, b"\1" * 32)) == {"signature", "export"}
    assert steps(checked(desk, tmp_path, signed(payload, OTHER))) == {"signature"}
    export(desk.guard.store, desk.run, tmp_path / "other.jsonl", OTHER, now=NOW)
    export(desk.guard.store, desk.run, tmp_path / "unsigned.jsonl", None, now=NOW)
    for file in ("other.jsonl", "unsigned.jsonl"):
        assert steps(check_certificate(desk.envelope, tmp_path / file, PUBLIC)) == {"export"}


def test_no_byte_of_either_file_can_be_changed(desk: Certified, tmp_path: Path) -> None:
    """Each region of both files: every 97th byte of the envelope, every 997th of the export."""
    for file, other, stride in ((desk.envelope, desk.export, 97), (desk.export, desk.envelope, 997)):
        raw = file.read_bytes()
        changed = tmp_path / file.name
        for at in range(0, len(raw), stride):
            changed.write_bytes(raw[:at] + bytes([raw[at] ^ 1]) + raw[at + 1 :])
            pair = (changed, other) if file == desk.envelope else (other, changed)
            assert not check_certificate(*pair, PUBLIC).ok, at


def test_another_runs_export_and_another_runs_certificate_do_not_fit(desk: Certified, second: Certified) -> None:
    for one, other in ((desk, second), (second, desk)):
        found = check_certificate(one.envelope, other.export, PUBLIC)
        assert steps(found) == {"chain"}
        assert {f.code for f in found.problems} >= {"certificate.run", "certificate.head"}


def test_a_certificate_made_under_another_contract_does_not_fit(desk: Certified, tmp_path: Path) -> None:
    """The same run id, the same calls and answers, another contract text."""
    text = CONTRACT.read_text(encoding="utf-8") + "# one more line\n"
    (tmp_path / "other.yaml").write_text(text, encoding="utf-8")
    other = certified(tmp_path, contract=tmp_path / "other.yaml")
    found = check_certificate(other.envelope, desk.export, PUBLIC)
    assert steps(found) == {"chain"}
    assert "certificate.contract" in {f.code for f in found.problems}
    assert check_certificate(other.envelope, other.export, PUBLIC).ok


def test_a_cut_export_is_not_verified(desk: Certified, tmp_path: Path) -> None:
    lines = desk.export.read_bytes().splitlines(keepends=True)
    for cut in (lines[:-1], [*lines[:-3], lines[-1]], lines[:1], []):
        (tmp_path / "cut.jsonl").write_bytes(b"".join(cut))
        assert steps(check_certificate(desk.envelope, tmp_path / "cut.jsonl", PUBLIC)) == {"export"}


def test_an_export_made_before_the_end_has_nothing_certified(desk: Certified, tmp_path: Path) -> None:
    """The holder of the key signs every head on the way; only the last has stop, certificate and end."""
    store, whole = desk.guard.store, list(desk.guard.store.events(desk.run))
    for end in range(1, len(whole)):
        prefix = Prefix(store, whole[:end])
        export(prefix, desk.run, tmp_path / "early.jsonl", KEY, now=NOW)
        assert verify(tmp_path / "early.jsonl", PUBLIC).authentic == "authentic"
        assert steps(check_certificate(desk.envelope, tmp_path / "early.jsonl", PUBLIC)) <= {"chain", "stop"}


def test_a_certificate_that_says_anything_else_does_not_check_even_under_the_right_key(
    desk: Certified, tmp_path: Path
) -> None:
    """Whoever has the key can sign; the record still does not say so."""
    good = desk.certificate
    other: dict[str, Any] = {
        "chain": [
            {"run": "r2"},
            {"upto": good.upto - 1},
            {"upto": good.upto + 1},
            {"upto": 10**9},
            {"head": "0" * 64},
            {"contract": "0" * 64},
            {"task": "0" * 64},
            {"semantics": "tallystick-gates/0"},
        ],
        "stop": [
            {"now": "2026-03-11T09:00:01Z"},
            {"now": ""},
            {"outcome": "declined"},
            {"claims": []},
            {"obligations": []},
            {"claims": [{**msgspec.to_builtins(good.claims[0]), "value": "421.00 EUR"}]},
        ],
    }
    for step, changes in other.items():
        for change in changes:
            found = checked(desk, tmp_path, signed(stated(good, **change), KEY))
            assert steps(found) == {step}, change


def test_a_record_written_to_agree_with_a_false_certificate_is_still_judged_again(
    desk: Certified, tmp_path: Path
) -> None:
    """A runtime that lies from end to end: event, end, export and signature agree, and the claim is not what came."""
    good = desk.certificate
    claim = msgspec.structs.replace(good.claims[0], value="421.00 EUR")
    false = certificate_with(good, claims=(claim,))
    rewritten(desk, tmp_path / "lie.jsonl", false)
    (tmp_path / "lie.json").write_bytes(signed(false.statement(), KEY))
    assert verify(tmp_path / "lie.jsonl", PUBLIC).authentic == "authentic"
    found = check_certificate(tmp_path / "lie.json", tmp_path / "lie.jsonl", PUBLIC)
    assert steps(found) == {"checks", "binding"}
    # The same without the lie passes, so it is the lie that was found.
    rewritten(desk, tmp_path / "true.jsonl", good)
    assert check_certificate(desk.envelope, tmp_path / "true.jsonl", PUBLIC).ok


@pytest.mark.parametrize(
    "what", ["stop", "status", "outcome", "actor", "between", "no certificate", "garbled decision", "garbled claims"]
)
def test_an_end_that_is_not_the_certified_one_shows(desk: Certified, tmp_path: Path, what: str) -> None:
    rewritten(desk, tmp_path / "other.jsonl", desk.certificate, what)
    assert verify(tmp_path / "other.jsonl", PUBLIC).authentic == "authentic"
    assert steps(check_certificate(desk.envelope, tmp_path / "other.jsonl", PUBLIC)) <= {"stop", "chain"}


def test_files_that_cannot_be_read_are_bad_input(desk: Certified, tmp_path: Path) -> None:
    for pair in ((tmp_path / "none", desk.export), (desk.envelope, tmp_path / "none"), (tmp_path, desk.export)):
        with pytest.raises(InputError):
            check_certificate(*pair, PUBLIC)


def test_two_files_given_the_wrong_way_round_do_not_check(desk: Certified) -> None:
    assert steps(check_certificate(desk.export, desk.envelope, PUBLIC)) == {"envelope", "export"}


def test_every_fault_has_a_code_and_a_sentence(desk: Certified, second: Certified) -> None:
    for fault in check_certificate(desk.envelope, second.export, PUBLIC).problems:
        assert str(fault) == f"{fault.step}: {fault.message} [{fault.code}]"
    assert json.loads(msgspec.json.encode(check_certificate(desk.envelope, desk.export, PUBLIC)))["ok"]


# ------------------------------------------------------------------ records that were written otherwise


class Prefix:
    """A store that has only the first events of a run."""

    def __init__(self, store: Any, events: list[Any]) -> None:
        self._events = events

    def head(self, run: str) -> Any:
        from tallystick.ledger.store import Head

        last = self._events[-1]
        return Head(seq=last.event.seq, digest=last.digest)

    def events(self, run: str) -> Any:
        return iter(self._events)


def certificate_with(good: Certificate, **changes: Any) -> Certificate:
    return msgspec.structs.replace(good, **changes)


def rewritten(desk: Certified, out: Path, certificate: Certificate, what: str = "") -> None:
    """Export the run with its last three events written anew, in a chain that holds and under the right key."""
    from tallystick.model.canonical import digest
    from tallystick.model.events import Actor, Ended, Issued, Said, StopDecided, seal

    events = list(desk.guard.store.events(desk.run))
    *kept, stop, issued, ended = events
    assert isinstance(stop.event.body, StopDecided)
    assert isinstance(ended.event.body, Ended)
    text = certificate.statement()
    bodies: list[Any] = [
        stop.event.body,
        Issued(statement=text.decode(), statement_sha256=digest(text)),
        ended.event.body,
    ]
    actors = [stop.event.actor] * 3
    if what == "stop":
        bodies[0] = msgspec.structs.replace(
            stop.event.body, decision=stop.event.body.decision.replace("accept", "reject")
        )
    elif what.startswith("garbled"):
        bodies[0] = msgspec.structs.replace(stop.event.body, **{what.removeprefix("garbled "): '[{"slot":1}]'})
    elif what == "status":
        bodies[2] = msgspec.structs.replace(ended.event.body, status="UNCERTIFIED")
    elif what == "outcome":
        bodies[2] = msgspec.structs.replace(ended.event.body, outcome="declined")
    elif what == "actor":
        actors[1] = Actor(role="agent", id="agent")
    elif what == "between":
        bodies.insert(1, Said(role="assistant", text="and one more thing"))
        actors.append(stop.event.actor)
    elif what == "no certificate":
        del bodies[1]
    for body, actor in zip(bodies, actors, strict=False):
        event = msgspec.structs.replace(
            stop.event, seq=kept[-1].event.seq + 1, prev=kept[-1].digest, body=body, actor=actor
        )
        kept.append(seal(event))
    assert issued.event.seq == stop.event.seq + 1
    export(Prefix(None, kept), desk.run, out, KEY, now=NOW)  # type: ignore[arg-type]  # all that an export reads
