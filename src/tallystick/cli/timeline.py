"""A run's events as a person reads them: one sentence each, and under a decision its reasons."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

import msgspec
from rich.text import Text

from tallystick.cli import console
from tallystick.model import events as ev
from tallystick.model.decision import Reason, decision_of
from tallystick.model.plaintext import printable

SHORT: Final = 120
"""Characters of an argument or result text shown; `--json` has all of it."""

_STYLES: Final[Mapping[str, str]] = {
    "refusal": "yellow", "doubt.settled": "cyan", "condition.raised": "yellow", "approval": "cyan", "damage": "red",
    "run.ended": "bold", "stop.decided": "bold", "takeover.frozen": "cyan", "takeover.judged": "bold",
    "takeover.ended": "bold",
}  # fmt: skip


@dataclass(frozen=True, kw_only=True, slots=True)
class Line:
    """One event: sentence, and the reasons of the decision it carries, if any."""

    event: ev.Event
    text: str
    reasons: tuple[Reason, ...] = ()


def lines(events: Iterator[ev.Event]) -> Iterator[Line]:
    """Yield a line for each event, in order; receipts name the tool of their intent."""
    tools: dict[str, str] = {}
    for event in events:
        body = event.body
        if isinstance(body, ev.Intent):
            tools[body.call] = body.tool
        text, reasons = _sentence(body, tools)
        text = printable(text)
        yield Line(event=event, text=text, reasons=reasons)


def draw(line: Line) -> None:
    """Print one line and the reasons under it."""
    out = console.stdout()
    event = line.event
    head = (f"{event.seq:>5}  {console.when(event.at)}  ", "dim")
    out.print(Text.assemble(head, (f"{event.actor.role:<10}", "dim"), (line.text, _STYLES.get(event.kind, ""))))
    for reason in line.reasons:
        text = Text.assemble(" " * 10, (reason.code, "bold"), f" {printable(_whose(reason))}")
        if reason.reverses:
            text.append(f"; what would help: {printable(reason.reverses)}", style="dim")
        out.print(text)


def _whose(reason: Reason) -> str:
    """Return the message with the slot, requirement or blocker it is about, where it does not name that itself."""
    named = not reason.where or f"`{reason.where}`" in reason.message
    return reason.message if named else f"`{reason.where}`: {reason.message}"


def to_json(line: Line) -> dict[str, Any]:
    """Return the event in full, with its kind and the decision it carries as JSON values."""
    event: dict[str, Any] = msgspec.to_builtins(line.event)
    body = event["body"]
    if body.get("decision") and isinstance(line.event.body, _DECIDED):
        body["decision"] = decision_of(body["decision"]).to_json()
    return event


_DECIDED: Final = ev.Refusal | ev.StopDecided | ev.Handed | ev.Received | ev.ResidualJudged


def _sentence(body: ev.AnyBody, tools: Mapping[str, str]) -> tuple[str, tuple[Reason, ...]]:
    if isinstance(body, ev.Refusal):
        decision = decision_of(body.decision)
        return f"{decision.verdict} {body.tool}({_short(body.args)})", decision.reasons
    if isinstance(body, ev.StopDecided):
        decision = decision_of(body.decision)
        return f'"{body.outcome}, done" said by {body.declared_by}: {decision.verdict}', decision.reasons
    if isinstance(body, ev.Handed | ev.Received):
        decision = decision_of(body.decision)
        verb = "passed to" if isinstance(body, ev.Handed) else "taken by"
        return f"hop {body.hop}: {body.sender}, {verb} {body.to}: block {body.state}, {body.verdict}", decision.reasons
    if isinstance(body, ev.ResidualJudged):
        decision = decision_of(body.decision)
        graph = f", graph {body.graph_sha256[:12]}" if body.graph else ", which closes to no graph"
        calls = "1 call" if len(body.replica) == 1 else f"{len(body.replica)} calls"
        tried = f", {calls} tried on a replica" if body.replica else ""
        return f"tenure {body.tenure}, proposal {body.attempt}{graph}{tried}: {decision.verdict}", decision.reasons
    return _plain_sentence(body, tools), ()


def _plain_sentence(body: ev.AnyBody, tools: Mapping[str, str]) -> str:  # one row per kind of event
    match body:
        case ev.Started():
            judged = f"contract {body.contract_sha256[:12]}" if body.contract else "no contract"
            parent = f", child of {body.parent}" if body.parent else ""
            return f"run started under {judged}, semantics {body.semantics}{parent}"
        case ev.Said():
            return f"{body.role} says: {_clip(body.text)}"
        case ev.Intent():
            return f"intent {body.tool}({_short(body.args)}) as call {body.call}"
        case ev.Receipt():
            tool = tools.get(body.call or "", "unpaired call")
            marks = [name for name in ("late", "synthetic", "dry_run", "truncated") if getattr(body, name)]
            marks += [] if body.source == "live" else [body.source]
            said = _short(body.result) if body.result else (body.error or "nothing came back")
            return f"receipt {tool}: {body.outcome}{' [' + ', '.join(marks) + ']' if marks else ''} {_clip(said)}"
        case ev.Confirmation():
            what = f" {body.name} = {body.value}" if body.name else ""
            return f"user confirmed {body.entity_kind}({body.entity_id}){what}{' (guessed)' if body.guessed else ''}"
        case ev.Approval():
            until = f" until {console.when(body.expires)}" if body.expires else ""
            return f"{body.principal}: {body.decision} {body.tool} with arguments {body.args_sha256[:12]}{until}"
        case ev.Raised():
            return f"condition {body.id} removes {', '.join(body.removes)}: {body.status or body.prerequisite}"
        case ev.Lifted():
            return f"condition {body.id} {body.how} by {body.by}"
        case ev.Obliged():
            return f"owed: {body.id} {body.text}".rstrip()
        case ev.Settled():
            return f"obligation {body.id} {body.how}, by {body.by}"
        case ev.Wish():
            return f"wish {body.id}: {_clip(body.text)}"
        case ev.DoubtSettled():
            who = body.principal or "status query"
            happened = "it happened" if body.outcome == "ok" else "it did not happen"
            return f"doubt about {tools.get(body.call, '?')} ({body.call}) settled by {who}: {happened}"
        case ev.Stated():
            return f"user states {body.field} = {_clip(body.value)}"
        case ev.SchemaChanged():
            return f"schema of {body.tool} is not the reviewed one: {body.sha256[:12]}"
        case ev.ContractChanged():
            return f"contract changed to {body.contract_sha256[:12]} by {body.principal}"
        case ev.StopAnswered():
            why = f" ({body.reason})" if body.reason else ""
            return f"answered: {body.answer}{why}; refused stop {body.refused}, calls since the first {body.calls}"
        case ev.Reported():
            said = body.stage or body.text
            return f"agent reports: {_clip(said)}" if said else "agent reports nothing"
        case ev.Issued():
            return f"certificate {body.statement_sha256[:12]} bound to the record and verified"
        case ev.Tenure():
            return f"writer {body.holder} took epoch {body.epoch}{' by force' if body.forced else ''}"
        case ev.Damage():
            line = f" at line {body.line}" if body.line else ""
            return f"damage {body.code}{line}: {_clip(body.text)}"
        case ev.OperationClosed():
            return f"operation {body.operation} closed"
        case ev.ChildRun():
            return f"child run {body.child}: {body.status}"
        case ev.ResidualFrozen():
            added = f", {len(body.extracted)} owed as extracted" if body.extracted else ""
            how = body.trigger if body.trigger == "explicit" else f"frontier {body.trigger}"
            what = f"residual contract {body.residual_sha256[:12]} frozen"
            return f"tenure {body.tenure}: {what} for {body.to} ({how}){added}"
        case ev.ResidualStep():
            what = f"tenure {body.tenure}: {body.node}" + (f" (call {body.call})" if body.call else "")
            if not body.matched:
                return f"{what} failed, {body.code}: {_clip(body.why)}"
            gone = f"; taken back: {', '.join(body.invalidated)}" if body.invalidated else ""
            return (
                f"{what} matches its receipt {body.receipt}; discharged: {', '.join(body.discharged) or 'none'}{gone}"
            )
        case ev.ResidualEnded():
            return f"tenure {body.tenure} over: {body.status} ({body.reason}), changes dispatched: {body.writes}"
        case ev.Ended():
            why = ", ".join(part for part in (body.outcome, body.reason) if part)
            return f"run ended: {body.status}{' (' + why + ')' if why else ''}"
    return type(body).__name__  # a kind added later still shows up


def _short(blob: ev.Blob | None) -> str:
    if blob is None:
        return ""
    return _clip(blob.text) if blob.text is not None else f"{blob.size} bytes"


def _clip(text: str) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= SHORT else flat[: SHORT - 1] + "…"
