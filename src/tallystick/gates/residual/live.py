"""Realise and verify: what the live half of a takeover asks, from the view alone.

Dynamic arguments take their values from live receipts; a receipt has to match its node before anything of it flows on;
L_j is what of O has evidence that is valid now. A discharge taken back stays taken back in its tenure.
Source: residual completion, section 3.4, steps 2 and 3, equation 5.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from datetime import datetime
from typing import Any, Final

from tallystick.contracts.types import Contract
from tallystick.errors import InputError
from tallystick.gates.duties import open_duties
from tallystick.gates.owed import holds_now
from tallystick.gates.residual.construct import duty_id
from tallystick.gates.residual.ground import newest_choices, task_inputs
from tallystick.gates.residual.reasons import no
from tallystick.gates.residual.refs import TASK, Ref, plain, refs_in
from tallystick.gates.stage import END_OF_TIME
from tallystick.gates.undone import WITHDRAWN
from tallystick.model import jsontext
from tallystick.model.decision import Reason
from tallystick.model.pointer import MISSING, resolve, split
from tallystick.model.residual import Graph, Node, Owed, Residual
from tallystick.model.values import EntityRef, same
from tallystick.model.values import plain as digits
from tallystick.view import CallRecord, ReceiptRecord, View, targets_of
from tallystick.view.keys import entity_of, typed_args
from tallystick.view.records import TakeoverRecord

_ANSWER: Final = "the answer"
_SLOT: Final = re.compile(r"\{([^{}]*)\}")


def bound_args(view: View, node: Node, receipts: Mapping[str, str]) -> dict[str, Any] | Reason:
    """Return a node's arguments with live values, or the reason why one cannot be had.

    Args:
        view: the run's record.
        node: a node of the admitted graph.
        receipts: node id → id of its live receipt, for the nodes realised so far.
    """

    def look(ref: Ref) -> Any:
        if ref.source == TASK:
            found = resolve(task_inputs(view.task), ref.tokens)
        else:
            receipt = view.index.receipt_by_id.get(receipts.get(ref.source, ref.source))
            found = resolve(receipt.value, ref.tokens) if receipt is not None and receipt.good else MISSING
        if found is MISSING:
            raise InputError(f"nothing live of `{ref.source}` says anything at `{ref.at}`", where=node.id)
        return found

    try:
        args = plain(jsontext.loads(node.args), look)
    except InputError as bad:
        return no("residual.unbound", bad.message, "a live receipt that says it", node.id)
    return (
        args if isinstance(args, dict) else no("residual.unbound", "the arguments are no object", "an object", node.id)
    )


def bound_answer(view: View, graph: Graph, receipts: Mapping[str, str]) -> tuple[str, dict[str, Any]] | Reason:
    """Return the terminal response, its text and its claims, with live values, or the reason why one cannot be had.

    Args:
        view: the run's record.
        graph: the admitted graph.
        receipts: node id → id of its live receipt.
    """
    stated = {slot: jsontext.loads(text) for slot, text in graph.terminal.claims}
    node = Node(id=_ANSWER, tool="", effect="read", args=jsontext.dumps(stated))
    claims = bound_args(view, node, receipts)
    if isinstance(claims, Reason):
        return claims
    # In one go: what a value itself looks like is never taken for a slot.
    text = _SLOT.sub(lambda found: _spelled(claims[found[1]]) if found[1] in claims else found[0], graph.terminal.text)
    return text, claims


def _spelled(value: Any) -> str:
    """Return a claim's value as its receipt writes it."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool) or value is None or isinstance(value, (dict, list)):
        return jsontext.dumps(value)
    return digits(value) if not isinstance(value, int) else str(value)


def mismatch(view: View, contract: Contract, residual: Residual, node: Node, call_id: str) -> Reason | None:
    """Return how the live receipt of a node's call is not what the graph says, or None where it matches.

    Read top to bottom: the call is the node's; its answer is live and went well; its effects are done, are those
    foreseen, and repeat nothing kept; it discharges what it covers; and its result shows what was expected.
    """
    call = view.calls.get(call_id)
    if call is None or call.tool != node.tool or node.tool not in contract.tools:
        return _unmatched(f"`{call_id}` is no call of {node.tool} under this contract", node)
    receipt = _answer(call)
    if receipt is None or call.outcome != "ok":
        return _unmatched(
            f"call {call.id} of {call.tool} came out {call.outcome} ({call.why or 'no live receipt'})", node
        )
    if call.effect != node.effect:
        return _unmatched(f"call {call.id} is a {call.effect}, the node a {node.effect}", node)
    if node.effect == "write":
        wrong = _effects(view, residual, node, call)
        if wrong is not None:
            return wrong
    for pointer, text in node.expect:
        if not same(resolve(receipt.value, split(pointer)), jsontext.loads(text)):
            return _unmatched(f"the result of call {call.id} does not show what was expected at `{pointer}`", node)
    return None


def _answer(call: CallRecord) -> ReceiptRecord | None:
    good = [r for r in call.receipts if r.good and r.body.source != "imported" and r.body.cached_from is None]
    return good[-1] if good else None


def _effects(view: View, residual: Residual, node: Node, call: CallRecord) -> Reason | None:
    done = view.effects_of_call(call.id)
    left = [e.item or e.key for e in done if e.status != "done"]
    if left or not done:
        return _unmatched(f"call {call.id} did not take effect for {', '.join(left[:5]) or 'anything'}", node)
    if node.keys and sorted(e.key for e in done) != sorted(node.keys):
        return _unmatched(f"call {call.id} had another effect than the node", node)
    kept = {entry.key for entry in residual.kept}
    again = next((e.key for e in done if e.key in kept), None)
    if again is not None:
        return _unmatched(f"call {call.id} repeated an effect that is kept", node)
    addressed = [[ref.kind, ref.id] for ref in call.targets]
    if addressed != node.entities and not (_is_dynamic(residual, node) and all(e in addressed for e in node.entities)):
        return _unmatched(f"call {call.id} addressed other entities than the node", node)
    for name in node.covers:
        owed = view.obligations.get(name)
        if owed is not None and owed.kind == "event" and (
            owed.discharged_by is None or owed.discharged_by.call is not call
        ):  # fmt: skip
            return _unmatched(f"call {call.id} did not discharge `{name}`", node)
    return None


def superseded(view: View, residual: Residual) -> Reason | None:
    """Return how the user chose otherwise since the contract was frozen, or None.

    The frozen contract stays as it is; nothing more is written under one whose bindings no longer are the user's.
    """
    newer = [body for seq, body in view.stated if seq > residual.upto]
    if any(body.field == WITHDRAWN and body.value == "true" for body in newer):
        return no("residual.stale", "the requester took the request back", "a new request")
    if not newer and not any(
        choice.seq > residual.upto for choices in view.index.confirmed.values() for choice in choices.values()
    ):
        return None
    now = {(b.kind, b.id, b.name): b for seq, b in newest_choices(view) if seq > residual.upto}
    for binding in residual.bindings:
        other = now.get((binding.kind, binding.id, binding.name)) if binding.source != "task" and binding.kind else None
        if other is not None and not same(_value(other.value), _value(binding.value)):
            what = f"{binding.name} of {EntityRef(binding.kind, binding.id)}"
            return no("residual.stale", f"another {what} was chosen after the contract was frozen",
                      "a fresh contract of the state reached", binding.name)  # fmt: skip
    return None


def _value(text: str) -> Any:
    return jsontext.loads(text) if text else None


def _is_dynamic(residual: Residual, node: Node) -> bool:
    known = {TASK, *(entry.receipt for entry in residual.receipts)}
    return any(ref.source not in known for _, ref in refs_in(jsontext.loads(node.args)))


def unshown(
    view: View, contract: Contract, verified: Collection[EntityRef], node: Node, args: Mapping[str, Any]
) -> Reason | None:
    """Return which entity a write is about to address that nothing live has shown, or None.

    Args:
        view: the run's record.
        contract: what it is judged by.
        verified: the entities the frozen contract knows: `verified_entities`.
        node: the write.
        args: its arguments, with live values.
    """
    tool = contract.tools.get(node.tool)
    if tool is None:
        return None  # the act gate refuses it
    bound = {name for name, value in jsontext.loads(node.args).items() if any(True for _ in refs_in(value))}
    env = {"args": {**args, **typed_args(tool, args)}}
    for expr in tool.target:
        if any(r[0] == "args" and r[1:2] and r[1] in bound for r in expr.id.refs) and not entity_of(expr, env):
            text = f"nothing live says which {expr.kind} {node.tool} is for"
            return no("residual.grounding", text, f"a live receipt with the id of one {expr.kind}", node.id)
    for ref in targets_of(tool, args):
        if ref not in verified and ref.id not in view.index.kinds.get(ref.kind, {}):
            return no("residual.grounding", f"nothing has shown {ref}", f"a live receipt of {ref}", node.id)
    return None


def _unmatched(message: str, node: Node) -> Reason:
    return no("residual.unmatched", message, "another tenure, under a fresh contract of the state reached", node.id)


def discharged(
    view: View, contract: Contract, residual: Residual, record: TakeoverRecord, *, now: datetime = END_OF_TIME
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return (obligations whose evidence is valid now, those whose discharge was taken back in this tenure).

    Args:
        view: the run's record.
        contract: what it is judged by.
        residual: the frozen contract.
        record: the tenure so far: what its steps discharged before.
        now: when; standing duties may ask for it.
    """
    open_now = {duty_id(left) for left in open_duties(view, contract, now)} if _has_duties(residual) else set()
    valid = [owed.id for owed in residual.owed if _witnessed(view, record, owed, open_now)]
    # The newest step says it all: what was discharged before and is not there was taken back, and stays so.
    last = record.steps[-1] if record.steps else None
    gone = {*last.invalidated, *(set(last.discharged) - set(valid))} if last is not None else set()
    return (
        tuple(name for name in valid if name not in gone),
        tuple(owed.id for owed in residual.owed if owed.id in gone),
    )


def _has_duties(residual: Residual) -> bool:
    return any(owed.kind == "duty" for owed in residual.owed)


def _witnessed(view: View, record: TakeoverRecord, owed: Owed, open_now: set[str]) -> bool:
    """wit(o): instance-matching live evidence of this tenure, whose discharge is valid now."""
    if owed.kind == "duty":
        return owed.id not in open_now
    found = view.obligations.get(owed.id)
    if found is None:
        return False
    if owed.kind == "state":
        return holds_now(view, found)
    effect = found.discharged_by
    return effect is not None and effect.call.seq > record.seq and effect.status == "done" and not view.undone(effect)
