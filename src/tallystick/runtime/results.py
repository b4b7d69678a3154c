"""What a tool returned, as the bytes a receipt keeps."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from collections.abc import Set as AbstractSet
from datetime import date, datetime, time
from decimal import Decimal
from enum import Enum
from pathlib import PurePath
from typing import Any, Final, Literal
from uuid import UUID

from tallystick.errors import InputError
from tallystick.model import jsontext
from tallystick.runtime.copies import MAX_NODES, too_many, within_bounds

MAX_RESULT_BYTES: Final = 64 * 1024 * 1024
"""Largest result a receipt holds; of a larger one, the receipt says only that it was too large."""
MAX_ERROR_CHARS: Final = 500
"""Characters of an exception's text that a receipt keeps."""


@dataclasses.dataclass(frozen=True, kw_only=True, slots=True)
class ToolResult:
    """For executors that know more than a plain return value says (a protocol's two channels, its flags).

    Attributes:
        value: the body as it crossed the wire: text, bytes or JSON values.
        structured: the structured channel, where the transport has two; JSON values.
        flag: what the envelope said; `error` for a protocol's own error bit.
        dry_run: the transport says that nothing was really done.
        truncated: the body was cut on the way.
        native_id: the transport's own id for this result.
    """

    value: Any = None
    structured: Any = None
    flag: Literal["ok", "error", "unset"] = "unset"
    dry_run: bool = False
    truncated: bool = False
    native_id: str | None = None


class NotJsonError(InputError):
    """A tool returned what has no JSON form, so no receipt can hold it: the call ran, its answer cannot be read."""

    def __init__(self, what: str) -> None:
        super().__init__(
            f"result.not_json: the tool returned {what}, which has no JSON form",
            fix="return JSON values, or a dataclass or model of them",
        )


def _none(what: str, where: str) -> TypeError:
    return TypeError(f"{what} at {where}" if where else what)


def plain_json(value: Any, where: str = "") -> Any:
    """Return `value` as JSON values, exactly, by these rules and no others.

    Models, dataclasses and structs become objects, enums their values, dates and times ISO 8601 text, UUIDs and paths
    text, tuples and sequences arrays, sets arrays in a fixed order, keys that are no text the text of their plain form.

    Args:
        value: what to convert.
        where: JSON Pointer of the value, for the error.

    Raises:
        TypeError: something has no JSON form: another object, bytes inside a value, a NaN, two keys of one text.
        InputError: more than `MAX_NODES` values.
    """
    return _plain(value, where, [MAX_NODES])


def _plain(value: Any, where: str, left: list[int]) -> Any:
    left[0] -= 1
    if left[0] < 0:
        raise too_many()
    if isinstance(value, Enum):
        return _plain(value.value, where, left)
    if value is None or isinstance(value, (str, bool, int)):
        return value
    if isinstance(value, (float, Decimal)):
        if not math.isfinite(value):
            raise _none(f"`{value}`", where)
        return value
    if isinstance(value, Mapping):
        found = {_key(k, where): _plain(v, f"{where}/{_token(k)}", left) for k, v in value.items()}
        if len(found) < len(value):
            raise _none("an object with two keys of the same text", where)
        return found
    if isinstance(value, (datetime, date, time)):
        return value.isoformat()
    if isinstance(value, (UUID, PurePath)):
        return str(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: _plain(getattr(value, f.name), f"{where}/{f.name}", left) for f in dataclasses.fields(value)}
    dump = getattr(value, "model_dump", None)
    if callable(dump) and not isinstance(value, type):  # pydantic: mode "python" keeps decimals exact
        return _plain(dump(), where, left)
    fields = getattr(value, "__struct_fields__", None)
    if fields is not None and not isinstance(value, type):
        return {name: _plain(getattr(value, name), f"{where}/{name}", left) for name in fields}
    if isinstance(value, AbstractSet):
        return sorted((_plain(v, where, left) for v in value), key=jsontext.dumps)
    if isinstance(value, Sequence) and not isinstance(value, (bytes, bytearray, memoryview)):
        return [_plain(v, f"{where}/{i}", left) for i, v in enumerate(value)]
    raise _none(f"a `{type(value).__name__}`", where)


def _key(key: Any, where: str) -> str:
    if isinstance(key, Enum):
        key = key.value
    if isinstance(key, str):
        return str(key)
    if isinstance(key, bool) or key is None:
        return jsontext.dumps(key)
    return str(plain_json(key, where))


def _token(key: Any) -> str:
    return str(key).replace("~", "~0").replace("/", "~1")


def json_of(value: Any) -> tuple[Any, str]:
    """Return (a returned value as exact JSON values, their text): what a receipt holds and an agent is told.

    Raises:
        NotJsonError: it has no JSON form.
    """
    if isinstance(value, (bytes, bytearray, memoryview)):
        try:
            value = bytes(value).decode("utf-8")
        except UnicodeDecodeError:
            raise NotJsonError("bytes that are no UTF-8 text") from None
    try:
        within_bounds(value)
    except InputError as bad:
        raise NotJsonError(bad.message) from None
    except Exception as bad:  # noqa: BLE001 - a foreign mapping's own code
        raise NotJsonError(f"a `{type(value).__name__}` that cannot be read ({type(bad).__name__})") from None
    try:
        return jsontext.exact(value)
    except InputError:
        pass
    try:
        return jsontext.exact(plain_json(value))
    except TypeError as bad:
        raise NotJsonError(str(bad)) from None
    except (InputError, ValueError, RecursionError, AttributeError) as bad:
        said = bad.message if isinstance(bad, InputError) else type(bad).__name__
        raise NotJsonError(f"a `{type(value).__name__}` ({said})") from None


UNREAD: Final = object()
"""Stands for "whoever needs the value must read the bytes"."""


def result_bytes(value: Any, *, wire: bool = False) -> tuple[bytes, Any]:
    """Return (what a receipt keeps of a returned value, what a reader of those bytes gets, or `UNREAD`).

    Kept are a text's or bytes' own bytes, else the JSON text.

    Args:
        value: what the tool returned.
        wire: bytes are what crossed a wire, kept whatever they are.

    Raises:
        NotJsonError: it has no JSON form. Nothing is ever kept in the place of it: no `repr`, no NaN.
    """
    if isinstance(value, str):
        return value.encode("utf-8", "surrogatepass"), UNREAD
    if isinstance(value, (bytes, bytearray, memoryview)):
        if not wire:
            json_of(value)
        return bytes(value), UNREAD
    exact, text = json_of(value)
    return text.encode("utf-8"), exact


def error_text(error: BaseException) -> str:
    """Return an exception's kind and text, shortened, as one line that every JSON reader takes."""
    try:
        said = str(error)
    except Exception:  # noqa: BLE001 - a broken `__str__` must not lose the receipt
        said = ""
    text = " ".join(f"{type(error).__name__}: {said}".split())
    text = text.encode("utf-8", "replace").decode("utf-8")
    return text if len(text) <= MAX_ERROR_CHARS else text[: MAX_ERROR_CHARS - 1] + "…"
