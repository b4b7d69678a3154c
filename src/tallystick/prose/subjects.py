"""Whom a statement is about: the entities of the record that its words, its line or the text before it name."""

from __future__ import annotations

import itertools
import re
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from tallystick.prose.facts import ID_KEY, Record, Thing
from tallystick.prose.setting import Setting
from tallystick.prose.vocabulary import CITIES
from tallystick.prose.words import GENERIC, STOP, key_stems, stem, tokens_of

Subject = frozenset[frozenset[str]]
"""Alternatives, each a set of aliases that one object must have together."""
NOBODY: Final[Subject] = frozenset()
_CITY_CODES: Final = {city: frozenset(c for c, n in CITIES.items() if n == city) for city in CITIES.values()}
_LEAD: Final = re.compile(
    r"\s*[-*\u2022]\s*\**(?:[a-z ]+ )?(?:id|number|order|booking|reservation|rental|item)\b", re.IGNORECASE
)
_MAX_GROUP: Final = 3
"""A word in the names of more entities than this names none of them."""


@dataclass(frozen=True, slots=True)
class Spot:
    """Words that name an entity: where they stand, whom they may name, and how surely.

    Ranks: 4 an id, 3 a name, 2 the kind of which it is the only one, 1 a part of its name, or a place.
    """

    start: int
    end: int
    subject: Subject
    rank: int
    place: str = ""


class Subjects:
    """Finds the entities of one record in texts."""

    def __init__(self, record: Record) -> None:
        self.record = record
        self._spots: dict[str, list[Spot]] = {}

    @cached_property
    def _exact(self) -> re.Pattern[str] | None:
        ids = [a for a in self.record.known if not a.startswith(("name:", "place:")) and len(a) >= 2]
        names = [a[5:] for a in self.record.known if a.startswith("name:") and len(a) > 7]
        parts = sorted({re.escape(t) for t in (*ids, *names)}, key=len, reverse=True)
        if not parts:
            return None
        return re.compile(
            r"(?<![\w-])(?:" + "|".join(p.replace(r"\ ", r"\s+") for p in parts) + r")(?![\w])", re.IGNORECASE
        )

    @cached_property
    def _by_word(self) -> dict[str, frozenset[str]]:
        found: dict[str, set[str]] = defaultdict(set)
        for alias in self.record.known:
            if alias.startswith("name:"):
                for _, _, word in tokens_of(alias[5:]):
                    if word not in STOP and (len(word) > 2 or not word.isalpha()) and stem(word) not in GENERIC:
                        found[stem(word)].add(alias)
        return {w: frozenset(names) for w, names in found.items()}

    @cached_property
    def _lower(self) -> dict[str, str]:
        return {a.lower(): a for a in self.record.known}

    @cached_property
    def _kind_words(self) -> dict[str, Subject]:
        found: dict[str, Subject] = {}
        kinds = sorted(self.record.kinds.items(), key=lambda k: -len(key_stems(k[0])))
        for kind, ids in kinds:  # `cart` is said of the `cart_id` rather than of a `cart_item_id`
            if len(ids) == 1 and len(self.record.kinds) > 1:
                for word in key_stems(kind) - GENERIC:
                    found[word] = frozenset({frozenset(ids)})
        return found

    def spots(self, text: str) -> list[Spot]:
        """Return the words of a text that name entities, in order, without overlap."""
        known = self._spots.get(text)
        if known is None:
            known = self._spots[text] = self._find(text)
        return known

    def _find(self, text: str) -> list[Spot]:
        found: list[Spot] = []
        taken = bytearray(len(text))
        if self._exact is not None:
            for match in self._exact.finditer(text):
                said = " ".join(match[0].lower().split())
                alias = self._lower.get(said) or self._lower.get("name:" + said)
                if alias is None:
                    continue
                rank = 3 if alias.startswith("name:") else 4
                found.append(Spot(match.start(), match.end(), frozenset({frozenset({alias})}), rank))
                taken[match.start() : match.end()] = b"\1" * (match.end() - match.start())
        found.extend(self._places(text, taken))
        run: list[tuple[int, int, frozenset[str]]] = []
        for start, end, word in tokens_of(text):
            names = self._by_word.get(stem(word), frozenset()) if not taken[start] and word not in STOP else frozenset()
            if names and run and start - run[-1][1] <= 2:
                run.append((start, end, names))
            else:
                found.extend(_named(run))
                run = [(start, end, names)] if names else []
            kind = self._kind_words.get(stem(word)) if not taken[start] and not names else None
            if kind:
                found.append(Spot(start, end, kind, 2))
        found.extend(_named(run))
        return sorted(found, key=lambda s: s.start)

    def _places(self, text: str, taken: bytearray) -> Iterator[Spot]:
        for match in re.finditer(r"\b[A-Z]{3}\b", text):
            if f"place:{match[0]}" in self.record.known and not taken[match.start()]:
                yield Spot(match.start(), match.end(), frozenset({frozenset({f"place:{match[0]}"})}), 1, match[0])
        low = text.lower()
        for city, codes in _CITY_CODES.items():
            at = low.find(city)
            while at != -1:
                here = [c for c in codes if f"place:{c}" in self.record.known]
                if here and not taken[at] and not low[at + len(city) : at + len(city) + 1].isalpha():
                    yield Spot(at, at + len(city), frozenset(frozenset({f"place:{c}"}) for c in here), 1, here[0])
                at = low.find(city, at + 1)

    def tiers(self, setting: Setting, messages: tuple[str, ...]) -> Iterator[Subject]:
        """Yield whom a statement may be about, from its own words outwards; each a narrower guess than the next.

        Args:
            setting: the span in its message.
            messages: texts of earlier messages, the newest first.
        """
        own = [(setting.start, setting.end), setting.sentence(), setting.line()]
        seen: set[Subject] = set()
        if not any(self.named(setting.text, *place) for place in own):
            described = self.described(setting.text, *setting.line())
            if described:
                seen.add(described)
                yield described
        for start, end in (*own, *self.leads(setting), *setting.headings(), *setting.before()):
            subject = self.named(setting.text, start, end)
            if subject and subject not in seen:
                seen.add(subject)
                yield subject
        for text in messages:
            subject = self.named(text, 0, len(text))
            if subject and subject not in seen:
                seen.add(subject)
                yield subject

    def named(self, text: str, start: int, end: int) -> Subject:
        """Return whom a stretch of text names: by the surest kind of naming in it."""
        here = [s for s in self.spots(text) if s.start >= start and s.end <= end]
        if not here:
            return NOBODY
        best = max(s.rank for s in here)
        chosen = [s for s in here if s.rank == best or (best == 4 and s.rank == 3)]
        if best == 2:  # `the headphones of the order` are the headphones
            chosen = [s for s in here if s.rank == 1 and not s.place] or chosen
        if best == 1:
            routes = [s for s in chosen if s.place]
            if len(routes) >= 2:
                pairs = {
                    one | two
                    for a, b in itertools.pairwise(routes)
                    for one in a.subject
                    for two in b.subject
                    if any(one | two <= t.own for t in self.record.things)
                }
                if pairs:
                    return frozenset(pairs)
            partial = [s for s in chosen if not s.place]
            chosen = partial or chosen
        return frozenset(alt for s in chosen for alt in s.subject)

    def leads(self, setting: Setting) -> Iterator[tuple[int, int]]:
        """Yield the line of a span's list that gives the id of what the list is about: `- Booking ID: BK-2`."""
        first, _ = setting.block()
        if not setting.lines[setting.line_at(setting.start)].bullet:
            return
        for start, end in setting.before(first):
            found = _LEAD.match(setting.text, start, end)
            if found is not None and any(s.rank == 4 and start <= s.start < end for s in self.spots(setting.text)):
                yield start, end
                return

    def kind_in(self, thing: Thing, subject: Subject) -> bool:
        """Return whether names of an object's fields name a subject by the kind of which it is the only one."""
        return any(
            not self._kind_words.get(word, NOBODY).isdisjoint(subject)
            for key in thing.fields if "_" in str(key) and not ID_KEY.search(str(key))
            for word in key_stems(str(key))
        )  # fmt: skip

    def described(self, text: str, start: int, end: int) -> Subject:
        """Return whom a line describes without a name: `Enterprise economy car`, by two of its own short values."""
        said = frozenset(stem(w) for _, _, w in tokens_of(text[start:end]))
        best: dict[str, int] = {}
        for thing, values in self._traits:
            if thing.primary is None:
                continue
            fits = sum(1 for v in values if v <= said)
            if fits and fits + bool((key_stems(thing.primary[0]) - GENERIC) & said) >= 2:
                best[thing.primary[1]] = max(best.get(thing.primary[1], 0), fits)
        most = max(best.values(), default=0)
        chosen = [i for i, fits in best.items() if fits == most]
        return frozenset(frozenset({i}) for i in chosen) if 0 < len(chosen) <= _MAX_GROUP else NOBODY

    @cached_property
    def _traits(self) -> list[tuple[Thing, list[frozenset[str]]]]:
        """Objects with an id, each with the stems of its short values in words that are neither id nor name."""
        found = []
        for thing in self.record.things:
            values = {
                frozenset(stem(w) for _, _, w in tokens_of(v.replace("_", " ")))
                for k, v in thing.fields.items()
                if isinstance(v, str)
                and 2 < len(v) <= 24
                and not ID_KEY.search(str(k))
                and not any(c.isdigit() for c in v)
            }
            if thing.primary is not None and values:
                found.append((thing, [v for v in values if v]))
        return found

    def closeness(self, thing: Thing, subject: Subject) -> int:
        """Return how surely an object is about a subject: 3 its own, 2 around or referred to, 1 the only one, 0 not."""
        if not subject:
            return 1 if self.record.is_only(thing) else 0
        best = 0
        for alternative in subject:
            if alternative <= thing.own:
                return 3
            if alternative <= thing.own | thing.around:
                best = 2
            elif thing.primary is not None and best < 2:
                for alias in alternative:
                    linked = self.record.linked(alias)
                    if thing.primary[1] in linked or (not thing.call.reads and not linked.isdisjoint(thing.refs)):
                        best = 2
        if best == 0 and thing.primary is not None and not thing.call.reads:
            # A refund of the only item of an order that anything was done to is the order's.
            lone = (self.record.worked_on(alias) for alternative in subject for alias in alternative)
            if any(parts == {thing.primary[1]} for parts in lone):
                return 2
        if best == 0 and self.record.is_only(thing):
            return 1
        return best


def _named(run: list[tuple[int, int, frozenset[str]]]) -> Iterator[Spot]:
    """Yield the names that a run of words is part of: those with all of the words, else word by word."""
    if not run:
        return
    together = frozenset.intersection(*(names for _, _, names in run))
    if together and len(together) <= _MAX_GROUP:
        yield Spot(run[0][0], run[-1][1], frozenset(frozenset({n}) for n in together), 1)
        return
    for start, end, names in run:
        if len(names) <= _MAX_GROUP:
            yield Spot(start, end, frozenset(frozenset({n}) for n in names), 1)
