"""What words around a value call it, and how well they name a field: the label, and the head noun of an amount."""

from __future__ import annotations

import re
from typing import Final

from tallystick.prose.facts import Fact
from tallystick.prose.grounds import Case
from tallystick.prose.reading import Mention
from tallystick.prose.words import GENERIC, key_stems, stemmed, stems_of, widened

_FEE: Final = stemmed({"fee", "surcharge", "charge"})
_CREDIT: Final = stemmed({"credit", "goodwill", "compensation", "refund", "bonus"})
_HEADS: Final = {
    **dict.fromkeys(("refund", "refunds", "refunded"), stemmed({"refund"})),
    **dict.fromkeys(("fee", "fees", "surcharge", "penalty"), _FEE),
    **dict.fromkeys(("credit", "credits", "goodwill", "compensation"), _CREDIT),
    **dict.fromkeys(("discount", "discounts"), stemmed({"discount", "saving", "promo", "off", "loyalty"})),
    **dict.fromkeys(("voucher", "vouchers"), stemmed({"voucher"})),
    "tax": stemmed({"tax"}), "clawback": stemmed({"clawback"}),
    "deposit": stemmed({"deposit"}), "subtotal": stemmed({"subtotal"}),
}  # fmt: skip
"""Nouns for what an amount is, and the words of which a field or tool must have one to hold such an amount."""
_BACK: Final = re.compile(r"[*\s]{1,4}back\b")
_PHRASE: Final = re.compile(
    r"(?:[* -]*(?!(?:of|for|to|on|in|is|was|will|has|and|or|plus|minus|with|from|at|back)\b)[A-Za-z]+){1,5}"
)
"""The noun phrase after an amount."""
_WORD: Final = re.compile(r"[a-z]+")
_WAY: Final = re.compile(r"\b(?:back )?to (?:your|the)(?: original)? (?:payment method|payment)\b", re.IGNORECASE)
"""How it is paid back says nothing of what an amount is."""
_BEFORE_NAME: Final = re.compile(r"[ *\u00d7x]{1,5}")
_TIMES: Final = re.compile(r"[\u00d7x]\s?[0-9]|[0-9]\s?[\u00d7x](?![a-z])|[0-9]\s+\u00d7")
QUANTITY: Final = stemmed({"quantity", "qty", "count"})
_HOW: Final = stemmed({"method", "mode", "reason", "type", "option", "resolution"})


def labels_of(case: Case, mention: Mention) -> list[frozenset[str]]:
    """Return stems of the words around a mention, from its clause outwards, entities and other values left out."""
    clause = case.setting.clause(mention.start, mention.end)
    if mention.kind in ("number", "quantity") and any(
        s.rank == 3 and _BEFORE_NAME.fullmatch(case.text, mention.end, s.start)
        for s in case.subjects.spots(case.text)
        if 0 <= s.start - mention.end <= 5
    ):
        return [QUANTITY] * 4  # `2 Blue Mugs`
    line_end = case.setting.at(mention.start, mention.end).line()[1]
    if (
        mention.kind == "number"
        and not case.text[mention.end : line_end].strip(" *")
        and any(
            s.rank == 3 and re.fullmatch(r"[* ]*:[* ]*", case.text[s.end : mention.start])
            for s in case.subjects.spots(case.text)
            if s.end < mention.start <= s.end + 8
        )
    ):
        return [QUANTITY] * 4  # `Blue Mug: 2`
    if _TIMES.search(case.text[max(0, mention.start - 2) : mention.end + 2]) and mention.kind == "number":
        return [QUANTITY] * 4
    here = case.setting.at(mention.start, mention.end)
    column = case.setting.column(mention.start)
    if column is not None:
        label = stems_within(case, *column)
        return [label, label | stems_within(case, *clause), label | stems_within(case, *here.line()), label]
    found = [stems_within(case, *clause), stems_within(case, *here.sentence()), stems_within(case, *here.line())]
    heads: frozenset[str] = frozenset()
    for head in here.headings():
        heads |= stems_within(case, *head)
    return [*found, found[-1] | heads]


def stems_within(case: Case, start: int, end: int) -> frozenset[str]:
    """Return the stems of a stretch of the text, values in it left out."""
    text = list(case.text[start:end])
    for mention in case.all_mentions:
        if (
            mention.kind not in ("status", "boolean", "code", "quoted")
            and start <= mention.start
            and mention.end <= end
        ):
            text[mention.start - start : mention.end - start] = " " * (mention.end - mention.start)
    return stems_of(_WAY.sub(" ", "".join(text))) | frozenset(
        unit for m in case.all_mentions if start <= m.start and m.end <= end for unit in stems_of(m.noun)
    )


def score(label: frozenset[str], fact: Fact) -> float:
    """Return how well words name a field: each word of the field's name counts, those around it a little."""
    key = fact.stems - GENERIC or fact.stems
    exact = len(key & label)
    wide = len((key & widened(label)) - label)
    place = len(fact.place & label)
    beside = len(beside_of(fact) & label)
    return exact + 0.7 * wide + min(0.4, 0.2 * place) + min(1.2, 0.6 * beside)


def beside_of(fact: Fact) -> frozenset[str]:
    """Return the stems of the short words beside a field in its object: how it was refunded, what state it is in."""
    found: frozenset[str] = frozenset()
    for key, value in fact.thing.fields.items():
        if (
            isinstance(value, str)
            and 2 < len(value) <= 24
            and key != fact.key
            and not any(c.isdigit() for c in value)
            and key_stems(key) & _HOW
        ):
            found |= key_stems(value.replace(" ", "_"))
    return found


def head_of(case: Case, mention: Mention) -> frozenset[str]:
    """Return the stems one of which must name the field of an amount: `$8 refund`, `Cancellation fee: $52`."""
    low, high = case.setting.clause(mention.start, mention.end)
    if _BACK.match(case.text, mention.end):
        return _CREDIT
    after = _PHRASE.match(case.text, mention.end)
    heads = [_HEADS[w] for w in _WORD.findall(after[0].lower()) if w in _HEADS] if after else []
    if heads:
        return heads[-1]
    best, nearest = frozenset[str](), 60
    for word in _WORD.finditer(case.text.lower(), low, high):
        wanted = _HEADS.get(word[0])
        if wanted is None:
            continue
        gap = word.start() - mention.end if word.start() >= mention.end else mention.start - word.end() + 2
        between = case.text[min(word.end(), mention.end) : max(word.start(), mention.start)]
        if gap < nearest and "$" not in between:
            best, nearest = wanted, gap
    return best
