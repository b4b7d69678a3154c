"""Dates and times as people write them in English: ISO, `June 20, 2026`, `6/20/2026`, `1:15 PM`, alone or together."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import UTC, date, datetime, time
from typing import Final, Literal, NamedTuple

from tallystick.prose.reading import MonthDay, Reading

_MONTHS: Final = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december",
)  # fmt: skip
_BY_NAME: Final = {
    **{name: at for at, name in enumerate(_MONTHS, start=1)},
    **{name[:3]: at for at, name in enumerate(_MONTHS, start=1)},
    "sept": 9,
}
_MONTH: Final = "(?:" + "|".join(sorted(_BY_NAME, key=len, reverse=True)) + r")\.?"
_DAY: Final = r"(?:3[01]|[12][0-9]|0?[1-9])(?:st|nd|rd|th)?(?![0-9:])"
_YEAR: Final = r"(?:19|20)[0-9]{2}(?![0-9])"
_WEEKDAY: Final = r"(?:(?:mon|tues?|wed(?:nes)?|thu(?:rs)?|fri|sat(?:ur)?|sun)(?:day)?\.?,? (?:the )?)"
_SEP: Final = r"(?:\s?[-\u2010-\u2015\u2212]\s?|\s?(?:to|through|until|and|\u2192)\s)"
_NUMERIC_YEAR: Final = r"(?:(?:19|20)[0-9]{2}|[0-9]{2})"

_DATES: Final = re.compile(
    rf"\b(?P<iso>(?:19|20)[0-9]{{2}}-(?:0[1-9]|1[0-2])-(?:3[01]|[12][0-9]|0[1-9]))(?![0-9])"
    rf"|\b(?P<slash_ymd>(?:19|20)[0-9]{{2}}/[01]?[0-9]/[0-3]?[0-9])(?![0-9/])"
    rf"|(?<![0-9/.$])\b(?P<numeric>[0-3]?[0-9]/[0-3]?[0-9]/{_NUMERIC_YEAR})(?![0-9/])"
    rf"|(?<![0-9/.$])\b(?P<dotted>[0-3]?[0-9]\.[01]?[0-9]\.(?:19|20)[0-9]{{2}})(?![0-9])"
    rf"|\b{_WEEKDAY}?(?P<month>{_MONTH}) (?P<day>{_DAY})(?:{_SEP}(?P<day2>{_DAY})(?! ?{_MONTH}))?"
    rf"(?:,? (?P<year>{_YEAR}))?"
    rf"|\b{_WEEKDAY}?(?P<dday>{_DAY})(?:{_SEP}(?P<dday2>{_DAY}))? (?:of )?(?P<dmonth>{_MONTH})(?![a-z])"
    rf"(?:,? (?P<dyear>{_YEAR}))?",
    re.IGNORECASE,
)
_TIMES: Final = re.compile(
    r"(?<![0-9:.$/])(?P<hour>2[0-3]|[01]?[0-9])(?::(?P<minute>[0-5][0-9])(?::(?P<second>[0-5][0-9])(?:\.[0-9]{1,6})?)?)?"
    r"(?:(?P<zone>Z|[+-][01][0-9]:[0-5][0-9])(?![\w:])|\s?(?P<half>[ap]\.?\s?m\b\.?))?(?![0-9:%])",
    re.IGNORECASE,
)
_NAMED_TIME: Final = re.compile(r"\b(?P<name>noon|midnight)\b", re.IGNORECASE)
_JOIN: Final = re.compile(r"T|,? (?:at |@ |by |from )?|\s*[-\u2013\u2014\u00b7|@(]\s*", re.IGNORECASE)


class Found(NamedTuple):
    """A date or time in a text: offsets, readings, and whether it is an end of a range."""

    start: int
    end: int
    readings: tuple[Reading, ...]
    edge: Literal["", "low", "high"] = ""


def found_in(text: str, years: Iterable[int] = ()) -> Iterator[Found]:
    """Yield the dates, times and both together in a text, not in order.

    Args:
        text: any text.
        years: years that a date said without one may be of; each gives a further reading.
    """
    dates = list(_dates(text, tuple(years)))
    times = [t for t in _times(text) if not any(d.start < t.end and t.start < d.end for d in dates)]
    taken: set[int] = set()
    for found in dates:
        after = next((t for t in times if t.start >= found.end and _JOIN.fullmatch(text, found.end, t.start)), None)
        before = next(
            (
                t
                for t in times
                if t.end <= found.start
                and t.start not in taken
                and re.fullmatch(r",? (?:on )?", text[t.end : found.start])
            ),
            None,
        )
        clock = after or before
        if clock is None or clock.start in taken:
            yield found
            continue
        both = tuple(_together(d, t) for d in found.readings for t in clock.readings if d.kind == "date")
        if not both:
            yield found
            continue
        taken.add(clock.start)
        yield Found(min(found.start, clock.start), max(found.end, clock.end), both, found.edge)
    yield from (t for t in times if t.start not in taken)


def _together(day: Reading, clock: Reading) -> Reading:
    assert isinstance(day.value, date)
    assert isinstance(clock.value, time)
    moment = datetime.combine(day.value, clock.value)
    if moment.tzinfo is not None:
        return Reading("instant", moment.astimezone(UTC))
    return Reading("datetime", moment)


def _day(year: int, month: int, day: int) -> Iterator[Reading]:
    try:
        yield Reading("date", date(year, month, day))
    except ValueError:
        return


def _named(month: str, day: str, year: str | None, years: tuple[int, ...]) -> tuple[Reading, ...]:
    number = _BY_NAME[month.lower().rstrip(".")]
    digits = int(re.sub(r"\D", "", day))
    if year:
        return tuple(_day(int(year), number, digits))
    try:
        date(2000, number, digits)
    except ValueError:
        return ()
    return (*(r for y in years for r in _day(y, number, digits)), Reading("month_day", MonthDay(number, digits)))


def _dates(text: str, years: tuple[int, ...]) -> Iterator[Found]:
    for found in _DATES.finditer(text):
        start, end = found.span()
        if found["iso"]:
            year, month, day = map(int, found["iso"].split("-"))
            readings = tuple(_day(year, month, day))
        elif found["slash_ymd"]:
            year, month, day = map(int, found["slash_ymd"].split("/"))
            readings = tuple(_day(year, month, day))
        elif found["numeric"]:
            first, second, year = map(int, found["numeric"].split("/"))
            year += 2000 if year < 100 else 0
            # Month first and day first are both in use.
            readings = tuple(dict.fromkeys((*_day(year, first, second), *_day(year, second, first))))
        elif found["dotted"]:
            day, month, year = map(int, found["dotted"].split("."))
            readings = tuple(_day(year, month, day))
        else:
            month_name = found["month"] or found["dmonth"]
            one, two = found["day"] or found["dday"], found["day2"] or found["dday2"]
            said_year = found["year"] or found["dyear"]
            readings = _named(month_name, one, said_year, years)
            if two:
                at = found.start("day2") if found["day2"] else found.start("dday2")
                last = _named(month_name, two, said_year, years)
                if readings and last:
                    cut = found.end("day") if found["day"] else found.end("dday")
                    yield Found(start, cut, readings, "low")
                    yield Found(at, end, last, "high")
                continue
        if readings:
            yield Found(start, end, readings)


def _times(text: str) -> Iterator[Found]:
    for found in _TIMES.finditer(text):
        half = (found["half"] or "").lower()
        if found["minute"] is None and not half:
            continue  # a bare number
        hour, minute, second = int(found["hour"]), int(found["minute"] or 0), int(found["second"] or 0)
        if half:
            if not 1 <= hour <= 12:
                continue
            hours = [hour % 12 + (12 if half.startswith("p") else 0)]
        elif found["zone"] or found["second"] or hour == 0 or hour > 12 or (len(found["hour"]) == 2 and hour < 10):
            hours = [hour]
        else:
            hours = [hour, (hour + 12) % 24 if hour < 12 else 0]
            # `10:00 - 11:30 AM`: what follows the range says it for both ends.
            later = re.match(rf"{_SEP}[0-9]{{1,2}}(?::[0-9]{{2}})?\s?([ap])\.?m", text[found.end() :], re.IGNORECASE)
            if later:
                wanted = later[1].lower() == "p"
                hours = [h for h in hours if (h >= 12) == wanted] + [h for h in hours if (h >= 12) != wanted]
        zone = f"{found['zone'].upper().replace('Z', '+00:00')}" if found["zone"] else ""
        readings = tuple(Reading("time", time.fromisoformat(f"{h:02}:{minute:02}:{second:02}{zone}")) for h in hours)
        yield Found(found.start(), found.end(), readings)
    for found in _NAMED_TIME.finditer(text):
        yield Found(*found.span(), (Reading("time", time(12 if found["name"].lower() == "noon" else 0)),))
