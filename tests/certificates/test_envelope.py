"""Envelopes: any DSSE tool verifies ours, one byte form, one signature, exactly the pinned key, nothing unverified."""

from __future__ import annotations

import base64
import json
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from securesystemslib.dsse import Envelope
from securesystemslib.exceptions import VerificationError
from securesystemslib.signer import SSlibKey

from tallystick import InputError
from tallystick.certificates import envelope as module
from tallystick.certificates.envelope import UnsignedError, key_id, open_envelope, sign
from tallystick.ledger.keys import public_bytes
from tallystick.model.certificate import PAYLOAD_TYPE, Reference
from tests.certificates.desk import KEY, OTHER, PUBLIC, Certified, signed, stated


@pytest.fixture
def raw(desk: Certified) -> bytes:
    """The envelope as it was handed out."""
    return desk.envelope.read_bytes()


def test_securesystemslib_alone_verifies_what_the_guard_signed(raw: bytes, desk: Certified) -> None:
    envelope = Envelope.from_dict(json.loads(raw))
    envelope.verify([SSlibKey.from_crypto(KEY.public_key())], 1)
    assert envelope.payload_type == PAYLOAD_TYPE
    assert json.loads(envelope.payload)["predicate"]["run"] == desk.run
    with pytest.raises(VerificationError):
        envelope.verify([SSlibKey.from_crypto(OTHER.public_key())], 1)


def test_what_securesystemslib_signed_is_the_same_envelope_to_the_byte(raw: bytes, desk: Certified) -> None:
    """Ed25519 is deterministic (RFC 8032), so two writers of one form write the same."""
    assert signed(desk.certificate.statement(), KEY) == raw
    opened = open_envelope(raw, PUBLIC)
    assert (opened.certificate, opened.signed, opened.key_id) == (desk.certificate, True, key_id(PUBLIC))
    assert not open_envelope(raw, None).signed


def test_no_byte_of_an_envelope_can_be_changed_removed_or_added(raw: bytes) -> None:
    for at in range(len(raw)):
        other = b"A" if raw[at : at + 1] != b"A" else b"B"
        for changed in (raw[:at] + other + raw[at + 1 :], raw[:at] + raw[at + 1 :], raw[:at] + b" " + raw[at:]):
            with pytest.raises(InputError):
                open_envelope(changed, PUBLIC)
    for changed in (raw + b"\n", raw[:-1], raw[: len(raw) // 2], b"", b"\xef\xbb\xbf" + raw, raw + raw):
        with pytest.raises(InputError):
            open_envelope(changed, PUBLIC)


def test_a_payload_written_otherwise_is_refused_also_under_the_right_key(desk: Certified) -> None:
    statement = json.loads(desk.certificate.statement())
    swapped = {**statement, "subject": [{"name": "run:other", "digest": {"sha256": "0" * 64}}]}
    for other in (
        json.dumps(statement).encode(),
        json.dumps(statement, sort_keys=True, separators=(",", ":"), indent=0).encode(),
        desk.certificate.statement() + b" ",
        json.dumps({**statement, "more": 1}, sort_keys=True, separators=(",", ":")).encode(),
        json.dumps(swapped, sort_keys=True, separators=(",", ":")).encode(),
        stated(desk.certificate, more=1),
        stated(desk.certificate, upto="7"),
        stated(desk.certificate, upto=True),
        stated(desk.certificate, outcome="done"),
        stated(desk.certificate, claims=None),
        b"[]",
        b"\xff",
        b"[" * 100_000,
        b'{"predicate":1e400}',
    ):
        with pytest.raises(InputError):
            open_envelope(signed(other, KEY), PUBLIC)


def test_exactly_the_pinned_key_and_exactly_one_signature(desk: Certified) -> None:
    payload = desk.certificate.statement()
    with pytest.raises(UnsignedError, match="another key"):
        open_envelope(signed(payload, OTHER), PUBLIC)
    for keys in ((), (KEY, OTHER), (OTHER, KEY)):
        with pytest.raises(InputError, match="signatures"):
            open_envelope(signed(payload, *keys), PUBLIC)
    # The right name over another's signature: names are not believed.
    mine, theirs = (json.loads(signed(payload, key)) for key in (KEY, OTHER))
    theirs["signatures"][0]["keyid"] = mine["signatures"][0]["keyid"]
    with pytest.raises(UnsignedError, match="does not fit"):
        open_envelope(_form(theirs), PUBLIC)
    with pytest.raises(InputError):
        open_envelope(signed(payload, KEY), b"\0" * 31)


def test_another_kind_of_payload_is_no_certificate_even_if_signed(desk: Certified) -> None:
    payload = desk.certificate.statement()
    with pytest.raises(InputError, match="not of"):
        open_envelope(signed(payload, KEY, kind="application/json"), PUBLIC)
    # The type is part of what is signed (DSSE's PAE): renaming it afterwards does not help.
    renamed = signed(payload, KEY, kind="application/json").replace(b"application/json", PAYLOAD_TYPE.encode())
    with pytest.raises(UnsignedError):
        open_envelope(renamed, PUBLIC)


@pytest.mark.parametrize(
    "change",
    [
        lambda e: {**e, "more": 1},
        lambda e: {k: v for k, v in e.items() if k != "payloadType"},
        lambda e: {**e, "payload": e["payload"].rstrip("=") + "!"},
        lambda e: {**e, "payload": base64.urlsafe_b64encode(base64.b64decode(e["payload"])).decode() + "\n"},
        lambda e: {**e, "payload": None},
        lambda e: {**e, "signatures": e["signatures"][0]},
        lambda e: {**e, "signatures": [{**e["signatures"][0], "keyid": 1}]},
        lambda e: {**e, "signatures": [{**e["signatures"][0], "sig": ""}]},
        lambda e: {**e, "signatures": [{**e["signatures"][0], "sig": "AAAA"}]},
        lambda e: {**e, "signatures": [{**e["signatures"][0], "cert": ""}]},
    ],
)
def test_an_envelope_of_another_shape_is_bad_input(raw: bytes, change: Any) -> None:
    with pytest.raises(InputError):
        open_envelope(_form(change(json.loads(raw))), PUBLIC)
    with pytest.raises(InputError):
        open_envelope(_form(change(json.loads(raw))), None)


def test_a_member_given_twice_is_refused(raw: bytes) -> None:
    kind = b'"payloadType":"application/vnd.in-toto+json",'
    with pytest.raises(InputError, match="one form"):
        open_envelope(raw.replace(kind, kind + kind), PUBLIC)


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(), lambda v: st.lists(v) | st.dictionaries(st.text(), v)
    )
)
def test_any_other_json_is_bad_input_and_no_traceback(value: Any) -> None:
    with pytest.raises(InputError):
        open_envelope(json.dumps(value).encode(), PUBLIC)


@given(st.binary(max_size=200))
def test_any_other_bytes_are_bad_input_and_no_traceback(value: bytes) -> None:
    with pytest.raises(InputError):
        open_envelope(value, None)


def test_a_huge_envelope_is_refused_before_it_is_read(raw: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(InputError, match="larger"):
        open_envelope(b" " * (module.MAX_BYTES + 1), PUBLIC)
    # What is small as a file and huge in memory is refused before it is parsed, also where the right key signed it.
    with pytest.raises(InputError, match="more values"):
        open_envelope(signed(b"[" + b"[]," * module.MAX_MARKS + b"[]]", KEY), PUBLIC)
    monkeypatch.setattr(module, "MAX_BYTES", len(raw) - 1)
    with pytest.raises(InputError, match="larger"):
        open_envelope(raw, PUBLIC)


def test_nothing_is_signed_that_does_not_verify(desk: Certified) -> None:
    from tallystick.certificates.record import view_at

    good = desk.certificate
    view = view_at(desk.guard.store.events(desk.run), good.upto)
    assert sign(view, good, KEY) == desk.finish.envelope
    (claim,) = good.claims
    forged = Reference(receipt=claim.references[0].receipt, digest="0" * 64, pointer=claim.references[0].pointer)
    wrong = [
        msgspec.structs.replace(good, claims=(msgspec.structs.replace(claim, references=(forged,)),)),
        msgspec.structs.replace(good, claims=(msgspec.structs.replace(claim, value="421.00 EUR"),)),
        msgspec.structs.replace(good, claims=(msgspec.structs.replace(claim, derivation="420.00"),)),
        msgspec.structs.replace(good, claims=()),
        msgspec.structs.replace(good, claims=(claim, claim)),
        msgspec.structs.replace(good, run="other"),
        msgspec.structs.replace(good, head="0" * 64),
        msgspec.structs.replace(good, upto=good.upto + 1),
        msgspec.structs.replace(good, contract="0" * 64),
        msgspec.structs.replace(good, task="0" * 64),
        msgspec.structs.replace(good, semantics="tallystick-gates/0"),
    ]
    for one in wrong:
        with pytest.raises(InputError, match="nothing is signed"):
            sign(view, one, KEY)


def test_a_key_has_the_name_securesystemslib_gives_it() -> None:
    assert key_id(public_bytes(OTHER)) == SSlibKey.from_crypto(OTHER.public_key()).keyid


def _form(value: Any) -> bytes:
    return json.dumps(value, sort_keys=True, separators=(",", ":")).encode() + b"\n"
