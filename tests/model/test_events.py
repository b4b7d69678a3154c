"""Every event has one byte form, and what is sealed can be read for ever."""

from __future__ import annotations

import types
from decimal import Decimal
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

import msgspec
import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from hypothesis import assume, given
from hypothesis import strategies as st

from tallystick.errors import InputError
from tallystick.model.canonical import MAX_INTEGER, canonical, digest
from tallystick.model.events import (
    GENESIS,
    Actor,
    AnyBody,
    Approval,
    Blob,
    Damage,
    Event,
    Intent,
    Receipt,
    Said,
    blob,
    seal,
    unseal,
)
from tallystick.model.exact import args_digest, tagged
from tallystick.model.signing import is_signed_by, sign
from tallystick.model.values import same
from tests.model.test_canonical import TEXT
from tests.model.test_jsontext import VALUES

INTEGERS = st.integers(-MAX_INTEGER, MAX_INTEGER)


def strategy(hint: Any) -> st.SearchStrategy[Any]:
    """Values of a field's declared type, derived from the declaration so that new kinds are covered at once."""
    if hint is str:
        return TEXT
    if hint is bool:
        return st.booleans()
    if hint is type(None):
        return st.none()
    if hint is Blob:
        return st.binary(max_size=20).map(blob)
    origin, args = get_origin(hint), get_args(hint)
    if origin is Annotated or hint is int:
        return INTEGERS
    if origin is Literal:
        return st.sampled_from(args)
    if origin in (Union, types.UnionType):
        return st.one_of([strategy(a) for a in args])
    if origin is list:
        return st.lists(strategy(args[0]), max_size=3)
    if hint is msgspec.UnsetType:
        return st.just(msgspec.UNSET)
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        hints = get_type_hints(hint, include_extras=True)
        return st.builds(hint, **{name: strategy(hints[name]) for name in hint.__struct_fields__})
    raise AssertionError(f"no strategy for {hint}")


def bodies() -> st.SearchStrategy[Any]:
    kinds = []
    for kind in get_args(AnyBody):
        hints = {k: v for k, v in get_type_hints(kind, include_extras=True).items() if k in kind.__struct_fields__}
        kinds.append(st.builds(kind, **{name: strategy(hint) for name, hint in hints.items()}))
    return st.one_of(kinds)


ROLES = st.sampled_from(["runtime", "executor", "agent", "user", "principal", "host", "importer"])
EVENTS = st.builds(
    Event, v=st.just(1), run=TEXT, seq=INTEGERS, at=TEXT, actor=st.builds(Actor, role=ROLES, id=TEXT), body=bodies(),
    prev=st.just(GENESIS),
)  # fmt: skip


@given(event=EVENTS)
def test_a_sealed_event_is_rfc_8785_and_reads_back_as_itself(event: Event) -> None:
    sealed = seal(event)
    assert sealed.raw == canonical(msgspec.to_builtins(event))
    assert sealed.digest == digest(sealed.raw)
    assert unseal(sealed.raw) == sealed
    assert seal(unseal(sealed.raw).event) == sealed


@given(event=EVENTS, at=st.integers(0, 10**6), byte=st.integers(1, 255))
def test_one_changed_byte_is_another_event_or_none(event: Event, at: int, byte: int) -> None:
    raw = bytearray(seal(event).raw)
    raw[at % len(raw)] ^= byte
    try:
        again = unseal(bytes(raw))
    except InputError:
        return
    assert again.event != event
    assert again.raw == bytes(raw) == seal(again.event).raw


def test_every_kind_has_its_own_tag() -> None:
    tags = [kind.__struct_config__.tag for kind in get_args(AnyBody)]
    assert len(set(tags)) == len(tags)


def envelope(body: Any) -> Event:
    return Event(
        v=1, run="r", seq=1, at="2026-03-11T09:00:00Z", actor=Actor(role="user", id="u"), body=body, prev=GENESIS
    )


@pytest.mark.parametrize(
    "body",
    [
        Said(role="user", text="\ud800"),
        Damage(code="x", text="x", line=2**53),
        Damage(code="x", text="x", line=-(2**63)),
        Damage(code="x", text="x", line=2**70),
        Damage(code="x", text="x", line=True),
        Damage(code="x", text="x", line=Decimal(3)),  # type: ignore[arg-type]
        Receipt(id="r", call=None, result=None, outcome="fine"),  # type: ignore[arg-type]
        Said(role="user", text=None),  # type: ignore[arg-type]
        Said(role="user", text=float("nan")),  # type: ignore[arg-type]
        Intent(call="c", tool="t", args=b"raw"),  # type: ignore[arg-type]
        Said(role=object(), text=""),  # type: ignore[arg-type]
    ],
    ids=range(11),
)
def test_what_could_not_be_read_again_is_not_sealed(body: Any) -> None:
    with pytest.raises(InputError, match="cannot be written"):
        seal(envelope(body))


RAW = seal(envelope(Said(role="user", text="hi"))).raw


@pytest.mark.parametrize(
    "raw",
    [
        b"", b"{}", b"null", b"[]", b"\xff", b"\xef\xbb\xbf" + RAW, RAW + b"\n", b" " + RAW, RAW[:-1],
        RAW.replace(b'"v":1', b'"v":2'), RAW.replace(b'"v":1', b'"v":1.0'), RAW.replace(b'"v":1', b'"v":1,"x":0'),
        RAW.replace(b'"v":1', b'"v":1,"v":1'), RAW.replace(b'"seq":1', b'"seq":9007199254740992'),
        RAW.replace(b'"seq":1', b'"seq":true'), RAW.replace(b"message", b"massage"),
        RAW.replace(b'"hi"', b'"\\u0068i"'),
        RAW.replace(b'"hi"', b'"\\ud800"'), RAW.replace(b'"run":"r",', b""), RAW.replace(b'"hi"', b'"h/i\\/"'),
        b"[" * 100_000, b'{"body":' + b"[" * 100_000,
    ],
    ids=range(22),
)  # fmt: skip
def test_bytes_that_are_not_the_one_form_of_an_event_are_refused(raw: bytes) -> None:
    with pytest.raises(InputError):
        unseal(raw)


def test_an_unknown_envelope_version_says_so() -> None:
    with pytest.raises(InputError, match=r"envelope version 2.*newer"):
        unseal(RAW.replace(b'"v":1', b'"v":2'))


@given(raw=st.binary(max_size=80))
def test_a_blob_keeps_foreign_bytes(raw: bytes) -> None:
    kept = blob(raw)
    assert kept.raw == raw
    assert (kept.size, kept.sha256) == (len(raw), digest(raw))
    assert (kept.text is None) != (kept.base64 is None)


# --- argument digests


@given(left=VALUES, right=VALUES)
def test_argument_digests_are_equal_exactly_where_the_arguments_are_the_same(left: Any, right: Any) -> None:
    assert (args_digest(left) == args_digest(right)) is same(left, right)
    assert args_digest(left) == args_digest(reordered(left))


def reordered(value: Any) -> Any:
    if isinstance(value, dict):
        return {k: reordered(v) for k, v in reversed(value.items())}
    return [reordered(v) for v in value] if isinstance(value, list) else value


@given(
    number=st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**60), max_value=10**60),
    zeros=st.integers(0, 5),
)
def test_how_a_number_is_written_does_not_matter_and_its_last_digit_does(number: Decimal, zeros: int) -> None:
    text = format(number, "f")
    padded = Decimal((text if "." in text else text + ".") + "0" * zeros)
    assert args_digest({"a": number}) == args_digest({"a": padded})
    other = Decimal((text if "." in text else text + ".") + "0" * 30 + "1")
    assert args_digest({"a": number}) != args_digest({"a": other})


def test_no_ordinary_argument_looks_like_a_tagged_number() -> None:
    big = 2**53 + 1
    for forged in ({"$num": str(big)}, {"$$num": str(big)}, {"$num": {"$num": str(big)}}):
        assert args_digest({"a": forged}) != args_digest({"a": big})
    assert tagged({"a": big}) == {"a": {"$num": str(big)}}
    assert args_digest({"a": 2**53 - 1}) == args_digest({"a": Decimal("9007199254740991.0")})
    assert args_digest({"a": "1"}) != args_digest({"a": 1})
    assert args_digest({"a": True}) != args_digest({"a": 1})


def test_arguments_without_a_canonical_form_are_one_clear_error() -> None:
    deep: Any = 1
    for _ in range(50_000):
        deep = [deep]
    for bad in (float("nan"), {1, 2}, b"x", "\ud800", {1: 2}, deep, Decimal("Infinity")):
        with pytest.raises(InputError):
            args_digest({"a": bad})


# --- signatures over bodies

KEY, OTHER = Ed25519PrivateKey.from_private_bytes(b"k" * 32), Ed25519PrivateKey.from_private_bytes(b"o" * 32)
APPROVAL = Approval(id="a1", principal="ann", decision="approve", tool="pay_invoice", args_sha256="0" * 64, run="r")


def public(key: Ed25519PrivateKey) -> bytes:
    return key.public_key().public_bytes_raw()


def test_a_signature_holds_for_this_body_this_run_and_this_key_only() -> None:
    signed = sign(APPROVAL, "r", KEY)
    assert is_signed_by(signed, "r", public(KEY))
    assert not is_signed_by(signed, "s", public(KEY))
    assert not is_signed_by(signed, "r", public(OTHER))
    assert not is_signed_by(APPROVAL, "r", public(KEY))
    assert not is_signed_by(signed, "r", b"short")
    assert unseal(seal(envelope(signed)).raw).event.body == signed


@given(name=st.sampled_from([f for f in Approval.__struct_fields__ if f != "signature"]), value=TEXT)
def test_changing_any_field_voids_the_signature(name: str, value: str) -> None:
    signed = sign(APPROVAL, "r", KEY)
    assume(getattr(signed, name) != value)
    new: Any = [value] if name == "entity" else value
    assert not is_signed_by(msgspec.structs.replace(signed, **{name: new}), "r", public(KEY))


def test_a_signature_has_one_text_so_that_a_used_letter_is_known_again() -> None:
    signed = sign(APPROVAL, "r", KEY)
    for other in (signed.signature.upper(), " " + signed.signature, signed.signature[:2] + " " + signed.signature[2:]):
        assert not is_signed_by(msgspec.structs.replace(signed, signature=other), "r", public(KEY))


@pytest.mark.parametrize("signature", ["", "zz", "00" * 64, "00", "é", " "])
def test_what_is_no_signature_signs_nothing(signature: str) -> None:
    assert not is_signed_by(msgspec.structs.replace(APPROVAL, signature=signature), "r", public(KEY))
    assert not is_signed_by(Said(role="user", text="approved"), "r", public(KEY))


def test_bodies_are_frozen() -> None:
    for frozen, name in ((APPROVAL, "tool"), (envelope(APPROVAL), "seq"), (blob(b"x"), "text")):
        with pytest.raises(AttributeError):
            setattr(frozen, name, "x")
