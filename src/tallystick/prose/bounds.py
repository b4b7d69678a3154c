"""Bounds: what is said to be within a limit, by a time, before an hour, is compared with what is on record."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import time
from decimal import Decimal
from typing import Final

from tallystick.prose.derive import moment_of, number
from tallystick.prose.facts import Fact
from tallystick.prose.grounds import Case, Ground
from tallystick.prose.labels import labels_of
from tallystick.prose.matching import agrees, holds_money, read, states
from tallystick.prose.reading import Mention
from tallystick.prose.words import GENERIC, widened

_LOW: Final = re.compile(
    r"\b(?:by|before|within|under|below|at most|no more than|or less|up to|inside|stays?|fits?|meets?|keeps?)\b"
    r"|\u2264|<",
    re.IGNORECASE,
)
_HIGH: Final = re.compile(
    r"\b(?:after|over|above|exceed\w*|more than|past|beyond|miss\w*|too late|too expensive)\b|>|\u2265", re.IGNORECASE
)


def compared(case: Case, mention: Mention) -> Ground | None:
    """Return whether a value that a user set as a bound holds as said; None where nothing can be compared.

    The bound is the user's own: which value of the record it bounds is what the words, or the lines beside it, name.
    """
    if not any(agrees(mention, m) for text in case.asked for m in read(text)):
        return None
    low, high = case.setting.clause(mention.start, mention.end)
    words = case.text[low : high + 12]
    over = _HIGH.search(words) is not None
    if not over and _LOW.search(words) is None:
        return None
    if mention.kind == "time":
        return _in_time(case, mention, over)
    if mention.kind == "money":
        return _in_money(case, mention, over)
    return None


def _in_time(case: Case, mention: Mention, over: bool) -> Ground | None:
    bounds = [r.value for r in mention.readings if isinstance(r.value, time)]
    label = widened(labels_of(case, mention)[0])
    for subject in case.tiers[:4]:
        for fact in reversed(case.record.facts):
            if not isinstance(fact.value, str) or fact.asked or not (fact.stems - GENERIC) & label:
                continue
            moment = moment_of(fact.value) if 8 <= len(fact.value) <= 32 else None
            if moment is None or case.closeness(fact, subject) < 2 or not case.stands(fact):
                continue
            holds = any((moment.time() > b.replace(tzinfo=None)) == over for b in bounds)
            return Ground(holds, (fact,), derived=True, why=f"`{fact.key}` says otherwise")
    return None


def _in_money(case: Case, mention: Mention, over: bool) -> Ground | None:
    bound = mention.numbers[0]
    for other, fact in _beside(case, mention):
        if (other > bound) == over:
            return Ground(True, (fact,), derived=True)
        return Ground(False, why="the amount beside it is not on that side of the limit")
    return None


def _beside(case: Case, mention: Mention) -> Iterator[tuple[Decimal, Fact]]:
    """Yield the nearest other amount of the line, or of the lines before it, and a fact it rests on."""
    start, end = case.setting.at(mention.start, mention.end).block()
    asked = {n for text in case.asked for m in read(text) if m.kind == "money" for n in m.numbers}
    others = [m for m in case.all_mentions if m.kind == "money" and m.start != mention.start and start <= m.start < end]
    for other in sorted(others, key=lambda m: abs(m.start - mention.start)):
        if other.numbers[0] in asked and other.numbers[0] == mention.numbers[0]:
            continue
        fact = next((f for f in reversed(case.record.facts) if holds_money(f) and states(other, f) == "exact"), None)
        if fact is None:
            ground = number(case.elsewhere(case.text, other.start, other.end), other)
            fact = ground.facts[0] if ground.holds and ground.facts else None
        if fact is not None:
            yield other.numbers[0], fact
