"""The path of a call: decide, append the intent, run the tool, append the receipt, fold.

Deciding and appending the intent is one critical section per run. What can go wrong, and what it means, is the table
"Failure semantics" of the architecture; each row is marked where it is made true.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from functools import partial
from typing import Any, Final
from weakref import ReferenceType, ref

from tallystick.contracts.arguments import validate_args
from tallystick.contracts.types import Contract, Tool
from tallystick.errors import InputError, LedgerError
from tallystick.gates.act import may_act
from tallystick.gates.doubt import why_in_doubt
from tallystick.gates.settle import status_query
from tallystick.handoff import Form
from tallystick.handoff.controls import CODES
from tallystick.model import jsontext
from tallystick.model.decision import Decision, Verdict
from tallystick.model.events import Blob, Intent, Receipt
from tallystick.model.exact import args_digest
from tallystick.model.proposal import Call
from tallystick.runtime.blocking import lift_expired
from tallystick.runtime.bounds import OF_CALLS, OWN, Bounds, fingerprint, why_stuck
from tallystick.runtime.controls import Asked, Control, check
from tallystick.runtime.copies import copied
from tallystick.runtime.drivers import Steps, Wait, Write
from tallystick.runtime.execution import Execution, Ran
from tallystick.runtime.journal import RUNTIME, Journal, stamp
from tallystick.runtime.letters import collect
from tallystick.runtime.lost import LostAnswer, handed_back
from tallystick.runtime.outcome import Outcome, Status, refusal
from tallystick.runtime.pending import awaits_principal
from tallystick.runtime.proposals import Proposal, call_of, minted_key, misfit, refusal_body, unusable
from tallystick.runtime.receipts import Receipts
from tallystick.runtime.results import ToolResult
from tallystick.runtime.secrets import secret_in
from tallystick.runtime.takeover_record import TENURE
from tallystick.view import ReceiptRecord, effect_of

MAX_QUERIES: Final = 3
"""Status queries made for one proposal before it is answered with what is still in doubt."""
RUNTIME_CODES: Final = OF_CALLS | CODES | {
    "args.not_json", "args.secret", "args.signature", "tool.unknown", TENURE,
}  # fmt: skip
"""Codes of recorded refusals that the runtime itself makes; every other recorded decision is a gate's."""


@dataclass(slots=True, weakref_slot=True)
class Ticket:
    """What the critical section hands to the rest of a call's path; filled step by step, so an interrupt finds it."""

    call_id: str = ""
    decision: Decision | None = None
    fn: Callable[..., Any] | None = None
    dispatch: Mapping[str, Any] | None = None
    answer: Outcome | None = None
    running: Future[None] | None = None
    query: Proposal | None = None
    lookup: tuple[Control, Asked] | None = None
    fence: Callable[[], None] | None = None


class Calls:
    """The calls of one run in one tenure."""

    def __init__(
        self,
        journal: Journal,
        contract: Contract,
        tools: Mapping[str, Callable[..., Any]],
        bounds: Bounds,
        *,
        key: bytes | None,
        patience: float,
        end: Callable[[str], Status | None],
    ) -> None:
        self.journal = journal
        self.contract = contract
        self.tools = dict(tools)
        self.bounds = bounds
        self.key = key
        self.patience = patience
        self.end = end
        self.timeout: float | None = None
        self.controls: tuple[Control, ...] = ()
        self.received: tuple[Any, Form] | None = None  # the artifact this tenure took last
        self.receipts = Receipts(journal, contract, key)
        self.running: dict[str, Future[None] | None] = {}  # calls at work; a future once another call waits for one
        self.active: dict[str, ReferenceType[Ticket]] = {}  # calls somebody still works on: their tickets are alive
        self.undispatched: set[str] = set()  # intents that may be in the record although their tools never ran
        self.when_idle: Callable[[], None] | None = None

    # ------------------------------------------------------------------ the path

    def steps(self, proposal: Proposal, *, queries: int = MAX_QUERIES) -> Steps[Outcome]:
        """Take one proposal from the gate to its receipt."""
        waited = 0.0
        while True:
            ticket = Ticket()
            final = waited >= self.patience
            try:
                yield Write(partial(self._admit, proposal, ticket, final=final, ask=queries > 0))
            except GeneratorExit:
                if ticket.call_id:  # the driver itself was interrupted, and is gone: written here, by whoever ends us
                    self._give_up(ticket.call_id)
                raise
            except BaseException:
                # Killed by an interrupt after the intent may have been appended, before anything was dispatched.
                if ticket.call_id:
                    yield Write(partial(self._give_up, ticket.call_id))
                raise
            if ticket.answer is not None:
                return ticket.answer
            if ticket.running is not None:
                started = self.journal.clock()
                yield Wait(ticket.running, self.patience - waited)
                spent = (self.journal.clock() - started).total_seconds()
                waited = waited + max(spent, 0.0) if ticket.running.done() else self.patience
            elif ticket.lookup is not None:
                control, asked = ticket.lookup
                proposal.answers[control.name] = yield Write(partial(control.ask, asked))
            elif ticket.query is not None:
                queries -= 1
                yield from self.steps(ticket.query, queries=0)
            else:
                return (yield from self._dispatch(proposal, ticket))

    def _dispatch(self, proposal: Proposal, ticket: Ticket) -> Steps[Outcome]:
        assert ticket.fn is not None
        assert ticket.decision is not None
        execution = Execution(ticket.fn, ticket.dispatch or {}, proposal.timeout, self.journal.clock, ticket.fence)
        try:
            ran = yield execution
        except GeneratorExit as bad:
            ran = Ran(error=bad, at=self.journal.clock())
            self._conclude(proposal, ticket, ran, execution, interrupted=True)
            raise
        except BaseException as bad:
            # Interrupted or cancelled while the tool was at work: nobody knows what it did.
            ran = Ran(error=bad, at=self.journal.clock())
            yield Write(partial(self._conclude, proposal, ticket, ran, execution, interrupted=True))
            raise
        outcome: Outcome = yield Write(partial(self._conclude, proposal, ticket, ran, execution))
        return outcome

    # ------------------------------------------------------------------ before the tool

    def _admit(self, proposal: Proposal, ticket: Ticket, *, final: bool, ask: bool) -> None:
        journal = self.journal
        with journal.lock:
            closed = self.closed()
            if closed is not None:
                ticket.answer = Outcome(tool=proposal.tool, decision=closed, ended=self.status)
                return
            try:
                self.catch_up()
                self._judge(proposal, ticket, final=final, ask=ask)
            except LedgerError as bad:  # row "ledger cannot write": nothing runs unrecorded
                ticket.answer = self._unrecorded(proposal, ticket, bad)
            except InputError as bad:  # the event cannot be written (a lone surrogate, say)
                decision = refusal("args.unwritable", f"the call cannot be recorded: {bad.message}", "plain JSON")
                ticket.answer = Outcome(tool=proposal.tool, decision=decision)
            except Exception as bad:  # noqa: BLE001 - row "our own exception": refused, never admitted
                ticket.answer = Outcome(
                    tool=proposal.tool,
                    decision=refusal("guard.error", f"the guard itself failed: {type(bad).__name__}", "a fixed guard"),
                )

    def closed(self) -> Decision | None:
        """Return the refusal of any proposal once the run is over or can no longer be recorded, else None."""
        if self.journal.view.ended is not None:
            return refusal("run.closed", f"the run has ended: {self.journal.view.ended.status}", "a new run")
        if self.journal.broken:
            why = {
                "lease.lost": "another writer has taken over this run",
                "ledger.broken": "a result could not be recorded",
                "run.left": "this tenure is over",
            }.get(self.journal.broken, "the record cannot be continued")
            return refusal(self.journal.broken, why, "resume the run in a new tenure")
        return None

    @property
    def status(self) -> Status | None:
        """The run's final status, if it has ended."""
        return self.journal.view.ended.status if self.journal.view.ended is not None else None

    def catch_up(self) -> None:
        """Make view and store agree, and take in what principals posted. Call under the lock.

        Raises:
            LedgerError: the store cannot be read or written.
        """
        self.journal.ready()
        collect(self.journal)
        lift_expired(self.journal)
        for call_id in list(self.undispatched):
            self._never_started(call_id)
        for call_id in list(self.journal.view.open_calls):
            worker = self.active.get(call_id)
            if (worker is None or worker() is None) and not self.receipts.holds(call_id):
                # An interrupt struck between two steps, and whoever was to write this receipt is gone.
                lost = Ran(error=InterruptedError("its receipt was never written"), at=self.journal.clock())
                self.receipts.record(call_id, lost, interrupted=True)
                self._done(call_id)

    def _judge(self, proposal: Proposal, ticket: Ticket, *, final: bool, ask: bool) -> None:
        journal, view = self.journal, self.journal.view
        now = journal.clock()
        if proposal.problem is not None:
            ticket.answer = self._refuse_unusable(proposal, stamp(now))
            return
        tool = self.contract.tools.get(proposal.tool)
        if tool is not None and tool.idempotency_arg is not None:
            self._add_key(proposal, tool.idempotency_arg)
        call, kept, raw = call_of(proposal, tool, now, self.key)
        spent = None if proposal.own else self.bounds.before_call(proposal.turn)
        if spent is not None:
            decision = refusal(spent, why_stuck(spent), "a new run")
            ticket.answer = self._refuse(proposal, call, kept, raw, decision, spent)
            return
        other = self._in_a_tenure(proposal, tool, call)
        if other is not None:
            ticket.answer = self._refuse(proposal, call, kept, raw, other)
            return
        decision = may_act(view, self.contract, call)
        if decision.verdict is Verdict.ADMIT:
            fn = proposal.fn or self.tools.get(proposal.tool)
            problem = _cannot_run(proposal, fn, tool)
            used: tuple[str, ...] = ()
            if problem is None and self.controls and not proposal.own:
                write = tool is None or effect_of(tool, call.args) == "write"
                checked = check(self.controls, view, self.contract, call, write=write, received=self.received,
                                answers=proposal.answers)  # fmt: skip
                if checked.lookup is not None:
                    ticket.lookup = checked.lookup
                    return
                problem, used = checked.refusal, checked.approvals
            if problem is None:
                assert fn is not None
                self._intend(proposal, ticket, call, kept, raw, decision, fn, used)
                return
            decision = problem
        elif not final and decision.codes == ("effect.in_flight",):
            refs = decision.reasons[0].refs
            first = next((c.id for c in view.open_calls.values() if c.seq in refs and c.id in self.running), None)
            if first is not None:
                ticket.running = self.running[first] = self.running[first] or Future()
                return
        elif decision.verdict is Verdict.RECONCILE and ask:
            ticket.query = self._query_for(proposal, decision.in_doubt or "")
            if ticket.query is not None:
                return
        ticket.answer = self._refuse(proposal, call, kept, raw, decision)

    def _in_a_tenure(self, proposal: Proposal, tool: Tool | None, call: Call) -> Decision | None:
        """Return the refusal of a write by anybody else while a successor finishes the rest, or None.

        What was admitted there was judged whole, over the state it began from; a write beside it would change that.
        """
        record = self.journal.view.tenure
        if record is None or proposal.tenure == record.frozen.tenure:
            return None
        if tool is not None and effect_of(tool, call.args) != "write":
            return None
        return refusal(TENURE, f"`{record.frozen.to}` is finishing this run: nobody else may change anything meanwhile",
                       "the end of its tenure", where=record.frozen.tenure)  # fmt: skip

    def _add_key(self, proposal: Proposal, name: str) -> None:
        given = proposal.exact.get(name)
        if given is None:
            if proposal.idempotency_key is None:
                tool = self.contract.tools[proposal.tool]
                proposal.idempotency_key = minted_key(self.journal.view, tool, proposal, self.key)
            proposal.exact = {**proposal.exact, name: proposal.idempotency_key}
            proposal.text = jsontext.dumps(proposal.exact)
            proposal.dispatch = {**proposal.dispatch, name: proposal.idempotency_key}
        elif isinstance(given, str) and proposal.idempotency_key is None:
            proposal.idempotency_key = given

    def _intend(
        self,
        proposal: Proposal,
        ticket: Ticket,
        call: Call,
        kept: Blob,
        raw: Blob | None,
        decision: Decision,
        fn: Callable[..., Any],
        used: tuple[str, ...] = (),
    ) -> None:
        view = self.journal.view
        tool = self.contract.tools.get(proposal.tool)
        write = tool is None or effect_of(tool, call.args) == "write"
        if view.approvals:
            basis = set(decision.basis)
            spent = (r.body.id for r in view.approvals_of(call.tool) if r.digest in basis)
            used = tuple(dict.fromkeys((*spent, *used)))
        ticket.call_id = f"c{len(view.calls) + 1}"
        self.active[ticket.call_id] = ref(ticket)
        at = stamp(call.now)
        intent = Intent(
            call=ticket.call_id,
            tool=call.tool,
            args=kept,
            raw_args=raw,
            native_id=call.native_id,
            turn=call.turn,
            wish=call.wish,
            idempotency_key=call.idempotency_key,
            approvals=list(used),
            basis=list(decision.basis),
            judged_upto=decision.judged_upto,
            now=at,
        )
        view.known_json = (kept, call.args)
        self.journal.append(intent, RUNTIME, durable=write, at=at)
        ticket.decision, ticket.fn, ticket.dispatch = decision, fn, proposal.dispatch
        # Between the intent and the tool this process may be paused for so long that another takes the run over,
        # settles the open intent and goes on.
        ticket.fence = self.journal.check_fence if write else None
        self.running[ticket.call_id] = None

    def _query_for(self, proposal: Proposal, call_id: str) -> Proposal | None:
        """Return the status query that may settle a doubt: once per proposal and doubt, if its tool can be run."""
        doubtful = self.journal.view.calls.get(call_id)
        if doubtful is None or call_id in proposal.tries:
            return None
        read = status_query(self.contract, doubtful)
        if read is None or read.tool not in self.tools:
            return None
        proposal.tries.add(call_id)
        return self.query(read.tool, read.args)

    def query(self, tool: str, args_text: str) -> Proposal:
        """Return the proposal of a read the runtime itself makes."""
        return Proposal.of(tool, args_text, timeout=self.timeout, own=True)

    # ------------------------------------------------------------------ not admitted

    def _refuse(
        self,
        proposal: Proposal,
        call: Call,
        kept: Blob,
        raw: Blob | None,
        decision: Decision,
        spent: str | None = None,
    ) -> Outcome:
        view = self.journal.view
        recorded: ReceiptRecord | None = None
        lost: LostAnswer | None = None
        again = decision.verdict is Verdict.RETURN_RECORDED
        if again:
            recorded, lost = handed_back(view, decision)
        # Asking again while a person is asked is no loop; it is bounded by the budget of refusals alone.
        waits = decision.codes == (TENURE,) or awaits_principal(view, self.contract, decision)
        loops = not (again or waits)
        mark = OWN if proposal.own else fingerprint(call.tool, args_digest(call.args), decision.codes) if loops else ""
        at = stamp(call.now)
        body = refusal_body(proposal, kept, raw, decision, mark, at)
        self.journal.append(body, RUNTIME, durable=False, at=at)
        stuck = spent if spent is not None or proposal.own else self.bounds.after_refusal(mark)
        return Outcome(
            tool=call.tool,
            decision=decision,
            result=copied(recorded.value) if recorded is not None else lost,
            receipt_id=recorded.id if recorded is not None else None,
            in_doubt=decision.verdict is Verdict.RECONCILE,
            ended=self.end(stuck) if stuck is not None else None,
            warning="" if stuck is not None or proposal.own else self.bounds.warning(mark, view.evidence_seq),
        )

    def ask_people(self, proposal: Proposal) -> None:
        """Record a call that will be made, and that a principal has to let through first. Call under the lock.

        Nothing is recorded where the gate has nothing against the call, or something that nobody can approve.

        Raises:
            LedgerError: it cannot be recorded.
        """
        tool = self.contract.tools.get(proposal.tool)
        if proposal.problem is not None or (tool is not None and tool.idempotency_arg is not None):
            return  # each time with a key of its own: approving one call says nothing of the next
        call, kept, raw = call_of(proposal, tool, self.journal.clock(), self.key)
        decision = may_act(self.journal.view, self.contract, call)
        if not awaits_principal(self.journal.view, self.contract, decision):
            return
        at = stamp(call.now)
        body = refusal_body(proposal, kept, raw, decision, OWN, at)
        self.journal.append(body, RUNTIME, durable=False, at=at)

    def _refuse_unusable(self, proposal: Proposal, now: str) -> Outcome:
        decision = unusable(proposal)
        text = proposal.args_text if proposal.args_text is not None else ""
        tool = self.contract.tools.get(proposal.tool)
        raw = text.encode("utf-8", "surrogatepass")
        kept = self.receipts.kept(raw, secret_in(tool, "args"))
        mark = fingerprint(proposal.tool, kept.sha256, decision.codes)
        self.journal.append(refusal_body(proposal, kept, None, decision, mark, now), RUNTIME, durable=False)
        seen = self.journal.view.evidence_seq
        stuck = self.bounds.after_refusal(mark)
        ended = self.end(stuck) if stuck is not None else None
        warning = "" if stuck is not None else self.bounds.warning(mark, seen)
        return Outcome(tool=proposal.tool, decision=decision, ended=ended, warning=warning)

    def _unrecorded(self, proposal: Proposal, ticket: Ticket, bad: LedgerError) -> Outcome:
        if ticket.call_id:
            self.undispatched.add(ticket.call_id)  # it may have been stored all the same
        closed = self.closed()
        decision = closed or refusal(
            "ledger.unavailable", f"the ledger cannot record this call: {bad.message}", bad.fix or "a working ledger"
        )
        return Outcome(tool=proposal.tool, decision=decision)

    def _give_up(self, call_id: str) -> None:
        with contextlib.suppress(LedgerError):  # tried again before the next decision
            self._never_started(call_id)

    def _never_started(self, call_id: str) -> None:
        """Record that an intent's tool was never dispatched, if that intent is in the record at all."""
        with self.journal.lock:
            self.undispatched.add(call_id)
            self.journal.ready()
            view = self.journal.view
            if call_id in view.open_calls:
                body = Receipt(
                    id=f"r{len(view.receipts) + 1}",
                    call=call_id,
                    result=None,
                    outcome="not_started",
                    error="never dispatched",
                    observed_at=stamp(self.journal.clock()),
                )
                self.journal.append(body, RUNTIME, durable=True)
            self.undispatched.discard(call_id)
            self._done(call_id)

    # ------------------------------------------------------------------ after the tool

    def _conclude(
        self, proposal: Proposal, ticket: Ticket, ran: Ran, execution: Execution, *, interrupted: bool = False
    ) -> Outcome:
        call_id = ticket.call_id
        assert ticket.decision is not None
        if execution.kept_back is not None:
            return self._kept_back(proposal, call_id, execution.kept_back)
        with self.journal.lock:
            if execution.abandoned:
                self.receipts.unfinished.add(call_id)
            try:
                record = self.receipts.record(call_id, ran, interrupted=interrupted)
            finally:
                self._done(call_id)
            doubtful = record is None or call_id in self.journal.view.doubts
            if record is not None:
                self.receipts.settle_from(record, ticket.decision)
        if execution.abandoned:
            execution.when_late(partial(self._late, call_id))
        value = ran.value.value if isinstance(ran.value, ToolResult) else ran.value
        not_json = self.receipts.not_json.pop(call_id, None)
        return Outcome(
            tool=proposal.tool,
            decision=ticket.decision,
            result=None if not_json is not None else value,
            call_id=call_id,
            receipt_id=record.id if record is not None else None,
            error=not_json or ran.error,
            in_doubt=doubtful,
            why_in_doubt=self._why(call_id) if doubtful else "",
        )

    def _kept_back(self, proposal: Proposal, call_id: str, bad: BaseException) -> Outcome:
        """Answer for a write that was admitted and whose tool was not started after all."""
        with self.journal.lock:
            self._give_up(call_id)  # where another took over, the open intent is his to settle
            self._done(call_id)
            why = bad.message if isinstance(bad, LedgerError) else type(bad).__name__
            decision = self.closed() or refusal(
                "ledger.unavailable", f"nobody can say who holds this run: {why}", "a working ledger"
            )
            return Outcome(tool=proposal.tool, decision=decision, ended=self.status)

    def _why(self, call_id: str) -> str:
        call = self.journal.view.calls.get(call_id)
        if call is None or not call.receipts:
            return "what came back could not be recorded"
        return why_in_doubt(self.contract, call)

    def _late(self, call_id: str, ran: Ran) -> None:
        """Append what a tool returned after the wait for it was given up, if this writer still may."""
        with self.journal.lock:
            self.receipts.unfinished.discard(call_id)
            if self.journal.broken in ("", "run.left"):
                record = self.receipts.record(call_id, ran, late=True)
                self.receipts.not_json.pop(call_id, None)
                if record is not None and self.journal.view.ended is None:
                    self.receipts.settle_from(record, None)
            if not self.receipts.unfinished and self.when_idle is not None:
                self.when_idle()

    def _done(self, call_id: str) -> None:
        self.active.pop(call_id, None)
        future = self.running.pop(call_id, None)
        if future is not None:
            future.set_result(None)


def _cannot_run(proposal: Proposal, fn: Callable[..., Any] | None, tool: Tool | None) -> Decision | None:
    """Return why a call the gate admits cannot be dispatched after all, or None."""
    if tool is not None and secret_in(tool, "args"):
        # The gate saw marks in the place of secrets; whether the secrets themselves fit is asked here. No message
        # of the checker repeats one.
        wrong = validate_args(tool, proposal.exact)
        if wrong:
            return refusal(
                "args.secret", wrong[0].message, wrong[0].fix or "arguments that fit", where=wrong[0].pointer
            )
    if fn is None:
        return refusal("tool.unknown", f"no callable is registered for `{proposal.tool}`", "register it with the guard")
    problem = misfit(fn, proposal.dispatch)
    if problem is None:
        return None
    return refusal("args.signature", f"{proposal.tool} cannot be called like this: {problem}", "arguments it takes")
