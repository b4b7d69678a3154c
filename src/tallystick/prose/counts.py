"""How many there are: entries of a list that a call answered, of a list in the message, things of one kind."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Mapping
from decimal import Decimal
from typing import Final

from tallystick.prose.facts import Fact
from tallystick.prose.grounds import Case, Ground
from tallystick.prose.reading import Mention
from tallystick.prose.words import key_stems, stem


def counted(case: Case, mention: Mention) -> Ground | None:
    """Judge a count of things: the entries of a list the noun names, or the things of such a kind."""
    wanted = stem(mention.noun)
    for fact in reversed(case.record.facts):
        if fact.listed and wanted in fact.stems and fact.call.came == "ok":
            listed = [f for f in case.record.facts if f.thing is fact.thing and f.key == fact.key]
            if Decimal(len(listed)) in mention.numbers:
                return Ground(True, tuple(listed[:3]), derived=True)
    for thing in reversed(case.record.things):
        if thing.call.came != "ok":
            continue
        for key, value in thing.fields.items():
            if isinstance(value, list) and wanted in key_stems(key):
                some = next((f for f in case.record.facts if f.call is thing.call), None)
                return Ground(Decimal(len(value)) in mention.numbers, (some,) if some else (), derived=True)
    for kind, ids in case.record.kinds.items():
        named = sum(1 for i in ids if i in case.text)
        if wanted in key_stems(kind) and Decimal(named or len(ids)) in mention.numbers:
            return Ground(True, derived=True)
    return None


_ENTRIES: Final = re.compile(
    r"\W{0,3}\s(?:(?!and\b|or\b)[a-z-]+\s){0,3}?"
    r"(?:options?|choices?|matche?s?|results?|alternatives?|flights?|hotels?|products?|items?|cars?|orders?|bookings?"
    r"|promotions?|promos?|codes?)\b",
    re.IGNORECASE,
)


_LISTING: Final = re.compile(
    r"\b(?:found|see|options?|match\w*|results?|there (?:are|is|were|was)|returned|available|listed|shows?"
    r"|ha(?:s|ve))\b",
    re.IGNORECASE,
)


def found(case: Case, mention: Mention) -> Ground | None:
    """Judge `I found 2 options`: the entries of the newest list, of one call or of a turn's calls of that tool."""
    if (
        _ENTRIES.match(case.text, mention.end) is None
        or _LISTING.search(case.text[slice(*case.setting.line())]) is None
    ):
        return None
    lists: dict[tuple[str, int, str], dict[str, Fact | None]] = defaultdict(dict)
    sizes: list[tuple[int, Fact | None]] = []
    for thing in case.record.things:
        if thing.call.came != "ok" or not thing.call.reads:
            continue
        for key, value in thing.fields.items():
            if isinstance(value, list) and value and isinstance(value[0], Mapping):
                some = next((f for f in case.record.facts if f.call is thing.call and not f.asked), None)
                sizes.append((len(value), some))
                pool = lists[thing.call.call.tool, thing.call.call.message, str(key)]
                pool.update((repr(sorted(map(str, entry.values()))), some) for entry in value)
    newest = sizes[-1:] + [(len(p), next(iter(p.values()))) for p in list(lists.values())[-2:]]
    for size, some in newest:
        if Decimal(size) in mention.numbers:
            return Ground(True, (some,) if some is not None else (), derived=True)
    return None


def listed(case: Case, mention: Mention) -> Ground:
    """Judge `all three`, `all 3`: so many lines of the list that follows, or things of one kind in the message."""
    if not re.search(
        r"\b(?:all|both|these|those)\W*$", case.text[max(0, mention.start - 10) : mention.start], re.IGNORECASE
    ):
        return Ground(False)
    for ids in case.record.kinds.values():
        if sum(1 for i in ids if i in case.text) in mention.numbers:
            return Ground(True, derived=True)
    done = [c for c in case.record.calls if c.call.message == case.message and not c.reads and c.came == "ok"]
    if _bullets_before(case) in mention.numbers or len(done) in mention.numbers:
        return Ground(True, derived=True)
    lines = case.setting.following_list()
    if lines and Decimal(len(lines)) in mention.numbers:
        return Ground(True, derived=True)
    return Ground(False)


def _bullets_before(case: Case) -> int:
    """Return how many entries the list above a span has, those within entries aside."""
    depths: list[int] = []
    for line in reversed(case.setting.lines[: case.setting.line_at(case.setting.start)]):
        if line.bullet:
            depths.append(line.depth)
        elif depths and not line.blank and line.depth == 0:
            break
    return depths.count(min(depths)) if depths else 0
