"""(iv) Terminal claims have evidence paths: to live receipts of the remainder, or to what the record shows now.

A claim is a reference to a call of a tool that its slot is derived from, which no later write makes void; or a value,
stated or in a live receipt, that the claim gate accepts now and no call of the remainder makes void.
Source: residual completion, section 3.4, step 1 (iv).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

from tallystick.contracts.terms import facts
from tallystick.contracts.terms import sources as terms
from tallystick.contracts.types import Contract, Slot
from tallystick.gates.certify.exhibits import scope_of_slot
from tallystick.gates.claim import may_claim
from tallystick.gates.residual.planned import Planned
from tallystick.gates.residual.reasons import no
from tallystick.gates.residual.refs import plain, refs_in
from tallystick.gates.residual.sources import Sources
from tallystick.model import jsontext
from tallystick.model.decision import Reason, Verdict
from tallystick.model.proposal import Claim
from tallystick.model.residual import Graph
from tallystick.model.values import EntityRef
from tallystick.view import View

_SLOT: Final = re.compile(r"\{([^{}]*)\}")


def accepted_now(view: View, contract: Contract, slot: str, value: Any) -> bool:
    """Return whether the claim gate accepts a value for a slot on the record as it is."""
    return may_claim(view, contract, Claim(slot=slot, field=slot, value=value)).verdict is Verdict.ACCEPT


def claims(
    view: View, contract: Contract, sources: Sources, graph: Graph, calls: Sequence[Planned]
) -> Iterator[Reason]:
    """Yield what of the terminal response has no evidence path."""
    stated = {slot: jsontext.loads(text) for slot, text in graph.terminal.claims}
    slots = {slot.name: slot for slot in contract.answer}
    written = _Writes(calls)
    for name, value in stated.items():
        slot = slots.get(name)
        if slot is None:
            known = ", ".join(slots) or "no slots"
            yield no("residual.claim", f"the contract asks for no `{name}`", f"one of: {known}", name)
        elif any(ref.source in written.at for _, ref in refs_in(value)):
            yield from _from_calls(view, contract, written, slot, value)
        else:
            yield from _as_recorded(view, contract, sources, written, slot, value)
    for slot in contract.answer:
        if slot.required and view.task.need_answer and slot.name not in stated:
            yield no("residual.claim", f"the answer slot `{slot.name}` is not claimed", _derived(slot), slot.name)
    for name in _SLOT.findall(graph.terminal.text):
        if name in slots and name not in stated:
            yield no("residual.claim", f"the text shows `{name}`, which is not claimed", f"a claim for `{name}`", name)


class _Writes:
    """Which calls come after which, and the last write to each entity."""

    def __init__(self, calls: Sequence[Planned]) -> None:
        self.calls = calls
        self.at = {call.id: at for at, call in enumerate(calls)}
        self.last: dict[EntityRef, int] = {}
        self.last_of_kind: dict[str, int] = {}  # of writes to an entity that is not known yet
        self.anywhere = -1
        for at, call in enumerate(calls):
            if call.writes:
                self.anywhere = at
                self.last.update(dict.fromkeys(call.targets, at))
                self.last_of_kind.update(dict.fromkeys(call.open_kinds, at))

    def after(self, at: int, refs: Sequence[EntityRef]) -> bool:
        """Return whether a write after position `at` addresses one of some entities."""
        return any(max(self.last.get(ref, -1), self.last_of_kind.get(ref.kind, -1)) > at for ref in refs)


def _from_calls(view: View, contract: Contract, written: _Writes, slot: Slot, value: Any) -> Iterator[Reason]:
    about = scope_of_slot(view, slot)[0]
    for _, ref in refs_in(value):
        at = written.at.get(ref.source)
        call = written.calls[at] if at is not None else None
        receipt = view.index.receipt_by_id.get(ref.source)
        tool = call.name if call is not None else receipt.call.tool if receipt is not None and receipt.call else ""
        if not _speaks(contract, slot, tool):
            yield no(
                "residual.claim",
                f"`{slot.name}` is not derived from what `{ref.source}` says",
                _derived(slot),
                slot.name,
            )
            continue
        subjects = [about] if about is not None else list(call.targets if call is not None else ())
        if about is not None and call is not None and _of_another(call, about):
            yield no("residual.claim", f"`{ref.source}` does not speak of {about}", f"a call about {about}", slot.name)
        void = written.after(at if at is not None else -1, subjects)
        if call is not None and not call.writes and not subjects:
            void = written.anywhere > written.at[call.id]  # nobody can say what a read of everything is about
        if void:
            yield no(
                "residual.claim",
                f"a later write makes void what `{ref.source}` says",
                "a read after the last write",
                slot.name,
            )


def _as_recorded(
    view: View, contract: Contract, sources: Sources, written: _Writes, slot: Slot, value: Any
) -> Iterator[Reason]:
    """A value that the record supports now, and goes on to support while the remainder runs."""
    decision = may_claim(view, contract, Claim(slot=slot.name, field=slot.name, value=plain(value, sources.says)))
    if decision.verdict is not Verdict.ACCEPT:
        codes = ", ".join(dict.fromkeys(decision.codes))
        yield no(
            "residual.claim",
            f"nothing recorded supports the value of `{slot.name}` ({codes})",
            _derived(slot),
            slot.name,
        )
        return
    about = scope_of_slot(view, slot)[0]
    if about is not None:
        void = written.after(-1, [about])
    else:
        basis = set(decision.basis)
        used = [r.call for r in view.receipts if r.digest in basis and r.call is not None]
        void = written.after(-1, [ref for call in used for ref in call.targets])
        void = void or (written.anywhere >= 0 and any(c.effect != "write" and not c.targets for c in used))
    if void:
        text = f"a write of the remainder makes void what `{slot.name}` rests on"
        yield no("residual.claim", text, "a reference to a read after the last write", slot.name)


def _of_another(call: Planned, about: EntityRef) -> bool:
    """Return whether a call addresses others of a kind, and not this one."""
    return about not in call.targets and any(target.kind == about.kind for target in call.targets)


def _speaks(contract: Contract, slot: Slot, tool: str) -> bool:
    """Return whether a tool is one that a slot's derivation reads."""
    if tool in {source.tool for _, source in terms(slot.derive.term)}:
        return True
    known = contract.tools.get(tool)
    kind = slot.entity.kind if slot.entity is not None else None
    return bool(facts(slot.derive.term)) and known is not None and any(rule.kind == kind for rule in known.yields)


def _derived(slot: Slot) -> str:
    return f"`$from` the call whose receipt says {slot.derive.source}"
