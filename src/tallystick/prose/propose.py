"""The builder: what a final answer says for each of the contract's slots, read from its text beside the record.

For each slot the contract's derivation gives the value the record supports; the text must state it, plainly and for
that entity. Nothing is invented and nothing replaced: a slot whose value the text does not state is not claimed; where
the text states another value, that is what is claimed, and the verifier says no; where it could mean two, nothing is.
The verifier trusts what comes out of here no more than an agent's own claims.
Source: evidence-carrying termination, "two ways to obtain certificates".
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, TypeVar

from tallystick.contracts.types import Contract, Slot
from tallystick.gates.derive import Derived, derive, scope_of_slot
from tallystick.model.decision import Reason
from tallystick.model.proposal import Claim
from tallystick.model.values import EntityRef, Type
from tallystick.prose.known import Known
from tallystick.prose.mentions import mentions
from tallystick.prose.places import Named, Places, naming, same_shape, standing, tokens_in
from tallystick.prose.reading import Mention
from tallystick.prose.stating import claimable, could_say, folded, labels_of, nearest, says, stated, stems
from tallystick.prose.words import stem
from tallystick.view import View

T = TypeVar("T")
MAX_TEXT: Final = 200_000
"""Characters of an answer that are read; a longer one is not read at all."""
MAX_VALUES: Final = 1_000
"""Values, names of things, or places of one word in an answer that is read."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Proposed:
    """What a text claims.

    Attributes:
        claims: one per slot whose value the text states; of another value than the record's too.
        unmatched: slot → why nothing is claimed for it: the text does not state it, or only of something else.
        ambiguous: slot → the same, where the text could state several values of it.
    """

    claims: tuple[Claim, ...] = ()
    unmatched: Mapping[str, Reason] = field(default_factory=dict)
    ambiguous: Mapping[str, Reason] = field(default_factory=dict)

    @property
    def notes(self) -> tuple[Reason, ...]:
        """Why slots are not claimed, in the order of their names."""
        both = {**self.unmatched, **self.ambiguous}
        return tuple(both[name] for name in sorted(both))


def propose(view: View, contract: Contract, text: str) -> Proposed:
    """Return what `text` claims for the contract's answer slots, by the record as it is now.

    Pure. Values of derivable slots are compared exactly under their types; of a slot that the record does not give yet,
    the one value of its type that the text states is claimed, so that the verifier can say what is missing.
    """
    if not contract.answer:
        return Proposed()
    if len(text) > MAX_TEXT:
        return _unread(contract, f"an answer of more than {MAX_TEXT:,} characters is not read")
    try:
        return _read(contract, _Reader(view, contract, text))
    except _TooManyError:
        return _unread(contract, f"an answer of more than {MAX_VALUES:,} values or names is not read")


class _TooManyError(Exception):
    """An answer holds more than is looked at."""


def _bounded(found: list[T]) -> list[T]:
    if len(found) > MAX_VALUES:
        raise _TooManyError
    return found


def _unread(contract: Contract, why: str) -> Proposed:
    short = "a shorter answer, or claims beside it"
    return Proposed(unmatched={s.name: _note(s, "text.absent", why, short) for s in contract.answer})


def _read(contract: Contract, reader: _Reader) -> Proposed:
    claims: list[Claim] = []
    unmatched: dict[str, Reason] = {}
    ambiguous: dict[str, Reason] = {}
    for slot in contract.answer:
        found = reader.slot(slot)
        if isinstance(found, Claim):
            claims.append(found)
        else:
            (ambiguous if found.code == "text.ambiguous" else unmatched)[slot.name] = found
    return Proposed(claims=tuple(claims), unmatched=unmatched, ambiguous=ambiguous)


Standing = Literal["stated", "other_entity", "other_field", "denied", "inexact"]
"""How a value stands in a text: as the slot's, or why not as that."""


@dataclass(frozen=True, slots=True)
class _Place:
    """One place of the text where a value of the slot's type stands."""

    start: int
    equal: bool
    how: Standing
    labelled: bool
    value: Any  # as an answer would state it; None where no one value can be named
    shown: str


class _Reader:
    """One answer beside one record."""

    def __init__(self, view: View, contract: Contract, text: str) -> None:
        self.view = view
        self.contract = contract
        self.text = text
        self.places = Places(text)
        self.mentions = _bounded(list(mentions(text)))
        self.known = Known(view, contract)

    # ------------------------------------------------------------------ one slot

    def slot(self, slot: Slot) -> Claim | Reason:
        """Return the claim the text makes for a slot, or why it makes none."""
        scope, problem = scope_of_slot(self.view, slot)
        derived = derive(self.view, self.contract, slot, scope) if problem is None else (problem,)
        found = derived if isinstance(derived, Derived) else None
        mine = {scope} if scope is not None else self._about(found)
        named = self._named(mine)
        if found is None:
            return self._underived(slot, named, derived if isinstance(derived, tuple) else ())
        if isinstance(found.value, (frozenset, tuple)):
            return self._collection(slot, found, named)
        if isinstance(found.value, Mapping):
            return self._record(slot, found, named)
        return self._settled(slot, self._places(slot, slot.type, found.value, found, named, labels_of(slot)), found)

    def _about(self, found: Derived | None) -> set[EntityRef]:
        return set() if found is None else {t for r in found.receipts if r.call is not None for t in r.call.targets}

    def _named(self, mine: set[EntityRef]) -> list[Named]:
        if not mine:
            return []
        kinds = {ref.kind for ref in mine}
        return _bounded(naming(self.text, mine, self.known.names(kinds, mine), kinds))

    def _underived(self, slot: Slot, named: list[Named], why: Sequence[Reason]) -> Claim | Reason:
        """The record gives no value: claim the one the text could mean, and let the verifier say what is missing."""
        found = self._places(slot, slot.type, None, None, named, labels_of(slot))
        live = [p for p in found if p.how == "stated" and (p.labelled or slot.required)]
        values = {repr(p.value): p.value for p in live if p.value is not None}
        if len(values) == 1 and (slot.required or any(p.labelled for p in live)):
            return _claim(slot, next(iter(values.values())))
        if why:
            return why[0]
        return _note(slot, "text.absent", "the text does not state it", "a text that states it")

    def _settled(self, slot: Slot, found: list[_Place], derived: Derived) -> Claim | Reason:
        live = [p for p in found if p.how == "stated"]
        equal = [p for p in live if p.equal]
        other = [p for p in live if not p.equal]
        if equal and any(p.labelled for p in equal) and slot.type.name in ("integer", "decimal"):
            # Beside a number that is said to be the slot's, other numbers of a text count other things.
            other = [p for p in other if p.labelled]
        if equal and not other:
            return _claim(slot, stated(derived.value))
        if equal:
            return self._ambiguous(slot, [*equal, *other])
        if any(p.equal for p in found):
            how = next(p.how for p in found if p.equal)
            return _note(slot, *_WHY[how], _PLAIN)
        if slot.type.name in ("integer", "decimal") and not slot.required:
            other = [p for p in other if p.labelled]
        if other and (slot.required or any(p.labelled for p in other)):
            values = {repr(p.value): p.value for p in other if p.value is not None}
            if len(values) == 1:
                return _claim(slot, next(iter(values.values())))
            if values:
                return self._ambiguous(slot, other)
        return _note(slot, "text.absent", "the text does not state it", _PLAIN)

    def _ambiguous(self, slot: Slot, found: list[_Place]) -> Reason:
        shown = ", ".join(dict.fromkeys(f"`{p.shown}`" for p in found[:4]))
        return _note(slot, "text.ambiguous", f"the text could mean any of {shown}", _PLAIN)

    # ------------------------------------------------------------------ where a value stands

    def _places(
        self, slot: Slot, type_: Type, value: Any, derived: Derived | None, named: list[Named], labels: frozenset[str]
    ) -> list[_Place]:
        if type_.name in ("string", "id", "json"):
            return self._words(slot, type_, value, named, labels)
        if type_.name == "boolean":
            return self._boolean(value, named, labels)
        raws = self.known.raws(derived) if derived is not None and type_.name == "instant" else ()
        found = []
        for mention in self.mentions:
            typed = could_say(mention, type_, labels)
            bare = not typed and self._bare(type_, mention, labels)
            if not (typed or bare) or self._names(mention, named):
                continue
            equal = value is not None and says(mention, type_, value, labels, raws)
            how, labelled = self._how(mention.start, mention.end, named, slot, labels, self._names_of(mention))
            if how == "stated" and (mention.approximate or mention.edge or self.places.multiplied(mention.end)):
                how = "inexact"
            if equal and how == "stated":
                how = self._plainly(mention.start, mention.end, labels)
            if how == "stated" and self._whole(mention):
                how = "other_field"
            if not equal and not labelled and self._counts_other(type_, mention, labels):
                continue
            said = claimable(mention, type_, labels) if typed else None
            found.append(_Place(mention.start, equal, how, labelled, said, mention.text))
        return found

    def _plainly(self, start: int, end: int, labels: frozenset[str], *, amount: bool = True) -> Standing:
        """Return how the value that would be claimed stands; any other one is a rival, however it is said."""

        def named(word: str) -> bool:
            return stem(word.lower()) in labels

        if self.places.spoken_of(start, end, named):
            return "denied"
        return "inexact" if amount and self.places.rough(start, end, named) else "stated"

    def _counts_other(self, type_: Type, mention: Mention, labels: frozenset[str]) -> bool:
        """`3 flights` is not how many days."""
        if type_.name not in ("integer", "decimal") or not mention.noun:
            return False
        return not stems(mention.noun) & labels

    def _whole(self, mention: Mention) -> bool:
        """What something is a part of is not that part: the last of `420.50 of 1,299.00`, of `32% of 1,299.00`."""
        return any(m.end < mention.start and _PART_OF.fullmatch(self.text, m.end, mention.start) for m in self.mentions)

    def _bare(self, type_: Type, mention: Mention, labels: frozenset[str]) -> bool:
        """An amount may be said without its unit where the text calls it by the slot's name: `Amount paid: 420.00`."""
        if type_.unit is None or mention.kind != "number" or mention.noun or not labels:
            return False
        words = dict.fromkeys(labels, "slot")
        clause = self.places.clause(mention.start)
        return "." in mention.text and nearest(self.text, clause, mention.start, mention.end, words) == "slot"

    def _names(self, mention: Mention, named: list[Named]) -> bool:
        """Digits that name an entity are no number."""
        return any(n.start < mention.end and mention.start < n.end for n in named)

    def _names_of(self, mention: Mention) -> frozenset[str]:
        """Return the names under which the record has this value."""
        return frozenset(name for number in mention.numbers for name in self.known.under(number))

    def _how(
        self, start: int, end: int, named: list[Named], slot: Slot, labels: frozenset[str], under: frozenset[str]
    ) -> tuple[Standing, bool]:
        """Return how a value stands at a place, and whether the text calls it by the slot's name."""
        words = dict.fromkeys(stems(*under) | self.known.labels(slot), "other") | dict.fromkeys(labels, "slot")
        label = nearest(self.text, self.places.clause(start), start, end, words)
        whose = self.places.whose(start, named)
        if whose != "mine" or (slot.entity is not None and self.places.of_another(start, slot.entity.kind)):
            return "other_entity", label == "slot"
        if label == "other":
            return "other_field", False
        return ("denied" if self.places.denied(start, end) else "stated"), label == "slot"

    # ------------------------------------------------------------------ words

    def _words(self, slot: Slot, type_: Type, value: Any, named: list[Named], labels: frozenset[str]) -> list[_Place]:
        """Places of a text or an id: the value itself, and what could be meant in its stead."""
        if value is not None and not isinstance(value, str):
            return []
        rivals = {v for v in self.known.rivals(slot) if v != value}
        if value is not None and any(c.isdigit() for c in value):
            rivals |= {t for _, t in tokens_in(self.text) if same_shape(t, value)}
        rivals -= {r.id for r in self._scope(slot)}
        found: list[_Place] = []
        for word, equal in ((value, True), *((r, False) for r in sorted(rivals))):
            if not word:
                continue
            for at in _bounded(self._standing(type_, word)):
                under = frozenset(self.known.under(word)) if not equal else frozenset()
                how, labelled = self._how(
                    at, at + len(word), [] if self._is_name(at, named) else named, slot, labels, under
                )
                if not equal and how == "stated" and not labelled and self._former(at, len(word), found):
                    continue
                if equal and how == "stated":
                    how = self._plainly(at, at + len(word), labels, amount=False)
                found.append(_Place(at, equal, how, labelled, word, word))
        # `delivered` inside `not delivered yet` is found above; a rival inside the value itself is no rival.
        taken = [(p.start, p.start + len(p.shown)) for p in found if p.equal]
        return [p for p in found if p.equal or not any(s <= p.start < e for s, e in taken)]

    def _scope(self, slot: Slot) -> tuple[EntityRef, ...]:
        ref, _ = scope_of_slot(self.view, slot)
        return (ref,) if ref is not None else ()

    def _is_name(self, at: int, named: list[Named]) -> bool:
        """A value that is itself an entity's id is not said of that entity."""
        return any(n.start == at for n in named)

    def _standing(self, type_: Type, word: str) -> list[int]:
        if type_.name == "id":
            return standing(self.text, word)
        return standing(folded(self.text), folded(word)) if len(folded(self.text)) == len(self.text) else []

    def _former(self, at: int, size: int, found: Sequence[_Place]) -> bool:
        """`from pending to delivered`: what it was is not what it is."""
        before = self.text[:at].rstrip(" *`\"'")
        after = self.text[at + size :].lstrip(" *`\"'")
        if not before.lower().endswith("from") or not after.lower().startswith("to "):
            return False
        return any(p.equal and p.start > at for p in found)

    def _boolean(self, value: Any, named: list[Named], labels: frozenset[str]) -> list[_Place]:
        """Only a plain `insured: yes` states a boolean; whatever else implies one is not read."""
        found = []
        for mention in self.mentions:
            said = mention.values("boolean")
            before = self.text[self.places.sentence(mention.start)[0] : mention.start].rstrip(" *:=|").lower()
            words = stems(*before.split()[-4:])
            if not said or not labels or not labels <= words:
                continue
            how: Standing = "stated" if self.places.whose(mention.start, named) == "mine" else "other_entity"
            found.append(_Place(mention.start, said[0] is value, how, True, said[0], mention.text))
        return found

    # ------------------------------------------------------------------ collections and records

    def _collection(self, slot: Slot, derived: Derived, named: list[Named]) -> Claim | Reason:
        """Every item must stand in the text, and nothing else that could be one."""
        item = slot.type.item or Type(name="json")
        wanted = list(derived.value)
        if not wanted:
            return self._empty(slot, derived, item, named)
        found: list[list[_Place]] = []
        for value in wanted:
            if isinstance(value, (Mapping, tuple, frozenset)):
                return _note(slot, "text.absent", "a text cannot state it plainly", "claims beside the text")
            found.append(self._places(slot, item, value, derived, [n for n in named if not n.mine], labels_of(slot)))
        missing = [v for v, at in zip(wanted, found, strict=True) if not any(p.equal and p.how == "stated" for p in at)]
        if missing:
            shown = ", ".join(f"`{stated(v)}`" for v in missing[:4])
            return _note(slot, "text.absent", f"the text does not state {shown}", _PLAIN)
        at = {p.start for places in found for p in places if p.equal}
        extra = [p for p in found[0] if p.start not in at and p.how == "stated" and p.value is not None]
        if extra:
            return self._ambiguous(slot, extra)
        if isinstance(derived.value, tuple):
            order = [min(p.start for p in places if p.equal and p.how == "stated") for places in found]
            if order != sorted(order):
                return _note(slot, "text.absent", "the text has its items in another order", _PLAIN)
        return _claim(slot, stated(derived.value))

    def _empty(self, slot: Slot, derived: Derived, item: Type, named: list[Named]) -> Claim | Reason:
        labels = labels_of(slot)
        for at, word in tokens_in(self.text):
            if word.lower() not in ("no", "none", "zero", "nothing"):
                continue
            clause = self.places.clause(at)
            if labels & stems(*self.text[slice(*clause)].split()) and self.places.whose(at, named) == "mine":
                if self._places(slot, item, None, derived, named, labels):
                    break
                return _claim(slot, stated(derived.value))
        return _note(slot, "text.absent", "the text does not say that there is none", _PLAIN)

    def _record(self, slot: Slot, derived: Derived, named: list[Named]) -> Claim | Reason:
        """Each member must be stated, under its own name where several could be meant."""
        for name, value in derived.value.items():
            if value is None:
                continue
            if isinstance(value, (Mapping, tuple, frozenset)):
                return _note(slot, "text.absent", "a text cannot state it plainly", "claims beside the text")
            labels = stems(name)
            live = [p for p in self._places(slot, slot.type.fields[name], value, derived, named, labels)
                    if p.how in ("stated", "other_field")]  # fmt: skip
            equal = [p for p in live if p.equal]
            if not equal:
                return _note(slot, "text.absent", f"the text does not state its `{name}`", _PLAIN)
            rivals = [p for p in live if not p.equal and p.labelled]
            if rivals:
                return self._ambiguous(slot, [*equal, *rivals])
        return _claim(slot, stated(derived.value))


_PART_OF: Final = re.compile(r"[\s*_]+(?:out )?of (?:the |your |a )?(?:total )?(?:of )?[*_]*", re.IGNORECASE)
_PLAIN: Final = "a text that states it plainly, once and for what it is about, or claims beside the text"
_WHY: Final[Mapping[str, tuple[str, str]]] = {
    "other_entity": ("text.other_entity", "the text states this value of something else"),
    "other_field": ("text.other_field", "the text states this value under another name"),
    "denied": ("text.denied", "the text denies it, or only supposes it"),
    "inexact": ("text.inexact", "the text states it only roughly, as the end of a range, or several times over"),
}


def _claim(slot: Slot, value: Any) -> Claim:
    return Claim(slot=slot.name, field=slot.name, value=value, quantifier=slot.quantifier)


def _note(slot: Slot, code: str, message: str, reverses: str) -> Reason:
    return Reason(code=code, message=f"`{slot.name}`: {message}", reverses=reverses, where=slot.name)
