"""RFC 8785 canonical JSON of our own envelope, with a fast path where it is provably the same.

The envelope holds only strings, booleans, null, integers below 2^53, lists and objects (numbers that JSON would not
keep exactly are tagged strings). For such values with ASCII keys, msgspec's sorted output is RFC 8785 byte for byte:
UTF-8 key order equals UTF-16 order for ASCII, both write integers in shortest form and escape the same characters.
Anything else goes to the `rfc8785` package. `tests/model/test_canonical.py` holds the property.
"""

from __future__ import annotations

import hashlib
from typing import Any, Final

import msgspec
import rfc8785

from tallystick.errors import InputError

MAX_INTEGER: Final = 2**53 - 1
"""Largest integer JSON numbers keep exactly everywhere (RFC 8785 section 3.2.2.3)."""
_ENCODER: Final = msgspec.json.Encoder(order="sorted")


def _is_plain(value: Any) -> bool:
    kind = type(value)
    if kind is str or value is None or kind is bool:
        return True
    if kind is int:
        return bool(-MAX_INTEGER <= value <= MAX_INTEGER)
    if kind is dict:
        for key, item in value.items():
            if type(key) is not str or not key.isascii() or not _is_plain(item):
                return False
        return True
    if kind is list:
        return all(map(_is_plain, value))
    return False


def canonical(value: Any) -> bytes:
    """Return the RFC 8785 bytes of `value`.

    Raises:
        InputError: the value has an integer beyond 2^53 - 1, NaN, a lone surrogate, a type that is not JSON, or
            nests too deep.
    """
    try:
        if _is_plain(value):
            return _ENCODER.encode(value)
    except (TypeError, ValueError, RecursionError) as bad:
        raise InputError(f"cannot be written canonically: {bad}") from None
    return canonical_slow(value)


def canonical_slow(value: Any) -> bytes:
    """Return the RFC 8785 bytes of `value` by the `rfc8785` package alone; the reference for `canonical`."""
    try:
        return rfc8785.dumps(value)
    except (rfc8785.CanonicalizationError, RecursionError, UnicodeError, TypeError, AttributeError) as bad:
        raise InputError(f"cannot be written canonically: {bad}") from None


def digest(data: bytes) -> str:
    """Return the lower-case hexadecimal SHA-256 of `data`."""
    return hashlib.sha256(data).hexdigest()
