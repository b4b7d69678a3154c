"""Refusals are bounded: a run that gets nowhere ends honestly instead of looping.

Two things are counted. Refused calls and stops: the same proposal refused again with nothing new in the record, and a
budget of refusals in all. And what comes after the first refused stop: how many stops are refused, how many calls and
turns the agent takes to close what is missing, and, at any time, how many reads in a row say nothing new. What is new
is `progress`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Final

from tallystick.errors import InputError
from tallystick.model.canonical import canonical, digest
from tallystick.model.decision import Decision, decision_of
from tallystick.model.events import Intent, Refusal, Sealed, StopAnswered, StopDecided
from tallystick.runtime.progress import Progress
from tallystick.view import View

SAME_REFUSAL: Final = "stuck.same_refusal"
BUDGET: Final = "stuck.refusal_budget"
STOPS: Final = "stuck.stop_budget"
CALLS: Final = "stuck.calls_after_stop"
TURNS: Final = "stuck.turns_after_stop"
POLLS: Final = "stuck.poll_budget"
OWN: Final = "own"
"""Fingerprint of a refused status query of the runtime's: it makes no agent stuck and spends no budget."""
OF_CALLS: Final = frozenset({CALLS, TURNS, POLLS})
"""Codes of the bounds that a call can meet."""
_SAID: Final[Mapping[str, str]] = {
    SAME_REFUSAL: "the same was refused before, and nothing new has come into the record since",
    BUDGET: "the run's budget of refusals is spent",
    STOPS: "the run's budget of refused stops is spent",
    CALLS: "the calls that may follow a refused stop are spent",
    TURNS: "the turns that may follow a refused stop are spent",
    POLLS: "too many reads in a row have said nothing new",
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Limits:
    """How long a run may go on that is not getting anywhere.

    Attributes:
        refusals: refused proposals in all; handed-back recorded results and refused stops count too.
        same: how often the same proposal may be refused with nothing new in the record in between.
        stops: refused stops in all.
        calls: calls proposed after the first refused stop; None: no limit.
        turns: assistant turns after the first refused stop, where turns are told; None: no limit.
        polls: reads in a row that say what they said before; None: no limit.
        interval: seconds after which the same read with the same answer is no sign of a circle; None: never by itself.
    """

    refusals: int = 50
    same: int = 2
    stops: int = 10
    calls: int | None = 1000
    turns: int | None = None
    polls: int | None = 1000
    interval: float | None = None

    def pairs(self) -> list[list[str]]:
        """Return them as the record keeps them; what has no limit is left out."""
        given = ((f.name, getattr(self, f.name)) for f in fields(self))
        return [[n, str(float(v) if n == "interval" else v)] for n, v in given if v is not None]


def limits_of(pairs: Sequence[Sequence[str]]) -> Limits:
    """Return the limits a record states.

    Raises:
        InputError: they are none.
    """
    try:
        found = {name: float(value) if name == "interval" else int(value) for name, value in pairs}
        none = {"calls": None, "turns": None, "polls": None}
        return Limits(**{**none, **found})  # type: ignore[arg-type]  # names are checked by the call itself
    except (TypeError, ValueError) as bad:
        raise InputError(f"no limits of a run: {bad}") from None


def fingerprint(what: str, content: str, codes: Sequence[str]) -> str:
    """Return the fingerprint of a refused proposal: same tool, same content, same reasons, same fingerprint."""
    return digest(canonical([what, content, sorted(set(codes))]))[:32]


def stop_fingerprint(body: StopDecided, decision: Decision) -> str:
    """Return the fingerprint of a refused stop: its claims, its outcome and what is missing count, its words do not."""
    missing = [f"{reason.code} {reason.where}" for reason in decision.reasons]
    return fingerprint("\nfinish", f"{body.outcome}\n{body.claims}", missing)


def why_stuck(code: str) -> str:
    """Return in words why a run was ended."""
    return _SAID.get(code, code)


class Bounds:
    """Counts what one run gets refused and what it does after a refused stop.

    It is a fold over the run's events (`take`), so a run that is taken up again has bought nothing, and a recheck can
    count again.

    Attributes:
        limits: what is allowed.
        refused: refused stops.
        same: times in a row that the newest refused stop was refused with nothing new in between.
        calls: calls proposed since the first refused stop.
        turns: the turns those calls named.
    """

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.reset()

    def reset(self) -> None:
        """Forget everything: the record is about to be folded anew."""
        self.progress = Progress()
        self.spent = 0
        self.refused = 0
        self.same = 0
        self.calls = 0
        self.turns: set[int] = set()
        self._same: dict[str, tuple[int, int]] = {}
        self._unanswered = ""  # fingerprint of a refused stop that has no answer yet

    # ------------------------------------------------------------------ the fold

    def take(self, sealed: Sealed, view: View) -> None:
        """Fold the next event, which `view` has folded already."""
        body = sealed.event.body
        if isinstance(body, StopDecided):
            decision = decision_of(body.decision)
            if not decision.positive:
                self._count_stop()
                self.spent += 1
                self.refused += 1
                self._unanswered = stop_fingerprint(body, decision)
        elif isinstance(body, StopAnswered):
            self._count_stop()
        elif isinstance(body, (Intent, Refusal)):
            if self.refused:
                self.calls += 1
                if body.turn is not None:
                    self.turns.add(body.turn)
            if isinstance(body, Refusal):
                self._refusal(body, view)
        self.progress.take(sealed, view)

    def _refusal(self, body: Refusal, view: View) -> None:
        if body.fingerprint == OWN:
            return
        self.spent += 1
        if body.fingerprint:
            self._again(body.fingerprint, view.evidence_seq)

    def _count_stop(self) -> None:
        """Count the newest refused stop, under the limits as they are when it is answered."""
        if self._unanswered:
            self.same = self._again(self._unanswered, self.progress.moved(self.limits.interval))
            self._unanswered = ""

    def _again(self, mark: str, newest: int) -> int:
        times, seen = self._same.get(mark, (0, -1))
        times = times + 1 if seen == newest else 1
        self._same[mark] = (times, newest)
        return times

    # ------------------------------------------------------------------ refused calls

    def after_refusal(self, mark: str) -> str | None:
        """Return the code to end the run for after a refused call that was just folded, or None while it may go on.

        Args:
            mark: the proposal's fingerprint; "" for one that cannot be stuck (a recorded result handed back).
        """
        if mark and self._same.get(mark, (0, -1))[0] >= self.limits.same:
            return SAME_REFUSAL
        return BUDGET if self.spent >= self.limits.refusals else None

    def warning(self, mark: str, evidence_seq: int) -> str:
        """Return what one more refusal would do, where it would end the run, else ""."""
        times, seen = self._same.get(mark, (0, -1))
        if mark and seen == evidence_seq and times + 1 >= self.limits.same:
            return "the same again, with nothing new in the record, ends the run"
        spent = self.spent + 1 >= self.limits.refusals
        return "the budget of refusals is spent: the next one ends the run" if spent else ""

    # ------------------------------------------------------------------ stops, and calls after one

    def after_stop(self) -> str | None:
        """Return the code to end the run for after a refused stop that was just folded, or None while it may go on."""
        self._count_stop()
        if self.same >= self.limits.same:
            return SAME_REFUSAL
        if self.refused >= self.limits.stops:
            return STOPS
        return BUDGET if self.spent >= self.limits.refusals else None

    def stop_warning(self) -> str:
        """Return what the next refused stop would do, where it would end the run, else ""; asked after `after_stop`."""
        if self.refused + 1 >= self.limits.stops or self.spent + 1 >= self.limits.refusals:
            return "the next refused stop ends the run"
        same = self.same + 1 >= self.limits.same
        return "the same again, with nothing new in the record, ends the run" if same else ""

    def before_call(self, turn: int | None = None) -> str | None:
        """Return the code to end the run for before another call, or None while there may be one.

        Args:
            turn: the assistant turn the call comes in, where that is told.
        """
        limits = self.limits
        if limits.polls is not None and self.progress.unchanged >= limits.polls:
            return POLLS
        if not self.refused:
            return None
        if limits.calls is not None and self.calls >= limits.calls:
            return CALLS
        if limits.turns is not None and turn is not None and turn not in self.turns and len(self.turns) >= limits.turns:
            return TURNS
        return None

    def recheck(self, body: StopAnswered) -> StopAnswered:
        """Return the answer as it comes out again, from the events before it and the limits it states.

        Raises:
            InputError: it states no limits.
        """
        self.limits = limits_of(body.limits)
        stopped = bool(self._unanswered)
        return self.answer(self.after_stop() if stopped else self._met_by_call())

    def _met_by_call(self) -> str | None:
        """As `before_call`, once the call that met a bound has been folded as refused."""
        limits = self.limits
        if limits.polls is not None and self.progress.unchanged >= limits.polls:
            return POLLS
        if limits.calls is not None and self.calls > limits.calls:
            return CALLS
        return TURNS if limits.turns is not None and len(self.turns) > limits.turns else None

    def answer(self, reason: str | None) -> StopAnswered:
        """Return the event that records the loop's answer, with everything it was counted from."""
        return StopAnswered(
            answer="CONTINUE" if reason is None else "STUCK",
            reason=reason or "",
            refused=self.refused,
            same=self.same,
            calls=self.calls,
            turns=len(self.turns),
            unchanged=self.progress.unchanged,
            limits=self.limits.pairs(),
        )
