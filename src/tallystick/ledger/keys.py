"""Ed25519 keys (RFC 8032) in files: a signing key made on first use, and public keys to pin."""

from __future__ import annotations

import contextlib
import os
import secrets
import stat
from pathlib import Path
from typing import Final

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    PublicFormat,
    load_pem_private_key,
)

from tallystick.contracts.keys import public_key_file
from tallystick.errors import InputError

_MAX_KEY_BYTES: Final = 16_384


def public_bytes(key: Ed25519PrivateKey) -> bytes:
    """Return the 32 raw bytes of `key`'s public half: what events, checkpoints and `verify` name it by."""
    return key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)


def signing_key(path: str | os.PathLike[str]) -> Ed25519PrivateKey:
    """Return the signing key in the PEM file `path`; make it, mode 0600, when there is none.

    A key that is made gets its public half beside it (`<path>.pub`, PEM), for whoever verifies. Two processes that make
    it at once end up with the same key.

    Raises:
        InputError: the file is readable by others, is no Ed25519 private key, or cannot be read or made.
    """
    file = Path(path)
    try:
        if not file.exists():
            _make(file)
    except OSError as bad:
        raise InputError(f"the signing key cannot be made: {bad.strerror}", where=str(file)) from None
    return load_signing_key(file)


def make_signing_key(path: str | os.PathLike[str]) -> Ed25519PrivateKey:
    """Make a signing key in the new PEM file `path`, mode 0600, with its public half beside it (`<path>.pub`).

    Raises:
        InputError: there is a file of that name already, or it cannot be made.
    """
    file = Path(path)
    try:
        made = not file.exists() and _make(file)
    except OSError as bad:
        raise InputError(f"the signing key cannot be made: {bad.strerror}", where=str(file)) from None
    if not made:
        raise InputError("there is a file of this name already", where=str(file), fix="name one that does not exist")
    return load_signing_key(file)


def load_signing_key(path: str | os.PathLike[str]) -> Ed25519PrivateKey:
    """Return the signing key in the PEM file `path`, and never make one: a misspelt path is an error.

    Raises:
        InputError: there is no such file, it is readable by others, or it is no Ed25519 private key.
    """
    file = Path(path)
    try:
        raw = _read_private(file)
    except OSError as bad:
        raise InputError(
            f"the signing key cannot be used: {bad.strerror}", where=str(file), fix="check the path"
        ) from None
    try:
        key = load_pem_private_key(raw, password=None)
    except (ValueError, TypeError, UnsupportedAlgorithm) as bad:
        raise InputError(
            "not a private key in PEM form without a password",
            where=str(file),
            fix="give an Ed25519 key, or a path where none exists yet to have one made",
        ) from bad
    if not isinstance(key, Ed25519PrivateKey):
        raise InputError("the private key is not Ed25519", where=str(file), fix="make one: give a path of no file yet")
    return key


def load_public_key(path: str | os.PathLike[str]) -> bytes:
    """Return the 32 raw bytes of the Ed25519 public key in `path`: PEM, 64 hexadecimal digits, or the raw bytes.

    Raises:
        InputError: missing, another kind of key, a private key, or anything else.
    """
    return public_key_file(path)


def save_public_key(key: Ed25519PrivateKey, path: str | os.PathLike[str]) -> None:
    """Write the public half of `key` to `path`, PEM.

    Raises:
        InputError: the file cannot be written.
    """
    try:
        Path(path).write_bytes(key.public_key().public_bytes(Encoding.PEM, PublicFormat.SubjectPublicKeyInfo))
    except OSError as bad:
        raise InputError(f"the public key cannot be written: {bad.strerror}", where=str(path)) from None


def _make(file: Path) -> bool:
    """Make the key, and return whether it was this process that made it."""
    key = Ed25519PrivateKey.generate()
    pem = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    # Written whole under another name and then linked: the key is never half there, and `link` fails where another
    # process was first, whose key then counts.
    draft = file.with_name(f".{file.name}.{secrets.token_hex(8)}")
    descriptor = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as stream:
            stream.write(pem)
            stream.flush()
            os.fsync(stream.fileno())
        with contextlib.suppress(FileExistsError):
            os.link(draft, file)
            save_public_key(key, file.with_name(file.name + ".pub"))
            return True
    finally:
        draft.unlink()
    return False


def _read_private(file: Path) -> bytes:
    with file.open("rb") as stream:
        mode = stat.S_IMODE(os.fstat(stream.fileno()).st_mode)
        if os.name == "posix" and mode & 0o077:
            raise InputError(
                f"the signing key can be read by others (mode {mode:04o})",
                where=str(file),
                fix=f"chmod 600 {file}; if others may have read it, make a new one",
            )
        return stream.read(_MAX_KEY_BYTES)
