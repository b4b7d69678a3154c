"""Amounts that a message works out in the open: the total of its list, what is left of a user's limit, a share.

Here the message itself says what is combined, so that the operands are not free: the lines above a total, the amount a
limit is compared with, the percentage that stands beside its result. Each operand must be on record or follow in turn.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import ROUND_FLOOR, ROUND_HALF_UP, Decimal
from typing import Final

from tallystick.prose.derive import equation, number
from tallystick.prose.facts import Fact
from tallystick.prose.grounds import Case, Ground
from tallystick.prose.matching import holds_money, read, states
from tallystick.prose.mentions import mentions
from tallystick.prose.reading import Mention
from tallystick.prose.words import stem

_TOTAL: Final = re.compile(
    r"\b(?:total\w*|sum|combined|altogether|overall|all[- ]in|in all|comes? to|works out|adds? up|grand|subtotal"
    r"|package|trip)\b|=",
    re.IGNORECASE,
)
_UNDER: Final = re.compile(r"\b(?:under|below|left|remaining|remains?|to spare|less than|short)\b", re.IGNORECASE)
_OVER: Final = re.compile(r"\b(?:over|above|exceed\w*|more than|past)\b", re.IGNORECASE)
_LIMIT: Final = re.compile(r"\b(?:budget|limit|cap|ceiling|max(?:imum)?|threshold|target)\b", re.IGNORECASE)
_SHARE: Final = re.compile(r"\bof\b|\boff\b|=|\u00d7|\*|\bx\b|\bdiscount\w*|\bsav\w*", re.IGNORECASE)
_AGAIN: Final = re.compile(r"\bsame (?P<what>[a-z]+)\b", re.IGNORECASE)
_CENT: Final = Decimal("0.01")
_LOOK_BACK: Final = 16


def worked_out(case: Case, mention: Mention) -> Ground:
    """Return whether an amount is the result of what the message itself lays out."""
    if mention.kind != "money":
        return Ground(False)
    for facts in (_list_total(case, mention), _margin(case, mention), _share(case, mention)):
        if facts:
            return Ground(True, facts, derived=True)
    _, high = case.setting.at(mention.start, mention.end).line()
    if "=" in case.text[mention.end : high]:  # the amount that `10% off $449 = $44.90` is of
        for other in case.all_mentions:
            if other.kind == "money" and mention.end < other.start < high and mention.numbers != other.numbers:
                facts = _share(case.elsewhere(case.text, other.start, other.end), other)
                if len(facts) > 1 and states(mention, facts[1]):
                    return Ground(True, facts, derived=True)
    return Ground(False)


def restated(case: Case, mention: Mention) -> Ground:
    """Return whether an amount that no receipt states was derived where this message or an earlier one first gave it.

    Only for amounts that stand nowhere in the record: one that does must be borne out where it is said.
    """
    if mention.kind not in ("money", "percent", "duration"):
        return Ground(False)
    if any(states(mention, f) for f in case.record.facts):
        return Ground(False)
    spoken = [t for t in case.earlier if t not in case.asked]
    for text in (case.text, *spoken[:6]):
        for other in mentions(text):
            if other.kind != mention.kind or set(other.numbers) != set(mention.numbers):
                continue
            if text is case.text and other.start == mention.start:
                continue
            here = case.elsewhere(text, other.start, other.end)
            ground = _derived_there(here, other)
            if ground.holds:
                return ground
    return Ground(False)


def _derived_there(case: Case, mention: Mention) -> Ground:
    """Return whether a number follows where it stands."""
    ground = number(case, mention)
    return ground if ground.holds else worked_out(case, mention)


def _known(case: Case, mention: Mention, *, deep: bool = True) -> Fact | None:
    """Return a fact that an operand rests on: it states it, or the operand follows from it."""
    here = case.elsewhere(case.text, mention.start, mention.end)
    for fact in reversed(case.record.facts):
        if holds_money(fact) and fact.call.came != "failed" and states(mention, fact) in ("exact", "size"):
            return fact
    shared = _share(here, mention, deep=False) if not deep else ()
    if shared:
        return shared[0]
    if deep:
        if equation(here, mention):
            return next((f for f in reversed(case.record.facts) if holds_money(f)), None)
        facts = _list_total(here, mention)
        if facts:
            return facts[0]
    return None


def _lines_above(case: Case, mention: Mention) -> Iterator[tuple[int, int]]:
    here = case.setting.at(mention.start, mention.end)
    yield from list(here.before())[:_LOOK_BACK]


def _list_total(case: Case, mention: Mention) -> tuple[Fact, ...]:
    """Return the facts of the amounts of the lines above whose running sum, the nearest first, is the amount."""
    here = case.setting.at(mention.start, mention.end)
    low, high = here.line()
    head = next(iter(here.headings()), (0, 0))
    if not (_TOTAL.search(case.text[low:high]) or _TOTAL.search(case.text[slice(*head)])):
        return ()
    total, facts = Decimal(0), list[Fact]()
    for start, end in _lines_above(case, mention):
        line = case.text[start:end]
        priced = [m for m in case.all_mentions if start <= m.start and m.end <= end and m.kind == "money"]
        again = _AGAIN.search(line) if not priced else None
        group = _under_heading(case, again["what"], start) if again is not None else priced[-1:]
        if (
            priced
            and _TOTAL.search(line)
            and "$" not in line[: line.lower().find("total")]
            and "total:" in line.lower()
        ):
            if facts:
                break
            continue
        for one in group:
            fact = _known(case, one, deep=False)
            if fact is None:
                return ()
            total += one.numbers[0]
            facts.append(fact)
        if len(facts) >= 2 and total in mention.numbers:
            return tuple(facts)
    return ()


def _with_heading(case: Case, start: int, end: int) -> str:
    head = next(iter(case.setting.at(start, end).headings()), (0, 0))
    return case.text[slice(*head)] + " " + case.text[start:end]


def _under_heading(case: Case, word: str, before: int) -> list[Mention]:
    """Return the amounts of the lines under the last heading above `before` that has a word."""
    wanted = stem(word)
    for at in range(len(case.setting.lines) - 1, -1, -1):
        head = case.setting.lines[at]
        if head.start >= before or not head.heading or head.bullet:
            continue
        if wanted not in {stem(w) for w in re.findall(r"[a-z]+", case.text[head.start : head.end].lower())}:
            continue
        found = []
        for line in case.setting.lines[at + 1 :]:
            if line.heading and line.depth == 0 and not line.bullet:
                break
            found += [m for m in case.all_mentions if line.start <= m.start < line.end and m.kind == "money"][-1:]
        return found
    return []


def _margin(case: Case, mention: Mention) -> tuple[Fact, ...]:
    """Return the fact of an amount that the user's limit exceeds, or falls short of, by just so much."""
    low, high = case.setting.clause(mention.start, mention.end)
    near = case.text[max(0, low - 1) : min(len(case.text), high + 30)]
    under, over = _UNDER.search(near), _OVER.search(near)
    if not (_LIMIT.search(near) and (under or over)):
        return ()
    start, end = case.setting.at(mention.start, mention.end).line()
    limits = {n for text in case.asked for m in read(text) if m.kind == "money" for n in m.numbers}
    for other in case.all_mentions:
        if other.kind != "money" or other.start == mention.start or other.numbers[0] in limits:
            continue
        beside = case.setting.at(other.start, other.end).line()
        if not start <= other.start < end and not _TOTAL.search(_with_heading(case, *beside)):
            continue
        for limit in limits:
            gap = limit - other.numbers[0]
            if (gap if under else -gap) in mention.numbers:
                fact = _known(case, other)
                if fact is not None:
                    return (fact,)
    return ()


def _share(case: Case, mention: Mention, *, deep: bool = True) -> tuple[Fact, ...]:
    """Return the facts behind `3% of that = $33.84`: a percentage on record, of an amount on record or worked out."""
    low, high = case.setting.at(mention.start, mention.end).line()
    if not _SHARE.search(case.text[low:high]):
        return ()
    rates = [m for m in case.all_mentions if m.kind == "percent" and low <= m.start < high]
    rates = rates or [m for m in case.all_mentions if m.kind == "percent" and m.start < low][-1:]
    bases = [m for m in case.all_mentions if m.kind == "money" and m.start != mention.start and m.start < high]
    for rate in rates:
        given = next((f for f in reversed(case.record.facts) if states(rate, f) and f.call.came != "failed"), None)
        if given is None:
            continue
        for base in reversed(bases):
            part = base.numbers[0] * rate.numbers[0] / 100
            values = {
                v.quantize(q, rounding=how) for v in (part, base.numbers[0] - part) for q in (_CENT, Decimal(1))
                for how in (ROUND_FLOOR, ROUND_HALF_UP)
            }  # fmt: skip
            if values & set(mention.numbers):
                fact = (
                    _known(case, base)
                    if deep
                    else next((f for f in case.record.facts if holds_money(f) and states(base, f) == "exact"), None)
                )
                if fact is not None:
                    return (given, fact)
    return ()
