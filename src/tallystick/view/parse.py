"""Parsing foreign bytes out of events; what is parsed is derived and can be derived again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tallystick.errors import InputError
from tallystick.model import jsontext
from tallystick.model.events import Blob, Receipt


def parse_args(blob: Blob) -> Mapping[str, Any]:
    """Return the arguments a blob holds; `{}` with nothing in it where they are not a JSON object."""
    try:
        value = jsontext.loads(blob.raw)
    except InputError:
        return {}
    return value if isinstance(value, Mapping) else {}


def parse_result(body: Receipt) -> tuple[Any, str | None, str | None]:
    """Return (value, text, problem): structured channel first, else the parsed body, else the text itself."""
    text = body.result.text if body.result is not None else None
    source = body.structured if body.structured is not None else body.result
    if source is None:
        return None, text, None
    if source.text is None:
        return None, None, "the result is not UTF-8 text"
    try:
        return jsontext.loads(source.text), text, None
    except InputError as bad:
        if body.structured is not None:
            return None, text, str(bad)
        return source.text, text, str(bad)
