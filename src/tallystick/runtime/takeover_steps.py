"""One tenure of a successor, as steps: freeze, ask, judge the whole, carry out.

Three orders hold (residual completion, section 3): the target is frozen before anything is proposed; the whole proposal
is judged before anything of it may write; only live evidence counts as success. Each `Write` is one critical section of
the run; the successor is asked outside of them all.
"""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from tallystick.errors import InputError, LedgerError
from tallystick.gates.residual import Supported, at_frontier, construct, may_take_over, not_open
from tallystick.gates.residual.construct import may_write
from tallystick.gates.residual.proposal import MAX_BYTES
from tallystick.model.decision import Decision, Reason, Verdict
from tallystick.model.events import ResidualFrozen, ResidualJudged
from tallystick.model.residual import Graph, Residual
from tallystick.runtime.drivers import Steps, Write
from tallystick.runtime.execution import Execution, Ran
from tallystick.runtime.extraction import Extractor, extracted_problems
from tallystick.runtime.journal import HOST, RUNTIME, stamp
from tallystick.runtime.outcome import Finish
from tallystick.runtime.replicas import Fork, Replica
from tallystick.runtime.successors import Brief, Successor, brief_of, proposal_bytes
from tallystick.runtime.takeover_live import FROM_THE_SUCCESSOR, Live
from tallystick.runtime.takeover_record import COMPLETE, INTERRUPTED, STOP_REFUSED, end_tenure, writes_of
from tallystick.runtime.takeover_result import Takeover
from tallystick.runtime.takeover_secrets import Vault
from tallystick.view.records import TakeoverRecord

if TYPE_CHECKING:
    from tallystick.runtime.run import Run

_LOG: Final = logging.getLogger(__name__)
EXPLICIT: Final = "explicit"
NO_FRONTIER: Final = "takeover.no_frontier"
EXTRACTION: Final = "takeover.extraction"
FAILED: Final = "takeover.failed"
DECLINED: Final = "takeover.declined"
ATTEMPTS: Final = "takeover.attempts"
REPLICA: Final = "takeover.replica"
UNAVAILABLE: Final = "ledger.unavailable"


@dataclass(frozen=True, kw_only=True, slots=True)
class Asked:
    """The settings of one `take_over`, checked."""

    successor: Successor
    name: str
    rules: tuple[Any, ...]  # () explicit
    fork: Fork | None
    attempts: int
    allow: tuple[str, ...]
    free: tuple[tuple[str, str], ...]
    extract: Extractor | None
    finish: bool


@dataclass(kw_only=True)
class Tenancy:
    """One tenure while it lasts: what is known of it so far."""

    run: Run
    asked: Asked
    tenure: str = ""
    trigger: str = ""
    residual: Residual | None = None
    graph: Graph | None = None
    decisions: list[Decision] = field(default_factory=list)
    finish: Finish | None = None
    tokens: int = 0

    def __post_init__(self) -> None:
        self._journal = self.run._journal  # noqa: SLF001 - the part of a `Run` that passes control on
        self._calls = self.run._calls  # noqa: SLF001
        self._contract = self.run.contract
        self._vault = Vault(self._contract, self._calls.key)

    # ------------------------------------------------------------------ the flow

    def steps(self) -> Steps[Takeover]:
        """Take over from the frontier to the end of the tenure."""
        try:
            early = yield Write(self._reach)
            found: object = ()
            if early is None and self.asked.extract is not None:
                found, error = yield from self._extracted(self.asked.extract)
                if error is not None:
                    early = self._bottom(EXTRACTION, (_failed(EXTRACTION, "the extractor", error),), error)
            if early is None:
                early = yield Write(partial(self._freeze, found))
        except LedgerError as bad:
            return self._unrecorded(bad)
        if early is not None:
            stopped: Takeover = early
            return stopped
        try:
            answer: Takeover = yield from self._tenure()
        except GeneratorExit:  # the driver itself was interrupted, and is gone: written here, by whoever ends us
            self._interrupted()
            raise
        except LedgerError as bad:
            return self._unrecorded(bad)
        except BaseException:
            yield Write(self._interrupted)
            raise
        return answer

    def _tenure(self) -> Steps[Takeover]:
        feedback: tuple[Reason, ...] = ()
        for attempt in range(1, self.asked.attempts + 1):
            with contextlib.ExitStack() as stack:
                replica: Replica | None = None
                if self.asked.fork is not None:
                    try:
                        replica = yield Write(partial(self._forked, self.asked.fork, stack))
                    except LedgerError:
                        raise
                    except Exception as bad:  # noqa: BLE001 - a foreign fork's own code; nothing live was touched
                        reason = _failed(REPLICA, "making the replica", bad)
                        if isinstance(bad, InputError):  # ours, and it repeats nothing of the world
                            reason = Reason(code=REPLICA, message=bad.message, reverses=bad.fix or "")
                        return (yield from self._ended(REPLICA, (reason,), bad))
                brief: Brief = yield Write(partial(self._brief, feedback, attempt, replica))
                ran: Ran = yield Execution(_told(self.asked.successor, brief), {}, None, self._journal.clock)
                if replica is not None:
                    replica.close()
            if isinstance(brief.tokens, int):
                self.tokens = max(self.tokens, brief.tokens)
            if ran.error is not None:
                reason = _failed(FAILED, "the successor", ran.error)
                return (yield from self._ended(FAILED, (reason,), ran.error))
            if ran.value is None:
                declined = Reason(code=DECLINED, message="the successor handed in no proposal", reverses="another one")
                return (yield from self._ended(DECLINED, (declined, *feedback)))
            tried = tuple(replica.calls) if replica is not None else ()
            early, decision, graph = yield Write(partial(self._judge, attempt, ran.value, tried))
            if early is not None:
                answer: Takeover = early
                return answer
            if graph is None:
                feedback = decision.reasons
                continue
            self.graph = graph
            live = Live(self.run, self.tenure, self._residual, graph, self._vault)
            code, feedback = yield from live.steps()
            if code == FROM_THE_SUCCESSOR:
                continue
            if code is not None:
                return (yield from self._ended(code, feedback))
            return (yield from self._finished(live))
        return (yield from self._ended(ATTEMPTS, feedback))

    def _finished(self, live: Live) -> Steps[Takeover]:
        if not self.asked.finish:
            return (yield from self._ended(COMPLETE, ()))
        text, claims, problem = yield Write(live.terminal)
        if problem is not None:
            return (yield from self._ended(STOP_REFUSED, (problem,)))
        self.finish = yield from self.run._finish_in_tenure(text, claims, self.tenure)  # noqa: SLF001 - as above
        if self.finish is not None and self.finish.accepted:
            return self._answer("complete", COMPLETE, ())
        reasons = self.finish.decision.reasons if self.finish is not None else ()
        return (yield from self._ended(STOP_REFUSED, reasons))

    # ------------------------------------------------------------------ critical sections

    def _reach(self) -> Takeover | None:
        """Take in what was posted, and see whether a frontier rule fires."""
        with self._journal.lock:
            closed = self._closed()
            if closed is not None:
                return closed
            self._calls.catch_up()
            rules = self.asked.rules
            self.trigger = (at_frontier(self._journal.view, self._contract, rules) or "") if rules else EXPLICIT
            # What an extractor will add to what is owed is not in the record yet.
            later = self.asked.extract is not None and any(isinstance(rule, Supported) for rule in rules)
            if not self.trigger and not later:
                return self._not_there()
            return self._shut() if self.asked.extract is not None else None

    def _freeze(self, found: Any) -> Takeover | None:
        """Add what was extracted to what is owed, make the residual contract, and freeze it."""
        journal, asked = self._journal, self.asked
        with journal.lock:
            closed = self._closed()
            if closed is not None:
                return closed
            self._calls.catch_up()
            shut = self._shut()
            if shut is not None:
                return shut
            problems = extracted_problems(journal.view, self._contract, found)
            if problems:
                return self._bottom(EXTRACTION, problems)
            for body in found:
                journal.append(body, HOST, durable=False)
            if not self.trigger:
                self.trigger = at_frontier(journal.view, self._contract, asked.rules) or ""
                if not self.trigger:
                    return self._not_there()
            tenure = f"t{len(journal.view.takeovers) + 1}"
            names = [body.id for body in found]
            residual, decision = construct(
                journal.view, self._contract, tenure=tenure, allow=asked.allow, free=asked.free, extracted=names
            )
            if residual is None:
                return self._bottom(decision.codes[0], decision.reasons)
            at = stamp(journal.clock())
            text = residual.canonical()
            frozen = ResidualFrozen(
                tenure=tenure, to=asked.name, trigger=self.trigger, residual=text, residual_sha256=residual.sha256,
                allow=list(asked.allow), free=[list(pair) for pair in asked.free], extracted=names, now=at,
            )  # fmt: skip
            journal.append(frozen, RUNTIME, durable=True, at=at)
            self.tenure, self.residual = tenure, residual
            return None

    def _brief(self, feedback: tuple[Reason, ...], attempt: int, replica: Replica | None) -> Brief:
        with self._journal.lock:
            return brief_of(
                self._journal.view, self._contract, self._residual, feedback=feedback, attempt=attempt,
                attempts=self.asked.attempts, replica=replica, tokens=self.tokens,
            )  # fmt: skip

    def _forked(self, fork: Fork, stack: contextlib.ExitStack) -> Replica:
        made = fork()
        tools = made.__enter__()
        stack.callback(_thrown_away, made)
        for name, live in self._calls.tools.items():
            known = self._contract.tools.get(name)
            if (known is None or may_write(known)) and _is_same(tools.get(name), live):
                raise InputError(f"`{name}` of the replica is the live tool", where="replica",
                                 fix="a fork whose tools act on the copy")  # fmt: skip
        return Replica(tools, self._contract, self._calls.key, self._journal.clock)

    def _judge(
        self, attempt: int, given: Any, tried: tuple[Any, ...]
    ) -> tuple[Takeover | None, Decision | None, Graph | None]:
        """Judge a proposal whole, over the record as it is now, and record what came of it."""
        journal = self._journal
        try:
            raw = proposal_bytes(given)
        except Exception:  # noqa: BLE001 - a mapping's own code; what cannot be read is no proposal
            raw = b""
        # What is no proposal, or longer than any that is read, is judged and recorded as an empty one.
        kept = self._vault.take_proposal(raw if len(raw) <= MAX_BYTES else b"")
        with journal.lock:
            closed = self._closed()
            if closed is not None:
                return closed, None, None
            self._calls.catch_up()
            now = journal.clock()
            decision, graph = may_take_over(journal.view, self._contract, self._residual, kept, tried, now)
            at = stamp(now)
            body = ResidualJudged(
                tenure=self.tenure, attempt=attempt, proposal=kept, replica=list(tried),
                graph=graph.canonical() if graph is not None else "",
                graph_sha256=graph.sha256 if graph is not None else "", decision=decision.text(), now=at,
            )  # fmt: skip
            journal.append(body, RUNTIME, durable=True, at=at)
            self.decisions.append(decision)
            if decision.verdict is Verdict.HOLD and graph is not None:
                Live(self.run, self.tenure, self._residual, graph, self._vault).ask_people(decision)
            return None, decision, graph if decision.verdict is Verdict.ADMIT else None

    def _end(self, code: str, reasons: tuple[Reason, ...], error: BaseException | None = None) -> Takeover:
        status = "complete" if code == COMPLETE else "bottom"
        with self._journal.lock:
            record = self._record()
            if record is not None and record.ended is not None:  # the run ended meanwhile, and its tenure with it
                return self._answer(record.ended.status, record.ended.reason, reasons, error)
            try:
                end_tenure(self._journal, status, code)
            except LedgerError as bad:  # it stays open in the record, and whoever resumes the run ends it
                if status == "complete":
                    return self._unrecorded(bad)
            return self._answer(status, code, reasons, error)

    def _ended(self, code: str, reasons: tuple[Reason, ...], error: BaseException | None = None) -> Steps[Takeover]:
        answer: Takeover = yield Write(partial(self._end, code, reasons, error))
        return answer

    def _interrupted(self) -> None:
        with self._journal.lock, contextlib.suppress(LedgerError):
            end_tenure(self._journal, "bottom", INTERRUPTED)

    # ------------------------------------------------------------------ answers

    @property
    def _residual(self) -> Residual:
        assert self.residual is not None
        return self.residual

    def _record(self) -> TakeoverRecord | None:
        return self._journal.view.takeovers.get(self.tenure)

    def _closed(self) -> Takeover | None:
        closed = self._calls.closed()
        return self._bottom(closed.codes[0], closed.reasons) if closed is not None else None

    def _unrecorded(self, bad: LedgerError) -> Takeover:
        """Answer where the ledger takes nothing more: because somebody else has the run, or it ended, or for itself."""
        closed = self._calls.closed()
        code, reasons = (closed.codes[0], closed.reasons) if closed is not None else (UNAVAILABLE, (_unavailable(bad),))
        return self._bottom(code, reasons, bad)

    def _shut(self) -> Takeover | None:
        """Return why nobody may take over whatever is owed: then nothing is extracted, and nothing is added."""
        reasons = tuple(not_open(self._journal.view))
        return self._bottom(reasons[0].code, reasons) if reasons else None

    def _not_there(self) -> Takeover:
        reason = Reason(
            code=NO_FRONTIER, message="none of the frontier rules fires", reverses="progress, errors or a budget spent"
        )
        return self._bottom(NO_FRONTIER, (reason,))

    def _bottom(self, code: str, reasons: tuple[Reason, ...], error: BaseException | None = None) -> Takeover:
        return self._answer("bottom", code, reasons, error)

    def _answer(
        self, status: Any, code: str, reasons: tuple[Reason, ...], error: BaseException | None = None
    ) -> Takeover:
        record = self._record()
        steps = tuple(record.steps) if record is not None else ()
        ended = record.ended if record is not None else None
        return Takeover(
            status=status,
            reason=code,
            reasons=reasons,
            tenure=self.tenure,
            trigger=self.trigger,
            residual=self.residual,
            graph=self.graph,
            decisions=tuple(self.decisions),
            steps=steps,
            writes=ended.writes if ended is not None else writes_of(self._journal.view, record) if record else 0,
            discharged=tuple(steps[-1].discharged) if steps else (),
            finish=self.finish,
            tokens=self.tokens,
            error=error,
        )

    def _extracted(self, extract: Extractor) -> Steps[tuple[object, BaseException | None]]:
        """Ask the extractor, outside the lock, with a view of its own; return (what it found, what it raised)."""
        view = yield Write(self.run._fresh_view)  # noqa: SLF001 - as above
        ran: Ran = yield Execution(_told(extract, view, self._contract), {}, None, self._journal.clock)
        if ran.error is not None or isinstance(ran.value, (str, bytes, Mapping)) or not isinstance(ran.value, Iterable):
            return ran.value, ran.error
        try:
            return list(ran.value), None
        except Exception as bad:  # noqa: BLE001 - a generator's own code; nothing was recorded
            return (), bad


def _thrown_away(made: AbstractContextManager[Any]) -> None:
    """Leave a fork. What fails then fails in a world that is over, and changes nothing here."""
    try:
        made.__exit__(None, None, None)
    except Exception as bad:  # noqa: BLE001 - a foreign fork's own code
        _LOG.warning("a replica could not be thrown away: %s", type(bad).__name__)


def _is_same(fn: object, live: object) -> bool:
    """Return whether two callables are one: the same function, or the same method of the same object."""
    own = getattr(fn, "__self__", None)
    method = own is not None and own is getattr(live, "__self__", None)
    return fn is live or (method and getattr(fn, "__func__", fn) is getattr(live, "__func__", live))


def _told(fn: Callable[..., Any], *args: Any) -> Callable[[], Any]:
    return lambda: fn(*args)


def _unavailable(bad: LedgerError) -> Reason:
    return Reason(
        code=UNAVAILABLE, message=bad.message, reverses="a ledger that can be written; a resumed run ends this"
    )


def _failed(code: str, what: str, bad: BaseException) -> Reason:
    # The exception's text may repeat what it was given; it is in `Takeover.error`, for the host alone.
    return Reason(
        code=code,
        message=f"{what} failed: {type(bad).__name__}",
        reverses="one that works; `Takeover.error` has the exception",
    )
