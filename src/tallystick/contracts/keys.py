"""Public keys as people hold them (PEM, hexadecimal digits, raw bytes), read into the 32 bytes everything else uses."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Final

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat, load_pem_public_key

from tallystick.errors import InputError

KEY_BYTES: Final = 32
_MAX_KEY_BYTES: Final = 16_384
"""Bytes read of a key file; no key is longer."""
_HEX: Final = re.compile(rb"\s*([0-9a-fA-F]{64})\s*")


def public_key_of(key: str | bytes | os.PathLike[str], where: str) -> bytes:
    """Return the 32 raw bytes of a public key given as itself (PEM, hexadecimal digits, raw bytes) or as a path.

    Raises:
        InputError: the file cannot be read, or it is no Ed25519 public key.
    """
    if isinstance(key, bytes):
        return public_key_in(key, where)
    if isinstance(key, str):
        raw = key.encode("utf-8", "replace")
        if b"-----" in raw or _HEX.fullmatch(raw) is not None:
            return public_key_in(raw, where)
    elif not isinstance(key, os.PathLike):
        raise InputError(f"a {type(key).__name__} is no public key", where=where, fix="a path, PEM, or hex digits")
    return public_key_file(key)


def public_key_file(path: str | os.PathLike[str]) -> bytes:
    """Return the 32 raw bytes of the Ed25519 public key in the file `path`.

    Raises:
        InputError: missing, another kind of key, a private key, or anything else.
    """
    try:
        with Path(path).open("rb") as stream:
            raw = stream.read(_MAX_KEY_BYTES)
    except (OSError, ValueError) as bad:
        said = getattr(bad, "strerror", None) or bad
        raise InputError(f"the public key cannot be read: {said}", where=str(path), fix="check the path") from None
    return public_key_in(raw, str(path))


def public_key_in(raw: bytes, where: str) -> bytes:
    """Return the 32 raw bytes of the Ed25519 public key in `raw`: PEM, 64 hexadecimal digits, or the raw bytes.

    Args:
        raw: a key file's content, or a key as text.
        where: what an error calls it.

    Raises:
        InputError: another kind of key, a private key, or anything else.
    """
    if b"PRIVATE KEY-----" in raw:
        raise InputError("this is a private key", where=where, fix="give the public one (`.pub` beside it)")
    if len(raw) == KEY_BYTES:
        return raw
    found = _HEX.fullmatch(raw)
    if found is not None:
        return bytes.fromhex(found[1].decode("ascii"))
    try:
        key = load_pem_public_key(raw)
    except (ValueError, UnsupportedAlgorithm):
        key = None
    if not isinstance(key, Ed25519PublicKey):
        raise InputError("not an Ed25519 public key", where=where, fix="PEM, 64 hexadecimal digits, or 32 raw bytes")
    return key.public_bytes(Encoding.Raw, PublicFormat.Raw)
