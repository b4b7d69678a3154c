"""Durations, zones and the parts of an instant, as in the CEL language definition, "Timestamps and durations"."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta, timezone, tzinfo
from fractions import Fraction
from typing import Any, Final
from zoneinfo import ZoneInfo

from tallystick.contracts.expr.syntax import ExpressionProblem

_PART: Final = re.compile(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)(h|ms|us|µs|m|s)")
_MICRO: Final = {"h": 3_600_000_000, "m": 60_000_000, "s": 1_000_000, "ms": 1_000, "us": 1, "µs": 1}


def duration_of(value: Any) -> timedelta:
    """Return the duration a CEL duration text states (`"1h30m"`, `"-1.5s"`), exact to the microsecond.

    Raises:
        ValueError: not such a text, finer than a microsecond, or out of range.
    """
    if not isinstance(value, str) or len(value) > 60:
        raise ValueError('expected a duration like `"1h30m"`')
    text, sign = value, 1
    if text[:1] in ("-", "+"):
        sign, text = (-1 if text[0] == "-" else 1), text[1:]
    if text == "0":
        return timedelta(0)
    total, at = Fraction(0), 0
    while at < len(text):
        found = _PART.match(text, at)
        if found is None:
            break
        total += Fraction(found[1] if found[1][-1] != "." else found[1] + "0") * _MICRO[found[2]]
        at = found.end()
    if at != len(text) or not text:
        raise ValueError(f"`{value}` is not a duration like `1h30m`")
    if total.denominator != 1:
        raise ValueError(f"`{value}` is finer than a microsecond")
    try:
        return timedelta(microseconds=sign * int(total))
    except OverflowError:
        raise ValueError(f"`{value}` is out of range") from None


def duration_text(value: timedelta) -> str:
    """Return the CEL text of a duration: seconds, as in `5400s`."""
    micro = value // timedelta(microseconds=1)
    seconds, rest = divmod(abs(micro), 1_000_000)
    fraction = f".{rest:06d}".rstrip("0") if rest else ""
    return f"{'-' if micro < 0 else ''}{seconds}{fraction}s"


def zone_of(text: str, at: int) -> tzinfo:
    """Return the zone `text` names: an IANA name or a fixed offset such as `+02:00`.

    Raises:
        ExpressionProblem: neither.
    """
    if text == "UTC":
        return UTC
    offset = re.fullmatch(r"([+-]?)([0-9]{2}):([0-9]{2})", text)
    if offset and int(offset[2]) < 24 and int(offset[3]) < 60:
        delta = timedelta(hours=int(offset[2]), minutes=int(offset[3]))
        return timezone(-delta if offset[1] == "-" else delta)
    try:
        return ZoneInfo(text)
    except (KeyError, ValueError, OSError):
        raise ExpressionProblem(f"`{text}` is not a time zone", at, "use an IANA name such as `Europe/Paris`") from None


GETTERS: Final[Mapping[str, Callable[[datetime], int]]] = {
    "getFullYear": lambda t: t.year,
    "getMonth": lambda t: t.month - 1,
    "getDate": lambda t: t.day,
    "getDayOfMonth": lambda t: t.day - 1,
    "getDayOfWeek": lambda t: t.isoweekday() % 7,
    "getDayOfYear": lambda t: t.timetuple().tm_yday - 1,
    "getHours": lambda t: t.hour,
    "getMinutes": lambda t: t.minute,
    "getSeconds": lambda t: t.second,
    "getMilliseconds": lambda t: t.microsecond // 1_000,
}
"""Parts of an instant. Months, days of month, week and year count from 0, as CEL has it; `getDate` from 1."""
