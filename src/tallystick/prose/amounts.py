"""Numbers, dates and identifiers of a statement against the record: the right value, of the right field, of whom."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Final

from tallystick.prose.facts import ID_KEY, Fact
from tallystick.prose.grounds import Case, Ground
from tallystick.prose.labels import QUANTITY, head_of, labels_of, score, stems_within
from tallystick.prose.matching import holds_money, read, states
from tallystick.prose.reading import Mention
from tallystick.prose.subjects import NOBODY, Subject
from tallystick.prose.words import GENERIC, STOP, key_stems, stem, stemmed, stems_of, tokens_of, widened

_UNITS: Final = {"pound": ("lb", "lbs"), "ounce": ("oz",), "minute": ("min", "mins"), "hour": ("hr", "hrs")}
_NO_COUNT: Final = stemmed({"stock", "max", "min", "limit", "cap"})
_NUMBERS: Final = frozenset({"money", "number", "percent", "quantity", "duration", "ordinal"})
_ADJUSTED: Final = stemmed({"adjusted", "reduced", "discounted", "net"})
_GRAND: Final = stemmed({"total", "cart", "order", "current", "grand", "final", "new"})
_SUMMED: Final = stemmed({"total", "combined", "both", "overall", "together", "sum"})
_ENDING: Final = re.compile(r"\b(?:end(?:s|ing)? (?:in|with)|last (?:four|4)(?: digits)?)\W{0,4}$")
"""Digits after these words are the end of a number, and no amount."""
_CONCRETE: Final = re.compile(
    r"\b(?:the|your|this|it) (?:\w+ )?(?:is|was|has been|are|were|['\u2019]s)\b", re.IGNORECASE
)


def ground(case: Case, mention: Mention) -> Ground:
    """Return whether a receipt states the value of a mention, for what the statement is about."""
    holders = [(f, how) for f in case.record.facts if f.call.came != "failed" and (how := states(mention, f))]
    if mention.kind == "money" and _BUDGET.search(case.text[max(0, mention.start - 30) : mention.end + 30]):
        budget = _within(case, mention)
        if budget is not None:
            return budget
    if not holders:
        return Ground(False, why=f"no receipt states `{mention.text}`")
    if mention.kind == "code":
        good = [f for f, _ in holders if case.stands(f)] or [f for f, _ in holders]
        return Ground(True, tuple(good[-1:]))
    if mention.kind == "id" and not _ENDING.search(case.text[: mention.start]):
        return _identifier(case, mention, [f for f, _ in holders])
    labels = labels_of(case, mention)
    head = head_of(case, mention) if mention.kind == "money" else frozenset()
    refusal = f"`{mention.text}` stands in the record, but not for this"
    if mention.kind in ("number", "id") and _ENDING.search(case.text[: mention.start]):
        holders = [(f, how) for f, how in holders if isinstance(f.value, str) and f.value.endswith(mention.text)]
    low, high = case.setting.at(mention.start, mention.end).line()
    alone = not re.sub(r"[\s*_-]", "", case.text[low : mention.start] + case.text[mention.end : high])
    summed = sum(1 for m in case.all_mentions if m.kind == "money" and m.start < mention.start) >= 2
    passed = False
    for subject in case.tiers:
        near = [(f, how, c) for f, how in holders if (c := case.closeness(f, subject))]
        named = False
        for fact, how, close in sorted(near, key=lambda n: (-n[2], n[1] == "text", -n[0].call.order)):
            if not case.stands(fact):
                refusal = f"a newer receipt no longer states `{mention.text}`"
                continue
            if labels[0] is QUANTITY and fact.stems & _NO_COUNT:
                continue
            if head and how != "text" and not head & (fact.stems | fact.place):
                continue
            if _otherwise(case, labels[0], fact):
                continue
            if alone and "total" in labels[-1] and how != "text" and "total" not in fact.stems | fact.place and summed:
                continue
            if passed and score(labels[0], fact) < 1:
                continue
            if (
                "total" in (labels[0] or labels[-1])
                and "total" not in fact.stems
                and how != "text"
                and _varies(case, fact, subject)
            ):
                refusal = f"`{mention.text}` is only one of what the total is of"
                continue
            if "total" in labels[0] and how == "text" and "total" not in stems_of(str(fact.value)):
                continue
            if (subject in case.loose or alone) and len(subject) > 1 and _varies(case, fact, subject):
                refusal = f"`{mention.text}` is on record for one of several, and nothing says for which"
                continue
            if how == "text":
                if _by_text(case, mention, labels, fact, close, subject):
                    return Ground(True, (fact,))
                continue
            verdict = _by_field(case, mention, labels, fact, close, subject)
            if verdict is not None and not (not case.past and contradicted(case, mention)):
                return verdict
        if subject is not NOBODY:
            named = any(score(labels[0], f) >= 1 for f in _rivals(case, mention, subject, 2))
        if named:
            break
        if (
            subject is not NOBODY
            and subject not in case.loose
            and any(True for _ in _rivals(case, mention, subject, 3))
        ):
            if not labels[0]:
                break
            passed = True
    quoted = _verbatim(case, mention, holders)
    return Ground(True, (quoted,)) if quoted is not None else Ground(False, why=refusal, near=True)


def _verbatim(case: Case, mention: Mention, holders: Sequence[tuple[Fact, str]]) -> Fact | None:
    """Return the sentence of the record that has every amount of the line: `max($75, 20% of $480) = $96`."""
    low, high = case.setting.at(mention.start, mention.end).line()
    beside = [m for m in case.all_mentions if low <= m.start and m.end <= high and m.kind in ("money", "percent")]
    if len(beside) < 3:
        return None
    for fact, how in holders:
        if how == "text" and all(states(m, fact) for m in beside) and any(case.closeness(fact, s) for s in case.tiers):
            return fact
    return None


def _otherwise(case: Case, label: frozenset[str], fact: Fact) -> bool:
    """Return whether the words name another kind of thing than the fact is about: `Car: $280` of a hotel."""
    if fact.thing.primary is not None and fact.thing.primary[1] in case.text[slice(*case.setting.sentence())]:
        return False  # named by its id in the sentence, it is what is meant
    kinds = {k: key_stems(k) - GENERIC for k, ids in case.record.kinds.items() if k != fact.thing.kind and ids}
    own = key_stems(fact.thing.kind) | fact.place | fact.stems
    own |= frozenset(s for k in fact.thing.fields if ID_KEY.search(str(k)) for s in key_stems(str(k)))
    said = {w for stems in kinds.values() for w in stems & label}
    return bool(said) and fact.thing.primary is not None and not said & own and not label & own


def _varies(case: Case, fact: Fact, subject: Subject) -> bool:
    """Return whether several things spoken of have the field, with different values."""
    values: dict[str, object] = {}
    for other in case.record.facts:
        primary = other.thing.primary
        if (
            other.key == fact.key
            and other.thing.kind == fact.thing.kind
            and primary is not None
            and not other.asked
            and other.value is not None
            and case.closeness(other, subject) >= 2
            and not case.record.outdated(other)
        ):
            values[primary[1]] = other.value
    return len(set(values.values())) > 1


def _within(case: Case, mention: Mention) -> Ground | None:
    """Judge `within your $600 budget`: the limit is the user's own word, what must be under it stands on record."""
    said = any(mention.numbers[0] in m.numbers for text in case.asked for m in read(text) if m.numbers)
    if not said:
        return None
    for subject in case.tiers:
        for fact in reversed(case.record.facts):
            if (
                fact.stems & _TOTALS
                and isinstance(fact.value, (int, Decimal))
                and holds_money(fact)
                and case.closeness(fact, subject)
                and case.stands(fact)
                and Decimal(fact.value) <= mention.numbers[0]
            ):
                return Ground(True, (fact,), derived=True)
    return None


_BUDGET: Final = re.compile(r"\b(?:budget|limit|cap|ceiling|max(?:imum)?|threshold|requested|target)\b", re.IGNORECASE)
_TOTALS: Final = stemmed({"total", "price", "cost", "fare", "paid"})


def _kin(mention: Mention, fact: Fact) -> bool:
    """Return whether a field holds values of the same nature as a mention."""
    value = fact.value
    if mention.kind in _NUMBERS:
        if isinstance(value, bool) or not isinstance(value, (int, Decimal)):
            return False
        return mention.kind == "number" or (mention.kind == "money") == holds_money(fact)
    if not isinstance(value, str):
        return False
    found = read(value)
    return (
        len(found) == 1
        and found[0].kind in ("date", "datetime", "instant", "time")
        and len(found[0].text) == len(value)
    )


def _rivals(case: Case, mention: Mention, subject: Subject, least: int) -> Iterator[Fact]:
    for fact in case.record.facts:
        if (
            fact.call.came != "failed"
            and not fact.asked
            and _kin(mention, fact)
            and case.closeness(fact, subject) >= least
            and not case.record.outdated(fact)
        ):
            yield fact


def _by_field(
    case: Case, mention: Mention, labels: list[frozenset[str]], fact: Fact, close: int, subject: Subject
) -> Ground | None:
    """Judge one field that holds the value: the words must name it no worse than another field of the same thing."""
    rivals = [
        f
        for f in _rivals(case, mention, subject, max(1, min(close, 3)))
        if f.thing.primary == fact.thing.primary and not states(mention, f)
    ]
    noun = head_of(case, mention) if mention.kind == "money" else frozenset()
    for label in labels:
        own = max(score(label, fact), 1.0 if noun & fact.stems else 0.0)
        best = max((score(label, r) for r in rivals if r.key != fact.key), default=0.0)
        if own >= 0.7:
            later = [r for r in rivals if r.key != fact.key and r.call.order >= fact.call.order]
            if max((score(label, r) for r in later), default=0.0) > own + 0.45:
                return None
            if (
                close == 1
                and subject
                and subject not in case.loose
                and _spoken_for(case, mention, label, subject, own, fact)
            ):
                return None
            return Ground(True, (fact,))
        if best >= 1:
            if label is labels[-1] and close == 3 and mention.kind in ("date", "datetime", "time", "month_day"):
                continue  # what heads the block need not name each of its times
            return None
        if own == 0 and best == 0:
            continue
    if close >= 2 and mention.kind == "money" and holds_money(fact):
        return Ground(True, (fact,))
    if close >= 2 and mention.kind in ("date", "datetime", "instant", "time", "month_day"):
        return Ground(True, (fact,))
    units = stems_of(mention.noun) | stemmed(_UNITS.get(mention.noun, ()))
    if close >= 2 and mention.kind in ("quantity", "duration") and units & fact.stems:
        return Ground(True, (fact,))
    counted = fact.stems & QUANTITY
    if close >= 2 and counted and mention.kind == "number":
        return Ground(True, (fact,))
    return None


def _spoken_for(case: Case, mention: Mention, label: frozenset[str], subject: Subject, own: float, fact: Fact) -> bool:
    """Return whether the subject has such a field of its own, with another value."""
    return any(
        score(label, f) >= own and not states(mention, f) and f.call.order >= fact.call.order
        for f in _rivals(case, mention, subject, 2)
    )


def _by_text(
    case: Case, mention: Mention, labels: list[frozenset[str]], fact: Fact, close: int, subject: Subject
) -> bool:
    """Judge a sentence in the record that contains the value: it must speak of the same, and no field otherwise."""
    said = stems_of(str(fact.value)) | fact.stems | fact.place | (fact.topic if fact.call.reads else frozenset())
    topic = labels[0] - GENERIC - stems_of(mention.noun)
    overlap = len(topic & widened(frozenset(said)))
    wider = len((labels[1] - GENERIC - stems_of(mention.noun)) & said)
    if close >= 2 and fact.thing.primary is not None and overlap >= 1:
        return True
    if mention.kind == "money" and mention.approximate and overlap + wider:
        return True
    low, high = case.setting.clause(mention.start, mention.end)
    if _CONCRETE.search(case.text[low:high]) and overlap < 3:
        return False  # a rule does not say how things stand
    if mention.kind == "percent" and overlap >= 3 and overlap * 4 >= len(topic) * 3:
        return True
    if not case.general:
        for rival in _rivals(case, mention, subject, 2 if subject else 1):
            key = rival.stems - GENERIC
            if key and key <= topic | labels[1] and not states(mention, rival):
                return False
    least = 1 if mention.kind == "percent" else 2
    return (case.general and (overlap >= 1 or wider >= 2)) or overlap >= least


def _identifier(case: Case, mention: Mention, facts: list[Fact]) -> Ground:
    """Judge an id: it exists, and where its label names a field of what is spoken of, that field holds it."""
    said = {r.value.lower() for r in mention.readings if isinstance(r.value, str)}
    low, _ = case.setting.line()
    label = stems_of(case.text[low : mention.start])
    here = case.setting.at(mention.start, mention.end)
    for start, end in (*here.before(here.block()[0]), *here.headings(), *here.before()):
        subject = case.subjects.named(case.text, start, end)
        if not subject or any(alias.lower() in said for alternative in subject for alias in alternative):
            continue
        held = [
            f for f in case.record.facts
            if isinstance(f.value, str) and not f.asked and f.stems - GENERIC and f.stems - GENERIC <= label
            and f.thing.primary is not None and f.thing.primary[0] != f.key and case.closeness(f, subject) >= 3
            and f.call.came == "ok" and not f.listed and ID_KEY.search(f.key)
            and any(g.key == f.key and isinstance(g.value, str) and g.value.lower() in said for g in facts)
        ]  # fmt: skip
        together = [
            f for f in case.record.facts
            if isinstance(f.value, str) and f.value.lower() in said and f.call.came != "failed"
            and any(alias <= f.thing.own for alias in subject) and case.stands(f)
        ]  # fmt: skip
        if together:
            break
        held = [f for f in held if not any(f.value in alternative for alternative in subject)]
        if held and not any(str(f.value).lower() in said and case.stands(f) for f in held):
            return Ground(False, why=f"`{mention.text}` is not what the record gives here")
        if held:
            return Ground(True, tuple(f for f in held if f.value.lower() in said)[-1:])
        break
    beside = next(
        (
            s
            for s in case.subjects.spots(case.text)
            if s.rank == 3 and (0 <= mention.start - s.end <= 8 or 0 <= s.start - mention.end <= 3)
        ),
        None,
    )
    if beside is not None and not any(  # `Blue Mug (SP-12)`
        alternative <= t.own and said & {a.lower() for a in t.own}
        for alternative in beside.subject
        for t in case.record.things
    ):
        return Ground(False, why=f"`{mention.text}` is another thing than the one named beside it", near=True)
    nearest = case.tiers[0]
    held = [
        f for f in facts if not f.asked and f.call.came == "ok" and f.call.reads and case.closeness(f, nearest) >= 3
    ]
    if (
        held
        and not case.past
        and not _FROM.match(case.text, mention.end)
        and all(f.thing.primary and f.thing.primary[0] != f.key and case.record.outdated(f) for f in held)
    ):
        return Ground(False, why=f"`{mention.text}` is how it was before")
    if _misplaced(case, mention, said):
        return Ground(False, why=f"what is said of `{mention.text}` is on record for another of its kind")
    good = [f for f in facts if case.stands(f)] or facts
    return Ground(True, tuple(good[-1:]))


_FROM: Final = re.compile(r"\W{0,4}(?:to|\u2192|->)\W")


def _misplaced(case: Case, mention: Mention, said: set[str]) -> bool:
    """Return whether the values in the block around an id are another entity's: more of them, of one of its kind."""
    start, end = case.setting.at(mention.start, mention.end).block()
    around = [
        m for m in case.all_mentions
        if start <= m.start and m.end <= end and m.kind in ("money", "date", "datetime", "time", "month_day", "id")
        and m.start != mention.start
    ]  # fmt: skip
    if len(around) < 2:
        return False
    for ids in case.record.kinds.values():
        mine = next((i for i in ids if i.lower() in said), None)
        if mine is None or len(ids) < 2 or any(i in m.text for m in around for i in ids):
            continue
        fits = {
            i: sum(
                any(states(m, f) for f in case.record.facts if i in f.thing.own and f.call.came != "failed")
                for m in around
            )
            for i in ids
        }
        if fits[mine] < max(fits.values()):
            return True
    return False


def _together(words: list[str], key: frozenset[str]) -> bool:
    """Return whether the words of a field's name stand next to each other."""
    size = len(key) + 1  # one word may stand between
    return any(key <= set(words[at : at + size]) for at in range(max(1, len(words) - size + 1)))


def contradicted(case: Case, mention: Mention) -> bool:
    """Return whether the words around a number name exactly one field, and its newest receipt holds another value."""
    label = labels_of(case, mention)[0]
    after = next((m for m in case.all_mentions if m.kind == mention.kind and m.start > mention.end), None)
    low, high = case.setting.clause(mention.start, mention.end)
    if after is not None and after.start < high and case.setting.column(mention.start) is None:
        label = stems_within(case, low, after.start)  # what follows the next amount says what that one is
    if label and not case.past and label <= _GRAND:
        totals = [
            f
            for f in case.record.facts
            if f.stems - GENERIC <= _GRAND and "total" in f.stems and not f.asked and holds_money(f)
            and (case.closeness(f, NOBODY) or not f.call.reads) and f.call.came == "ok"
        ]  # fmt: skip
        if totals and not case.record.outdated(totals[-1]):
            return not states(mention, totals[-1])
    if not label or label & (_SUMMED | _ADJUSTED):
        return False
    low, high = case.setting.clause(mention.start, mention.end)
    named_there = (s for s in case.subjects.spots(case.text) if low <= s.start and s.end <= high and s.rank in (1, 3))
    label -= frozenset(w for s in named_there for w in stems_of(case.text[s.start : s.end]))
    clause = [stem(w) for _, _, w in tokens_of(case.text[low:high]) if w not in STOP]
    for subject in case.tiers:
        named = [
            f for f in _rivals(case, mention, subject, 2 if subject else 1)
            if (key := f.stems - GENERIC)
            and (
                (len(f.stems) >= 2 and f.stems <= label and _together(clause, f.stems))
                or (key <= widened(label) and key & label and label - GENERIC <= widened(key) | f.place)
            )
        ]  # fmt: skip
        if named:
            return not any(states(mention, f) for f in named)
        if subject and subject not in case.loose:
            return False
    return False
