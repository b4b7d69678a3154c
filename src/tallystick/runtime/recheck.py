"""Recheck: fold a recorded run event by event, and make every recorded decision again, from what was known then.

A recheck shows that the decisions follow from the record under the rules of this version. It says nothing about the
world, and nothing about whether the record is authentic: that is `verify`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime
from typing import Any

import msgspec

from tallystick.certificates.stopping import judged
from tallystick.contracts.types import Contract, Task
from tallystick.errors import InputError
from tallystick.gates.act import may_act
from tallystick.gates.stop import final_status, may_stop
from tallystick.model import jsontext
from tallystick.model.canonical import digest
from tallystick.model.certificate import Certificate
from tallystick.model.decision import Decision, Verdict, decision_of
from tallystick.model.events import (
    SEMANTICS,
    Blob,
    Ended,
    Handed,
    Intent,
    Issued,
    Received,
    Refusal,
    ResidualEnded,
    ResidualFrozen,
    ResidualJudged,
    ResidualStep,
    Sealed,
    Started,
    StopAnswered,
    StopDecided,
)
from tallystick.model.proposal import Call
from tallystick.runtime.bounds import Bounds, Limits
from tallystick.runtime.calls import RUNTIME_CODES
from tallystick.runtime.closing import UNREAD
from tallystick.runtime.handing import again
from tallystick.runtime.takeover_recheck import again as tenure_again
from tallystick.runtime.takeover_recheck import intent_again
from tallystick.view import View
from tallystick.view.frozen import frozen_in
from tallystick.view.state import when
from tallystick.view.stops import stop_of


class Difference(msgspec.Struct, frozen=True, kw_only=True):
    """A recorded decision that does not come out again.

    Attributes:
        seq: the event that records it.
        what: the tool, `done`, or `run`.
        recorded: verdict and reason codes as recorded; recomputed: as they come out now.
        message: what differs, in words.
    """

    seq: int
    what: str
    recorded: str
    recomputed: str
    message: str


class Recheck(msgspec.Struct, frozen=True, kw_only=True):
    """What a recheck found.

    Attributes:
        run: the run's id.
        semantics: version of the rules the run was judged by.
        other_semantics: the run was judged by other rules than this version's, so nothing was compared.
        compared: decisions made again; `exempt` ones are the runtime's own (no gate was asked), not made again.
        differences: those that came out otherwise; empty for a run that reproduces.
    """

    run: str
    semantics: str
    other_semantics: bool = False
    compared: int = 0
    exempt: int = 0
    differences: tuple[Difference, ...] = ()

    @property
    def reproduces(self) -> bool:
        """Whether every recorded decision came out again under the same rules."""
        return not self.other_semantics and not self.differences

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {**msgspec.to_builtins(self), "reproduces": self.reproduces}


def recheck(events: Iterable[Sealed], contract: Contract | None = None) -> Recheck:
    """Make every decision of a run again and compare verdict, reason codes and basis.

    Args:
        events: the run's events in order (`Store.events`, or an export's).
        contract: used in place of the recorded text where it is the same contract; spares compiling it.

    Raises:
        InputError: there are no events, the first is not `run.started`, or its contract cannot be read.
        LedgerError: the store cannot be read.
    """
    again: _Again | None = None
    for sealed in events:
        if again is None:
            if not isinstance(sealed.event.body, Started):
                raise InputError("the first event is not `run.started`", where="event 1")
            started = sealed.event.body
            if started.semantics != SEMANTICS:
                return Recheck(run=sealed.event.run, semantics=started.semantics, other_semantics=True)
            again = _Again(sealed.event.run, *frozen_in(started, contract))
        again.take(sealed)
    if again is None:
        raise InputError("there are no events to recheck")
    return Recheck(
        run=again.view.run,
        semantics=SEMANTICS,
        compared=again.compared,
        exempt=again.exempt,
        differences=tuple(again.differences),
    )


class _Again:
    """One pass over a run."""

    def __init__(self, run: str, contract: Contract, task: Task) -> None:
        self.contract = contract
        self.view = View(contract, task, run=run)
        self.compared = 0
        self.exempt = 0
        self.differences: list[Difference] = []
        self.accepted: Decision | None = None
        self.bound: Certificate | None = None
        self.bounds = Bounds(Limits())

    def take(self, sealed: Sealed) -> None:
        body, seq = sealed.event.body, sealed.event.seq
        if isinstance(body, Intent):
            self._intent(body, seq)
        elif isinstance(body, Refusal):
            self._refusal(body, seq)
        elif isinstance(body, StopDecided):
            self._stop(body, seq)
        elif isinstance(body, StopAnswered):
            self._answered(body, seq)
        elif isinstance(body, Handed | Received):
            self._transferred(body, seq)
        elif isinstance(body, ResidualFrozen | ResidualJudged | ResidualStep | ResidualEnded):
            self._tenure(body, seq)
        elif isinstance(body, Issued):
            self._issued(body, seq)
        elif isinstance(body, Ended) and self.view.ended is None:
            self._ended(body, seq)
        self.view.apply(sealed)
        self.bounds.take(sealed, self.view)

    def _intent(self, body: Intent, seq: int) -> None:
        if self.view.started is not None and self.view.started.format is not None:
            self.exempt += 1  # imported: nobody decided it here
            return
        now = when(body.now)
        if now is None:
            self._differ(seq, body.tool, "admit", "", "the intent does not say when it was decided")
            return
        call = _call(body.tool, body.args, body.raw_args, now, body)
        self._found(seq, body.tool, lambda: intent_again(self.view, self.contract, body, call.args))
        recorded = Decision(verdict=Verdict.ADMIT, basis=tuple(body.basis), judged_upto=body.judged_upto)
        self._compare(seq, body.tool, recorded, may_act(self.view, self.contract, call), codes=False)

    def _refusal(self, body: Refusal, seq: int) -> None:
        recorded = decision_of(body.decision)
        if RUNTIME_CODES.issuperset(recorded.codes):
            self.exempt += 1
            return
        now = when(body.now)
        if now is None:
            self._differ(seq, body.tool, recorded.verdict, "", "the refusal does not say when it was decided")
            return
        call = _call(body.tool, body.args, body.raw_args, now, body, complete=body.complete)
        self._compare(seq, body.tool, recorded, may_act(self.view, self.contract, call))

    def _stop(self, body: StopDecided, seq: int) -> None:
        recorded = decision_of(body.decision)
        if recorded.codes == (UNREAD,):
            self.exempt += 1
            return
        stop = stop_of(body)
        if stop is None:
            self._differ(seq, "done", recorded.verdict, "", "the stop does not say when it was decided, or its outcome")
            return
        decision, self.bound = judged(self.view, self.contract, stop)
        if recorded.positive and not decision.positive:
            # Versions before certificates asked the gate alone; a certificate that was issued is compared by itself.
            decision = may_stop(self.view, self.contract, stop)
        self._compare(seq, "done", recorded, decision)
        self.accepted = decision if decision.verdict is Verdict.ACCEPT else None

    def _answered(self, body: StopAnswered, seq: int) -> None:
        """What the loop made of a refused stop follows from what was refused and what has come in since."""
        self.compared += 1
        try:
            again = self.bounds.recheck(body)
        except InputError as bad:
            self._differ(seq, "done", body.answer, "", bad.message)
            return
        for name in body.__struct_fields__:
            if getattr(body, name) != getattr(again, name):
                before, after = f"{body.answer} {body.reason}", f"{again.answer} {again.reason}"
                self._differ(seq, "done", before.strip(), after.strip(), f"another {name} is counted")
                return

    def _transferred(self, body: Handed | Received, seq: int) -> None:
        """What was lost on a hop, and what went on, follows from the artifact and the record before it."""
        if body.source:
            self.exempt += 1  # compared with another run's record, which is not here
            return
        self.compared += 1
        try:
            found = again(self.view, self.contract, body)
        except InputError as bad:
            self._differ(seq, "handoff", body.verdict, "", bad.message)
            return
        if found is None:
            self._differ(seq, "handoff", body.verdict, "", "the hop does not say when it was decided")
            return
        for name in body.__struct_fields__:
            if getattr(body, name) != getattr(found, name):
                self._differ(seq, "handoff", f"{body.verdict} {body.state}", f"{found.verdict} {found.state}",
                             f"another {name}")  # fmt: skip
                return

    def _tenure(self, body: ResidualFrozen | ResidualJudged | ResidualStep | ResidualEnded, seq: int) -> None:
        """A successor's contract, the decision about its whole proposal, and each step come out again."""
        self.compared += 1
        self._found(seq, f"tenure {body.tenure}", lambda: tenure_again(self.view, self.contract, body))

    def _found(self, seq: int, what: str, look: Callable[[], Iterable[tuple[str, str, str]]]) -> None:
        try:
            for recorded, now, message in look():
                self._differ(seq, what, recorded, now, message)
        except InputError as bad:
            self._differ(seq, what, "", "", bad.message)

    def _issued(self, body: Issued, seq: int) -> None:
        """The certificate is bound again to what was known at its stop, and comes out byte for byte."""
        self.compared += 1
        if self.bound is None or self.bound.statement().decode("utf-8") != body.statement:
            now = digest(self.bound.statement())[:12] if self.bound is not None else "none"
            self._differ(seq, "certificate", body.statement_sha256[:12], now, "another certificate")

    def _ended(self, body: Ended, seq: int) -> None:
        """A status may be worse than what the record supports (a run that was left), never better."""
        status, _ = final_status(self.view, self.contract, self.accepted)
        self.compared += 1
        if self.view.tenure is not None:
            self._differ(seq, "run", body.status, "", "a successor's tenure was not over")
        if body.status == "CERTIFIED" and status != "CERTIFIED":
            self._differ(seq, "run", body.status, status, "the record does not support this status")
        elif body.status != "CERTIFIED":
            status, _ = final_status(self.view, self.contract)
            if status != body.status:
                self._differ(seq, "run", body.status, status, "the record says another status")

    def _compare(self, seq: int, what: str, recorded: Decision, again: Decision, *, codes: bool = True) -> None:
        self.compared += 1
        for name, before, after in (
            ("verdict", recorded.verdict, again.verdict),
            ("reason codes", recorded.codes if codes else (), again.codes if codes else ()),
            ("basis", recorded.basis, again.basis),
            ("point up to which absence was judged", recorded.judged_upto, again.judged_upto),
            ("recorded receipt", recorded.recorded, again.recorded),
            ("call in doubt", recorded.in_doubt, again.in_doubt),
        ):
            if before != after:
                self._differ(seq, what, _short(recorded), _short(again), f"another {name}")
                return

    def _differ(self, seq: int, what: str, recorded: str, recomputed: str, message: str) -> None:
        self.differences.append(
            Difference(seq=seq, what=what, recorded=recorded, recomputed=recomputed, message=message)
        )


def _short(decision: Decision) -> str:
    return " ".join([str(decision.verdict), *decision.codes])


def _call(
    tool: str, args: Blob, raw: Blob | None, now: datetime, body: Intent | Refusal, *, complete: bool = True
) -> Call:
    try:
        value = jsontext.loads(args.raw)
    except InputError:
        value = {}
    return Call(
        tool=tool,
        args=value if isinstance(value, dict) else {},
        args_text=raw.raw.decode("utf-8", "surrogatepass") if raw is not None else None,
        now=now,
        native_id=body.native_id,
        turn=body.turn,
        wish=body.wish,
        idempotency_key=body.idempotency_key,
        complete=complete,
    )
