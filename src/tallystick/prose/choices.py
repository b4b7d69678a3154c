"""What was chosen among few: a seat, a cabin, a way to pay. A statement that names another choice is contradicted.

Words for a choice often stand in rules and in other objects too, so that finding them somewhere supports nothing where
the thing spoken of has a choice of its own on record.
"""

from __future__ import annotations

import re
from typing import Final

from tallystick.prose.facts import Fact
from tallystick.prose.grounds import Case
from tallystick.prose.likeness import Words, alike, polarity
from tallystick.prose.subjects import NOBODY
from tallystick.prose.words import GENERIC, key_stems, stem, stems_of

_LABELLED: Final = re.compile(
    r"^\W*(?P<label>[A-Za-z][A-Za-z /-]{1,30}?)\W*:\W*(?P<value>[A-Za-z][A-Za-z -]{1,24}?)\W*$"
)
_PAID_TO: Final = re.compile(
    r"\b(?:to|onto|as|in|with|by|via)(?: (?:your|the|a|an))?(?: \w+)?\W{1,4}(?P<way>store credit|gift card"
    r"|credit card|debit card|original payment(?: method)?|paypal|wallet)\b",
    re.IGNORECASE,
)
_KIND_OF: Final = re.compile(
    r"\b(?P<value>window|aisle|middle|economy|business|first|vegan|vegetarian|kosher|halal)[ -]\W{0,2}"
    r"(?P<head>seat|class|cabin|meal)\b",
    re.IGNORECASE,
)
_ANSWER: Final = frozenset({"yes", "no", "none", "included", "not included", "n/a", "on", "off", "true", "false"})


def judge_choices(case: Case, words: Words, span: str) -> None:
    """Fail a span that names a choice of a thing, where the record has another one for it."""
    labelled = _LABELLED.match(span)
    if labelled is not None and labelled["value"].lower() not in _ANSWER:
        head = stems_of(labelled["label"]) - GENERIC
        if len(head) in (1, 2):
            _check(case, words, frozenset(head), labelled["value"])
    for found in _KIND_OF.finditer(span):
        if not polarity(span, found.start()):
            _check(case, words, frozenset({stem(found["head"])}), found["value"])
    for found in _PAID_TO.finditer(span):
        if not polarity(span, found.start()) and not case.general:
            _check_way(case, words, found["way"])


def _check(case: Case, words: Words, head: frozenset[str], value: str) -> None:
    """Compare a value with the fields that a label names, of the nearest thing that has such a field."""
    said = stems_of(value)
    for subject in case.tiers[:3]:
        held = [f for f in _held(case, head) if case.closeness(f, subject) >= (2 if subject is not NOBODY else 1)]
        if any(f.key.lower() in said and case.closeness(f, subject) >= 2 for f in case.record.facts):
            return  # one of several on offer, as the prices of its cabins
        known = {stem(w) for f in _held(case, head, current=False) for w in re.findall("[a-z]+", str(f.value).lower())}
        if held and said <= known | _CHOICES:
            newest = [f for f in held if f.call.order == held[-1].call.order and f.key == held[-1].key] + [
                f for f in held if f.key != held[-1].key
            ]
            if said and not any(_fits(said, f) for f in newest):
                words.failed.append(f"`{held[-1].key}` is `{held[-1].value}`")
            return


def _held(case: Case, head: frozenset[str], *, current: bool = True) -> list[Fact]:
    return [
        f for f in case.record.facts
        if isinstance(f.value, str) and 2 < len(f.value) <= 24 and not any(c.isdigit() for c in f.value)
        and head <= f.stems and f.stems - head <= GENERIC | _AROUND and f.call.came == "ok"
        and (not current or case.stands(f)) and not f.listed and not (f.asked and f.call.reads)
    ]  # fmt: skip


_CHOICES: Final = frozenset(
    stem(w)
    for w in ("window", "aisle", "middle", "economy", "business", "first", "vegan", "vegetarian", "kosher", "halal",
              "store", "credit", "gift", "card", "original", "cash")
)  # fmt: skip
_AROUND: Final = key_stems("type_class_preference_method_selected_refund_cabin_meal_seat_payment")
"""Further words in names of fields that hold a choice."""


def _fits(said: frozenset[str], fact: Fact) -> bool:
    held = stems_of(str(fact.value).replace("_", " ")) or {stem(str(fact.value))}
    return bool(said & held) or any(alike(a, b) for a in said for b in held)


def _check_way(case: Case, words: Words, way: str) -> None:
    """Compare a way to pay or to be paid back with those on record of whom it is about."""
    low = way.lower()
    for subject in case.tiers[:3]:
        held = [
            f for f in case.record.facts
            if isinstance(f.value, str) and f.key in ("refund_method", "payment_method", "method") and case.stands(f)
            and f.call.came != "failed" and case.closeness(f, subject) >= (2 if subject is not NOBODY else 1)
        ]  # fmt: skip
        ways = {str(f.value).replace("_", " ").lower() for f in held}
        if not ways:
            continue
        original = any(w.startswith("original") for w in ways)
        if low.startswith("original"):
            return
        if not any(low in w or w in low for w in ways) and not (original and "card" in low and "gift" not in low):
            words.failed.append(f"`{held[-1].key}` is `{held[-1].value}`")
        return
