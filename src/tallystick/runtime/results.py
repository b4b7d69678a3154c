"""What a tool returned, as the bytes a receipt keeps."""

from __future__ import annotations

import dataclasses
import json
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


def plain_json(value: Any) -> Any:
    """Return `value` as JSON values, exactly: models, dataclasses, enums, dates and sets as their plain form.

    Raises:
        TypeError: something has no JSON form.
    """
    if value is None or (isinstance(value, (str, bool, int, float, Decimal)) and not isinstance(value, Enum)):
        return value
    if isinstance(value, Mapping):
        return {k if isinstance(k, str) else str(plain_json(k)): plain_json(v) for k, v in value.items()}
    if isinstance(value, Enum):
        return plain_json(value.value)
    if isinstance(value, (datetime, date, time)):
        return value.isoformat()
    if isinstance(value, (UUID, PurePath)):
        return str(value)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: plain_json(getattr(value, f.name)) for f in dataclasses.fields(value)}
    dump = getattr(value, "model_dump", None)
    if callable(dump):  # pydantic: mode "python" keeps decimals exact
        return plain_json(dump())
    fields = getattr(value, "__struct_fields__", None)
    if fields is not None:
        return {name: plain_json(getattr(value, name)) for name in fields}
    if isinstance(value, AbstractSet):
        return sorted((plain_json(v) for v in value), key=repr)
    if isinstance(value, Sequence) and not isinstance(value, (bytes, bytearray, memoryview)):
        return [plain_json(v) for v in value]
    raise TypeError(f"a {type(value).__name__} has no JSON form")


UNREAD: Final = object()
"""Stands for "whoever needs the value must read the bytes"."""


def result_bytes(value: Any) -> tuple[bytes, Any]:
    """Return (what a receipt keeps of a returned value, what a reader of those bytes gets, or `UNREAD`).

    Kept are a text's or bytes' own bytes, else the JSON text.

    A value that has no JSON form is kept as its `repr`: recorded, but nothing is read out of it. NaN and infinities are
    written the way Python writes them, which no reader of JSON accepts, so no number is read out of them either.
    """
    if isinstance(value, str):
        return value.encode("utf-8", "surrogatepass"), UNREAD
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value), UNREAD
    try:
        exact, text = jsontext.exact(value)
        return text.encode("utf-8"), exact
    except InputError:
        pass
    try:
        json_values = plain_json(value)
        try:
            return jsontext.dumps(json_values).encode("utf-8"), UNREAD
        except InputError:
            return json.dumps(json_values, default=str).encode("utf-8"), UNREAD
    except (TypeError, ValueError, RecursionError, AttributeError):
        return repr(value).encode("utf-8", "surrogatepass"), UNREAD


def error_text(error: BaseException) -> str:
    """Return an exception's kind and text, shortened, as one line that every JSON reader takes."""
    try:
        said = str(error)
    except Exception:  # noqa: BLE001 - a broken `__str__` must not lose the receipt
        said = ""
    text = " ".join(f"{type(error).__name__}: {said}".split())
    text = text.encode("utf-8", "replace").decode("utf-8")
    return text if len(text) <= MAX_ERROR_CHARS else text[: MAX_ERROR_CHARS - 1] + "…"
