"""What the record calls things: names of entities, and the names under which it has a value."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from decimal import Decimal
from functools import cached_property
from typing import Any, Final

from tallystick.contracts.terms import facts, sources
from tallystick.contracts.types import Contract, Slot
from tallystick.gates.derive import Derived
from tallystick.model.pointer import resolve_each
from tallystick.model.values import EntityRef
from tallystick.prose.stating import labels_of, number_in, stems
from tallystick.view import View

_LEAVES: Final = 20_000
_ENTITIES: Final = 5_000


class Known:
    """The words of one record."""

    def __init__(self, view: View, contract: Contract) -> None:
        self._view = view
        self._contract = contract

    def names(self, kinds: Iterable[str], mine: set[EntityRef]) -> Mapping[str, bool]:
        """Return what the entities of these kinds are called → whether that is one of `mine`.

        Their ids, and texts that look like names (`Alice`, `Blue Hotel`) where one entity alone has them.
        """
        found: dict[str, bool] = {}
        owners: dict[str, set[EntityRef]] = {}
        for kind in kinds:
            for n, ref in enumerate(self._view.entities(kind)):
                if n >= _ENTITIES:
                    break
                found[ref.id] = ref in mine
                for fact in self._view.facts(ref).values():
                    if isinstance(fact.value, str) and _is_name(fact.value):
                        owners.setdefault(fact.value, set()).add(ref)
        for name, refs in list(owners.items()):
            first = name.split()[0]
            if first != name and len(first) > 2:
                owners.setdefault(first, set()).update(refs)
        for name, refs in owners.items():
            if len(refs) == 1 and name not in found:
                found[name] = next(iter(refs)) in mine
        for ref in mine:
            found[ref.id] = True
        return found

    @cached_property
    def _index(self) -> tuple[Mapping[Decimal, set[str]], Mapping[str, set[str]]]:
        numbers: dict[Decimal, set[str]] = {}
        texts: dict[str, set[str]] = {}
        for name, value in self._leaves():
            number = number_in(value)
            if number is not None:
                numbers.setdefault(number, set()).add(name)
            if isinstance(value, str):
                texts.setdefault(value, set()).add(name)
        return numbers, texts

    def _leaves(self) -> Iterator[tuple[str, Any]]:
        left = _LEAVES
        for receipt in reversed(self._view.receipts):
            if not receipt.good:
                continue
            stack: list[tuple[str, Any]] = [("", receipt.value)]
            while stack and left:
                left -= 1
                name, here = stack.pop()
                if isinstance(here, Mapping):
                    stack.extend((str(k), v) for k, v in here.items())
                elif isinstance(here, list):
                    stack.extend((name, v) for v in here)
                elif name and here is not None and not isinstance(here, bool):
                    yield name, here

    def under(self, value: Decimal | str) -> frozenset[str]:
        """Return the member names under which good receipts have this number or text."""
        numbers, texts = self._index
        if isinstance(value, str):
            return frozenset(texts.get(value, ()))
        return frozenset(numbers.get(value, ()))

    def labels(self, slot: Slot) -> frozenset[str]:
        """Return the stems by which a text would call other values of this slot's type: other slots, other fields."""
        found: set[str] = set()
        for other in self._contract.answer:
            if other.name != slot.name and other.type.name == slot.type.name:
                found |= labels_of(other)
        for kind in self._contract.entities.values():
            for name, type_ in kind.fields.items():
                if type_.name == slot.type.name and type_.name not in ("string", "id", "json"):
                    found |= stems(name)
        return frozenset(found) - labels_of(slot)

    def rivals(self, slot: Slot) -> frozenset[str]:
        """Return the texts that the record has, or had, where it has the slot's value: in every receipt of its tool."""
        found: set[str] = set()
        for _, source in sources(slot.derive.term):
            for receipt in self._view.receipts_of(source.tool):
                found.update(v for _, v in resolve_each(receipt.value, source.pointer) if isinstance(v, str))
        if slot.entity is not None:
            refs = (ref for part in facts(slot.derive.term) for ref in part.expr.refs)
            names = {ref[1] for ref in refs if len(ref) > 1 and ref[0] == slot.entity.alias}
            for ref in self._view.entities(slot.entity.kind):
                stated = (self._view.facts(ref).get(name) for name in names)
                found.update(f.value for f in stated if f is not None and isinstance(f.value, str))
        return frozenset(found)

    def raws(self, derived: Derived) -> tuple[str, ...]:
        """Return the texts of the receipts a value was derived from."""
        found: list[str] = []
        for receipt in derived.receipts:
            stack: list[Any] = [receipt.value]
            while stack and len(found) < _LEAVES:
                here = stack.pop()
                if isinstance(here, Mapping):
                    stack.extend(here.values())
                elif isinstance(here, list):
                    stack.extend(here)
                elif isinstance(here, str):
                    found.append(here)
        return tuple(found)


def _is_name(text: str) -> bool:
    return 3 <= len(text) <= 60 and text[0].isupper() and not text.isupper() and "\n" not in text
