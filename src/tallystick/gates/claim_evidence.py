"""What a cited receipt is worth: it resolves, answers a call, went well at every level, and speaks of the subject.

Source: evidence-carrying termination, checks 2 (scope), 3 (outcome) and 4 (reference).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from tallystick.contracts.types import Contract, Tool, Yield
from tallystick.errors import InputError
from tallystick.model import jsontext
from tallystick.model.decision import Reason
from tallystick.model.pointer import MISSING, resolve, resolve_each, split
from tallystick.model.proposal import Claim
from tallystick.model.values import EntityRef, same
from tallystick.view import ReceiptRecord, View
from tallystick.view.fold_calls import write_time
from tallystick.view.keys import id_text

DONE: Final = "done"
"""Reserved field: `done` (or the tool's own name) being true says that the cited write took effect."""
EXISTS: Final = "exists"
"""Reserved field: the subject is, or is not, there."""
_OUTCOMES: Final = {
    "unknown": "what came of the call is not known",
    "in_flight": "the call is not finished",
    "no_effect": "the call failed",
    "not_started": "the call never started",
    "simulated": "the effect was only simulated",
}


@dataclass(frozen=True, slots=True)
class Record:
    """The part of a result that is about one entity: its place, its value, and the yield that found it, if one did."""

    tokens: tuple[str, ...]
    value: Any
    rule: Yield | None = None


def cited(view: View, claim: Claim) -> tuple[list[ReceiptRecord], list[Reason]]:
    """Return the receipts a claim cites, and why a citation does not resolve to one answer of one recorded call."""
    found: list[ReceiptRecord] = []
    reasons: list[Reason] = []
    for ref in claim.cites:
        receipt = view.receipt(ref)
        if receipt is None:
            reasons.append(_unresolved(view, ref))
            continue
        several = view.index.receipts_by_native.get(ref, [])
        if receipt.id != ref and len({r.call.id for r in several if r.call is not None}) > 1:
            reasons.append(
                Reason(
                    code="pairing.ambiguous",
                    message=f"`{ref}` names {len(several)} receipts of different calls",
                    reverses=f"a citation of one occurrence, like `{ref}#1`",
                    where=ref,
                    refs=tuple(r.seq for r in several),
                )
            )
            continue
        unpaired = _unpaired(view, ref, receipt)
        if unpaired is not None:
            reasons.append(unpaired)
        elif all(r is not receipt for r in found):
            found.append(receipt)
    return found, reasons


def _unresolved(view: View, ref: str) -> Reason:
    calls = view.calls_named(ref) or ((view.calls[ref],) if ref in view.calls else ())
    if calls:
        return Reason(
            code="receipt.missing",
            message=f"call `{ref}` has no receipt",
            reverses="the receipt of that call",
            where=ref,
            refs=tuple(c.seq for c in calls),
        )
    return Reason(
        code="receipt.forged",
        message=f"no receipt `{ref}` exists in this run",
        reverses="a receipt of this run",
        where=ref,
    )


def _unpaired(view: View, ref: str, receipt: ReceiptRecord) -> Reason | None:
    if receipt.call is not None:
        return None
    native = receipt.body.native_id
    calls = view.calls_named(native) if native is not None else ()
    if len(calls) > 1:
        names = ", ".join(str(t) for c in calls for t in c.targets) or f"{len(calls)} calls"
        return Reason(
            code="pairing.ambiguous",
            message=f"result `{ref}` could answer {names}; it certifies none of them",
            reverses="a read of each",
            where=ref,
            refs=(receipt.seq, *(c.seq for c in calls)),
        )
    return Reason(
        code="receipt.orphan",
        message=f"result `{ref}` answers no recorded call, so its tool and arguments are not known",
        reverses="a receipt of a recorded call",
        where=ref,
        refs=(receipt.seq,),
    )


def worth(view: View, contract: Contract, claim: Claim, receipt: ReceiptRecord) -> list[Reason]:
    """Return every reason why a paired receipt cannot support a claim about the claim's subject."""
    reasons = [*(r for r in outcome(receipt) if not _rejection(claim, receipt, r)), *_echo(contract, receipt)]
    subject = claim.subject
    if subject is not None and not records(contract, receipt, subject) and not _asks_for_all(contract, claim, receipt):
        reasons.append(_other(receipt, subject))
    # That something was done stays so; what state it left may have changed since.
    stale = None if _is_event(claim, receipt) else superseded(view, receipt, subject)
    if stale is not None:
        reasons.append(stale)
    if claim.as_of is not None:
        reasons.extend(_older_than(view, receipt, claim.as_of))
    return reasons


def _asks_for_all(contract: Contract, claim: Claim, receipt: ReceiptRecord) -> bool:
    """An unfiltered listing of the subject's kind speaks of what it leaves out, too."""
    call, subject = receipt.call, claim.subject
    tool = contract.tools.get(call.tool) if call is not None else None
    if claim.field != EXISTS or claim.value is not False or tool is None or tool.complete is None or subject is None:
        return False
    assert call is not None
    filters = [name for name in call.args if name != tool.complete.page_arg]
    return not filters and any(rule.kind == subject.kind and "*" in rule.at for rule in tool.yields)


def _rejection(claim: Claim, receipt: ReceiptRecord, reason: Reason) -> bool:
    """That a write had no effect is shown by the very receipt that says so."""
    return (
        _is_event(claim, receipt)
        and claim.value is False
        and receipt.outcome == "no_effect"
        and reason.code == receipt.code
    )


def _is_event(claim: Claim, receipt: ReceiptRecord) -> bool:
    call = receipt.call
    return call is not None and call.effect == "write" and claim.field in (DONE, call.tool)


def outcome(receipt: ReceiptRecord) -> Iterator[Reason]:
    """Yield why a receipt is no evidence that its call went well: it proves nothing live, or it did not go well."""
    proves_nothing = replica(receipt)
    if proves_nothing is not None:
        yield proves_nothing
    yield from went(receipt)


def replica(receipt: ReceiptRecord) -> Reason | None:
    """Return the reason against a receipt of a forked environment, or one that repeats what proves nothing."""
    if receipt.body.source != "replica" and (receipt.body.cached_from is None or receipt.proves):
        return None
    text = f"`{_name(receipt)}` comes from a replica or repeats what proves nothing"
    return _of(receipt, "receipt.replica", text, "a live receipt")


def _name(receipt: ReceiptRecord) -> str:
    native = receipt.call.native_id if receipt.call is not None else None
    return receipt.body.native_id or native or receipt.id


def went(receipt: ReceiptRecord) -> Iterator[Reason]:
    """Yield why a receipt does not show that its call went well: transport, protocol, body, declared predicates."""
    call = receipt.call
    assert call is not None
    name = _name(receipt)
    if call.args_text is not None and _mutated(call.args_text, call.args):
        yield _of(receipt, "args.mutated", f"`{name}` answers other arguments than the model wrote",
                  "a call with the arguments as written")  # fmt: skip
    if receipt.code == "result.simulated":
        yield _of(receipt, receipt.code, f"`{name}`: the effect was only simulated", "the real effect")
        return
    if receipt.outcome in ("ok", "partial") or (call.settled_by is not None and call.outcome == "ok"):
        return
    if call.effect == "write" and call.outcome in ("ok", "partial"):
        first = next((r for r in call.receipts if r.outcome in ("ok", "partial")), None)
        yield Reason(
            code="claim.contradicted_earlier",
            message=f"{call.tool} had already succeeded; `{name}` only answers a repeat of it",
            reverses="a claim that agrees with the first receipt",
            refs=(receipt.seq,) if first is None else (first.seq, receipt.seq),
        )
        return
    text = f"`{name}`: {_OUTCOMES.get(receipt.outcome, receipt.outcome)} ({receipt.code})"
    yield Reason(
        code=receipt.code, message=text, reverses="a receipt that shows success", where=receipt.pointer,
        refs=(receipt.seq,),
    )  # fmt: skip
    if call.in_doubt and receipt.outcome == "unknown":
        yield _of(receipt, "doubt.open", f"whether {call.tool} took effect is in doubt", f"call {call.id} settled")


def _echo(contract: Contract, receipt: ReceiptRecord) -> Iterator[Reason]:
    """A read whose answer names another thing than was asked for does not answer the question (writes: the outcome)."""
    call = receipt.call
    assert call is not None
    tool = contract.tools.get(call.tool)
    if tool is None or call.effect == "write":
        return
    for arg, tokens in tool.echoes:
        echoed = resolve(receipt.value, tokens)
        if arg in call.args and echoed is not MISSING and not same(echoed, call.args[arg]):
            text = f"{call.tool} was asked for `{arg}` {call.args[arg]}, the result names {echoed}"
            yield _of(receipt, "result.echo", text, "a result for what was asked")


def _of(receipt: ReceiptRecord, code: str, message: str, reverses: str) -> Reason:
    return Reason(code=code, message=message, reverses=reverses, refs=(receipt.seq,))


def _mutated(written: str, sent: Mapping[str, Any]) -> bool:
    try:
        return not same(jsontext.loads(written), sent)
    except InputError:
        return True


def records(contract: Contract, receipt: ReceiptRecord, subject: EntityRef) -> list[Record]:
    """Return the parts of a result that are about `subject`; empty where the receipt does not speak of it.

    It does where its call addressed the subject, or where a declared yield finds a record with that very id.
    """
    call = receipt.call
    if call is None:
        return []
    tool = contract.tools.get(call.tool)
    if subject in call.targets:
        item = _batch_answer(tool, receipt, subject)
        if item is None and tool is not None and tool.batch is not None and tool.batch.results:
            return []  # an item that the answer leaves out is not spoken of
        return [item] if item is not None else [Record((), receipt.value, _keyed(tool, subject))]
    found = []
    for rule in tool.yields if tool is not None else ():
        if rule.kind != subject.kind:
            continue
        for pointer, here in resolve_each(receipt.value, rule.at):
            stated = call.args.get(rule.id_arg, MISSING) if rule.id_arg else resolve(here, rule.id or ())
            if stated is not MISSING and id_text(stated) == subject.id:
                found.append(Record(split(pointer), here, rule))
    return found


def _keyed(tool: Tool | None, subject: EntityRef) -> Yield | None:
    rules = tool.yields if tool is not None else ()
    return next((r for r in rules if r.kind == subject.kind and not r.at), None)


def _batch_answer(tool: Tool | None, receipt: ReceiptRecord, subject: EntityRef) -> Record | None:
    """Return the answer about one item of a batch."""
    batch = tool.batch if tool is not None else None
    if batch is None or not batch.results:
        return None
    tokens = batch.results if "*" in batch.results else (*batch.results, "*")
    for pointer, answer in resolve_each(receipt.value, tokens):
        stated = resolve(answer, batch.result_key) if batch.result_key else answer
        if stated is not MISSING and id_text(stated) == subject.id:
            return Record(split(pointer), answer)
    return None


def _other(receipt: ReceiptRecord, subject: EntityRef) -> Reason:
    call = receipt.call
    assert call is not None
    about = ", ".join(str(t) for t in call.targets[:5]) or "no entity the contract knows"
    return Reason(
        code="evidence.other_entity",
        message=f"the receipt of {call.tool} speaks of {about}, not of {subject}",
        reverses=f"a receipt about {subject}",
        where=str(subject),
        refs=(receipt.seq,),
    )


def superseded(view: View, receipt: ReceiptRecord, subject: EntityRef | None) -> Reason | None:
    """Return the reason why evidence is void: a write to its entity came after it was observed (or may be unseen)."""
    call = receipt.call
    assert call is not None
    tool = view.contract.tools.get(call.tool)
    for ref in (subject,) if subject is not None else call.targets:
        last = view.last_write(ref)
        if receipt.observed_seq < last:
            text = f"the answer of {call.tool} is from before a later write to {ref}"
        elif call.effect != "write" and view.void(ref, receipt.observed_seq):
            text = f"the answer of {call.tool} came while a write to {ref} was still under way"
        elif last and call.effect != "write" and _may_lag(view, tool, receipt, ref):
            text = f"the answer of {call.tool}, which lags, may not show the last write to {ref} yet"
        else:
            continue
        return Reason(
            code="evidence.stale",
            message=text,
            reverses=f"a read of {ref} after that write",
            where=str(ref),
            refs=(receipt.seq, last),
        )
    return None


def _may_lag(view: View, tool: Tool | None, receipt: ReceiptRecord, ref: EntityRef) -> bool:
    if tool is None or not tool.lag_seconds:
        return False
    written = write_time(view, ref)
    if written is None or receipt.observed_at is None:
        return True
    return (receipt.observed_at - written).total_seconds() < tool.lag_seconds


def _older_than(view: View, receipt: ReceiptRecord, as_of: str) -> Iterator[Reason]:
    after = view.receipt(as_of)
    if after is None:
        yield _unresolved(view, as_of)
    elif receipt is not after and receipt.observed_seq < after.seq:
        yield Reason(
            code="evidence.stale",
            message=f"the claim speaks of the state after `{as_of}`; this was observed before",
            reverses=f"a read after `{as_of}`",
            where=as_of,
            refs=(receipt.seq, after.seq),
        )
