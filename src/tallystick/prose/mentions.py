"""Value mentions in prose, with their offsets and every exact value each may state. English; nothing is guessed away.

Amounts, numbers in digits and words, percentages, dates and times, durations, quantities, identifiers, quoted names,
status words. Mentions do not overlap: the longer, more specific reading wins its characters (`June 20, 2026, 1:15 PM`
is one instant and no numbers; the `100` of `UA100` is no number).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import timedelta
from decimal import Decimal
from functools import lru_cache
from itertools import pairwise
from typing import Literal

from tallystick.model.values import Money, Quantity
from tallystick.prose import calendar
from tallystick.prose.numerals import (
    NUMERAL,
    number_of_words,
    ordinal_of,
    readings_of,
    scaled_by,
)
from tallystick.prose.patterns import (
    ABOUT,
    BOOLEAN,
    CODE,
    DASHED,
    DURATION,
    ID,
    LEAST,
    MONEY,
    MOST,
    NAMES,
    NEGATION,
    NO_ID,
    NO_NOUN,
    NOUN,
    NUMBER,
    ORDINAL,
    PERCENT,
    QUANTITY,
    QUOTED,
    SECONDS,
    SIGNS,
    TIMES_N,
)
from tallystick.prose.reading import Mention, Reading
from tallystick.prose.statuses import STATUS, status_of


def mentions(text: str, *, years: Iterable[int] = ()) -> tuple[Mention, ...]:
    """Return the value mentions of a text, in order, without overlap.

    Args:
        text: prose, markdown allowed. Offsets are those of this text.
        years: years that a date said without one may be of (`June 20`); each adds a `date` reading.
    """
    return _mentions(text, tuple(dict.fromkeys(years)))


@lru_cache(maxsize=512)
def _mentions(text: str, years: tuple[int, ...]) -> tuple[Mention, ...]:
    taken = bytearray(len(text))
    found: list[Mention] = []
    for mention in _candidates(text, years):
        if not any(taken[mention.start : mention.end]):
            taken[mention.start : mention.end] = b"\1" * (mention.end - mention.start)
            found.append(mention)
    found.sort(key=lambda m: m.start)
    for at, (low, high) in enumerate(pairwise(found)):
        if low.edge != "high" and low.kind == high.kind and _is_range(text, low, high):
            found[at], found[at + 1] = replace(low, edge="low"), replace(high, edge="high")
    return tuple(found)


def _is_range(text: str, low: Mention, high: Mention) -> bool:
    between = text[low.end : high.start]
    if DASHED.fullmatch(between):
        return True
    joined = {"to": ("from", "between"), "and": ("between",)}.get(between.strip().lower())
    return joined is not None and text[: low.start].rstrip(" *").lower().endswith(joined)


def _candidates(text: str, years: tuple[int, ...]) -> Iterator[Mention]:
    """Yield mentions, the more specific kinds first; whoever comes first keeps the characters."""
    for moment in calendar.found_in(text, years):
        yield _mention(text, moment.start, moment.end, moment.readings, edge=moment.edge)
    yield from _moneys(text)
    yield from _percents(text)
    yield from _ids(text)
    yield from _durations(text)
    yield from _quantities(text)
    for found in ORDINAL.finditer(text):
        rank = ordinal_of(found[0])
        if rank is not None:
            yield _mention(text, *found.span(), (Reading("ordinal", Decimal(rank)),))
    for found in TIMES_N.finditer(text):
        yield _mention(text, *found.span(), (Reading("number", Decimal(found["n"])),))
    yield from _numbers(text)
    for found in STATUS.finditer(text):
        yield _mention(text, *found.span(), (Reading("status", status_of(found[0])),))
    for found in CODE.finditer(text):
        yield _mention(text, *found.span(), (Reading("code", found[0]),))
    for found in BOOLEAN.finditer(text):
        yield _mention(text, *found.span(), (Reading("boolean", found[0].lower() in ("yes", "true")),))
    for found in QUOTED.finditer(text):
        inner = next(g for g in found.groups() if g is not None)
        yield _mention(text, *found.span(), (Reading("quoted", inner),))


def _mention(
    text: str, start: int, end: int, readings: tuple[Reading, ...], *, edge: Literal["", "low", "high"] = ""
) -> Mention:
    before = text[max(0, start - 40) : start]
    hedge: Literal["", "about", "least", "most"] = ""
    noun = ""
    negated = False
    if readings[0].kind in ("status", "boolean"):
        negated = NEGATION.search(before) is not None
    else:
        if ABOUT.search(before):
            hedge = "about"
        elif LEAST.search(before):
            hedge = "least"
        elif MOST.search(before):
            hedge = "most"
        elif text[end : end + 1] == "+" or re.search(r"[0-9]\+", text[start:end]):
            hedge = "least"
        follows = NOUN.match(text, end) if readings[0].kind in ("number", "ordinal") else None
        noun = singular(follows[1].lower()) if follows and follows[1].lower() not in NO_NOUN else ""
        if readings[0].kind in ("quantity", "duration"):
            noun = next((v.unit for r in readings if isinstance(v := r.value, Quantity)), "")
    return Mention(
        start=start, end=end, text=text[start:end], readings=readings, noun=noun, edge=edge, approximate=hedge,
        negated=negated,
    )  # fmt: skip


def singular(word: str) -> str:
    """Return an English noun in the singular, by its ending alone."""
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("sses", "shes", "ches", "xes")):
        return word[:-2]
    if word.endswith("s") and not word.endswith(("ss", "us", "is")) and len(word) > 2:
        return word[:-1]
    return {"feet": "foot", "people": "person", "children": "child"}.get(word, word)


def _signed(number: Decimal, minus: str | None, scale: str | None) -> Decimal:
    number = number.scaleb(scaled_by(scale)) if scale else number
    return -number if minus and minus.strip() in ("-", "\u2212") else number


def _moneys(text: str) -> Iterator[Mention]:
    for found in MONEY.finditer(text):
        sign = found["sign"] or found["sign2"] or found["sign3"]
        code = found["c1"] or found["c2"] or found["c3"]
        name = (found["name"] or found["name2"] or "").lower().removeprefix("us ")
        currencies = (code,) if code else SIGNS[sign] if sign else NAMES[name]
        if found["words"]:
            words = number_of_words(found["words"])
            if words is None:
                continue
            numbers: tuple[Decimal, ...] = (Decimal(words),)
        else:
            numbers = readings_of(found["n1"] or found["n2"] or found["n3"])
        minus = found["minus"] or found["minus2"] or found["minus3"] or found["minus4"]
        start = found.start()
        if found["minus"] and start and text[start - 1] not in " (\n*|~\u2248":
            start, minus = found.start("sign"), None  # the dash of a range or of a compound
        if found["minus"] and found["minus"].strip() == "\u2013":
            start, minus = found.start("sign"), None
        if found["minus"] and found["minus"][-1:] == " ":
            start, minus = found.start("sign"), None  # the dash of a list item
        scale = found["s1"] or found["s2"] or found["s3"]
        readings = tuple(Reading("money", Money(_signed(n, minus, scale), c)) for n in numbers for c in currencies)
        if found["n3"]:
            low = re.search(rf"(?<![\w.,-])({NUMERAL})\s?[-\u2010-\u2015]\s?$", text[:start])
            if low:
                yield _mention(
                    text, low.start(1), low.end(1),
                    tuple(Reading("money", Money(n, c)) for n in readings_of(low[1]) for c in currencies), edge="low",
                )  # fmt: skip
        yield _mention(text, start, found.end(), readings)


def _percents(text: str) -> Iterator[Mention]:
    for found in PERCENT.finditer(text):
        if found["words"]:
            words = number_of_words(found["words"])
            if words is not None:
                yield _mention(text, *found.span(), (Reading("percent", Decimal(words)),))
            continue
        minus = found["minus"] if found.start() == 0 or text[found.start() - 1] in " (*" else None
        yield _mention(
            text, *found.span(), tuple(Reading("percent", _signed(n, minus, None)) for n in readings_of(found["n"]))
        )


def _ids(text: str) -> Iterator[Mention]:
    for found in ID.finditer(text):
        token = found["hash"] or found["mail"] or found["id"]
        if found["id"] and NO_ID.fullmatch(token):
            continue
        if found["hash"] and token.isdigit():
            yield _mention(text, *found.span(), (Reading("id", token), Reading("number", Decimal(token))))
            continue
        yield _mention(text, *found.span(), (Reading("id", token),))


def _durations(text: str) -> Iterator[Mention]:
    for found in DURATION.finditer(text):
        unit = (found["unit"] or found["unit3"]).lower()
        if found["words"]:
            words = number_of_words(found["words"])
            if words is None:
                continue
            numbers: tuple[Decimal, ...] = (Decimal(words),)
        else:
            numbers = readings_of(found["n"])
        name = unit if len(unit) == 1 else singular(unit)
        if len(name) == 1 and (found["gap"] or (name == "m" and not found["n2"])):
            continue  # `5 m` are metres, or anything
        name = {"s": "second", "sec": "second", "m": "minute", "min": "minute", "h": "hour", "hr": "hour", "d": "day",
                "wk": "week"}.get(name, name)  # fmt: skip
        readings = []
        for number in numbers:
            seconds = number * SECONDS[name]
            if found["n2"]:
                second_unit = found["unit2"].lower()
                seconds += int(found["n2"]) * SECONDS[second_unit if len(second_unit) == 1 else singular(second_unit)]
            elif number < 10**7:
                readings.append(Reading("quantity", Quantity(number, name)))
            if seconds < 10**12:
                readings.insert(0, Reading("duration", timedelta(microseconds=int(seconds * 1_000_000))))
        if readings:
            yield from _low_end(text, found.start(), name)
            yield _mention(text, *found.span(), tuple(readings))


def _low_end(text: str, start: int, unit: str) -> Iterator[Mention]:
    """The lower end of `3-5 days`, which has its unit from the upper."""
    low = re.search(rf"(?<![\w.,$€£/-])({NUMERAL})\s?(?:[-\u2010-\u2015]|to|or)\s?$", text[max(0, start - 16) : start])
    if low is None:
        return
    offset = max(0, start - 16)
    readings = [Reading("quantity", Quantity(n, unit)) for n in readings_of(low[1])]
    if unit in SECONDS:
        readings = [
            Reading("duration", timedelta(seconds=int(n * SECONDS[unit]))) for n in readings_of(low[1]) if n < 10**6
        ] + readings
    yield _mention(text, offset + low.start(1), offset + low.end(1), tuple(readings), edge="low")


def _quantities(text: str) -> Iterator[Mention]:
    for found in QUANTITY.finditer(text):
        unit = singular((found["unit"] or found["unit2"]).lower())
        unit = {"lb": "pound", "oz": "ounce", "yr": "year", "pt": "point", "kg": "kg", "inche": "inch"}.get(unit, unit)
        if found["words"]:
            words = number_of_words(found["words"])
            if words is None:
                continue
            numbers: tuple[Decimal, ...] = (Decimal(words),)
        else:
            numbers = tuple(_signed(n, found["minus"], None) for n in readings_of(found["n"]))
        yield from _low_end(text, found.start(), unit)
        yield _mention(text, *found.span(), tuple(Reading("quantity", Quantity(n, unit)) for n in numbers))


def _numbers(text: str) -> Iterator[Mention]:
    for found in NUMBER.finditer(text):
        if found["words"]:
            words = number_of_words(found["words"])
            if words is not None:
                yield _mention(text, *found.span(), (Reading("number", Decimal(words)),))
            continue
        minus = found["minus"] if found.start() == 0 or text[found.start() - 1] in " (\n*" else None
        if minus is not None and minus.strip() == "\u2013":
            minus = None
        numbers = tuple(Reading("number", _signed(n, minus, found["s"])) for n in readings_of(found["n"]))
        start = found.start() if minus else found.start("n")
        yield _mention(text, start, found.end(), numbers)
