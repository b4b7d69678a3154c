"""Whether the record is whole: results answer calls, nothing is left open, nothing was unreadable."""

from __future__ import annotations

from typing import Final

from tallystick.audit.case import Case
from tallystick.audit.findings import Severity

_SEVERITY: Final[dict[str, Severity]] = {
    "pairing.ambiguous": "error",
    "result.orphan": "error",
    "result.repeated": "warning",
    "result.unaddressed": "info",
    "args.unparseable": "warning",
}


def damage(case: Case) -> None:
    """What the importer could not read or pair."""
    for lost in case.trace.damage:
        at = lost.where[1:].partition(".")[0]
        case.find(
            lost.code,
            _SEVERITY.get(lost.code, "warning"),
            f"{lost.where}: {lost.message}",
            at=int(at) if lost.where.startswith("m") and at.isdigit() else None,
            evidence=(lost.where,),
        )


def unanswered(case: Case) -> None:
    """Calls without a result: for a write, nobody knows whether it happened."""
    if not case.open:
        return
    last = case.trace.messages[-1].index
    orphans = bool(case.trace.orphans)
    for step in case.steps:
        if step.call.result is not None:
            continue
        ended = step.call.message == last and case.trace.messages[-1].role == "assistant"
        how = (
            "the conversation ends with this call unanswered"
            if ended
            else "the conversation went on without its result"
        )
        # A result that could not be paired may be this one; a record known to be cut may have held it.
        open_ended = orphans or case.cut
        severity: Severity = "error" if step.writes and not open_ended else "warning"
        case.find("call.unanswered", severity, f"`{step.call.tool}` has no result: {how}", step=step)


def truncated(case: Case) -> None:
    """The last turn of the agent was cut by length, a filter or a refusal, so it is no answer."""
    for message in reversed(case.trace.messages):
        if message.role == "assistant":
            if message.truncated:
                case.find("answer.truncated", "warning", "the agent's last turn was cut off", at=message.index)
            return
