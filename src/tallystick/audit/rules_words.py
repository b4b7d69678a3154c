"""Words against the record: success claimed over failure, effects claimed that never were, people who object."""

from __future__ import annotations

from tallystick.audit.case import Case
from tallystick.audit.step import Step
from tallystick.audit.tools import words_of
from tallystick.audit.words import (
    claim_in,
    may_object,
    objection_in,
    own_claim_in,
    plain,
    regret_in,
    setback_in,
    unwish_in,
)
from tallystick.model.trace import TraceMessage


def claims(case: Case) -> None:
    """The agent says that something was done, and the record says otherwise.

    Looked at per turn of the agent: no write took effect so far at all, or the last word on a write was a failure that
    the text passes over.
    """
    if case.unsure:
        return  # a tool of unknown effect, or one that may yet finish, may have done it
    first = next((s.call.message for s in case.writes if s.realised), None)
    failing = {s.call.message for s in case.writes if s.came in ("error", "rejected") and not s.rehearsal}
    for message in case.trace.messages:
        if message.role != "assistant" or not message.text:
            continue
        if message.index in failing:
            failed = _open_failures([s for s in case.writes if s.call.message == message.index])
            if failed:
                _claimed_over(case, message, failed)
                continue
        if first is None or message.index < first:
            _claimed_without(case, message)


def _claimed_over(case: Case, message: TraceMessage, failed: list[Step]) -> None:
    text = plain(message.text)
    said = claim_in(text)
    if said and not setback_in(text):
        last = failed[-1]
        how = "rejected" if last.came == "rejected" else "with an error"
        case.find(
            "claim.over_failure",
            "error",
            f"the agent says `{said[:120]}`, while its last `{last.call.tool}` came back {how} (`{last.why[1][:80]}`)",
            at=message.index,
            guess=True,
            evidence=tuple(s.call.id for s in failed),
        )


def _claimed_without(case: Case, message: TraceMessage) -> None:
    before = [s for s in case.writes if s.call.message <= message.index]
    if any(s.came == "none" for s in before):
        return
    said = own_claim_in(message.text)
    if said and not setback_in(said):
        how = "only previews or failures came back" if before else "no call that writes was made"
        case.find(
            "claim.without_effect",
            "error" if case.steps and not case.cut else "warning",
            f"the agent says `{said[:120]}`, but {how}",
            at=message.index,
            guess=True,
            evidence=tuple(s.call.id for s in before),
        )


def _open_failures(steps: list[Step]) -> list[Step]:
    """Return the writes of one turn that failed and were not followed by a success on the same thing."""
    last: dict[tuple[str, object], Step] = {}
    for step in steps:
        if step.came in ("error", "rejected", "ok", "pending"):
            last[(step.call.tool, step.primary)] = step
    return [s for s in last.values() if s.came in ("error", "rejected") and not s.rehearsal]


def regrets(case: Case) -> None:
    """After an effect, the agent says it should not have made it so, or the user objects to it."""
    done = [s for s in case.writes if s.realised]
    if not done:
        return
    begin = done[0].call.message
    for message in case.trace.messages:
        text = message.text
        if message.index < begin or not text:
            continue
        if message.role == "assistant":
            said = regret_in(text)
            if said:
                case.find(
                    "effect.regretted",
                    "error",
                    f"after the effect, the agent admits: `{said}`",
                    at=message.index,
                    guess=True,
                    evidence=(done[0].call.id, f"m{message.index}"),
                )
        elif message.index > begin and message.role == "user" and may_object(text):
            _object(case, message, [s for s in done if s.call.message < message.index])


def _object(case: Case, message: TraceMessage, done: list[Step]) -> None:
    low = plain(message.text)
    said = objection_in(low, just_done=done[-1].call.message == message.index - 1)
    if not said and ("don't" in low or "do not" in low):
        said = unwish_in(low, {words_of(s.call.tool)[0] for s in done if words_of(s.call.tool)})
    if said:
        case.find(
            "effect.disputed",
            "error",
            f"after the effect, the user objects: `{said}`",
            at=message.index,
            guess=True,
            evidence=(done[-1].call.id, f"m{message.index}"),
        )
