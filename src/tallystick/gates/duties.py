"""Standing duties: what a successful call brings with it, owed before the run may end.

"A return for a fault owes the refund of its shipping cost"; "a cart with a code applied owes a look at whether the code
still counts". A duty is in the contract, so it holds for every run; what one task owes is an obligation.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from tallystick.contracts.types import Contract, Duty
from tallystick.errors import ExpressionError
from tallystick.gates.scope import scope_of
from tallystick.model.proposal import Call
from tallystick.view import CallRecord, ReceiptRecord, Talk, View
from tallystick.view.keys import typed_args


@dataclass(frozen=True, slots=True)
class OpenDuty:
    """A duty that is not discharged, and the call that brought it about."""

    duty: Duty
    call: CallRecord
    receipt: ReceiptRecord


def open_duties(view: View, contract: Contract, now: datetime) -> Iterator[OpenDuty]:
    """Yield every duty of `contract` that the record leaves open, oldest first within each duty.

    Of several calls with the same arguments only the last brings a duty about: asking again replaces the first answer.
    """
    for duty in contract.duties:
        causes: dict[str, ReceiptRecord] = {}
        for receipt in view.receipts_of(duty.after):
            if receipt.call is not None and _stands(view, receipt):
                key = repr(sorted(receipt.call.args.items(), key=lambda item: item[0]))
                causes.pop(key, None)
                causes[key] = receipt
        for receipt in causes.values():
            assert receipt.call is not None
            if _applies(view, contract, duty, receipt, now) and not _discharged(view, contract, duty, receipt, now):
                yield OpenDuty(duty, receipt.call, receipt)


def _stands(view: View, receipt: ReceiptRecord) -> bool:
    """A success counts: a good read, or a write with an effect that nothing unmade. A preview is neither."""
    call = receipt.call
    if call is None or not receipt.good or call.effect == "preview":
        return False
    effects = view.effects_of_call(call.id)
    return call.effect == "read" or any(e.status in ("done", "partial") and not view.undone(e) for e in effects)


def _applies(view: View, contract: Contract, duty: Duty, receipt: ReceiptRecord, now: datetime) -> bool:
    if duty.when is None:
        return True
    assert receipt.call is not None
    call = Call(tool=duty.after, args=receipt.call.args, now=now)
    scope = scope_of(view, contract, contract.tools[duty.after], call)
    # Facts as last observed: the very effect that brings the duty about has made them old for deciding, not for owing.
    for expr in (*scope.tool.target, *scope.tool.bind):
        if expr.alias not in scope.entities:
            scope.bind(expr, trusting=True)
    try:
        return duty.when.evaluate({**scope.env, "result": receipt.value}) is not False
    except ExpressionError:
        return True


def _discharged(view: View, contract: Contract, duty: Duty, cause: ReceiptRecord, now: datetime) -> bool:
    assert cause.call is not None
    first = typed_args(contract.tools[duty.after], cause.call.args)
    for name in duty.owes:
        for receipt in view.receipts_of(name):
            if receipt is cause or receipt.call is None or not _stands(view, receipt):
                continue
            if not duty.ever and receipt.call.seq < cause.seq:
                continue
            if duty.expr is None:
                return True
            env: dict[str, Any] = {
                "args": typed_args(contract.tools[name], receipt.call.args),
                "result": receipt.value,
                "call": first,
                "now": now,
                "task": view.task.bindings,
                "talk": Talk(view),
            }
            try:
                if duty.expr.evaluate(env) is True:
                    return True
            except ExpressionError:
                continue
    return False
