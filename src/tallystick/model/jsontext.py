"""Reading JSON exactly: decimals stay decimals, integers keep every digit, duplicates and non-JSON are refused.

`loads` is the only way foreign JSON becomes values in tallystick. Numbers with a fraction or exponent become
`decimal.Decimal`, so no binary float ever stands for an amount.
"""

from __future__ import annotations

import json
import math
from decimal import Decimal, InvalidOperation
from typing import Any, Final, NoReturn

import msgspec

from tallystick.errors import InputError

MAX_DEPTH: Final = 200
"""Deepest nesting read; RFC 8259 section 9 lets a parser set this limit."""
MAX_NUMBER_CHARS: Final = 4_000
"""Longest number read (CPython refuses longer integers itself)."""


def _reject_constant(name: str) -> NoReturn:
    raise ValueError(f"`{name}` is not JSON")


def _decimal(text: str) -> Decimal:
    if len(text) > MAX_NUMBER_CHARS:
        raise ValueError(f"a number of {len(text)} characters is longer than {MAX_NUMBER_CHARS}")
    try:
        number = Decimal(text)
    except InvalidOperation:  # an exponent beyond what the library itself can hold
        number = None
    # 1e400 is JSON but stands for no amount anyone means; unbounded exponents blow up later arithmetic. Those of a zero
    # do too: written out, `0e-999999` has a million digits.
    if number is None or abs(number.adjusted()) > 400:
        raise ValueError(f"the number `{text[:40]}` is out of range (exponent beyond 400)")
    return number


def _integer(text: str) -> int:
    if len(text) > MAX_NUMBER_CHARS:
        raise ValueError(f"a number of {len(text)} characters is longer than {MAX_NUMBER_CHARS}")
    return int(text)


def _no_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise ValueError(f"the key `{key[:60]}` appears twice in one object")
            seen.add(key)
    return found


_DECODER: Final = json.JSONDecoder(
    parse_float=_decimal,
    parse_int=_integer,
    parse_constant=_reject_constant,
    object_pairs_hook=_no_duplicates,
)


def depth_of(text: str) -> int:
    """Return the deepest bracket nesting of JSON `text`, ignoring brackets inside strings. Linear, no recursion."""
    if text.count("[") + text.count("{") <= MAX_DEPTH:
        return 0  # cannot be too deep; the common case costs two scans in C
    deepest = here = 0
    in_string = escaped = False
    for ch in text:
        if in_string:
            if escaped:
                escaped = False
            elif ch == "\\":
                escaped = True
            elif ch == '"':
                in_string = False
        elif ch == '"':
            in_string = True
        elif ch in "[{":
            here += 1
            deepest = max(deepest, here)
        elif ch in "]}":
            here -= 1
    return deepest


def loads(raw: bytes | str, *, where: str | None = None) -> Any:
    """Return the value of one JSON text: dict, list, str, int, Decimal, bool or None.

    Raises:
        InputError: not UTF-8, not RFC 8259 JSON, NaN or Infinity, a duplicate key, a lone surrogate, nesting deeper
            than `MAX_DEPTH`, or a number longer than `MAX_NUMBER_CHARS`. The message names the position.
    """
    if isinstance(raw, bytes):
        try:
            text = raw.decode("utf-8")
        except UnicodeDecodeError as bad:
            raise InputError(
                f"not UTF-8 at byte {bad.start}", where=where, fix="save the file as UTF-8 without a byte order mark"
            ) from None
    else:
        text = raw
    if text.startswith("\ufeff"):
        raise InputError("starts with a byte order mark", where=where, fix="save the file as UTF-8 without one")
    if depth_of(text) > MAX_DEPTH:
        raise InputError(f"nested deeper than {MAX_DEPTH} levels", where=where)
    try:
        value = _DECODER.decode(text)
    except json.JSONDecodeError as bad:
        raise InputError(f"not JSON at line {bad.lineno} column {bad.colno}: {bad.msg}", where=where) from None
    except (ValueError, RecursionError) as bad:
        raise InputError(f"not usable JSON: {bad}", where=where) from None
    if "\\u" in text or "\\U" in text or not text.isascii():
        _refuse_surrogates(value, where)
    return value


def _refuse_surrogates(value: Any, where: str | None) -> None:
    stack: list[Any] = [value]
    while stack:
        here = stack.pop()
        if isinstance(here, str):
            try:
                here.encode("utf-8")
            except UnicodeEncodeError as bad:
                raise InputError(
                    f"a string holds a lone surrogate U+{ord(here[bad.start]):04X}",
                    where=where,
                    fix="replace it; it stands for no character (RFC 8259 section 8.2)",
                ) from None
        elif isinstance(here, dict):
            stack.extend(here.keys())
            stack.extend(here.values())
        elif isinstance(here, list):
            stack.extend(here)


_FAST_ENCODER: Final = msgspec.json.Encoder()
_FAST_DECODER: Final = msgspec.json.Decoder()


def _is_plain(value: Any, depth: int = 0) -> bool:
    """Return whether `value` is made of strings, booleans, null, 64-bit integers, lists and string-keyed dicts only."""
    kind = type(value)
    if kind is str or value is None or kind is bool:
        return True
    if kind is int:
        return bool(-(2**63) <= value < 2**63)
    if depth >= MAX_DEPTH:
        return False
    if kind is dict:
        for key, item in value.items():  # noqa: SIM110 - twice as fast as `all` over a generator, on every call's path
            if type(key) is not str or not _is_plain(item, depth + 1):
                return False
        return True
    return kind is list and all(_is_plain(item, depth + 1) for item in value)


def exact(value: Any) -> tuple[Any, str]:
    """Return (`value` as `loads` would read it, its JSON text): a copy that shares nothing and holds no float.

    Raises:
        InputError: a value is not JSON.
    """
    if _is_plain(value):
        try:
            raw = _FAST_ENCODER.encode(value)
            return _FAST_DECODER.decode(raw), raw.decode("utf-8")
        except (ValueError, RecursionError):  # a lone surrogate; the slow way says which
            pass
    text = dumps(value)
    return loads(text), text


def dumps(value: Any) -> str:
    """Return compact JSON for values as `loads` makes them; Decimals are written digit for digit.

    Raises:
        InputError: a value is not JSON (a float, a set, a NaN, a lone surrogate).
    """
    if _is_plain(value):
        # For these msgspec writes the same bytes as below (`tests/model` holds the property), and much faster.
        try:
            return _FAST_ENCODER.encode(value).decode("utf-8")
        except (ValueError, RecursionError):  # a lone surrogate; below says which
            pass
    return dumps_slow(value)


def dumps_slow(value: Any) -> str:
    """Return what `dumps` returns, without its fast path; the reference for it."""
    parts: list[str] = []
    _write(value, parts, 0)
    return "".join(parts)


def _write(value: Any, out: list[str], depth: int) -> None:
    if depth > MAX_DEPTH:
        raise InputError(f"nested deeper than {MAX_DEPTH} levels")
    if value is None:
        out.append("null")
    elif value is True:
        out.append("true")
    elif value is False:
        out.append("false")
    elif isinstance(value, str):
        try:
            value.encode("utf-8")
        except UnicodeEncodeError:
            raise InputError("a string holds a lone surrogate") from None
        out.append(json.dumps(value, ensure_ascii=False))
    elif isinstance(value, int):
        try:
            out.append(int.__repr__(value))  # an enum's or another library's own text is not the number
        except ValueError:  # CPython's limit on integer text
            raise InputError(f"an integer of more than {MAX_NUMBER_CHARS} digits") from None
    elif isinstance(value, Decimal):
        if not value.is_finite():
            raise InputError(f"`{value}` is not JSON")
        out.append(str(value))
    elif isinstance(value, float):
        # A caller's own float crosses the wire as its shortest repr; it never becomes an amount in a typed field
        # without going through Decimal(repr).
        if not math.isfinite(value):
            raise InputError(f"`{value}` is not JSON")
        out.append(float.__repr__(value))
    elif isinstance(value, dict):
        out.append("{")
        for i, (key, item) in enumerate(value.items()):
            if not isinstance(key, str):
                raise InputError(f"an object key must be a string, got {type(key).__name__}")
            if i:
                out.append(",")
            _write(key, out, depth + 1)
            out.append(":")
            _write(item, out, depth + 1)
        out.append("}")
    elif isinstance(value, (list, tuple)):
        out.append("[")
        for i, item in enumerate(value):
            if i:
                out.append(",")
            _write(item, out, depth + 1)
        out.append("]")
    else:
        raise InputError(f"a {type(value).__name__} is not JSON")
