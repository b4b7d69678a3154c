"""What reached the live world after a frontier, judged for the evaluator: writes, effects, failures, duplicates.

It reads the meter and not the ledger, so all stages are judged alike, also the one that goes past the guard.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tallystick.contracts.types import Contract
from tallystick.evals.takeover.surface import Dispatch, Frontier
from tallystick.model import jsontext
from tallystick.model.values import decimal_of, plain
from tallystick.view import View
from tallystick.view.keys import effect_keys, effect_of, targets_of
from tallystick.view.outcome import judge


@dataclass(frozen=True, kw_only=True, slots=True)
class Live:
    """Counts of what was dispatched after a frontier; see `rows.Row`."""

    writes: int
    effects: int
    failures: int
    duplicates: int
    ungrounded: int


def lived(view: View, frontier: Frontier, dispatched: Sequence[Dispatch]) -> Live:
    """Judge what was dispatched.

    Args:
        view: the run's record as it was at the frontier, before anything of `dispatched`.
        frontier: whose contract says which calls write, and what their effect is.
        dispatched: in order.
    """
    contract = frontier.contract
    realised = _realised(view)
    known = _Known(view)
    writes = effects = failures = duplicates = ungrounded = 0
    for one in dispatched:
        tool = contract.tools.get(one.tool)
        if tool is None:
            failures += bool(one.error)
            continue
        write = effect_of(tool, one.args) == "write"
        outcome = judge(
            tool, "write" if write else "read", one.args, one.result,
            text=one.result if isinstance(one.result, str) else None, transport_error=one.error or None,
            target_ids=tuple(ref.id for ref in targets_of(tool, one.args)),
        ).outcome  # fmt: skip
        failures += outcome not in ("ok", "partial")
        if write:
            writes += 1
            ungrounded += not known.holds(one, frontier, contract)
            if outcome in ("ok", "partial"):
                effects += 1
                keys = set(effect_keys(tool, one.args))
                duplicates += bool(keys & realised)
                realised |= keys
        known.add(one.result)
    return Live(writes=writes, effects=effects, failures=failures, duplicates=duplicates, ungrounded=ungrounded)


def writes_in(contract: Contract, dispatched: Sequence[Dispatch]) -> int:
    """Return how many of the calls write, by the contract."""
    return sum(
        (tool := contract.tools.get(one.tool)) is not None and effect_of(tool, one.args) == "write"
        for one in dispatched
    )  # fmt: skip


def _realised(view: View) -> set[str]:
    return {
        effect.key
        for call in view.calls.values()
        for effect in view.effects_of_call(call.id)
        if effect.status in ("done", "partial")
    }


class _Known:
    """Every value that was said so far where an argument may take it from. A twin of the gate's own rule, and laxer.

    Words are searched as text, so a value counts as said where it stands inside a longer one.
    """

    def __init__(self, view: View) -> None:
        self._values: set[str] = set()
        self._words = [view.task.request, *(text for who, text in view.talk if who == "user")]
        for record in view.receipts:
            if record.proves:
                self.add(record.value)
        for _, stated in view.stated:
            self.add(jsontext.loads(stated.value) if stated.value else "")
        self.add(jsontext.loads(jsontext.dumps(_plain(view.task.bindings))))

    def add(self, value: Any) -> None:
        """A result was returned: what it says may be taken up."""
        self._values.update(map(_text, _leaves(value)))
        if isinstance(value, str):
            self._words.append(value)

    def holds(self, one: Dispatch, frontier: Frontier, contract: Contract) -> bool:
        free = set(frontier.free.get(one.tool, ()))
        schema = (contract.tools[one.tool].args_schema or {}).get("properties") or {}
        return all(
            name in free or all(self._said(leaf, schema.get(name)) for leaf in _leaves(value))
            for name, value in one.args.items()
        )

    def _said(self, leaf: Any, schema: Any) -> bool:
        if leaf is None or isinstance(leaf, bool):
            return True
        if isinstance(schema, Mapping) and leaf in (schema.get("enum") or ()):
            return True
        text = _text(leaf)
        return text in self._values or any(text in words or str(leaf) in words for words in self._words if text)


def _leaves(value: Any) -> Iterator[Any]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield key
            yield from _leaves(inner)
    elif isinstance(value, (list, tuple, set, frozenset)):
        for inner in value:
            yield from _leaves(inner)
    else:
        yield value


def _text(leaf: Any) -> str:
    if isinstance(leaf, bool):
        return str(leaf)
    try:
        return plain(decimal_of(leaf).normalize())
    except ValueError:
        return str(leaf)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(k): _plain(v) for k, v in value.items()}
    if isinstance(value, (list, tuple, set, frozenset)):
        return [_plain(v) for v in value]
    return value if value is None or isinstance(value, (bool, int, str)) else str(value)
