"""Settling doubt by the contract's status query: which read to make, and what its receipt shows."""

from __future__ import annotations

from tallystick.contracts.types import Contract
from tallystick.errors import ExpressionError
from tallystick.model.decision import Read
from tallystick.model.events import DoubtSettled
from tallystick.model.jsontext import dumps
from tallystick.model.values import same
from tallystick.view import CallRecord, ReceiptRecord, View
from tallystick.view.keys import key_value, typed_args


def status_query(contract: Contract, call: CallRecord) -> Read | None:
    """Return the read that settles a call in doubt, or None where the contract declares none."""
    tool = contract.tools.get(call.tool)
    if tool is None or tool.settle is None:
        return None
    env = {"args": typed_args(tool, call.args)}
    args = {}
    for name, expr in tool.settle.args.items():
        try:
            args[name] = key_value(expr.evaluate(env))
        except ExpressionError:
            return None
    return Read(tool=tool.settle.tool, args=dumps(args))


def settled_by(view: View, contract: Contract, call: CallRecord, receipt: ReceiptRecord) -> DoubtSettled | None:
    """Return what a receipt shows about a call in doubt, or None where it shows nothing.

    `shows` true: it happened. False: it did not, provided the read came after the call and later than the declared lag
    (a read that may have missed the write shows nothing) and the tool did not answer that it is still at work.
    """
    tool = contract.tools.get(call.tool)
    if tool is None or tool.settle is None or not receipt.good or receipt.call is None:
        return None
    settle = tool.settle
    if receipt.call.tool != settle.tool or receipt.observed_seq <= call.seq:
        return None
    env: dict[str, object] = {"args": typed_args(tool, call.args)}
    for name, expr in settle.args.items():
        try:
            if not same(receipt.call.args.get(name), key_value(expr.evaluate(env))):
                return None
        except ExpressionError:
            return None
    env["result"] = receipt.value
    for rule in contract.tools[settle.tool].yields:
        refs = [r for r in (*receipt.call.targets, *view.entities(rule.kind)) if r.kind == rule.kind]
        mine = next((r for r in refs if any(f.receipt == receipt.id for f in view.facts(r).values())), None)
        if mine is not None:
            facts = view.facts(mine)
            env[rule.kind] = {n: f.value for n, f in facts.items() if f.receipt == receipt.id and f.problem is None}
            break
    try:
        shows = settle.shows.evaluate(env)
    except ExpressionError:
        return None
    if shows is True:
        return DoubtSettled(call=call.id, outcome="ok", by="query", evidence=[receipt.id])
    if shows is False:
        if call.outcome == "in_flight":
            return None  # the tool itself said "not finished": not there yet is not never
        if call.at is None or receipt.observed_at is None or receipt.observed_seq <= call.rest_seq:
            return None  # read while the call was still under way, it may have come before the change
        if (receipt.observed_at - call.at).total_seconds() < settle.lag_seconds:
            return None
        return DoubtSettled(call=call.id, outcome="no_effect", by="query", evidence=[receipt.id])
    return None
