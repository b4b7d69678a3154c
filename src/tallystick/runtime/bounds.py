"""Refusals are bounded: a run that gets nowhere ends honestly instead of looping."""

from __future__ import annotations

from collections.abc import Sequence

from tallystick.model.canonical import canonical, digest
from tallystick.model.decision import decision_of
from tallystick.model.events import AnyBody, Refusal, StopDecided

SAME_REFUSAL: str = "stuck.same_refusal"
BUDGET: str = "stuck.refusal_budget"


def fingerprint(what: str, content: str, codes: Sequence[str]) -> str:
    """Return the fingerprint of a refused proposal: same tool, same content, same reasons, same fingerprint."""
    return digest(canonical([what, content, sorted(set(codes))]))[:32]


def stop_fingerprint(body: StopDecided, codes: Sequence[str]) -> str:
    """Return the fingerprint of a refused "done": its claims and outcome count, its words do not."""
    return fingerprint("\nfinish", f"{body.outcome}\n{body.claims}", codes)


class Bounds:
    """Counts refusals of one run.

    Args:
        budget: refusals a run may collect in all; handed-back recorded results count too.
        same_limit: how often the same proposal may be refused with nothing new in the record in between.
    """

    def __init__(self, budget: int, same_limit: int) -> None:
        self.budget = budget
        self.same_limit = same_limit
        self.spent = 0
        self._same: dict[str, tuple[int, int]] = {}

    def count(self, mark: str, evidence_seq: int) -> str | None:
        """Count one refusal and return the reason code to end the run for, or None while it may go on.

        Args:
            mark: the proposal's fingerprint; "" for one that cannot be stuck (a recorded result handed back).
            evidence_seq: seq of the last event that could have changed the verdict.
        """
        self.spent += 1
        if mark:
            times, seen = self._same.get(mark, (0, -1))
            times = times + 1 if seen == evidence_seq else 1
            self._same[mark] = (times, evidence_seq)
            if times >= self.same_limit:
                return SAME_REFUSAL
        return BUDGET if self.spent >= self.budget else None

    def warning(self, mark: str, evidence_seq: int) -> str:
        """Return what one more refusal would do, where it would end the run, else ""; asked after `count`."""
        times, seen = self._same.get(mark, (0, -1))
        if mark and seen == evidence_seq and times + 1 >= self.same_limit:
            return "the same again, with nothing new in the record, ends the run"
        return "the budget of refusals is spent: the next one ends the run" if self.spent + 1 >= self.budget else ""

    def replay(self, body: AnyBody, evidence_seq: int) -> None:
        """Count what an earlier tenure recorded, so that starting again does not buy new attempts."""
        if isinstance(body, Refusal):
            self.count(body.fingerprint, evidence_seq)
        elif isinstance(body, StopDecided):
            decision = decision_of(body.decision)
            if not decision.positive:
                self.count(stop_fingerprint(body, decision.codes), evidence_seq)
