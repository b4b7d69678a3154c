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
from tallystick.audit.words_success import says_done, success_in, words_about
from tallystick.model.trace import TraceMessage


def claims(case: Case) -> None:
    """The agent says that something was done, and the record says otherwise.

    A failed write stays open until one like it succeeds. Over it, in the same turn, any claim of success counts that
    the text does not qualify; later, and in any person and voice, a claim tied to the call by its own words. Where no
    write took effect at all so far, the agent's claims about itself count too.
    """
    if case.unsure:
        return  # a tool of unknown effect, or one that may yet finish, may have done it
    first = next((s.call.message for s in case.writes if s.realised), None)
    failing = any(s.came in ("error", "rejected") and not s.rehearsal for s in case.writes)
    turn = 0
    for message in case.trace.messages:
        if not failing and first is not None and message.index >= first:
            return  # from here on the record bears a claim out
        if message.role == "user":
            turn = message.index
        if message.role != "assistant" or not message.text:
            continue
        if failing:
            known = [s for s in case.writes if _is_known_at(s, message.index)]
            failed = _open_failures(known)
            now = [s for s in failed if s.call.message >= turn]
            if (now and _claimed_over(case, message, now)) or (failed and _tied(case, message, failed, now)):
                continue
            if any(s.call.message == message.index for s in now):
                continue  # the text speaks of these, and qualifies what it says
        if first is None or message.index < first:
            _claimed_without(case, message)


def _is_known_at(step: Step, index: int) -> bool:
    """Whether the result had come when the text was written; one in the message itself comes before its text."""
    result = step.call.result
    if result is None:
        return False
    return result.index < index or result.index == step.call.message == index


def _claimed_over(case: Case, message: TraceMessage, failed: list[Step]) -> bool:
    text = plain(message.text)
    said = claim_in(text)
    if not said or setback_in(text):
        return False
    _over(case, message, said, failed)
    return True


def _tied(case: Case, message: TraceMessage, failed: list[Step], now: list[Step]) -> bool:
    """Look for a claim that one of the failed calls succeeded, in words that are its own."""
    text = plain(message.text)
    for step in failed:
        found = success_in(text, words_about(step.call.tool, step.args), generic=step in now)
        if found is None:
            continue
        said, word = found
        if word and _is_said_elsewhere(case, step, said, word, message.index):
            continue
        if not word and any(s.realised and s.call.message >= now[0].call.message for s in case.writes):
            continue
        _over(case, message, said, [step])
        return True
    return False


def _is_said_elsewhere(case: Case, step: Step, said: str, word: str, upto: int) -> bool:
    """Whether a sentence may speak of something else: another call did the like, or a result says that it is so."""
    name, value = step.primary
    named = bool(name) and str(value).lower() in said
    if f"already {word}".encode() in step.said.lower() or f"already been {word}".encode() in step.said.lower():
        return True
    for other in case.steps:
        if other is step or other.call.message > upto:
            continue
        if other.realised and other.primary != step.primary and named:
            continue  # it did the like to another thing, and the sentence names this one
        alike = other.realised and success_in(f"it is {word}.", words_about(other.call.tool, other.args), generic=False)
        if alike or (other.came == "ok" and says_done(other.said, word)):
            return True
    return False


def _over(case: Case, message: TraceMessage, said: str, failed: list[Step]) -> None:
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
    """Return the writes that failed and were not followed by a success on the same thing."""
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
