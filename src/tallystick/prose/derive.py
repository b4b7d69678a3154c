"""What follows from receipts: sums, differences, counts, comparisons, weekdays, and what is not there.

Narrow on purpose: a derivation needs a word that announces it, and operands that the message itself or one field gives.
With free choice of operands any number is the sum of some two others.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator
from datetime import date, datetime, timedelta
from decimal import ROUND_FLOOR, Decimal
from itertools import combinations
from typing import Final

from tallystick.prose import counts
from tallystick.prose.amounts import contradicted
from tallystick.prose.facts import Fact
from tallystick.prose.grounds import Case, Ground
from tallystick.prose.labels import head_of, labels_of, score
from tallystick.prose.matching import agrees, holds_money, read, states
from tallystick.prose.reading import Mention, MonthDay
from tallystick.prose.vocabulary import WEEKDAYS
from tallystick.prose.words import GENERIC, key_stems, stem, stems_of, tokens_of

_SUM: Final = re.compile(
    r"\b(?:total\w*|sum|combined|altogether|overall|both|together|in all|all up|comes to|works out|net"
    r"|adds? up|grand|additional|extra)\b|=",
    re.IGNORECASE,
)
_GAP: Final = re.compile(
    r"\b(?:differen\w*|more|less|cheaper|lower|higher|additional|extra|net|remaining|left|sav\w*|increas\w*|decreas\w*"
    r"|reduc\w*|missing|built into|owe|due|adjust\w*|result\w*|after|short|fewer)\b",
    re.IGNORECASE,
)
MAX_OPERANDS: Final = 12


def number(case: Case, mention: Mention, *, deep: bool = True) -> Ground:
    """Return whether a number of a statement follows from receipts; `deep`: operands may follow from them in turn."""
    if mention.approximate in ("least", "most"):
        bound = _beyond(case, mention)
        if bound is not None:
            return Ground(True, (bound,), derived=True)
    if equation(case, mention) or _is_term(case, mention):
        return Ground(True, tuple(f for _, f in _operands(case, mention, False)[:3]), derived=True)
    if contradicted(case, mention):
        return Ground(False)
    low, high = case.setting.clause(mention.start, mention.end)
    line = case.text[max(0, low - 2) : high + 2]
    column = case.setting.column(mention.start)
    if column is not None:
        line += " " + case.text[slice(*column)]
    values = set(mention.numbers)
    if mention.kind in ("money", "number", "quantity", "percent"):
        if mention.kind == "money" and _SUM.search(line):
            listed = _list_sum(case, mention)
            if listed:
                return Ground(True, listed, derived=True)
        head = head_of(case, mention) if mention.kind == "money" else frozenset()
        for make in (_sums, _gaps, _products):
            if _is_right_side(case, mention):
                break  # an equation that is written out is as it is, or wrong
            if make is _sums and not _SUM.search(line):
                continue
            if make is _gaps and not _GAP.search(line):
                continue
            for value, facts in make(case, mention, deep):
                if (
                    head
                    and make is not _gaps
                    and not all(isinstance(f.value, str) or head & (f.stems | f.place) for f in facts)
                ):
                    continue
                if value in values or (make is _gaps and -value in values):
                    return Ground(True, facts, derived=True)
    if mention.kind in ("date", "datetime", "month_day"):
        return moment(case, mention)
    if mention.kind in ("number", "quantity") and mention.noun:
        counted = counts.counted(case, mention) or counts.found(case, mention)
        if counted is None and counts.listed(case, mention).holds:
            return Ground(True, derived=True)
        if counted is not None:
            return counted
    if mention.kind in ("duration", "quantity"):
        spans = _durations(case, mention)
        if spans is not None:
            return spans
    if mention.kind == "number" and not mention.noun:
        return counts.found(case, mention) or counts.listed(case, mention)
    return Ground(False)


_SECONDS: Final = {stem("second"): 1, stem("minute"): 60, "min": 60, stem("hour"): 3600, stem("day"): 86400}


def _beyond(case: Case, mention: Mention) -> Fact | None:
    """Return the number on record that lies beyond a bound as the words say: `over 4 hours` of 270 minutes."""
    topic = labels_of(case, mention)[0] - GENERIC - stems_of(mention.noun)
    if not any(agrees(mention, m) for text in case.asked for m in read(text)) and not any(
        isinstance(f.value, str) and topic & (stems_of(f.value) | f.stems) and states(mention, f) == "text"
        for f in case.record.facts
    ):
        return None  # a bound nobody gave is no bound, even where the comparison happens to hold
    label = labels_of(case, mention)[0]
    for subject in case.tiers:
        for fact in reversed(case.record.facts):
            if (
                isinstance(fact.value, bool)
                or not isinstance(fact.value, (int, Decimal))
                or not case.closeness(fact, subject)
            ):
                continue
            key = fact.stems - GENERIC - set(_SECONDS)
            if not key or not key <= label or not case.stands(fact):
                continue
            value, bounds = Decimal(fact.value), list(mention.numbers)
            spans = [r.value for r in mention.readings if isinstance(r.value, timedelta)]
            unit = next((n for s, n in _SECONDS.items() if s in fact.stems), 0)
            if spans and not unit:
                continue
            if spans:
                value, bounds = value * unit, [Decimal(s.total_seconds()) for s in spans]
            if any(value >= b if mention.approximate == "least" else value <= b for b in bounds):
                return fact
    return None


_TERM: Final = r"\(?[-\u2212+]?\s?[$\u20ac\u00a3]?[0-9][0-9,]*(?:\.[0-9]+)?\)?"
_EQUATION: Final = re.compile(
    rf"(?P<left>{_TERM}(?:[^=0-9$\n]{{0,40}}?\s[-\u2212\u2013+]\s*\W{{0,3}}{_TERM})+)[^=0-9\n]{{0,40}}=\s*\W{{0,3}}(?P<right>{_TERM})"
)
_SIGNED: Final = re.compile(r"(?P<sign>[-\u2212\u2013+])?\s*\W{0,3}?[$\u20ac\u00a3]?(?P<n>[0-9][0-9,]*(?:\.[0-9]+)?)")


def equation(case: Case, mention: Mention) -> bool:
    """Return whether a number is the result of a sum that the line itself writes out, and of amounts on record."""
    low, high = case.setting.at(mention.start, mention.end).line()
    for found in _EQUATION.finditer(case.text, low, high):
        if not found.start("right") <= mention.start <= found.end("right") and not (
            mention.start <= found.start("right") < mention.end
        ):
            continue
        total = Decimal(0)
        for term in _SIGNED.finditer(found["left"]):
            value = Decimal(term["n"].replace(",", ""))
            total += -value if term["sign"] in ("-", "\u2212", "\u2013") else value
        parts = [m for m in case.all_mentions if found.start("left") <= m.start and m.end <= found.end("left")]
        held = [m for m in parts if any(states(m, f) and f.call.came != "failed" for f in case.record.facts)]
        if total in mention.numbers and parts and len(held) == len(parts):
            return True
    return False


def _is_term(case: Case, mention: Mention) -> bool:
    """Return whether an amount is a term of a written-out sum that is right, and made of amounts on record."""
    low, high = case.setting.at(mention.start, mention.end).line()
    for found in _EQUATION.finditer(case.text, low, high):
        if found.start("left") <= mention.start < found.end("left"):
            result = next(
                (m for m in case.all_mentions if m.start <= found.start("right") + 3 and m.end >= found.end("right")),
                None,
            )
            if result is not None and equation(case, result):
                return True
    return False


def _is_right_side(case: Case, mention: Mention) -> bool:
    """Return whether a number is what a written-out sum is said to come to."""
    low, high = case.setting.at(mention.start, mention.end).line()
    return any(
        found.start("right") <= mention.start < found.end("right")
        or mention.start <= found.start("right") < mention.end
        for found in _EQUATION.finditer(case.text, low, high)
    )


def _list_sum(case: Case, mention: Mention) -> tuple[Fact, ...]:
    """Return the facts of the amounts of the lines above, the nearest first, whose running sum is the amount."""
    here = case.setting.at(mention.start, mention.end)
    total, facts = Decimal(0), []
    for start, end in list(here.before())[:10]:
        amounts = [m for m in case.all_mentions if start <= m.start and m.end <= end and m.kind == "money"]
        if not amounts:
            continue
        fact = next(
            (f for f in reversed(case.record.facts) if holds_money(f) and case.stands(f) and states(amounts[-1], f)),
            None,
        )
        if fact is None:
            return ()
        total += amounts[-1].numbers[0]
        facts.append(fact)
        if len(facts) >= 2 and total in mention.numbers:
            return tuple(facts)
    return ()


def _operands(case: Case, mention: Mention, deep: bool) -> list[tuple[Decimal, Fact]]:
    """Return the other amounts of the message that receipts state, each once, the nearest first."""
    found: dict[Decimal, Fact] = {}
    others = sorted(
        (
            m
            for m in case.all_mentions
            if m.start != mention.start and m.kind == mention.kind and m.noun == mention.noun
        ),
        key=lambda m: abs(m.start - mention.start),
    )
    for other in others[:MAX_OPERANDS]:
        for value in other.numbers[:1]:
            if value in found or value in mention.numbers or not value:
                continue
            fact = next(
                (
                    f for f in reversed(case.record.facts)
                    if case.stands(f) and not (f.asked and f.call.came == "preview")
                    and isinstance(f.value, (int, Decimal))
                    and states(other, f)
                    and (mention.kind != "money" or holds_money(f))
                ),
                None,
            )  # fmt: skip
            if fact is not None:
                found[value] = fact
            elif deep:
                ground = number(case.elsewhere(case.text, other.start, other.end), other, deep=False)
                if ground.holds and ground.facts:
                    found[value] = ground.facts[0]
    return list(found.items())


def _fields(case: Case, mention: Mention) -> Iterator[tuple[str, list[Fact]]]:
    """Yield, field by field, the facts that the words around a number name."""
    labels = labels_of(case, mention)
    by_key: dict[str, list[Fact]] = defaultdict(list)
    for fact in case.record.facts:
        if isinstance(fact.value, (int, Decimal)) and not isinstance(fact.value, bool) and fact.call.came != "failed":
            if mention.kind == "money" and not holds_money(fact):
                continue
            if not fact.asked:
                by_key[fact.key].append(fact)
    for label in (labels[1], labels[3]):
        for key, facts in by_key.items():
            if score(label, facts[-1]) >= 0.7:
                yield key, facts


def _current(case: Case, facts: list[Fact]) -> list[Fact]:
    """Return the newest fact of each thing."""
    found: dict[str, Fact] = {}
    for fact in facts:
        if fact.thing.primary is not None and not case.record.outdated(fact) and fact.call.came == "ok":
            found[fact.thing.primary[1]] = fact
    return list(found.values())


def _sums(case: Case, mention: Mention, deep: bool) -> Iterator[tuple[Decimal, tuple[Fact, ...]]]:
    for _, facts in _fields(case, mention):
        current = _current(case, facts)
        if len(current) >= 2:
            yield sum((Decimal(f.value) for f in current), Decimal(0)), tuple(current)
            here = [f for f in current if case.closeness(f, case.subjects.named(case.text, 0, len(case.text))) >= 2]
            if len(here) >= 2:
                yield sum((Decimal(f.value) for f in here), Decimal(0)), tuple(here)
    operands = _operands(case, mention, deep)[:5]
    for size in (2, 3):
        for chosen in combinations(operands, size):
            yield sum((v for v, _ in chosen), Decimal(0)), tuple(f for _, f in chosen)


def _gaps(case: Case, mention: Mention, deep: bool) -> Iterator[tuple[Decimal, tuple[Fact, ...]]]:
    operands = _operands(case, mention, deep)[:5]
    for one, two in combinations(operands, 2):
        yield one[0] - two[0], (one[1], two[1])
    for three in combinations(operands[:4], 3):
        total = sum((v for v, _ in three), Decimal(0))
        for last, _ in three:
            yield total - 2 * last, tuple(f for _, f in three)
    subject = case.tiers[0]
    history: dict[tuple[str, str], list[Fact]] = defaultdict(list)
    for fact in case.record.facts:
        if (
            isinstance(fact.value, (int, Decimal))
            and not isinstance(fact.value, bool)
            and fact.thing.primary is not None
        ) and (
            fact.call.came != "failed" and not fact.asked and case.closeness(fact, subject) and is_kin(mention, fact)
        ):
            history[fact.thing.primary[1], fact.key].append(fact)
    for facts in history.values():
        newest = facts[-1]
        for first in facts[:-1]:
            if first.value != newest.value:
                yield Decimal(newest.value) - Decimal(first.value), (first, newest)


def is_kin(mention: Mention, fact: Fact) -> bool:
    """Return whether a numeric field may hold what a mention counts."""
    return holds_money(fact) if mention.kind == "money" else not holds_money(fact)


def _products(case: Case, mention: Mention, deep: bool) -> Iterator[tuple[Decimal, tuple[Fact, ...]]]:
    if mention.kind != "money":
        return
    for thing in {id(f.thing): f.thing for f in case.record.facts}.values():
        quantity = thing.fields.get("quantity") or thing.fields.get("qty")
        if not isinstance(quantity, int) or isinstance(quantity, bool) or quantity < 2:
            continue
        for fact in case.record.facts:
            if (
                fact.thing is thing
                and holds_money(fact)
                and isinstance(fact.value, (int, Decimal))
                and any(case.closeness(fact, s) >= 2 for s in case.tiers[:1])
            ):
                yield Decimal(fact.value) * quantity, (fact,)
    labels = labels_of(case, mention)
    topic = labels[0] - GENERIC if len(labels[0] - GENERIC) >= 2 else labels[1] - GENERIC
    for fact in case.record.facts:
        if not isinstance(fact.value, str) or len(fact.value) < 10 or "= $" in fact.value:
            continue  # one that states its own result has said it
        found = read(fact.value)
        factors = [m for m in found if m.kind == "percent"]
        times = [Decimal(m[1]) for m in re.finditer(r"\b([0-9]+(?:\.[0-9]+)?)x\b", fact.value)]
        if not factors and not times:
            continue
        if len(topic & (stems_of(fact.value) | fact.stems)) < 2:
            continue
        bases = [v for v, _ in _operands(case, mention, deep)]
        bases += [n for m in found if m.kind in ("money", "number") for n in m.numbers[:1]]
        for base in bases:
            for percent in factors:
                share = percent.numbers[0] / 100
                yield base * share, (fact,)
                yield base * (1 - share), (fact,)
                yield (base * share).quantize(Decimal(1), rounding=ROUND_FLOOR), (fact,)
                yield base - (base * share).quantize(Decimal(1), rounding=ROUND_FLOOR), (fact,)
            for factor in times:
                yield (base * factor).quantize(Decimal(1), rounding=ROUND_FLOOR), (fact,)


_APART: Final = re.compile(r"\b(?:apart|differ\w*|longer|shorter|more|less|gap)\b", re.IGNORECASE)


def _durations(case: Case, mention: Mention) -> Ground | None:
    """Judge a time between: two moments of one thing, exactly so long apart, or so many whole days."""
    wanted = [r.value for r in mention.readings if isinstance(r.value, timedelta)]
    if mention.noun == "night":
        wanted = [timedelta(days=int(n)) for n in mention.numbers if n == int(n) and n < 1000]
    if not wanted:
        return None
    label = labels_of(case, mention)[1]
    by_thing: dict[int, list[tuple[Fact, datetime]]] = defaultdict(list)
    for fact in case.record.facts:
        if isinstance(fact.value, str) and fact.call.came == "ok" and 8 <= len(fact.value) <= 32:
            moment = moment_of(fact.value)
            if moment is not None and any(case.closeness(fact, s) >= 2 for s in case.tiers[:2]):
                by_thing[id(fact.thing)].append((fact, moment))
    if _APART.search(case.text[slice(*case.setting.clause(mention.start, mention.end))]):
        timed: dict[str, list[Fact]] = defaultdict(list)
        for fact in case.record.facts:
            if fact.stems & set(_SECONDS) and isinstance(fact.value, int) and not isinstance(fact.value, bool):
                timed[fact.key].append(fact)
        for key, facts in timed.items():
            unit = next(n for s, n in _SECONDS.items() if s in key_stems(key))
            for one, two in combinations(facts[-12:], 2):
                if any(abs(one.value - two.value) * unit == w.total_seconds() for w in wanted):
                    return Ground(True, (one, two), derived=True)
    for moments in by_thing.values():
        for (one, a), (two, b) in combinations(moments, 2):
            if not (score(label, one) or score(label, two) or mention.noun == "night"):
                continue
            gap = abs(a - b)
            if any(gap == w or (w.days and not w.seconds and gap.days == w.days) for w in wanted):
                return Ground(True, (one, two), derived=True)
    return None


def moment(case: Case, mention: Mention) -> Ground:
    """Return whether a date follows: a date of what is spoken of, and as many days later as a field or text gives."""
    wanted = [r.value for r in mention.readings]
    for subject in case.tiers[:4]:
        near = [f for f in case.record.facts if f.call.came == "ok" and case.closeness(f, subject)]
        days = {
            int(f.value): f for f in near
            if isinstance(f.value, int) and not isinstance(f.value, bool) and "day" in f.stems and 0 < f.value < 1000
        }  # fmt: skip
        for fact in near:
            start = moment_of(fact.value) if isinstance(fact.value, str) and 8 <= len(fact.value) <= 32 else None
            if start is None:
                continue
            for count, by in days.items():
                end = start + timedelta(days=count)
                if any(w in (end, end.date(), MonthDay(end.month, end.day)) for w in wanted):
                    return Ground(True, (fact, by), derived=True)
    return Ground(False)


def moment_of(text: str) -> datetime | None:
    """Return the moment that a whole text of the record states, without its zone."""
    found = read(text)
    if len(found) != 1 or len(found[0].text) != len(text):
        return None
    value = found[0].readings[0].value
    if isinstance(value, datetime):
        return value.replace(tzinfo=None)
    return datetime(value.year, value.month, value.day) if isinstance(value, date) else None  # noqa: DTZ001 - local


def weekday(case: Case, word: str) -> Ground:
    """Return whether a day of the week follows from a date of what is spoken of, or from working days after today."""
    wanted = WEEKDAYS.index(word.lower())
    denied = re.search(r"\b(?:not|won['\u2019]t|can['\u2019]t)\b", case.setting.span, re.IGNORECASE) is not None
    for subject in case.tiers[:3]:
        for fact in reversed(case.record.facts):
            if (
                isinstance(fact.value, str)
                and 8 <= len(fact.value) <= 32
                and case.closeness(fact, subject)
                and case.stands(fact)
            ):
                moment = moment_of(fact.value)
                if moment is not None and (moment.weekday() == wanted) != denied:
                    return Ground(True, (fact,), derived=True)
    today = next(
        (
            WEEKDAYS.index(m[1].lower())
            for text in (*case.asked, case.text)
            if (m := re.search(rf"\btoday(?:\W{{1,3}}s| is)?\W{{1,4}}({'|'.join(WEEKDAYS)})\b", text, re.IGNORECASE))
        ),
        None,
    )
    if today is None:
        return Ground(False, why="no receipt gives the day")
    for subject in case.tiers[:4]:
        for fact in reversed(case.record.facts):
            if not case.closeness(fact, subject) or fact.call.came != "ok":
                continue
            days = _business_days(fact)
            if days is not None:
                day = today
                for _ in range(days):
                    day = (day + 1) % 7
                    while day >= 5:
                        day = (day + 1) % 7
                if (day == wanted) != denied:
                    return Ground(True, (fact,), derived=True)
    return Ground(False, why=f"`{word}` does not follow from any receipt")


def _business_days(fact: Fact) -> int | None:
    if not isinstance(fact.value, str) or "day" not in fact.value:
        return None
    if re.search(r"\bnext (?:business |working )?day\b", fact.value, re.IGNORECASE):
        return 1
    for mention in read(fact.value):
        if mention.noun in ("business day", "day", "working day") and mention.numbers and mention.edge != "low":
            return int(mention.numbers[0])
    return None


def has_weekday(text: str) -> list[str]:
    """Return the days of the week a text names."""
    return [w for _, _, w in tokens_of(text) if w in WEEKDAYS]
