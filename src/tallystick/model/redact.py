"""Secret fields replaced before anything is stored: `hmac:<hex>` under a per-run key, so that only equality is left.

The rest of the bytes stays exactly as it crossed the wire. Everything fails closed: bytes that are not JSON as
`jsontext.loads` reads it (also with a duplicate key, or a byte order mark) are replaced whole, because the secret may
be anywhere in them; so is a string where a pointer expects an object or a list, because it may hold the same content
encoded once more. What is *not* found: a secret that a tool repeats at a place the contract does not name.

Equal values give equal marks within a run, numbers by value (`1` and `1.0`), whatever their spelling; a number and a
string never do. Without the run's key a mark cannot be tried against guesses; exports do not contain the key.
"""

from __future__ import annotations

import hmac
import json
from collections.abc import Sequence
from typing import Any, Final

from tallystick.errors import InputError
from tallystick.model import jsontext
from tallystick.model.canonical import canonical
from tallystick.model.events import Blob, blob
from tallystick.model.exact import tagged
from tallystick.model.pointer import join

PREFIX: Final = "hmac:"
KEY_BYTES: Final = 32
"""Least length of a per-run key."""
_VALUE_DOMAIN: Final = b"tallystick/secret/1\n"
_BYTES_DOMAIN: Final = b"tallystick/secret-bytes/1\n"
_SPACE: Final = " \t\n\r"
# Only finds where a value ends; numbers are not looked at.
_SCANNER: Final = json.JSONDecoder(parse_int=str, parse_float=str)

Pointers = Sequence[tuple[str, ...]]
"""Tokens of JSON Pointers (`pointer.split`); the token `*` stands for every item or member."""


def redact(raw: bytes, secrets: Pointers, key: bytes) -> Blob:
    """Return `raw` as a `Blob` in which every value that `secrets` point at is replaced.

    Serves arguments, the model's argument text and results alike. `Blob.redacted` lists the pointers replaced, `""` for
    the whole; its SHA-256 is that of the redacted bytes. Without secrets, or where none is there, `raw` stays.

    Raises:
        InputError: `key` is shorter than `KEY_BYTES`.
    """
    _check(key)
    if not secrets:
        return blob(raw)
    try:
        jsontext.loads(raw)
    except InputError:
        mark = PREFIX + hmac.digest(key, _BYTES_DOMAIN + raw, "sha256").hex()
        return blob(f'"{mark}"'.encode("ascii"), redacted=[""])
    text = raw.decode("utf-8")
    spans: list[tuple[int, int, str]] = []
    _find(text, _skip(text, 0), secrets, (), spans)
    out, done = [], 0
    for start, end, _ in spans:
        out += [text[done:start], f'"{_mark(jsontext.loads(text[start:end]), key)}"']
        done = end
    out.append(text[done:])
    return blob("".join(out).encode("utf-8"), redacted=[pointer for _, _, pointer in spans])


def redact_value(value: Any, secrets: Pointers, key: bytes) -> Any:
    """Return the parsed JSON `value` with the same replacements: equal to what the redacted bytes say.

    For everything derived from arguments and stored beside them: effect keys, fingerprints, digests.

    Raises:
        InputError: `key` is shorter than `KEY_BYTES`, or a secret is not a JSON value.
    """
    _check(key)
    return _replaced(value, secrets, key)


def _check(key: bytes) -> None:
    if len(key) < KEY_BYTES:
        raise InputError(f"a redaction key of {len(key)} bytes", fix=f"{KEY_BYTES} random bytes per run")


def _mark(value: Any, key: bytes) -> str:
    try:
        plain = canonical(tagged(value))
    except (ValueError, RecursionError) as bad:
        raise InputError(f"a secret is not a JSON value: {bad}") from None
    return PREFIX + hmac.digest(key, _VALUE_DOMAIN + plain, "sha256").hex()


def _below(pointers: Pointers, name: str) -> Pointers:
    return [tokens[1:] for tokens in pointers if tokens[0] in ("*", name)]


def _replaced(value: Any, pointers: Pointers, key: bytes) -> Any:
    if any(not tokens for tokens in pointers) or (pointers and isinstance(value, str)):
        return _mark(value, key)
    if not pointers:
        return value
    if isinstance(value, dict):
        return {name: _replaced(item, _below(pointers, name), key) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_replaced(item, _below(pointers, str(i)), key) for i, item in enumerate(value)]
    return value


def _find(text: str, at: int, pointers: Pointers, path: tuple[str, ...], spans: list[tuple[int, int, str]]) -> int:
    """Collect the (start, end, pointer) of what to replace in the value at `at`, and return where that value ends.

    `text` is known to be JSON, so nothing is checked again.
    """
    if any(not tokens for tokens in pointers) or (pointers and text[at] == '"'):
        end = _SCANNER.raw_decode(text, at)[1]
        spans.append((at, end, join(path)))
        return end
    if not pointers or text[at] not in "{[":
        return _SCANNER.raw_decode(text, at)[1]
    closing = "}" if text[at] == "{" else "]"
    at, index = _skip(text, at + 1), 0
    while text[at] != closing:
        name = str(index)
        if closing == "}":
            name, at = _SCANNER.raw_decode(text, at)
            at = _skip(text, _skip(text, at) + 1)  # over the colon
        at = _skip(text, _find(text, at, _below(pointers, name), (*path, name), spans))
        if text[at] == ",":
            at, index = _skip(text, at + 1), index + 1
    return at + 1


def _skip(text: str, at: int) -> int:
    while text[at] in _SPACE:
        at += 1
    return at
