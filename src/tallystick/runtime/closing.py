"""How a run ends: an accepted stop, a bound, or being left. The final status is decided here and nowhere else."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final, get_args

import msgspec

from tallystick.certificates.envelope import sign
from tallystick.certificates.stopping import judged
from tallystick.contracts.types import Contract
from tallystick.errors import InputError, LedgerError
from tallystick.gates.settle import status_query
from tallystick.gates.stop import final_status
from tallystick.model.canonical import digest
from tallystick.model.certificate import Certificate
from tallystick.model.decision import Decision, Reason, Verdict
from tallystick.model.events import ChildRun, Ended, Issued, StopDecided
from tallystick.model.proposal import Claim, Stop, StopOutcome
from tallystick.prose.propose import Proposed, propose
from tallystick.runtime.bounds import OF_CALLS, Bounds
from tallystick.runtime.calls import Calls
from tallystick.runtime.claims import claims_of
from tallystick.runtime.deficits import deficits
from tallystick.runtime.drivers import Steps, Write
from tallystick.runtime.journal import RUNTIME, Journal, stamp
from tallystick.runtime.outcome import Finish, Status
from tallystick.runtime.takeover_record import COMPLETE, INTERRUPTED, STOP_REFUSED, TENURE, end_tenure
from tallystick.view.stops import claims_text

if TYPE_CHECKING:
    from tallystick.runtime.guard import Guard
    from tallystick.runtime.run import Run


_LOG: Final = logging.getLogger(__name__)


def stop_outcome(given: object) -> StopOutcome:
    """Return what a stop says came of the run, if it is one of the three things that can be certified.

    Raises:
        InputError: it is none of `acted`, `declined`, `withdrawn`.
    """
    for known in get_args(StopOutcome):
        if given == known:
            return known  # type: ignore[no-any-return]  # a member of the literal
    raise InputError(
        f"`{given}` is no outcome of a run",
        where="outcome",
        fix="`acted`, `declined` (rightly not acting) or `withdrawn`; a run that was given up is left by `close`",
    )


def rejection(code: str, message: str, reverses: str, *, where: str = "") -> Decision:
    """Return the runtime's own rejection of a stop that no gate could be asked about."""
    reason = Reason(code=code, message=message, reverses=reverses, where=where)
    return Decision(verdict=Verdict.REJECT, reasons=(reason,))


UNREAD: Final = "claims.not_json"
"""Code of the runtime's own rejection of a stop; every other recorded stop was judged by the gate."""


class Closing:
    """The end of one run."""

    def __init__(
        self, guard: Guard, journal: Journal, contract: Contract, calls: Calls, bounds: Bounds, run: Run
    ) -> None:
        self._guard = guard
        self._journal = journal
        self._contract = contract
        self._calls = calls
        self._bounds = bounds
        self._run = run
        self._left = False
        self._stopping = ""  # the successor's tenure whose stop is being decided

    # ------------------------------------------------------------------ "I am done"

    def finish(
        self,
        text: str,
        claims: Iterable[Claim] | Mapping[str, Any] | InputError | None,
        outcome: StopOutcome,
        *,
        declared_by: str,
        truncated: bool,
        tenure: str = "",
    ) -> Steps[Finish]:
        """Settle what a status query can settle, ask the stop gate, and end the run if it accepts.

        Claims that are None are read from the text, once the record is as it will be judged. `tenure` is the
        successor's tenure that proposes to stop, if one does.
        """
        given: tuple[Claim, ...] | None = None
        try:
            if claims is not None:
                given = claims_of(claims)
                claims_text(given)
        except InputError as bad:
            where = (bad.where or "").removeprefix("claims.")
            unreadable = rejection(
                UNREAD, f"the claims cannot be read: {bad.message}", bad.fix or "JSON values", where=where
            )
            unread: Finish = yield Write(
                lambda: self._decide(
                    text, (), outcome, declared_by=declared_by, truncated=truncated, given=unreadable, tenure=tenure
                )
            )
            return unread
        if self._journal.view.doubts and not truncated:
            yield from self.queries()
        answer: Finish = yield Write(
            lambda: self._decide(text, given, outcome, declared_by=declared_by, truncated=truncated, tenure=tenure)
        )
        return answer

    def stopping(self, tenure: str, steps: Steps[Finish]) -> Steps[Finish]:
        """Return the steps of a stop that no gate is asked about, as that of a successor's tenure."""
        self._stopping = tenure
        try:
            return (yield from steps)
        finally:
            self._stopping = ""

    def _proposed(self, text: str, outcome: StopOutcome) -> Proposed:
        """Return the claims a text makes; of an answer that claims not to have acted none is asked for."""
        if outcome != "acted" or not self._guard.claims_from_text:
            return Proposed()
        try:
            return propose(self._journal.view, self._contract, text)
        except Exception as bad:  # noqa: BLE001 - fail closed: what cannot be read is not claimed
            _LOG.error("the text could not be read for claims: %s", type(bad).__name__)
            return Proposed()

    def _answer(self, decision: Decision, notes: Sequence[Reason] = ()) -> Finish:
        """Answer a refused stop that was just recorded: go on with what is missing, or the run is stuck and ends."""
        bounds = self._bounds
        missing = deficits(self._journal.view, self._contract, decision, notes)
        stuck = bounds.after_stop()
        try:
            self._journal.append(bounds.answer(stuck), RUNTIME, durable=False)
            if stuck is not None:
                status = self.end(stuck)
                return Finish(decision=decision, deficits=missing, status=status, reason=stuck)
        except LedgerError:  # it cannot be recorded now; the next stop tries again
            return Finish(decision=decision, deficits=missing)
        return Finish(decision=decision, deficits=missing, warning=bounds.stop_warning())

    def _decide(
        self,
        text: str,
        claims: tuple[Claim, ...] | None,
        outcome: StopOutcome,
        *,
        declared_by: str,
        truncated: bool,
        given: Decision | None = None,
        tenure: str = "",
    ) -> Finish:
        """Decide and record; `given` is the rejection of claims no gate can be asked about."""
        journal = self._journal
        with journal.lock:
            closed = self._calls.closed()
            if closed is not None:
                decision = rejection(closed.codes[0], closed.reasons[0].message, closed.reasons[0].reverses)
                return self._unrecorded(decision, self._calls.status)
            other = journal.view.tenure
            if other is not None and tenure != other.frozen.tenure:
                message = f"`{other.frozen.to}` is finishing this run, and nobody else may end it meanwhile"
                return self._unrecorded(rejection(TENURE, message, "the end of its tenure", where=other.frozen.tenure))
            self._stopping = tenure
            try:
                self._calls.catch_up()
                self._ask_children()
                now = journal.clock()
                read = self._proposed(text, outcome) if claims is None else Proposed()
                claims = read.claims if claims is None else claims
                stop = Stop(
                    now=now, claims=claims, text=text, outcome=outcome, declared_by=declared_by, truncated=truncated
                )
                decision, certificate = (given, None) if given else judged(journal.view, self._contract, stop)
                envelope = self._signed(certificate)
                at = stamp(now)
                body = StopDecided(
                    claims=claims_text(claims),
                    text=text,
                    declared_by=declared_by,
                    outcome=outcome,
                    decision=decision.text(),
                    now=at,
                    truncated=truncated,
                )
                journal.append(body, RUNTIME, durable=True, at=at)
                if decision.verdict is Verdict.ACCEPT:
                    status, reason = final_status(journal.view, self._contract, decision)
                    if status != "CERTIFIED":
                        certificate = envelope = None
                    elif certificate is not None:
                        self._issue(certificate)
                    self._append_end(status, outcome if status == "CERTIFIED" else "", reason)
                    return Finish(
                        decision=decision, status=status, reason=reason, certificate=certificate, envelope=envelope
                    )
                return self._answer(decision, read.notes)
            except LedgerError as bad:
                message = f"the ledger cannot record this stop: {bad.message}"
                return self._unrecorded(rejection("ledger.unavailable", message, bad.fix or "a working ledger"))
            except InputError as bad:
                return self._unrecorded(rejection("stop.unwritable", f"the stop cannot be recorded: {bad.message}", ""))
            finally:
                self._stopping = ""

    def _unrecorded(self, decision: Decision, status: Status | None = None) -> Finish:
        missing = deficits(self._journal.view, self._contract, decision)
        return Finish(decision=decision, deficits=missing, status=status, reason=decision.codes[0] if status else "")

    def queries(self) -> Steps[tuple[str, ...]]:
        """Make the status query of every call in doubt once; return the ids of those still in doubt."""
        for doubtful in list(self._journal.view.doubts.values()):
            if doubtful.id not in self._journal.view.doubts:
                continue  # settled by an earlier query of this round
            read = status_query(self._contract, doubtful)
            if read is not None and read.tool in self._calls.tools:
                yield from self._calls.steps(self._calls.query(read.tool, read.args), queries=0)
        return tuple(self._journal.view.doubts)

    def _signed(self, certificate: Certificate | None) -> bytes | None:
        """Return the envelope of a certificate, where there is one and a key; the point it was bound to is now."""
        signer = self._guard.signer
        return sign(self._journal.view, certificate, signer) if certificate is not None and signer is not None else None

    def _issue(self, certificate: Certificate) -> None:
        """Record the certificate of the stop that was just recorded; it counts once the end is recorded too."""
        text = certificate.statement()
        body = Issued(statement=text.decode("utf-8"), statement_sha256=digest(text))
        self._journal.append(body, RUNTIME, durable=True)

    # ------------------------------------------------------------------ the status

    def end(self, reason: str) -> Status:
        """End the run without an accepted stop; the status says what stands in the way. Call under the lock.

        Raises:
            LedgerError: the end cannot be recorded.
        """
        if reason in OF_CALLS:
            self._journal.append(self._bounds.answer(reason), RUNTIME, durable=False)
        status, why = final_status(self._journal.view, self._contract)
        self._append_end(status, "", why if status != "UNCERTIFIED" else reason)
        return status

    def _append_end(self, status: Status, outcome: str, reason: str) -> None:
        # A tenure never outlives its run; only its own accepted stop completes it.
        if status == "CERTIFIED" and self._stopping:
            end_tenure(self._journal, "complete", COMPLETE)
        else:
            end_tenure(self._journal, "bottom", STOP_REFUSED if self._stopping else INTERRUPTED)
        self._journal.append(Ended(status=status, outcome=outcome, reason=reason), RUNTIME, durable=True)
        self._tell_parent(status)

    def _tell_parent(self, status: Status) -> None:
        parent = self._run.parent
        if parent is not None:
            with contextlib.suppress(
                LedgerError
            ):  # the child's own ledger says it; the parent asks there before it ends
                parent.note_child(self._journal.run, status)

    def note_child(self, child: str, status: Any) -> bool:
        """Record where a child stands, if this run still may, and return whether it did."""
        with self._journal.lock:
            if self._journal.view.ended is not None or self._journal.broken:
                return False
            self._journal.append(ChildRun(child=child, status=status), RUNTIME, durable=True)
            return True

    def _ask_children(self) -> None:
        """Learn from the store how children ended whose end this run did not see (another tenure, another process)."""
        for name, (_, body) in list(self._journal.view.children.items()):
            if body.status != "open":
                continue
            row = next((r for r in self._journal.store.runs() if r.run == name), None)
            if row is not None and row.status is not None:
                self.note_child(name, row.status)

    # ------------------------------------------------------------------ leaving

    def leave(self, reason: str | None) -> Status | None:
        """Give the run back: end it for `reason`, or leave it open where that is None."""
        journal = self._journal
        with journal.lock:
            if self._left:
                return self._calls.status
            self._left = True
            # Where the ledger cannot be written, the record says no more; what it says is honest: doubt where it was.
            with contextlib.suppress(LedgerError):
                self._flush()
            with contextlib.suppress(LedgerError):
                if reason is not None and journal.view.ended is None and journal.broken != "lease.lost":
                    self.end("ledger.broken" if journal.broken else reason)
            journal.broken = journal.broken or "run.left"
            self._calls.when_idle = self._release
            if not self._calls.receipts.unfinished:
                self._release()  # else the last late result does
            return self._calls.status

    def _flush(self) -> None:
        """Append what the ledger would not take before: late receipts, and calls that were never dispatched."""
        self._calls.catch_up()
        view = self._journal.view
        while self._calls.receipts.unwritten:
            body = self._calls.receipts.unwritten[0]
            call = view.calls.get(body.call or "")
            if call is not None and not call.receipts:
                self._calls.receipts.write(msgspec.structs.replace(body, late=True))
                view = self._journal.view
            self._calls.receipts.unwritten.pop(0)

    def _release(self) -> None:
        self._guard.heartbeat.remove(self._journal)
        with contextlib.suppress(LedgerError):  # it expires by itself
            self._journal.store.release(self._journal.lease)
