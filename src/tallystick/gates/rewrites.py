"""Writing again what was written as asked, because words say otherwise: read again first.

A write that went well states, in its structured answer, the very value it was asked to set; its text shows another. The
record is right and the display wrong, or the other way round: either way a further write settles nothing, and a read
does. A wish or a word of the user since then is a reason of its own.
"""

from __future__ import annotations

from collections.abc import Iterator

from tallystick.gates.answers import Answer, Missing
from tallystick.gates.channels import Channels
from tallystick.gates.scope import Scope
from tallystick.model.decision import Reason
from tallystick.model.pointer import MISSING, resolve, split
from tallystick.model.values import EntityRef, instant_of, same
from tallystick.view import Fact, ReceiptRecord, View


def rewritten(scope: Scope) -> Iterator[Answer]:
    """Hold a write that sets a field of an entity to something else than an earlier write of the run set, as asked."""
    for ref in dict.fromkeys(scope.entities.values()):
        facts = scope.view.facts(ref)
        for name, wanted in scope.call.args.items():
            fact = facts.get(name)
            if fact is None or _agree(wanted, fact.value):
                continue
            receipt = _set_as_asked(scope.view, name, fact)
            if receipt is not None and not _asked_since(scope.view, receipt):
                yield Missing((_reason(ref, name, fact, receipt),))


def _set_as_asked(view: View, name: str, fact: Fact) -> ReceiptRecord | None:
    """Return the receipt of a write that set the field to what it was asked, and whose text shows something else."""
    receipt = view.index.receipt_by_id.get(fact.receipt)
    call = receipt.call if receipt is not None else None
    if receipt is None or call is None or call.effect != "write" or name not in call.args:
        return None
    if receipt.body.structured is None or not receipt.text or not _agree(call.args[name], fact.value):
        return None
    tokens = split(fact.pointer)
    raw = resolve(receipt.value, tokens)
    other = Channels(receipt.text).otherwise(tokens, raw, alone=True) if tokens and raw is not MISSING else None
    return receipt if other is not None else None


def _agree(left: object, right: object) -> bool:
    """Return whether two values are the same, instants by the instant: zones are written in many ways."""
    if same(left, right):
        return True
    try:
        return instant_of(left) == (instant_of(right) if isinstance(right, str) else right)
    except ValueError:
        return False


def _asked_since(view: View, receipt: ReceiptRecord) -> bool:
    if view.wishes and view.wishes[-1][0] > receipt.seq:
        return True
    return any(seq > receipt.seq and body.role == "user" for seq, body in reversed(view.said))


def _reason(ref: EntityRef, name: str, fact: Fact, receipt: ReceiptRecord) -> Reason:
    return Reason(
        code="effect.as_asked",
        message=f"{name} of {ref} is {fact.value}, as it was asked for; only the text of that answer shows another",
        reverses=f"a read of {ref}, or the user's word",
        where=name,
        refs=(receipt.seq,),
    )
