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

import msgspec

from tallystick.contracts.arguments import validate_args
from tallystick.contracts.types import Contract, Tool
from tallystick.errors import InputError, LedgerError
from tallystick.gates.act import may_act
from tallystick.gates.settle import settled_by, status_query
from tallystick.model import jsontext
from tallystick.model.decision import Decision, Verdict
from tallystick.model.events import Blob, DoubtSettled, Intent, Receipt, args_digest, blob
from tallystick.model.proposal import Call
from tallystick.model.redact import redact
from tallystick.runtime.bounds import Bounds, fingerprint
from tallystick.runtime.drivers import Steps, Wait, Write
from tallystick.runtime.execution import Execution, Ran
from tallystick.runtime.journal import EXECUTOR, RUNTIME, Journal, stamp
from tallystick.runtime.letters import collect
from tallystick.runtime.outcome import Outcome, Status, refusal
from tallystick.runtime.proposals import Proposal, call_of, exact_args, minted_key, misfit, refusal_body, unusable
from tallystick.runtime.results import MAX_ERROR_CHARS, MAX_RESULT_BYTES, ToolResult, error_text, result_bytes
from tallystick.runtime.secrets import secret_in
from tallystick.view import ReceiptRecord, effect_of
from tallystick.view.fold_calls import reading

MAX_QUERIES: Final = 3
"""Status queries made for one proposal before it is answered with what is still in doubt."""
LARGE_BYTES: Final = 1024 * 1024
"""A result above this may itself be why an append failed; one receipt without it is then tried."""
RUNTIME_CODES: Final = frozenset({"args.not_json", "args.secret", "args.signature", "tool.unknown"})
"""Codes of recorded refusals that the runtime itself makes; every other recorded decision is a gate's."""


@dataclass(slots=True)
class Ticket:
    """What the critical section hands to the rest of a call's path; filled step by step, so an interrupt finds it."""

    call_id: str = ""
    decision: Decision | None = None
    fn: Callable[..., Any] | None = None
    dispatch: Mapping[str, Any] | None = None
    answer: Outcome | None = None
    running: Future[None] | None = None
    query: Proposal | None = None


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
        self.running: dict[str, Future[None]] = {}
        self.unfinished: set[str] = set()  # given up on, but their threads are still at work
        self.undispatched: set[str] = set()  # intents that may be in the record although their tools never ran
        self.unwritten: list[Receipt] = []  # receipts the ledger would not take
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
            elif ticket.query is not None:
                queries -= 1
                yield from self.steps(ticket.query, queries=0)
            else:
                return (yield from self._dispatch(proposal, ticket))

    def _dispatch(self, proposal: Proposal, ticket: Ticket) -> Steps[Outcome]:
        assert ticket.fn is not None
        assert ticket.decision is not None
        execution = Execution(ticket.fn, ticket.dispatch or {}, proposal.timeout, self.journal.clock)
        try:
            ran = yield execution
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
        for call_id in list(self.undispatched):
            self._never_started(call_id)

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
        decision = may_act(view, self.contract, call)
        if decision.verdict is Verdict.ADMIT:
            fn = proposal.fn or self.tools.get(proposal.tool)
            problem = _cannot_run(proposal, fn, tool)
            if problem is None:
                assert fn is not None
                self._intend(proposal, ticket, call, kept, raw, decision, fn)
                return
            decision = problem
        elif not final and decision.codes == ("effect.in_flight",):
            running = [self.running.get(c.id) for c in view.open_calls.values() if c.seq in decision.reasons[0].refs]
            ticket.running = next((f for f in running if f is not None), None)
            if ticket.running is not None:
                return
        elif decision.verdict is Verdict.RECONCILE and ask:
            ticket.query = self._query_for(proposal, decision.in_doubt or "")
            if ticket.query is not None:
                return
        ticket.answer = self._refuse(proposal, call, kept, raw, decision)

    def _add_key(self, proposal: Proposal, name: str) -> None:
        given = proposal.exact.get(name)
        if given is None:
            if proposal.idempotency_key is None:
                tool = self.contract.tools[proposal.tool]
                proposal.idempotency_key = minted_key(self.journal.view, tool, proposal)
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
    ) -> None:
        view = self.journal.view
        tool = self.contract.tools.get(proposal.tool)
        write = tool is None or effect_of(tool, call.args) == "write"
        used: tuple[str, ...] = ()
        if view.approvals:
            basis = set(decision.basis)
            used = tuple(r.body.id for r in view.approvals_of(call.tool) if r.digest in basis)
        ticket.call_id = f"c{len(view.calls) + 1}"
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
            now=stamp(call.now),
        )
        self.journal.append(intent, RUNTIME, durable=write, now=call.now)
        ticket.decision, ticket.fn, ticket.dispatch = decision, fn, proposal.dispatch
        self.running[ticket.call_id] = Future()

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
        exact, text, problem = exact_args(None, args_text)
        return Proposal(
            tool=tool,
            exact=exact,
            text=text,
            dispatch=exact,
            args_text=None,
            problem=problem,
            fn=None,
            timeout=self.timeout,
        )

    # ------------------------------------------------------------------ not admitted

    def _refuse(self, proposal: Proposal, call: Call, kept: Blob, raw: Blob | None, decision: Decision) -> Outcome:
        view = self.journal.view
        recorded: ReceiptRecord | None = None
        if decision.recorded is not None:
            recorded = view.receipt(decision.recorded)
        handed_back = decision.verdict is Verdict.RETURN_RECORDED
        mark = "" if handed_back else fingerprint(call.tool, args_digest(call.args), decision.codes)
        body = refusal_body(proposal, kept, raw, decision, mark, stamp(call.now))
        self.journal.append(body, RUNTIME, durable=False, now=call.now)
        stuck = self.bounds.count(mark, view.evidence_seq)
        return Outcome(
            tool=call.tool,
            decision=decision,
            result=recorded.value if recorded is not None else None,
            receipt_id=recorded.id if recorded is not None else None,
            in_doubt=decision.verdict is Verdict.RECONCILE,
            ended=self.end(stuck) if stuck is not None else None,
        )

    def _refuse_unusable(self, proposal: Proposal, now: str) -> Outcome:
        decision = unusable(proposal)
        text = proposal.args_text if proposal.args_text is not None else ""
        tool = self.contract.tools.get(proposal.tool)
        raw = text.encode("utf-8", "surrogatepass")
        kept = self._kept(raw, secret_in(tool, "args"))
        mark = fingerprint(proposal.tool, kept.sha256, decision.codes)
        self.journal.append(refusal_body(proposal, kept, None, decision, mark, now), RUNTIME, durable=False)
        stuck = self.bounds.count(mark, self.journal.view.evidence_seq)
        ended = self.end(stuck) if stuck is not None else None
        return Outcome(tool=proposal.tool, decision=decision, ended=ended)

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
        with self.journal.lock:
            if execution.abandoned:
                self.unfinished.add(call_id)
            try:
                record = self._record(call_id, ran, interrupted=interrupted)
            finally:
                self._done(call_id)
            doubtful = record is None or call_id in self.journal.view.doubts
            if record is not None:
                self._settle_from(record, ticket.decision)
        if execution.abandoned:
            execution.when_late(partial(self._late, call_id))
        value = ran.value.value if isinstance(ran.value, ToolResult) else ran.value
        return Outcome(
            tool=proposal.tool,
            decision=ticket.decision,
            result=value,
            call_id=call_id,
            receipt_id=record.id if record is not None else None,
            error=ran.error,
            in_doubt=doubtful,
        )

    def _record(self, call_id: str, ran: Ran, *, interrupted: bool = False, late: bool = False) -> ReceiptRecord | None:
        """Append the receipt; None where the ledger would not take it, which ends what this tenure may do."""
        journal = self.journal
        try:
            body = self._receipt(call_id, ran, interrupted=interrupted, late=late)
        except Exception as bad:  # noqa: BLE001 - our own fault must not lose the receipt of a call that ran
            text = f"the guard could not read what came back: {type(bad).__name__}"
            body = Receipt(id="", call=call_id, result=None, error=text, observed_at=stamp(ran.at), late=late)
        try:
            journal.ready()
            try:
                return self.write_receipt(body)
            except (InputError, LedgerError) as bad:
                if journal.broken or (isinstance(bad, LedgerError) and not _is_large(body)):
                    raise
                # The event itself is the trouble. A receipt that says so is better than none: the call did run.
                text = f"the result cannot be recorded: {bad.message}"[:MAX_ERROR_CHARS]
                journal.ready()
                return self.write_receipt(_without_result(body, text))
        except LedgerError:
            # Row "ledger cannot write", after the tool: the result is in hand and the record out of reach. It is kept,
            # to be appended when the run is left; until then nothing else runs, and this run is never CERTIFIED.
            self.unwritten.append(body)
            journal.broken = journal.broken or "ledger.broken"
            return None

    def write_receipt(self, body: Receipt) -> ReceiptRecord | None:
        """Append a receipt under the next receipt id. Call under the lock.

        Raises:
            InputError, LedgerError: it cannot be appended.
        """
        view = self.journal.view
        body = msgspec.structs.replace(body, id=f"r{len(view.receipts) + 1}")
        call = view.calls.get(body.call or "")
        self.journal.append(body, EXECUTOR, durable=call is None or call.effect == "write")
        return self.journal.view.receipt(body.id)

    def _receipt(self, call_id: str, ran: Ran, *, interrupted: bool, late: bool) -> Receipt:
        view = self.journal.view
        call = view.calls.get(call_id)
        tool = self.contract.tools.get(call.tool) if call is not None else None
        secrets = secret_in(tool, "result")
        given = ran.value if isinstance(ran.value, ToolResult) else ToolResult(value=ran.value)
        error = None
        result = structured = None
        truncated = given.truncated
        if ran.error is not None:
            # An exception's text can repeat an argument, so of a tool with secret fields only its kind is kept.
            open_ = tool is None or not tool.secrets
            said = error_text(ran.error) if open_ else type(ran.error).__name__
            error = ("interrupted: " if interrupted else "") + said
        else:
            raw = result_bytes(given.value)
            if len(raw) > MAX_RESULT_BYTES:
                error = f"the result has {len(raw):,} bytes, more than {MAX_RESULT_BYTES:,}: not kept"
                truncated = True
            else:
                result = self._kept(raw, secrets)
            if given.structured is not None:
                structured = self._kept(result_bytes(given.structured), secrets)
        body = Receipt(
            id="",  # given when it is written
            call=call_id,
            result=result,
            structured=structured,
            flag="error" if ran.error is not None else given.flag,
            error=error,
            observed_at=stamp(ran.at),
            native_id=given.native_id,
            late=late,
            dry_run=given.dry_run,
            truncated=truncated,
        )
        if call is None:
            return body
        _, _, judged = reading(view, call, tool, body)
        return msgspec.structs.replace(body, outcome=judged.outcome)

    def _kept(self, raw: bytes, secrets: tuple[tuple[str, ...], ...]) -> Blob:
        return redact(raw, secrets, self.key) if secrets and self.key is not None else blob(raw)

    def _late(self, call_id: str, ran: Ran) -> None:
        """Append what a tool returned after the wait for it was given up, if this writer still may."""
        with self.journal.lock:
            self.unfinished.discard(call_id)
            if self.journal.broken in ("", "run.left"):
                record = self._record(call_id, ran, late=True)
                if record is not None and self.journal.view.ended is None:
                    self._settle_from(record, None)
            if not self.unfinished and self.when_idle is not None:
                self.when_idle()

    def _settle_from(self, record: ReceiptRecord, decision: Decision | None) -> None:
        """Settle what this receipt shows about calls in doubt: by the contract's status query, or our own retry."""
        view = self.journal.view
        if not view.doubts:
            return
        found: list[DoubtSettled] = []
        if decision is not None and record.outcome == "ok" and "effect.retry_same_key" in decision.codes:
            found.extend(self._carried_by_retry(record))
        for doubtful in list(view.doubts.values()):
            shown = settled_by(view, self.contract, doubtful, record)
            if shown is None:
                continue
            if shown.outcome == "no_effect" and doubtful.id in self.unfinished:
                continue  # its thread is still at work here: not yet is not never
            found.append(shown)
        for body in found:
            if body.call in view.doubts:
                try:
                    self.journal.append(body, RUNTIME, durable=True)
                except LedgerError:
                    return  # still in doubt; asked again next time
                view = self.journal.view

    def _carried_by_retry(self, record: ReceiptRecord) -> list[DoubtSettled]:
        """The tool deduplicates by key, so of a doubtful call and its retry exactly one effect exists: the retry's."""
        call = record.call
        assert call is not None
        note = f"the retry {call.id} under the same idempotency key carried the effect"
        return [
            DoubtSettled(call=other.id, outcome="no_effect", by="query", evidence=[record.id], note=note)
            for other in self.journal.view.doubts.values()
            if other.id != call.id and other.tool == call.tool and other.idempotency_key == call.idempotency_key
        ]

    def _done(self, call_id: str) -> None:
        future = self.running.pop(call_id, None)
        if future is not None:
            future.set_result(None)


def _is_large(body: Receipt) -> bool:
    return sum(b.size for b in (body.result, body.structured) if b is not None) > LARGE_BYTES


def _without_result(body: Receipt, why: str) -> Receipt:
    outcome: Any = "no_effect" if body.outcome == "no_effect" else "unknown"
    return msgspec.structs.replace(
        body, result=None, structured=None, native_id=None, error=why, truncated=True, outcome=outcome
    )


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
