"""Never twice: is this very effect done, under way, or in doubt?

Identity is tool + canonical entity + canonical arguments, without idempotency keys. Two identical calls can be two real
wishes (two obligation instances, a second request by the user); the same wish under a new call id is one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tallystick.contracts.types import Tool
from tallystick.gates.doubt import why_in_doubt
from tallystick.model.decision import Decision, Reason, Verdict
from tallystick.model.proposal import Call
from tallystick.model.values import same
from tallystick.view import EffectRecord, View
from tallystick.view.keys import batch_items, effect_keys, idempotency_key
from tallystick.view.obligations import matches

_SETTLED = ("done",)
_DOUBTFUL = ("in_doubt", "partial")


def duplicate(view: View, tool: Tool, call: Call, typed: Mapping[str, Any]) -> Decision | None:
    """Return the decision where an earlier attempt decides the matter, or None where the effect is new.

    The decision's verdict is `return_recorded`, `reconcile`, `hold` (under way), `refuse` (part of a batch is done, or
    a key is bound to another call), or `admit` (a retry under the same key that the tool declares it deduplicates).
    """
    conflict = _key_conflict(view, tool, call)
    if conflict is not None:
        return conflict
    keys = effect_keys(tool, call.args, typed)
    if len(set(keys)) < len(keys):
        return _repeated(tool, call, keys)
    attempts = [e for key in keys for e in view.effects(key)]
    if not attempts:
        return None
    doubtful = [e for e in attempts if e.status in _DOUBTFUL]
    if doubtful:
        return _in_doubt(view, tool, call, doubtful[-1])
    running = [e for e in attempts if e.status in ("in_flight", "pending")]
    if running:
        return _under_way(running[-1])
    done: list[EffectRecord] = []
    for key in keys:
        settled = [e for e in view.effects(key) if e.status in _SETTLED and not view.undone(e)]
        if settled and not _wished_again(view, tool, call, settled):
            done.append(settled[-1])
    if not done:
        return None
    if len(done) == len(keys):
        return _recorded(done)
    return _partly(tool, call, keys, done)


def _wished_again(view: View, tool: Tool, call: Call, done: Sequence[EffectRecord]) -> bool:
    """Return whether the record asks for more effects of this identity than are done."""
    last = done[-1]
    if call.wish:
        owed = view.obligations.get(call.wish)
        if owed is not None:
            mine = owed.tool in (None, tool.name) and matches(owed, last)
            return mine and owed.discharged_by is None and owed.settled is None
    if _unspent_wish(view, tool, last.call.seq):
        return True
    owed_count = sum(
        1
        for o in view.obligations.values()
        if o.kind == "event" and o.tool == tool.name and matches(o, last) and (o.settled is None or o.discharged_by)
    )
    return owed_count > len(done)


def _unspent_wish(view: View, tool: Tool, after: int) -> bool:
    """Return whether the user asked again since `after` and no repeated effect has used that up yet.

    One wish is good for one call that repeats an effect; what is done for the first time needs none and uses none up.
    """
    asked = [(seq, wish.tool) for seq, wish in view.wishes if seq > after and wish.tool in (None, tool.name)]
    if not asked:
        return False
    tools = [tool.name] if all(name is not None for _, name in asked) else list(view.contract.tools)
    spent = {
        effect.call.id
        for name in tools
        for effect in view.writes(name)
        if effect.call.seq > asked[0][0] and effect.status not in ("no_effect", "simulated") and _repeats(view, effect)
    }
    return len(asked) > len(spent)


def _repeats(view: View, effect: EffectRecord) -> bool:
    return any(e.status in _SETTLED and e.call.seq < effect.call.seq for e in view.effects(effect.key))


def _recorded(done: list[EffectRecord]) -> Decision:
    last = done[-1]
    receipt = last.receipt
    return Decision(
        verdict=Verdict.RETURN_RECORDED,
        reasons=(
            Reason(
                code="effect.duplicate",
                message=f"{last.tool} already took effect in call {last.call.id}; {_what_shows_it(last)}",
                reverses="a new wish by the user, or an obligation of its own for a second effect",
                where=last.key,
                refs=(last.call.seq,) if receipt is None else (last.call.seq, receipt.seq),
            ),
        ),
        basis=tuple(d for d in (last.call.digest, receipt.digest if receipt else "") if d),
        recorded=receipt.id if receipt is not None else None,
    )


def _what_shows_it(effect: EffectRecord) -> str:
    receipt = effect.receipt
    if any(r.outcome in ("ok", "partial") for r in effect.call.receipts):
        return "its receipt is handed back"
    if receipt is None or receipt.call is None or receipt.call is effect.call:
        return "a principal settled that it happened, its own answer was lost"
    return f"{receipt.call.tool} (receipt {receipt.id}) shows that it happened, its own answer was lost"


def _partly(tool: Tool, call: Call, keys: Sequence[str], done: list[EffectRecord]) -> Decision:
    items = batch_items(tool, call.args) or keys
    finished = {e.key for e in done}
    left = [item for item, key in zip(items, keys, strict=True) if key not in finished]
    return Decision(
        verdict=Verdict.REFUSE,
        reasons=(
            Reason(
                code="effect.duplicate",
                message=f"{len(done)} of {len(keys)} items are done already; only {', '.join(left[:10])} may go out",
                reverses=f"the same call with only: {', '.join(left[:10])}",
                refs=tuple(e.call.seq for e in done),
            ),
        ),
        basis=tuple(e.call.digest for e in done),
    )


def _repeated(tool: Tool, call: Call, keys: Sequence[str]) -> Decision:
    items = batch_items(tool, call.args) or keys
    twice = next(item for item, key in zip(items, keys, strict=True) if keys.count(key) > 1)
    reason = Reason(
        code="effect.duplicate",
        message=f"the call names `{twice}` twice; each item takes effect once",
        reverses="the same call with every item once",
    )
    return Decision(verdict=Verdict.REFUSE, reasons=(reason,))


def _in_doubt(view: View, tool: Tool, call: Call, attempt: EffectRecord) -> Decision:
    earlier = attempt.call
    refs = (earlier.seq, *(r.seq for r in earlier.receipts))
    key = idempotency_key(tool, call.idempotency_key, call.args)
    if tool.dedupes_by_key and key is not None and key == earlier.idempotency_key and same(earlier.args, call.args):
        reason = Reason(
            code="effect.retry_same_key",
            message=f"{tool.name} deduplicates by key, and key and arguments are those of call {earlier.id}",
            where=attempt.key,
            refs=refs,
        )
        return Decision(verdict=Verdict.ADMIT, reasons=(reason,), basis=(earlier.digest,))
    why = why_in_doubt(view.contract, earlier)
    ask = f"{tool.settle.tool} as the contract says" if tool.settle is not None else "a read, or a person"
    reason = Reason(
        code="effect.in_doubt",
        message=f"call {earlier.id} of {tool.name} may have taken effect ({why})",
        reverses=f"settle call {earlier.id} by {ask}",
        where=attempt.key,
        refs=refs,
    )
    return Decision(verdict=Verdict.RECONCILE, reasons=(reason,), basis=(earlier.digest,), in_doubt=earlier.id)


def _under_way(attempt: EffectRecord) -> Decision:
    earlier = attempt.call
    said = "answered that it is not finished" if attempt.status == "pending" else "has no receipt yet"
    reason = Reason(
        code="effect.in_flight",
        message=f"call {earlier.id} of {earlier.tool} is under way: it {said}",
        reverses=f"the final receipt of call {earlier.id}; only polling is possible until then",
        where=attempt.key,
        refs=(earlier.seq,),
    )
    return Decision(verdict=Verdict.HOLD, reasons=(reason,), basis=(earlier.digest,))


def _key_conflict(view: View, tool: Tool, call: Call) -> Decision | None:
    key = idempotency_key(tool, call.idempotency_key, call.args)
    if key is None:
        return None
    user = view.key_user(tool.name, key)
    if user is None or same(user.args, call.args):
        return None
    reason = Reason(
        code="idempotency.conflict",
        message=f"key `{key}` is bound to call {user.id}, which had other arguments",
        reverses="a fresh idempotency key",
        where=tool.idempotency_arg or "",
        refs=(user.seq,),
    )
    return Decision(verdict=Verdict.REFUSE, reasons=(reason,), basis=(user.digest,))
