"""What a reference may name at handoff time, and what grounds a literal: what the frozen contract lists, nothing newer.

A literal is grounded where E, B, K or O states it, where the user said it, where the tool's own schema lists it, or
where the host freed its argument. Ids are compared as written: `01` is not `1`. Amounts are compared by value where the
argument's type is one of numbers.
Source: residual completion, section 3.4, step 1 (i).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import Any, Final

from tallystick.contracts.types import Contract, Tool
from tallystick.gates.residual.ground import task_inputs
from tallystick.gates.residual.refs import TASK, Path, Ref, receipt_says
from tallystick.model import jsontext
from tallystick.model.pointer import MISSING, leaves, resolve
from tallystick.model.residual import Residual
from tallystick.model.values import decimal_of, same
from tallystick.view import View

_NUMERIC: Final = frozenset({"money", "decimal", "quantity", "integer"})
_NUMBER: Final = re.compile(r"(?<!\w)(?<!\w[-.,/@:])[+-]?[0-9][0-9,]*(?:\.[0-9]+)?(?!\w)(?![-.,/@:]\w)")
_MAX_SCHEMAS: Final = 64


class Sources:
    """What the residual contract lists: its receipts, the task's inputs, and every value it fixes or the user said."""

    def __init__(self, view: View, contract: Contract, residual: Residual) -> None:
        self._view = view
        self._contract = contract
        self.receipts = {entry.receipt for entry in residual.receipts}
        self.task: Mapping[str, Any] = task_inputs(view.task)
        self._free = {(pair[0], pair[1]) for pair in residual.free}
        self._texts: set[str] = set()
        self._numbers: set[Decimal] = set()
        self._names: set[str] = set(self.task)
        heard = set(residual.words)
        self._words = "\n\n".join(text for seq, text in view.heard if view.digest_at(seq) in heard)
        self._said: dict[str, bool] = {}
        for value in self._stated(residual):
            self._add(value)
        for found in _NUMBER.finditer(self._words):
            self._number(found[0])

    # ---------------------------------------------------------------- references

    def says(self, ref: Ref) -> Any:
        """Return what a source says, or `MISSING`."""
        if ref.source == TASK:
            return resolve(self.task, ref.tokens)
        return receipt_says(self._view, ref) if ref.source in self.receipts else MISSING

    def has_receipt(self, name: str) -> bool:
        """Return whether the record has a receipt of this id, listed or not."""
        return name in self.receipts or name in self._view.index.receipt_by_id

    # ---------------------------------------------------------------- literals

    def grounds(self, tool: Tool, arg: str, path: Path, value: Any) -> bool:
        """Return whether a literal inside an argument has a source. `path` is its place inside the argument."""
        if value is None or isinstance(value, bool) or (tool.name, arg) in self._free:
            return True
        if tool.complete is not None and tool.complete.page_arg == arg:
            return True  # which page of a listing is asked for says nothing about the world
        if self._states(value, numeric=not path and arg in tool.args and tool.args[arg].name in _NUMERIC):
            return True
        return any(_lists(schema, value) for schema in _schemas(tool, arg, path))

    def names(self, tool: Tool, arg: str, path: Path, name: str) -> bool:
        """Return whether the name of a member inside an argument is one the tool declares, or has a source."""
        if (tool.name, arg) in self._free or name in self._names or self._states(name, numeric=False):
            return True
        if tool.batch is not None and tool.batch.arg == arg and name in tool.batch.key:
            return True
        declared = tool.args.get(arg)
        for step in path:
            if declared is not None:
                declared = declared.item if isinstance(step, int) else declared.fields.get(str(step))
        if declared is not None and name in declared.fields:
            return True
        return any(name in _mapping(schema.get("properties")) for schema in _schemas(tool, arg, path))

    def _states(self, value: Any, *, numeric: bool) -> bool:
        if not isinstance(value, str):
            return decimal_of(value) in self._numbers or (isinstance(value, int) and str(value) in self._texts)
        if value in self._texts or self._heard(value):
            return True
        return numeric and any(number in self._numbers for number in _numbers_of(value))

    def _heard(self, value: str) -> bool:
        """Return whether the user said a text, as a whole word or words: `I-7` is not said by `I-77`."""
        if value not in self._said:
            at = self._words.find(value) if value.strip() else -1
            while at >= 0 and not (_ends(self._words, at - 1, -1) and _ends(self._words, at + len(value), 1)):
                at = self._words.find(value, at + 1)
            self._said[value] = at >= 0
        return self._said[value]

    # ---------------------------------------------------------------- what is stated

    def _stated(self, residual: Residual) -> Iterator[Any]:
        yield from (e.id for e in residual.entities)
        for binding in residual.bindings:
            yield binding.id or None
            yield jsontext.loads(binding.value) if binding.value else None
        for kept in residual.kept:
            yield from (pair[1] for pair in kept.entities)
            call = self._view.calls.get(kept.call)
            yield dict(call.args) if call is not None else None
        for owed in residual.owed:
            yield from owed.entity[1:]
            yield from (jsontext.loads(text) for _, text in owed.args)
        yield dict(self.task)
        for name in self.receipts:
            receipt = self._view.index.receipt_by_id.get(name)
            yield receipt.value if receipt is not None and receipt.good else None

    def _add(self, value: Any) -> None:
        for _, scalar in leaves(value):
            if isinstance(scalar, str):
                self._texts.add(scalar)
                self._number(scalar)
            elif scalar is not None and not isinstance(scalar, bool):
                self._numbers.add(decimal_of(scalar))
                if isinstance(scalar, int):
                    self._texts.add(str(scalar))
        self._names.update(_member_names(value))

    def _number(self, text: str) -> None:
        self._numbers.update(_numbers_of(text))


def _ends(words: str, at: int, step: int) -> bool:
    """Return whether a word ends before position `at`, going on by `step`: `7` does not in `7.50` or `I-7`."""
    here, beyond = (words[i] if 0 <= i < len(words) else " " for i in (at, at + step))
    if here.isalnum() or here == "_":
        return False
    return not (here in "-.,/@:" and (beyond.isalnum() or beyond == "_"))


def _numbers_of(text: str) -> list[Decimal]:
    """Return the number a text states, alone or with its currency or unit. `007` is an id, not the number 7."""
    words = text.split()
    found = []
    for word in words if len(words) <= 2 else ():
        digits = word.lstrip("+-")
        if digits[:1] == "0" and digits[1:2] not in ("", "."):
            continue
        try:
            found.append(decimal_of(word))
        except ValueError:
            continue
    return found if len(found) == 1 else []


def _member_names(value: Any) -> Iterator[str]:
    stack = [value]
    while stack:
        here = stack.pop()
        if isinstance(here, Mapping):
            yield from here
            stack.extend(here.values())
        elif isinstance(here, (list, tuple)):
            stack.extend(here)


# ---------------------------------------------------------------- what a schema lists


def _schemas(tool: Tool, arg: str, path: Path) -> list[Mapping[str, Any]]:
    """Return the parts of the tool's own JSON Schema that speak of a place inside an argument."""
    root = tool.args_schema
    if root is None:
        return []
    found = _spread(root, [_mapping(root.get("properties")).get(arg)])
    for step in path:
        inner: list[Any] = []
        for schema in found:
            if isinstance(step, int):
                items = schema.get("prefixItems")
                inner.append(items[step] if isinstance(items, list) and step < len(items) else schema.get("items"))
            else:
                members = _mapping(schema.get("properties"))
                inner.append(members.get(step, schema.get("additionalProperties")))
        found = _spread(root, inner)
    return found


def _spread(root: Mapping[str, Any], schemas: list[Any]) -> list[Mapping[str, Any]]:
    """Return schemas with what they are made of: `$ref` within the document, `anyOf`, `oneOf`, `allOf`."""
    found: list[Mapping[str, Any]] = []
    pending = list(schemas)
    while pending and len(found) < _MAX_SCHEMAS:
        schema = pending.pop(0)
        if not isinstance(schema, Mapping) or any(schema is known for known in found):
            continue
        found.append(schema)
        ref = schema.get("$ref")
        if isinstance(ref, str) and ref.startswith("#/"):
            pending.append(resolve(root, tuple(t.replace("~1", "/").replace("~0", "~") for t in ref[2:].split("/"))))
        for word in ("anyOf", "oneOf", "allOf"):
            several = schema.get(word)
            pending.extend(several if isinstance(several, list) else ())
    return found


def _lists(schema: Mapping[str, Any], value: Any) -> bool:
    listed = schema.get("enum")
    choices = [*(listed if isinstance(listed, list) else ()), *(schema[w] for w in ("const", "default") if w in schema)]
    return any(same(value, choice) for choice in choices)


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}
