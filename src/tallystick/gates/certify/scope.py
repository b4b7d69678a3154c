"""Check 2, task and scope: this run's task, the slot's entity and period, and receipts that speak of them, now.

A claim about another entity than the contract asks about is found here even where everything else about it is right.
Evidence from before a later write is void; "all", "none", counts and sums need a complete read.
Source: evidence-carrying termination, check 2.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from tallystick.contracts.terms import facts, sources
from tallystick.contracts.types import Slot, Tool
from tallystick.gates.certify.case import Case, task_digest
from tallystick.gates.certify.deficits import Deficit
from tallystick.gates.certify.demand import again, candidates, fact_names, listed, lookup, names_other, needs_all
from tallystick.gates.certify.evaluate import NotDerivableError, facts_at, in_period, overlap
from tallystick.gates.certify.exhibits import Cited, Exhibit, anchor, dates_of_slot, scope_of_slot
from tallystick.gates.claim_evidence import records, superseded
from tallystick.gates.claim_reads import whole_answer
from tallystick.model.certificate import Check, ClaimScope
from tallystick.model.decision import Reason
from tallystick.model.events import SEMANTICS
from tallystick.model.pointer import MISSING, resolve
from tallystick.model.values import EntityRef, same
from tallystick.view import ReceiptRecord
from tallystick.view.state import when

CHECK: Check = "task_scope"


def task_scope(case: Case) -> Iterator[Deficit]:
    """Yield what is about another task, entity or time."""
    yield from _task(case)
    for exhibit in case.exhibits:
        if exhibit.slot is not None:
            yield from in_scope(case, exhibit, exhibit.slot)


def _task(case: Case) -> Iterator[Deficit]:
    stated, view = case.certificate, case.view
    same_text = (
        ("run", stated.run, view.run, "run"),
        ("contract", stated.contract, case.contract.sha256, "contract"),
        ("task", stated.task, task_digest(view), "task"),
        ("semantics", stated.semantics, SEMANTICS, "rules"),
    )
    for name, says, own, what in same_text:
        if says != own:
            yield _found("", f"certificate.{name}", f"the certificate speaks of another {what}: `{says[:80]}`",
                         f"a certificate of `{own[:80]}`")  # fmt: skip
    frozen = view.started.contract_sha256 if view.started is not None else ""
    if frozen and frozen != case.contract.sha256:
        yield _found("", "certificate.contract", "this run was started under another contract than it is judged by",
                     f"the contract `{frozen}`")  # fmt: skip
    if when(stated.now) is None:
        yield _found("", "certificate.now", f"`{stated.now[:40]}` is no instant", "the RFC 3339 instant of the stop")


def in_scope(case: Case, exhibit: Exhibit, slot: Slot) -> Iterator[Deficit]:
    """Yield how a claim, or a receipt it refers to, is not about what the slot is about."""
    scope, untold = scope_of_slot(case.view, slot)
    dates, undated = dates_of_slot(case.view, slot)
    for reason in (untold, undated):
        if reason is not None:
            yield _reason(slot, reason)
    if untold is not None or undated is not None:
        return
    entity = (scope.kind, scope.id) if scope is not None else None
    period = (dates[0].isoformat(), dates[1].isoformat()) if dates is not None else None
    if exhibit.claim.scope.entity != entity:
        yield _found(slot.name, "claim.scope", f"`{slot.name}` is about {scope or 'no entity'}, the claim is about "
                     f"{exhibit.scope or 'none'}", f"a claim about {scope or 'no entity'}")  # fmt: skip
    if exhibit.claim.scope.dates != period:
        wanted = " to ".join(period) if period is not None else "no period"
        yield _found(slot.name, "claim.scope", f"`{slot.name}` is about {wanted}, the claim is about "
                     f"{_dates(exhibit.claim.scope)}", f"a claim about {wanted}")  # fmt: skip
    for cited in exhibit.cited:
        if cited.receipt is not None and cited.receipt.call is not None:
            yield from _speaks(case, slot, cited, cited.receipt, scope)
            yield from _of_period(case, slot, cited, cited.receipt)
    yield from _fresh(case, exhibit, slot, scope)
    yield from _all_there(case, exhibit, slot, scope)


def _dates(scope: ClaimScope) -> str:
    return " to ".join(scope.dates)[:40] if scope.dates is not None else "none"


def _speaks(case: Case, slot: Slot, cited: Cited, receipt: ReceiptRecord, scope: EntityRef | None) -> Iterator[Deficit]:
    """Each receipt answers what it was asked, and speaks of the slot's entity at the place referred to."""
    call = receipt.call
    assert call is not None
    tool = case.contract.tools.get(call.tool)
    for arg, tokens in tool.echoes if tool is not None and call.effect != "write" else ():
        echoed = resolve(receipt.value, tokens)
        if arg in call.args and echoed is not MISSING and not same(echoed, call.args[arg]):
            yield _found(slot.name, "result.echo", f"{call.tool} was asked for `{arg}` {call.args[arg]}, the result "
                         f"names {echoed}", "a result for what was asked", receipt)  # fmt: skip
    if scope is None:
        return
    about = () if names_other(case.contract, receipt, scope) else records(case.contract, receipt, scope)
    if not any(cited.tokens is None or overlap(cited.tokens, record.tokens) for record in about):
        yield _found(slot.name, "evidence.other_entity", f"the receipt of {call.tool} does not speak of {scope} there",
                     f"a receipt about {scope}", receipt)  # fmt: skip


def _of_period(case: Case, slot: Slot, cited: Cited, receipt: ReceiptRecord) -> Iterator[Deficit]:
    """A result (or a call) that is dated as a whole is dated within the period."""
    period, dates = slot.dates, dates_of_slot(case.view, slot)[0]
    call = receipt.call
    if period is None or dates is None or call is None:
        return
    for _, source in sources(slot.derive.term):
        whole = "*" not in source.pointer or period.arg is not None
        if not whole or call.tool != source.tool or cited.tokens != anchor(source):
            continue
        try:
            inside = in_period(period, dates, receipt, receipt.value)
        except NotDerivableError:
            inside = False
        if not inside:
            yield _found(slot.name, "evidence.other_date", f"the receipt of {call.tool} is not dated "
                         f"{dates[0].isoformat()} to {dates[1].isoformat()}",
                         "a receipt of that period", receipt)  # fmt: skip
            return


def _fresh(case: Case, exhibit: Exhibit, slot: Slot, scope: EntityRef | None) -> Iterator[Deficit]:
    """Evidence about an entity is void after a later write to it, or to anything a listing listed."""
    for receipt in exhibit.receipts:
        call = receipt.call
        assert call is not None
        tool = case.contract.tools.get(call.tool)
        if scope is not None and _newest_fact(case, exhibit, receipt, scope):
            continue
        refs: list[EntityRef | None] = [scope]
        if scope is None:
            refs = [None, *(listed(tool, receipt) if tool is not None else ())]
        for ref in refs:
            reason = superseded(case.view, receipt, ref)
            if reason is not None:
                yield replace(_reason(slot, reason), reads=again(receipt))
                break


def _newest_fact(case: Case, exhibit: Exhibit, receipt: ReceiptRecord, scope: EntityRef) -> bool:
    """A write's own answer speaks of the state after it: facts carry when they were observed, receipts when asked."""
    known = case.view.facts(scope)
    written = case.view.last_write(scope)
    for cited in exhibit.cited:
        if cited.receipt is not receipt or cited.tokens is None:
            continue
        names = [name for name, _, _ in facts_at(case.contract, receipt, cited.tokens, scope)]
        if not names or not facts(exhibit.slot.derive.term if exhibit.slot is not None else exhibit.term):  # type: ignore[arg-type]  # a claim without a slot is not asked about
            return False
        for name in names:
            fact = known.get(name)
            if fact is None or fact.receipt != receipt.id or fact.observed_seq < written:
                return False
    return True


def _all_there(case: Case, exhibit: Exhibit, slot: Slot, scope: EntityRef | None) -> Iterator[Deficit]:
    """What the slot's derivation reads is referred to at all, and as a whole where nothing may be left out."""
    for function, source in sources(slot.derive.term):
        tool = case.contract.tools.get(source.tool)
        if tool is None:
            continue
        there = exhibit.of(source)
        if not there:
            yield _missing(case, slot, tool, scope)
        elif needs_all(slot, function, source, tool):
            for reason in whole_answer(tool, there)[1]:
                yield _reason(slot, reason)
    if scope is None:
        return
    for name in fact_names(slot, slot.derive.term):
        if not _states(case, exhibit, name, scope):
            yield Deficit(
                slot=slot.name,
                check=CHECK,
                code="evidence.missing",
                message=f"`{slot.name}`: no receipt referred to states {name} of {scope}",
                closes=f"a receipt that states {name} of {scope}",
                reads=case.reads_for(slot),
            )


def _states(case: Case, exhibit: Exhibit, name: str, scope: EntityRef) -> bool:
    return any(
        name == found
        for cited in exhibit.cited
        if cited.receipt is not None and cited.tokens is not None
        for found, _, _ in facts_at(case.contract, cited.receipt, cited.tokens, scope)
    )


def _missing(case: Case, slot: Slot, tool: Tool, scope: EntityRef | None) -> Deficit:
    others = scope is not None and not candidates(case.view, tool.name, scope) and case.view.receipts_of(tool.name)
    about = f" for {scope}" if scope is not None else ""
    return Deficit(
        slot=slot.name,
        check=CHECK,
        code="evidence.other_entity" if others else "evidence.missing",
        message=f"`{slot.name}`: {tool.name} was called for others, not{about}" if others
        else f"`{slot.name}`: no receipt of {tool.name}{about} is referred to",
        closes=f"a receipt of {tool.name}{about}",
        reads=(lookup(tool, scope),) if tool.effect == "read" else (),
        refs=tuple(r.seq for r in list(others)[-10:]) if others else (),
    )  # fmt: skip


def _reason(slot: Slot, reason: Reason) -> Deficit:
    return Deficit(
        slot=slot.name,
        check=CHECK,
        code=reason.code,
        message=reason.message,
        closes=reason.reverses,
        reads=reason.reads,
        refs=reason.refs,
    )


def _found(slot: str, code: str, message: str, closes: str, receipt: ReceiptRecord | None = None) -> Deficit:
    refs = (receipt.seq,) if receipt is not None else ()
    return Deficit(slot=slot, check=CHECK, code=code, message=message, closes=closes, refs=refs)
