"""Ed25519 signatures (RFC 8032) over event bodies. Pure: no key is read or made here.

What is signed is the body's canonical form with `signature` empty, prefixed by a domain line, so that a signature over
one kind of statement never serves as another.
"""

from __future__ import annotations

import re
from typing import TypeVar

import msgspec
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from tallystick.model.canonical import canonical
from tallystick.model.events import Approval, Body, ContractChanged, DoubtSettled, Lifted, Settled

Signable = Approval | Lifted | Settled | DoubtSettled | ContractChanged
S = TypeVar("S", bound=Body)
_DOMAIN = b"tallystick/1\n"
_HEX = re.compile("[0-9a-f]{128}")


def signed_bytes(body: Body, run: str) -> bytes:
    """Return the bytes a principal signs for `body` in run `run`."""
    plain = msgspec.to_builtins(body)
    plain["signature"] = ""
    return _DOMAIN + canonical({"run": run, "body": plain})


def sign(body: S, run: str, key: Ed25519PrivateKey) -> S:
    """Return `body` with its `signature` set (lower-case hex)."""
    return msgspec.structs.replace(body, signature=key.sign(signed_bytes(body, run)).hex())


def is_signed_by(body: Body, run: str, public_key: bytes) -> bool:
    """Return whether `body` carries a valid signature (lower-case hex) by `public_key` (32 raw bytes) for `run`."""
    text = getattr(body, "signature", "")
    if not _HEX.fullmatch(text):
        return False  # in capitals or with blanks it would be another text, and a used letter could be sent again
    try:
        signature = bytes.fromhex(text)
        Ed25519PublicKey.from_public_bytes(public_key).verify(signature, signed_bytes(body, run))
    except (InvalidSignature, ValueError):
        return False
    return True
