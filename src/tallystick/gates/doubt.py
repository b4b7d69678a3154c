"""Why a result is not the evidence it was meant to be, in words: which signal, which predicate, at which pointer."""

from __future__ import annotations

from typing import Any, Final

from tallystick.contracts.types import Contract, Expr
from tallystick.errors import InputError
from tallystick.model import jsontext
from tallystick.model.pointer import MISSING, join, resolve, resolve_each, split
from tallystick.model.values import EntityRef
from tallystick.view import CallRecord, ReceiptRecord, View
from tallystick.view.keys import id_text

SHOWN: Final = 60
"""Characters of a value that a sentence repeats; secret fields hold marks by now."""
_PLAIN: Final = {
    "": "no receipt",
    "crash": "its process ended before a receipt was written",
    "result.too_large": "the result is too large to be judged",
    "result.synthetic": "a framework made this result, not the tool",
    "result.unreadable": "the result cannot be read",
    "result.no_positive_evidence": "nothing in the result shows that the write happened",
    "result.partial": "part of the change was not applied",
}


def why_in_doubt(contract: Contract, call: CallRecord) -> str:
    """Return why nobody can say whether `call` took effect, as a clause without a full stop."""
    last = call.receipts[-1] if call.receipts else None
    if last is None or call.why == "crash":
        return _PLAIN.get(call.why, call.why or "no receipt")
    tool = contract.tools.get(call.tool)
    if call.why == "result.not_ok":
        ok = tool.ok if tool is not None else None
        return f"`ok: {ok.source}` is not true: {_seen(ok, last)}" if ok is not None else "the result is false"
    if call.why == "result.pending" and tool is not None and tool.pending is not None and not last.pointer:
        return f"`pending: {tool.pending.source}` is true: {_seen(tool.pending, last)}"
    if call.why in ("result.transport_error", "result.error_flag"):
        return last.body.error or "the result is flagged an error"
    if last.pointer:
        found = resolve(last.value, split(last.pointer))
        said = "" if found is MISSING else f" is {shown(found)}"
        return f"{_PLAIN.get(call.why, call.why)}: {last.pointer} of the result{said}"
    return _PLAIN.get(call.why, call.why)


def _seen(expr: Expr | None, receipt: ReceiptRecord) -> str:
    """Return what the result has at every place the expression reads."""
    found = []
    for ref in expr.refs if expr is not None else ():
        if not ref or ref[0] != "result":
            continue
        value = resolve(receipt.value, tuple(str(token) for token in ref[1:]))
        place = join(tuple(str(token) for token in ref[1:])) or "the result"
        found.append(f"{place} is missing" if value is MISSING else f"{place} is {shown(value)}")
    return ", ".join(dict.fromkeys(found)) or f"the result is {shown(receipt.value)}"


def shown(value: Any) -> str:
    """Return a value as short JSON text."""
    try:
        text = jsontext.dumps(value)
    except InputError:
        text = type(value).__name__
    return text if len(text) <= SHOWN else text[: SHOWN - 1] + "…"


def what_it_lacked(view: View, contract: Contract, tool: str, ref: EntityRef, name: str) -> str:
    """Return why the last receipt of the read `tool` about `ref` states no `name` of it, as a clause; "" for none.

    A read that was made and did not help is told apart from one that was not made: its `yields` may be what is wrong.
    """
    last = next((r for r in reversed(view.receipts_of(tool)) if r.call is not None
                 and (not r.call.targets or ref in r.call.targets)), None)  # fmt: skip
    if last is None or last.call is None:
        return ""
    said = f"the last answer of {tool} (receipt {last.id})"
    if not last.good:
        return f"{said} is no evidence: {_PLAIN.get(last.code, last.code)}"
    for rule in contract.tools[tool].yields:
        if rule.kind != ref.kind or name not in rule.fields:
            continue
        found = list(resolve_each(last.value, rule.at))
        if not found:
            return f"{said} has nothing at {join(rule.at) or 'its top'}, where the contract's `yields` looks"
        ids = []
        for pointer, item in found:
            stated = last.call.args.get(rule.id_arg, MISSING) if rule.id_arg else resolve(item, rule.id or ())
            text = id_text(stated) if stated is not MISSING else None
            if text == ref.id:
                return f"{said} has no {name} at {pointer}{join(rule.fields[name])}"
            ids.append(f"has no id ({ref.kind}) at {pointer}{join(rule.id or ())}" if text is None
                       else f"is about {EntityRef(ref.kind, text)}")  # fmt: skip
        return f"{said} {ids[0]}"
    return ""
