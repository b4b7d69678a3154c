"""Which receipts a derivation demands: the newest of a tool about an entity, every page of a listing, the newest facts.

Looked up by tool and entity, so that its cost is that of the receipts it demands, whatever the length of the record.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from tallystick.contracts.terms import FUNCTIONS, facts, sources
from tallystick.contracts.types import Contract, Slot, Source, Term, Tool
from tallystick.gates.certify.evaluate import NotDerivableError, in_period
from tallystick.gates.certify.exhibits import Dates, anchor
from tallystick.gates.claim_evidence import outcome
from tallystick.gates.claim_reads import whole_answer
from tallystick.model.decision import Read
from tallystick.model.jsontext import dumps
from tallystick.model.pointer import MISSING, join, resolve, resolve_each
from tallystick.model.values import EntityRef
from tallystick.view import CallRecord, ReceiptRecord, View
from tallystick.view.keys import id_text

NEWEST: Final = frozenset({"identity", "last"})
"""Functions over one receipt, the newest; `first` is over the oldest, every other over all of them."""


@dataclass(frozen=True, slots=True)
class Demand:
    """What one source (or one fact) of a derivation rests on.

    Attributes:
        what: the source, or the field's name.
        places: (receipt, pointer) in the order their values count.
        ordered: another order would give another value.
    """

    what: Source | str
    places: tuple[tuple[ReceiptRecord, str], ...]
    ordered: bool = False


def demanded(
    view: View, contract: Contract, slot: Slot | None, term: Term, scope: EntityRef | None, dates: Dates | None
) -> tuple[Demand, ...]:
    """Return what a derivation demands in a scope, one entry for every source and every fact it reads."""
    found: list[Demand] = []
    for function, source in sources(term):
        tool = contract.tools.get(source.tool)
        if tool is None:
            continue
        receipts = chosen(view, contract, slot, function, source, tool, scope, dates)
        place = join(anchor(source))
        found.append(Demand(source, tuple((r, place) for r in receipts), ordered=function == "list"))
    for name in fact_names(slot, term):
        fact = view.facts(scope).get(name) if scope is not None else None
        receipt = view.index.receipt_by_id.get(fact.receipt) if fact is not None else None
        if fact is not None and receipt is not None:
            found.append(Demand(name, ((receipt, fact.pointer),)))
    return tuple(found)


def fact_names(slot: Slot | None, term: Term) -> tuple[str, ...]:
    """Return the fields of the slot's entity that a derivation's CEL expressions read."""
    if slot is None or slot.entity is None:
        return ()
    refs = (r for part in facts(term) for r in part.expr.refs)
    return tuple(dict.fromkeys(r[1] for r in refs if len(r) > 1 and r[0] == slot.entity.alias))


def chosen(
    view: View,
    contract: Contract,
    slot: Slot | None,
    function: str,
    source: Source,
    tool: Tool,
    scope: EntityRef | None,
    dates: Dates | None,
) -> Sequence[ReceiptRecord]:
    """Return the receipts a function over a source demands: good ones only, one for each call, each page once."""
    told = candidates(view, tool.name, scope)

    def fits(receipt: ReceiptRecord) -> bool:
        return usable(contract, tool, receipt, scope) and _dated(slot, source, receipt, dates)

    if function in NEWEST:
        return _one(reversed(told), fits)
    if function == "first":
        return _one(told, fits)
    if scope is None and tool.complete is not None and tool.effect == "read":
        newest = (r for page in view.pages_of(tool.name) for r in _one(reversed(page), fits))
        return whole_answer(tool, newest)[0]
    by_call: dict[str, ReceiptRecord] = {}
    for receipt in told:
        if receipt.call is not None and fits(receipt):
            by_call[receipt.call.id] = receipt
    found = list(by_call.values())
    return whole_answer(tool, found)[0] if tool.effect == "read" else found


def _one(told: Iterable[ReceiptRecord], fits: Any) -> list[ReceiptRecord]:
    """Return the newest good receipt of the first call met by the first of its good receipts.

    A call ranks by its first good receipt: an answer that is given again does not make it newer.
    """
    for receipt in told:
        if receipt.call is None or not fits(receipt):
            continue
        good = [r for r in receipt.call.receipts if fits(r)]
        if good[0] is receipt:
            return good[-1:]
    return []


def candidates(view: View, tool: str, scope: EntityRef | None) -> Sequence[ReceiptRecord]:
    """Return the receipts of a tool, about an entity where one is given, oldest first."""
    return view.receipts_of(tool) if scope is None else view.receipts_about(tool, scope)


def usable(contract: Contract, tool: Tool, receipt: ReceiptRecord, scope: EntityRef | None) -> bool:
    """Return whether a receipt is evidence of its tool: it went well, repeats no write, names no other entity."""
    call = receipt.call
    if call is None or not _own(tool, receipt) or any(True for _ in outcome(receipt)):
        return False
    return not names_other(contract, receipt, scope)


def _own(tool: Tool, receipt: ReceiptRecord) -> bool:
    call = receipt.call
    assert call is not None
    if call.effect == "preview" and tool.effect != "preview":
        return False
    return receipt.body.cached_from is None or call.effect != "write"  # a repeated answer shows no second effect


def names_other(contract: Contract, receipt: ReceiptRecord, scope: EntityRef | None) -> bool:
    """Return whether a read that asked for an entity answers with another's record: the declared id says so."""
    call = receipt.call
    tool = contract.tools.get(call.tool) if call is not None else None
    if call is None or tool is None or scope is None or scope not in call.targets:
        return False
    rules = [r for r in tool.yields if r.kind == scope.kind and r.id is not None]
    if len(rules) != len(tool.yields) or not rules or any("*" in r.at for r in rules):
        return False
    stated = [resolve(receipt.value, (*r.at, *(r.id or ()))) for r in rules]
    known = [id_text(s) for s in stated if s is not MISSING]
    return bool(known) and scope.id not in known and len(call.targets) == 1


def _dated(slot: Slot | None, source: Source, receipt: ReceiptRecord, dates: Dates | None) -> bool:
    """Return whether a receipt is of the period. The items of a listing are looked at one by one instead."""
    period = slot.dates if slot is not None else None
    if period is None or dates is None or ("*" in source.pointer and period.arg is None):
        return True
    try:
        return in_period(period, dates, receipt, receipt.value)
    except NotDerivableError:
        return False


def needs_all(slot: Slot, function: str, source: Source, tool: Tool) -> bool:
    """Return whether a source's read must be complete: whoever counts, adds or lists says that nothing is left out."""
    if tool.effect != "read":
        return False
    return slot.quantifier != "one" or ("*" in source.pointer and FUNCTIONS[function].complete)


def doubtful(view: View, tool: Tool, scope: EntityRef | None) -> Iterator[CallRecord]:
    """Yield the writes by a tool, of a scope, of which nobody knows whether they took effect."""
    for call in (*view.doubts.values(), *view.open_calls.values()):
        mine = scope is None or not call.targets or scope in call.targets
        if mine and call.tool == tool.name and call.effect == "write":
            yield call


def lookup(tool: Tool, scope: EntityRef | None) -> Read:
    """Return the call of a tool that would give evidence about a scope, as far as its arguments are known."""
    args: dict[str, Any] = {}
    for expr in tool.target:
        path = expr.id.refs[0] if len(expr.id.refs) == 1 else ()
        if scope is not None and expr.kind == scope.kind and len(path) == 2 and path[0] == "args" and not expr.each:
            args[path[1]] = scope.id
    return Read(tool=tool.name, args=dumps(args))


def again(receipt: ReceiptRecord) -> tuple[Read, ...]:
    """Return the read a receipt answers, to be made once more; nothing where it answers a write."""
    call = receipt.call
    if call is None or call.effect == "write":
        return ()
    return (Read(tool=call.tool, args=dumps(dict(call.args))),)


def listed(tool: Tool, receipt: ReceiptRecord) -> Iterator[EntityRef]:
    """Yield the entities a result holds records of."""
    for rule in tool.yields:
        for _, record in resolve_each(receipt.value, rule.at):
            stated = resolve(record, rule.id) if rule.id is not None else MISSING
            name = id_text(stated) if stated is not MISSING else None
            if name is not None:
                yield EntityRef(rule.kind, name)
