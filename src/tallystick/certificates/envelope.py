"""DSSE envelopes of certificates: what is handed out, and what any DSSE tool can verify.

The payload is the in-toto Statement of a certificate; the signature is Ed25519 over DSSE's pre-authentication encoding,
made and checked by securesystemslib. The envelope itself is not covered by that signature, so it has one byte form here
(RFC 8785, standard base64, one signature, a line feed at the end): whatever was changed in the file shows.
Source: DSSE v1 (protocol.md, envelope.md); in-toto Attestation Framework v1; RFC 8032.
"""

from __future__ import annotations

import binascii
from base64 import b64decode, b64encode
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import msgspec
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from tallystick.certificates.stopping import held
from tallystick.errors import InputError
from tallystick.model.canonical import canonical
from tallystick.model.certificate import PAYLOAD_TYPE, Certificate, certificate_of
from tallystick.view import View

if TYPE_CHECKING:
    from securesystemslib.signer import SSlibKey

MAX_BYTES: Final = 32 * 1024 * 1024
"""Most bytes of an envelope. A reference takes some 200 bytes, so this is a claim over more than 100,000 receipts."""
MAX_MARKS: Final = 2_000_000
"""Most brackets, braces and commas of a statement: millions of empty lists would take a hundred times their size."""
_SIGNATURE_BYTES: Final = 64
_FIX: Final = "the file as it was handed out, byte for byte"


class _Signature(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    keyid: str
    sig: str


class _Envelope(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    payload: str
    payloadType: str  # noqa: N815 - DSSE's name
    signatures: list[_Signature]


@dataclass(frozen=True, kw_only=True, slots=True)
class Opened:
    """An envelope that was read.

    Attributes:
        certificate: what its payload states.
        payload: the statement's bytes: what was signed.
        key_id: the signer, as the envelope names it.
        signed: whether the pinned key signed it; False where no key was pinned.
    """

    certificate: Certificate
    payload: bytes
    key_id: str
    signed: bool


class UnsignedError(InputError):
    """An envelope that the pinned key did not sign."""


def key_id(public_key: bytes) -> str:
    """Return the name DSSE signatures give a raw Ed25519 public key: securesystemslib's, the SHA-256 of its record."""
    return str(_public(public_key).keyid)


def sign(view: View, certificate: Certificate, key: Ed25519PrivateKey) -> bytes:
    """Return the envelope of `certificate`, signed by `key`, after all six checks of it under this record.

    There is no other way to a signature, so nothing is ever signed that was not verified.

    Raises:
        InputError: it does not hold (the message says why), or is larger than an envelope may be.
    """
    refused = held(view, view.contract, certificate)
    if refused:
        raise InputError(
            f"nothing is signed that does not verify: {'; '.join(str(r.message) for r in refused)}",
            where=f"run `{certificate.run}`",
        )
    from securesystemslib.dsse import Envelope  # noqa: PLC0415 - loads cloud clients where installed; rarely needed
    from securesystemslib.signer import CryptoSigner  # noqa: PLC0415

    envelope = Envelope(_bounded(certificate.statement()), PAYLOAD_TYPE, {})
    envelope.sign(CryptoSigner(key))
    raw = canonical(envelope.to_dict()) + b"\n"
    if len(raw) > MAX_BYTES:
        raise InputError(f"a certificate of {len(raw):,} bytes; the most is {MAX_BYTES:,}", fix="fewer references")
    return raw


def open_envelope(raw: bytes, public_key: bytes | None) -> Opened:
    """Return what an envelope holds; with a raw Ed25519 public key, only if exactly that key signed it.

    Raises:
        UnsignedError: another key signed it, or the signature does not fit.
        InputError: it is no envelope of a certificate in the one form that this version writes.
    """
    envelope = _read(raw)
    one = envelope.signatures[0]
    payload = _bytes(envelope.payload, "payload")
    signature = _bytes(one.sig, "signature")
    if len(signature) != _SIGNATURE_BYTES:
        raise InputError("the signature is none of Ed25519", fix=_FIX)
    if public_key is not None:
        _check_signature(payload, one.keyid, signature, public_key)
    return Opened(
        certificate=certificate_of(_bounded(payload)), payload=payload, key_id=one.keyid, signed=public_key is not None
    )


def looks_like_envelope(head: bytes) -> bool:
    """Return whether a file's first bytes are those of a DSSE envelope, so that it is meant as a certificate."""
    text = head.lstrip()
    return text.startswith(b"{") and (b'"payloadType"' in head or text[1:].lstrip().startswith(b'"payload"'))


def _read(raw: bytes) -> _Envelope:
    if len(raw) > MAX_BYTES:
        raise InputError(f"larger than an envelope may be ({MAX_BYTES:,} bytes)", fix=_FIX)
    try:
        found = msgspec.json.decode(raw, type=_Envelope)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as bad:
        raise InputError(f"not a DSSE envelope: {bad}", fix=_FIX) from None
    if found.payloadType != PAYLOAD_TYPE:
        raise InputError(f"an envelope of `{found.payloadType[:80]}`, not of `{PAYLOAD_TYPE}`", fix=_FIX)
    if len(found.signatures) != 1:
        raise InputError(
            f"{len(found.signatures)} signatures; a certificate has exactly one", fix="the file as its signer wrote it"
        )
    if canonical(msgspec.to_builtins(found)) + b"\n" != raw:
        raise InputError("an envelope, but not in the one form it is written in (RFC 8785)", fix=_FIX)
    return found


def _bounded(payload: bytes) -> bytes:
    if sum(map(payload.count, (b"[", b"{", b","))) > MAX_MARKS:
        raise InputError("far more values than a certificate has", fix="fewer references")
    return payload


def _bytes(text: str, what: str) -> bytes:
    try:
        found = b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        raise InputError(f"the {what} is not base64", fix=_FIX) from None
    if b64encode(found).decode("ascii") != text:
        raise InputError(f"the {what} is not in the one form that base64 allows", fix=_FIX)
    return found


def _check_signature(payload: bytes, signer: str, signature: bytes, public_key: bytes) -> None:
    from securesystemslib.dsse import Envelope  # noqa: PLC0415 - see `sign`
    from securesystemslib.exceptions import VerificationError  # noqa: PLC0415
    from securesystemslib.signer import Signature  # noqa: PLC0415

    key = _public(public_key)
    if signer != key.keyid:
        raise UnsignedError(f"signed by another key, {signer[:16]}…", fix="the public key of whoever signed it")
    envelope = Envelope(payload, PAYLOAD_TYPE, {key.keyid: Signature(key.keyid, signature.hex())})
    try:
        envelope.verify([key], 1)
    except (VerificationError, ValueError):
        raise UnsignedError("the signature does not fit the payload", fix=_FIX) from None


def _public(public_key: bytes) -> SSlibKey:
    from securesystemslib.signer import SSlibKey  # noqa: PLC0415 - see `sign`

    try:
        return SSlibKey.from_crypto(Ed25519PublicKey.from_public_bytes(public_key))
    except ValueError:
        raise InputError("not an Ed25519 public key", fix="32 raw bytes") from None
