"""What a contract adds to the rules: reads that contradict what writes said, previews that were not kept.

A contract says which calls only preview, what each call is about, and what counts as done. With that, the record can be
held against itself: what was read before and after a write is compared with what the write said of it. None of these
proves that the agent erred, so they are warnings.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Any

import msgspec

from tallystick.audit.findings import Finding
from tallystick.contracts.types import Contract
from tallystick.model.pointer import join
from tallystick.model.trace import Trace, TraceCall
from tallystick.model.values import same
from tallystick.view import CallRecord, View, effect_of, targets_of


def tempered(findings: Sequence[Finding], trace: Trace, contract: Contract) -> list[Finding]:
    """Return findings made without a contract, milder where the contract knows better.

    A call that the contract calls a write was no preview, whatever its switch says. An agent that read the entity again
    after a failed write may be speaking of what it saw.
    """
    calls = {call.id: call for call in trace.calls}
    kept = []
    for finding in findings:
        if finding.code == "preview.took_effect":
            call = calls.get(finding.call)
            tool = contract.tools.get(call.tool) if call is not None else None
            if call is not None and tool is not None and effect_of(tool, _args(call)) == "write":
                continue
        elif finding.code == "claim.over_failure" and _looked_after(finding, calls, contract):
            finding = msgspec.structs.replace(finding, severity="warning")  # noqa: PLW2901 - the milder finding
        kept.append(finding)
    return kept


def _looked_after(finding: Finding, calls: dict[str, TraceCall], contract: Contract) -> bool:
    failed = [calls[ref] for ref in finding.evidence if ref in calls]
    if not failed:
        return False
    order = list(calls.values())
    last = order.index(failed[-1])
    wanted = {ref for call in failed for ref in _targets(contract, call)}
    seen = {
        ref
        for call in order[last + 1 :]
        if call.message == finding.at and call.result is not None and _effect(contract, call) == "read"
        for ref in _targets(contract, call)
    }
    return bool(wanted) and wanted <= seen


def _args(call: TraceCall) -> dict[str, Any]:
    return call.args if isinstance(call.args, dict) else {}


def _effect(contract: Contract, call: TraceCall) -> str:
    tool = contract.tools.get(call.tool)
    return effect_of(tool, _args(call)) if tool is not None else "write"


def _targets(contract: Contract, call: TraceCall) -> tuple[Any, ...]:
    tool = contract.tools.get(call.tool)
    return targets_of(tool, _args(call)) if tool is not None else ()


def anomalies(trace: Trace, contract: Contract, view: View) -> Iterator[Finding]:
    """Yield where reads contradict writes and receipts contradict previews; `view` is the whole trace, folded."""
    places = {call.id: call for call in trace.calls}
    records = [record for record in view.calls.values() if record.id in places]
    yield from _previews_not_kept(records, places, contract)
    yield from _reads_against_writes(records, places)
    yield from _left_rejected(records, places)


def _left_rejected(records: list[CallRecord], places: dict[str, TraceCall]) -> Iterator[Finding]:
    """The last attempt at a write was turned down, and nothing on its entity succeeded afterwards or before."""
    writes = [record for record in records if record.effect == "write"]
    if not writes or writes[-1].outcome not in ("no_effect", "unknown"):
        return
    last = writes[-1]
    if any(r.outcome in ("ok", "partial") and set(r.targets) & set(last.targets) for r in writes):
        return
    yield _finding(
        "write.left_rejected",
        f"the last `{last.tool}` did not succeed, and nothing followed on what it was about",
        places[last.id],
        evidence=(last.id,),
    )


def _previews_not_kept(
    records: list[CallRecord], places: dict[str, TraceCall], contract: Contract
) -> Iterator[Finding]:
    """A receipt must say what the last preview of the same arguments said."""
    shown: dict[str, list[CallRecord]] = {}
    for record in records:
        tool = contract.tools.get(record.tool)
        if record.effect == "read" or tool is None or not record.receipts:
            continue
        if record.effect == "preview":
            if record.outcome == "ok":
                shown.setdefault(record.tool, []).append(record)
            continue
        before = next((p for p in reversed(shown.get(record.tool, [])) if _same_but_switches(p, record)), None)
        if before is None or record.outcome not in ("ok", "partial"):
            continue
        then, now = _numbers(before.receipts[-1].value), _numbers(record.receipts[-1].value)
        other = [pointer for pointer, value in then.items() if pointer in now and not same(now[pointer], value)]
        if other:
            place = other[0]
            yield _finding(
                "preview.contradicted",
                f"`{record.tool}` answered {now[place]} at `{place}`, where its preview had {then[place]}",
                places[record.id],
                pointer=f"/result{place}",
                evidence=(before.id, record.id),
            )


def _same_but_switches(preview: CallRecord, commit: CallRecord) -> bool:
    """Whether a preview and a commit are about the same: every text argument they share agrees."""
    shared = [k for k, v in commit.args.items() if k in preview.args and isinstance(v, str)]
    return bool(shared) and all(same(preview.args[k], commit.args[k]) for k in shared)


def _numbers(value: Any, path: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return pointer → number for the numbers of a result's first two levels."""
    found: dict[str, Any] = {}
    if isinstance(value, dict) and len(path) < 2:
        for name, item in value.items():
            if type(item) in (int, Decimal):
                found[join((*path, name))] = item
            else:
                found.update(_numbers(item, (*path, name)))
    return found


def _reads_against_writes(records: list[CallRecord], places: dict[str, TraceCall]) -> Iterator[Finding]:
    """An effect must show in the next look at its entity, and nothing else may change it unannounced."""
    latest: dict[tuple[str, str], int] = {}
    for n, record in enumerate(records):
        if record.effect != "read" or not record.receipts or not record.receipts[-1].good or not record.targets:
            continue
        key = (record.tool, repr(sorted(record.args.items())))
        earlier = latest.get(key)
        latest[key] = n
        if earlier is None:
            continue
        between = [r for r in records[earlier + 1 : n] if r.effect != "read" and set(r.targets) & set(record.targets)]
        if not between:
            continue
        alike = same(records[earlier].receipts[-1].value, record.receipts[-1].value)
        done = [r for r in between if r.outcome in ("ok", "partial") and r.effect == "write"]
        if alike and done:
            yield _finding(
                "effect.not_visible",
                f"`{done[-1].tool}` says that it took effect, and `{record.tool}` shows what it showed before",
                places[done[-1].id],
                evidence=(records[earlier].id, done[-1].id, record.id),
            )
        elif not alike and not done and all(r.outcome in ("ok", "no_effect", "simulated") for r in between):
            last = between[-1]
            said = "only a preview" if last.effect == "preview" else "rejected"
            yield _finding(
                "effect.unannounced",
                f"`{last.tool}` was {said}, and yet `{record.tool}` shows something else than before",
                places[last.id],
                evidence=(records[earlier].id, last.id, record.id),
            )


def _finding(code: str, message: str, call: TraceCall, *, pointer: str = "", evidence: tuple[str, ...] = ()) -> Finding:
    return Finding(
        code=code,
        severity="warning",
        message=message,
        at=call.message,
        call=call.id,
        pointer=pointer,
        evidence=evidence,
    )
