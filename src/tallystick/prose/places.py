"""Where in a text something stands: in which clause, about which entity, and whether it is said to be so at all.

Only what can be told from words and known ids is told; where two entities share a clause, nobody can tell, and that is
said.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Literal

from tallystick.model.values import EntityRef
from tallystick.prose.standing import Named as IsName
from tallystick.prose.standing import rough, spoken_of

Whose = Literal["mine", "other", "both"]

MAX_SENTENCE: Final = 2_000
"""Characters of a sentence in which anything is stated plainly; so no search around a value goes farther than that."""

_SENTENCE: Final = re.compile(r"\n|[.!?](?=[\s*_)\"'\u201d\u2019]|$)")
_CLAUSE: Final = re.compile(
    r",(?=\s)|[;()]|\s[-\u2013\u2014]+\s|\u2014|\b(?:and|but|while|whereas|although|however|because|so)\b",
    re.IGNORECASE,
)
_DENIED: Final = re.compile(
    r"\b(?:not|no(?!\.)|never|without|cannot|unable|failed|failing|neither|nor|nobody|nothing|almost|nearly|except"
    r"|excluding|rejected|denied|declined|refused)\b"
    r"|\b(?:instead of|rather than)\b|n['\u2019]t\b",
    re.IGNORECASE,
)
_SUPPOSED: Final = re.compile(
    r"\b(?:(?i:would|could|might|if|unless|whether|suppose|assuming"
    r"|should(?! (?:now |also )?(?:see|receive|appear|arrive|show)\b))|may)\b"
)
_UNDONE: Final = re.compile(
    r"\b(?:failed|fails|rejected|denied|declined|refused|reversed|bounced|unsuccessful|voided|impossible)\b",
    re.IGNORECASE,
)
_TIMES: Final = re.compile(
    r"[\s*_]*(?:twice|thrice|each|apiece|per|every|[0-9]+ times|x ?[0-9]"
    r"|an? (?:piece|day|week|month|year|night|hour))\b",
    re.IGNORECASE,
)
_CONDITION: Final = re.compile(r"\W*(?:if|unless|should|suppose|assuming)\b", re.IGNORECASE)
_DENIED_AFTER: Final = re.compile(r"\W*(?:was|were|is|are|has|have|had)\s?(?:not\b|n['\u2019]t\b)", re.IGNORECASE)
_COMMENT: Final = re.compile(r"<!--.*?(?:-->|\Z)", re.DOTALL)
_TOKEN: Final = re.compile(r"[^\W_](?:[\w\-.]*[\w])?")
_LISTED: Final = re.compile(
    r"[\s*_`)]*(?:&|/|,?\s*\b(?:and|or|as well as)\b)[\s*_`(#]*(?:[a-z]+ )?[\s*_`(#]*", re.IGNORECASE
)
_ABOUT: Final = re.compile(r"\s*(?:for|on|to|of|under|about|regarding)\b", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Named:
    """An entity that a text names, and where."""

    start: int
    end: int
    mine: bool


class Places:
    """A text cut into sentences and clauses.

    Args:
        text: the text; offsets are its own.
    """

    def __init__(self, text: str) -> None:
        self.text = text
        self._sentences = _spans(_SENTENCE, text, 0, len(text))
        self._starts = [s for s, _ in self._sentences]
        self._clauses = [c for s, e in self._sentences for c in _spans(_CLAUSE, text, s, e)]
        self._clause_starts = [s for s, _ in self._clauses]
        self._comments = [found.span() for found in _COMMENT.finditer(text)]

    def sentence(self, at: int) -> tuple[int, int]:
        """Return the bounds of the sentence that `at` is in; a line is one at most."""
        return self._sentences[max(0, bisect_right(self._starts, at) - 1)]

    def clause(self, at: int) -> tuple[int, int]:
        """Return the bounds of the clause that `at` is in."""
        return self._clauses[max(0, bisect_right(self._clause_starts, at) - 1)]

    def denied(self, at: int, end: int) -> bool:
        """Return whether what stands there is denied, only supposed, or asked: then it is not stated.

        Of an overlong sentence that is not told; nothing is plainly stated in one either (`spoken_of`).
        """
        start, stop = self.clause(at)
        if self._overlong(at):
            return False
        before = self.text[start:at]
        if _DENIED.search(before) or _SUPPOSED.search(before):
            return True
        low, high = self.sentence(at)
        # A condition governs its whole sentence: `If it is approved, 420 EUR will be paid.`
        if _CONDITION.match(self.text, low) or self.text[high : high + 1] == "?":
            return True
        if _UNDONE.search(self.text, end, high):
            return True
        return _DENIED_AFTER.match(self.text[end:stop]) is not None

    def spoken_of(self, at: int, end: int, named: IsName) -> bool:
        """Return whether what stands there is not stated, but only wished, tried, doubted or taken back."""
        if self._overlong(at) or any(low <= at < high for low, high in self._comments):
            return True
        return spoken_of(self.text, self.clause(at), self.sentence(at), at, end, named)

    def rough(self, at: int, end: int, named: IsName) -> bool:
        """Return whether the amount that stands there is said roughly, as a bound, a part, a rate or a multiple."""
        return self._overlong(at) or rough(self.text, self.clause(at), at, end, named)

    def _overlong(self, at: int) -> bool:
        low, high = self.sentence(at)
        return high - low > MAX_SENTENCE

    def multiplied(self, end: int) -> bool:
        """Return whether what ends there is said several times over, or of each of several: it is then no total."""
        return _TIMES.match(self.text, end) is not None

    def whose(self, at: int, named: list[Named]) -> Whose:
        """Return whose value stands at `at`, as far as the text names entities: what nobody is named for is mine.

        Args:
            at: where it starts.
            named: every entity of the kind in question that the text names, in order.
        """
        if not named:
            return "mine"
        start, stop = self.clause(at)
        here = [n for n in named if start <= n.start < stop]
        if here:
            return _one([*here, *self._listed_after(here[-1], named)])
        low, high = self.sentence(at)
        before = [n for n in named if low <= n.start < start]
        if before:
            clause = self.clause(before[-1].start)
            return _one([n for n in before if n.start >= clause[0]])
        after = [n for n in named if stop <= n.start < high]
        if after and self._belongs(self.clause(after[0].start)[0]):
            return "mine" if after[0].mine else "other"
        earlier = [n for n in named if n.start < low]
        return "mine" if not earlier or earlier[-1].mine else "other"

    def of_another(self, at: int, kind: str) -> bool:
        """Return whether the clause speaks of another thing of a kind, without its name: `for your other order`."""
        start, stop = self.clause(at)
        noun = re.escape(kind.replace("_", " "))
        return (
            re.search(rf"(?i)\b(?:other|another|different|wrong)(?: \w+['\u2019]s)? {noun}\b", self.text[start:stop])
            is not None
        )

    def _listed_after(self, last: Named, named: list[Named]) -> list[Named]:
        """Return what a list that begins in a clause goes on with: the second of `for O-7 and O-8`."""
        found: list[Named] = []
        for following in named:
            if following.start < last.end:
                continue
            if not _LISTED.fullmatch(self.text, last.end, following.start):
                break
            found.append(following)
            last = following
        return found

    def _belongs(self, start: int) -> bool:
        """`…, for I-8` and `… (order I-8)` say what the clause before is about; `… and I-8 stays open` does not."""
        before = self.text[:start].rstrip()
        return before.endswith((",", "(", "-", "\u2013", "\u2014")) or _ABOUT.match(self.text, start) is not None


def _one(named: list[Named]) -> Whose:
    found = {n.mine for n in named}
    return "both" if len(found) == 2 else "mine" if True in found else "other"


def _spans(cut: re.Pattern[str], text: str, start: int, stop: int) -> list[tuple[int, int]]:
    found, at = [], start
    for mark in cut.finditer(text, start, stop):
        found.append((at, mark.start()))
        at = mark.end()
    found.append((at, stop))
    return found


def naming(text: str, mine: Iterable[EntityRef], names: Mapping[str, bool], kinds: Iterable[str]) -> list[Named]:
    """Return where a text names an entity of these kinds, in order.

    Args:
        text: the text.
        mine: the entities in question.
        names: what entities of these kinds are called in the record → whether that is one of `mine`.
        kinds: their kinds: `invoice I-9` names another invoice although the record has none.
    """
    own = tuple(mine)
    # Ids are opaque, but `o-8` is not said of O-7.
    low = {name.casefold(): here for name, here in names.items() if any(c.isdigit() for c in name)}
    shapes = {_shape(ref.id) for ref in own if any(c.isdigit() for c in ref.id)}
    found: dict[int, Named] = {}
    for token in _TOKEN.finditer(text):
        word = token[0]
        here = names.get(word, False if low.get(word.casefold()) is False else None)
        # One letter is a word of the language rather than a name; after its kind it is a name.
        if here is not None and (len(word) > 1 or _after_kind(text, token.start(), kinds)):
            found[token.start()] = Named(token.start(), token.end(), here)
        elif (here is None and _shape(word) in shapes) or (here is None and _unknown(text, token.start(), word, kinds)):
            found[token.start()] = Named(token.start(), token.end(), mine=False)
    for name, here in names.items():
        if _TOKEN.fullmatch(name) is None and len(name) > 2:
            for start in standing(text, name):
                found.setdefault(start, Named(start, start + len(name), here))
    return [found[at] for at in sorted(found)]


def _unknown(text: str, at: int, word: str, kinds: Iterable[str]) -> bool:
    if not (any(c.isdigit() for c in word) or (len(word) == 1 and word.isupper())):
        return False
    return _after_kind(text, at, kinds)


def _after_kind(text: str, at: int, kinds: Iterable[str]) -> bool:
    before = text[max(0, at - 40) : at].rstrip(" #*`:_").lower()
    return any(re.search(rf"\b{re.escape(kind.replace('_', ' '))}(?: id| no\.?| number)?$", before) for kind in kinds)


def _shape(name: str) -> str:
    """Return an id with its digits made alike: `I-7` and `I-12` have one shape. A mere number has its length, too."""
    return f"9{{{len(name)}}}" if name.isdigit() else re.sub(r"[0-9]+", "9", name)


def same_shape(left: str, right: str) -> bool:
    """Return whether two ids differ in digits only, and have some."""
    return left != right and _shape(left) == _shape(right) and any(c.isdigit() for c in left)


def tokens_in(text: str) -> Iterable[tuple[int, str]]:
    """Yield (offset, token) for whatever could be an id or a word."""
    for token in _TOKEN.finditer(text):
        yield token.start(), token[0]


def standing(text: str, value: str) -> list[int]:
    """Return where `value` stands in `text` as a whole: not inside a longer word, number or id."""
    if not value:
        return []
    found, at = [], text.find(value)
    while at != -1:
        if _edge(text, at - 1, value[0]) and _edge(text, at + len(value), value[-1]):
            found.append(at)
        at = text.find(value, at + 1)
    return found


def _edge(text: str, at: int, inner: str) -> bool:
    if not 0 <= at < len(text) or not (inner.isalnum() or inner == "_"):
        return True
    outer = text[at]
    if outer.isalnum() or outer == "_":
        return False
    # `I-7` does not stand in `I-7-2`, nor `7` in `7.50` or `2-7`.
    beyond = at + 1 if at and text[at - 1] == inner else at - 1
    return not (outer in "-./:" and 0 <= beyond < len(text) and text[beyond].isalnum())
