"""A run under guard: propose calls, say what the user and the host know, and finish.

Only this object writes the run's events; whoever else has something to say (a principal in another process) posts a
signed letter that it takes in before each decision.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import datetime
from enum import Enum
from types import TracebackType
from typing import TYPE_CHECKING, Any, Literal, Self, TypeVar

from tallystick.contracts.types import Contract, Task
from tallystick.errors import InputError
from tallystick.model.proposal import Claim, StopOutcome
from tallystick.progress import Report
from tallystick.runtime.bounds import Bounds
from tallystick.runtime.calls import Calls
from tallystick.runtime.closing import Closing, stop_outcome
from tallystick.runtime.drivers import Steps, Wait, Write, adrive, drive
from tallystick.runtime.finish_tool import NAME, FinishTool
from tallystick.runtime.journal import Journal
from tallystick.runtime.known import callable_named, seconds_in, tool_named, turn_in, typed
from tallystick.runtime.outcome import Finish, Outcome, Status
from tallystick.runtime.pending import Pending, pending
from tallystick.runtime.proposals import Proposal, exact_args, is_coroutine
from tallystick.runtime.standing import Reporting
from tallystick.runtime.takeover import TakingOver
from tallystick.runtime.turns import Turn, Turns
from tallystick.runtime.wrap import OnRefusal, wrap
from tallystick.view import View

if TYPE_CHECKING:
    from tallystick.runtime.guard import Guard

T = TypeVar("T")


class Default(Enum):
    """Stands for a setting that is taken from the guard."""

    GUARD = "the guard's"

    def __repr__(self) -> str:
        return "Default.GUARD"


class Run(TakingOver):
    """One run in one tenure. Make it with `Guard.run` or `Guard.resume`, and use it as a context manager.

    Leaving the block without an accepted `finish` ends the run honestly: IN_DOUBT, BLOCKED or UNCERTIFIED. `suspend`
    leaves it open instead, to be resumed later. Methods may be called from several threads; each has an `a…` twin for
    asynchronous code where it may have to wait.

    Attributes:
        id: the run's id in the ledger.
        contract: what it is judged by; frozen.
    """

    def __init__(
        self,
        guard: Guard,
        journal: Journal,
        contract: Contract,
        bounds: Bounds,
        *,
        key: bytes | None,
        parent: Run | None = None,
    ) -> None:
        super().__init__(journal, contract, Reporting(journal, contract, guard.report, guard.count_report))
        self.id = journal.run
        self.contract = contract
        self.parent = parent
        self._guard = guard
        self._calls = Calls(
            journal,
            contract,
            guard.tools,
            bounds,
            key=key,
            patience=guard.patience,
            end=self._end,
        )
        self._registered = self._calls.tools
        self._calls.timeout = guard.timeout
        self._calls.controls = guard.controls
        self._closing = Closing(guard, journal, contract, self._calls, bounds, self)
        self._turns = Turns(self, guard.stop_policy, self._end_locked)
        self._writer: ThreadPoolExecutor | None = None

    # ------------------------------------------------------------------ where it stands

    @property
    def view(self) -> View:
        """What the record says now. For reading only."""
        return self._journal.view

    @property
    def task(self) -> Task:
        """What the run owes."""
        return self._journal.view.task

    @property
    def status(self) -> Status | None:
        """The final status; None while the run goes on."""
        return self._calls.status

    def now(self) -> datetime:
        """Return the present instant by the guard's clock."""
        return self._journal.clock()

    async def ahear(self, text: str, *, truncated: bool = False) -> Report:
        """As `hear`, without blocking the event loop."""
        return await self._adrive(_one(lambda: self.hear(text, truncated=truncated)))

    def pending(self) -> tuple[Pending, ...]:
        """Return the calls that wait for a principal's answer and nothing else; what was posted is taken in first.

        A call that was approved may be proposed again and is here no more; nor is one that was denied, though a later
        approval of it would count (`runtime.principals.waiting` lists both).

        Raises:
            LedgerError: what was posted cannot be read or recorded.
        """
        with self._journal.lock:
            if self._calls.closed() is None:
                self._calls.catch_up()
            return tuple(call for call in pending(self._journal.view, self.contract) if not call.denied)

    def wait_for_approval(self, timeout: float | None = None, *, poll: float = 1.0) -> tuple[Pending, ...]:
        """Wait until every call that waits for a principal has its answer; return those that still wait.

        Meanwhile this process holds the run. Where people take hours, `suspend` and `resume` instead.

        Args:
            timeout: seconds to wait at most; None waits for ever.
            poll: seconds between two looks at what was posted.

        Raises:
            InputError: a setting is out of range. LedgerError: what was posted cannot be read or recorded.
        """
        return drive(self._waiting(timeout, poll))

    async def await_for_approval(self, timeout: float | None = None, *, poll: float = 1.0) -> tuple[Pending, ...]:
        """As `wait_for_approval`, without blocking the event loop."""
        return await self._adrive(self._waiting(timeout, poll))

    def _waiting(self, timeout: float | None, poll: float) -> Steps[tuple[Pending, ...]]:
        seconds_in("poll", poll)
        left = math.inf if timeout is None else seconds_in("timeout", timeout, zero=True)
        while True:
            found: tuple[Pending, ...] = yield Write(self.pending)
            if not found or left <= 0:
                return found
            yield Wait(Future(), min(poll, left))
            left -= poll

    # ------------------------------------------------------------------ calls

    def call(
        self,
        tool: str,
        args: Mapping[str, Any] | None = None,
        fn: Callable[..., Any] | None = None,
        *,
        args_text: str | None = None,
        native_id: str | None = None,
        turn: int | None = None,
        wish: str = "",
        idempotency_key: str | None = None,
        complete: bool = True,
        timeout: float | Default | None = Default.GUARD,
    ) -> Outcome:
        """Propose one call, run it if the gate admits it, and return what became of it. Never raises for a refusal.

        Args:
            tool: the tool's name in the contract.
            args: its arguments; the callable gets these values, in containers of its own.
            fn: the callable, where none is registered under that name.
            args_text: the model's raw argument text; checked against `args`, or read in their place.
            native_id: the framework's call id, if any.
            turn: assistant turn; calls of one turn are parallel.
            wish: obligation instance or wish this serves; "" is the run's own task.
            idempotency_key: key for a tool that deduplicates; minted where the contract names the argument for it.
            complete: False when the turn that made the call was cut off.
            timeout: seconds to wait for the tool; None waits for ever. Default: the guard's.

        Raises:
            InputError: `fn` is a coroutine function (use `acall`), or a parameter has another type than it says.
        """
        proposal = self._proposal(
            tool, args, fn, args_text=args_text, native_id=native_id, turn=turn, wish=wish,
            idempotency_key=idempotency_key, complete=complete, timeout=timeout,
        )  # fmt: skip
        if is_coroutine(proposal.fn or self._calls.tools.get(tool)):
            raise InputError(f"`{tool}` is a coroutine function", fix="await `acall`")
        return drive(self._calls.steps(proposal))

    async def acall(
        self,
        tool: str,
        args: Mapping[str, Any] | None = None,
        fn: Callable[..., Any] | None = None,
        *,
        args_text: str | None = None,
        native_id: str | None = None,
        turn: int | None = None,
        wish: str = "",
        idempotency_key: str | None = None,
        complete: bool = True,
        timeout: float | Default | None = Default.GUARD,
    ) -> Outcome:
        """As `call`, without blocking the event loop: ledger writes and plain functions run on threads."""
        proposal = self._proposal(
            tool, args, fn, args_text=args_text, native_id=native_id, turn=turn, wish=wish,
            idempotency_key=idempotency_key, complete=complete, timeout=timeout,
        )  # fmt: skip
        return await self._adrive(self._calls.steps(proposal))

    def steps(
        self,
        tool: str,
        args: Mapping[str, Any] | None = None,
        fn: Callable[..., Any] | None = None,
        *,
        args_text: str | None = None,
        native_id: str | None = None,
        turn: int | None = None,
        wish: str = "",
        idempotency_key: str | None = None,
        complete: bool = True,
    ) -> Steps[Outcome]:
        """Return what `call` does as steps for a driver of one's own (`runtime.drivers`), with the arguments of `call`.

        A gateway parks them while another process runs the tool. Waiting, and its limits, are the driver's.
        """
        return self._calls.steps(
            self._proposal(
                tool, args, fn, args_text=args_text, native_id=native_id, turn=turn, wish=wish,
                idempotency_key=idempotency_key, complete=complete, timeout=None,
            )
        )  # fmt: skip

    def register(self, name: str, fn: Callable[..., Any]) -> None:
        """Register the callable that runs `name`; also used for the contract's status queries.

        Raises:
            InputError: a closed contract mentions no such tool, or `fn` is no callable.
        """
        if self.contract.closed:
            tool_named(self.contract, name, "register")
        self._calls.tools[name] = callable_named(name, fn)

    def tool(
        self, fn: Callable[..., Any] | None = None, *, name: str | None = None, on_refusal: OnRefusal = "return"
    ) -> Any:
        """Wrap a callable so that calling it proposes the call. Works as a decorator, with or without arguments.

        The wrapper returns the tool's own result, the recorded one where this very effect was realised before (a
        `LostAnswer` where it is known to have happened and its own answer was lost), or a `Refusal`, which is false
        (raised as `RefusedError` with `on_refusal="raise"`). What the tool raises is recorded, then raised.

        Raises:
            InputError: the contract mentions no such tool, or its parameters have no names.
        """
        if fn is None:
            return lambda f: self.tool(f, name=name, on_refusal=on_refusal)
        known: str = name if name is not None else getattr(fn, "__name__", "")
        self.register(known, fn)
        return wrap(self, known, fn, on_refusal)

    def settle_by_query(self) -> tuple[str, ...]:
        """Make the contract's status query for each call in doubt; return the ids of those still in doubt."""
        return drive(self._closing.queries())

    async def asettle_by_query(self) -> tuple[str, ...]:
        """As `settle_by_query`, without blocking the event loop."""
        return await self._adrive(self._closing.queries())

    # ------------------------------------------------------------------ the end

    def finish(
        self,
        text: str = "",
        claims: Iterable[Claim] | Mapping[str, Any] | InputError | None = None,
        outcome: StopOutcome = "acted",
        *,
        declared_by: str = "agent",
        truncated: bool = False,
    ) -> Finish:
        """Propose that the run is over. Accepted, it has ended CERTIFIED; else the answer says what is missing.

        Args:
            text: what the requester is told; words.
            claims: claims, or a mapping of answer slots to values. None: what `text` states for the answer slots, each
                value found beside the record (`prose.propose`); an empty mapping states nothing. An `InputError` says
                why there are none: a rejected stop like any other.
            outcome: `acted`; `declined` (rightly not acting: nothing took effect that the record does not name as a
                fallback); `withdrawn` (the requester took it back).
            declared_by: who says so: agent, framework, stop_reason. Recorded; it makes no difference.
            truncated: the turn that says so was cut by length.

        Raises:
            InputError: another outcome, or a text that is none. Claims that are none are rejected like any others.
        """
        return drive(self.finish_steps(text, claims, outcome, declared_by=declared_by, truncated=truncated))

    async def afinish(
        self,
        text: str = "",
        claims: Iterable[Claim] | Mapping[str, Any] | InputError | None = None,
        outcome: StopOutcome = "acted",
        *,
        declared_by: str = "agent",
        truncated: bool = False,
    ) -> Finish:
        """As `finish`, without blocking the event loop."""
        return await self._adrive(
            self.finish_steps(text, claims, outcome, declared_by=declared_by, truncated=truncated)
        )

    def finish_steps(
        self,
        text: str = "",
        claims: Iterable[Claim] | Mapping[str, Any] | InputError | None = None,
        outcome: StopOutcome = "acted",
        *,
        declared_by: str = "agent",
        truncated: bool = False,
    ) -> Steps[Finish]:
        """Return what `finish` does as steps for a driver of one's own."""
        typed("text", text, str)
        typed("declared_by", declared_by, str)
        typed("truncated", truncated, bool)
        known = stop_outcome(outcome)
        if not self._turns.owned:
            return self._turns.signalled(text, truncated=truncated)
        return self._heard(
            text, truncated, self._closing.finish(text, claims, known, declared_by=declared_by, truncated=truncated)
        )

    def turn(
        self,
        text: str = "",
        claims: Iterable[Claim] | Mapping[str, Any] | InputError | None = None,
        *,
        user_has_more: bool = True,
        truncated: bool = False,
    ) -> Turn:
        """Say that the agent's turn is over, and return what the guard's stop policy makes of it.

        For hosts that have a loop of their own and want the runtime to own its end. Under the default policy the
        derived stage decides, and where nothing remains the stop gate is asked, as by `finish`.

        Args:
            text: what the agent said in this turn, recorded as by `says`; what it called since its last turn, the
                record knows.
            claims: as in `finish`.
            user_has_more: whether the user can still add something; if not, a turn that would go to the user is put to
                the agent again, or ends the run.
            truncated: the turn was cut by length.

        Raises:
            InputError: a parameter has another type.
        """
        return drive(self.turn_steps(text, claims, user_has_more=user_has_more, truncated=truncated))

    async def aturn(
        self,
        text: str = "",
        claims: Iterable[Claim] | Mapping[str, Any] | InputError | None = None,
        *,
        user_has_more: bool = True,
        truncated: bool = False,
    ) -> Turn:
        """As `turn`, without blocking the event loop."""
        return await self._adrive(self.turn_steps(text, claims, user_has_more=user_has_more, truncated=truncated))

    def turn_steps(
        self,
        text: str = "",
        claims: Iterable[Claim] | Mapping[str, Any] | InputError | None = None,
        *,
        user_has_more: bool = True,
        truncated: bool = False,
    ) -> Steps[Turn]:
        """Return what `turn` does as steps for a driver of one's own."""
        typed("text", text, str)
        typed("user_has_more", user_has_more, bool)
        typed("truncated", truncated, bool)
        return self._turns.steps(text, user_has_more=user_has_more, claims=claims, truncated=truncated)

    def finish_tool(self, *, name: str = NAME, strict: bool = False) -> FinishTool:
        """Return the tool through which an agent says that it is done: its definition, made from the contract, to call.

        Args:
            name: its name.
            strict: a definition for strict function calling: every argument required, null where it says nothing.
        """
        return FinishTool(self, name=name, strict=strict, by_text=self._guard.claims_from_text)

    def close(self, reason: str = "run.exit") -> Status | None:
        """End the run as it stands (framework exit, step limit) and give the lease back; return the final status.

        Never CERTIFIED: that comes only from an accepted `finish`. Closing twice changes nothing. None where the ledger
        cannot record an end; the run then stays open, and whoever resumes it finds what was in doubt.
        """
        status = self._closing.leave(reason)
        self._drop_writer()
        return status

    async def aclose(self, reason: str = "run.exit") -> Status | None:
        """As `close`, without blocking the event loop."""
        status = await self._adrive(_one(lambda: self._closing.leave(reason)))
        self._drop_writer()
        return status

    def suspend(self) -> None:
        """Give the lease back and leave the run open, to be resumed later (a person is asked, the process ends)."""
        self._closing.leave(None)
        self._drop_writer()

    def child(self, task: Task | Mapping[str, Any] | None = None, **options: Any) -> Run:
        """Start a child run: a ledger chain of its own, with this run as its parent.

        While a child is open or in doubt, this run cannot be CERTIFIED. A child does not see this run's effects.
        Options are those of `Guard.run`.
        """
        return self._guard.run(task, parent=self, **options)

    def note_child(self, child: str, status: Status | Literal["open"]) -> bool:
        """Record where a child run stands; False where this run can record nothing more. The runtime calls it."""
        return self._closing.note_child(child, status)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close("run.exit" if kind is None else "run.exception")

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose("run.exit" if kind is None else "run.exception")

    # ------------------------------------------------------------------ inside

    def _proposal(
        self,
        tool: str,
        args: Mapping[str, Any] | None,
        fn: Callable[..., Any] | None,
        *,
        timeout: float | Default | None,
        args_text: str | None,
        native_id: str | None,
        turn: int | None,
        wish: str,
        idempotency_key: str | None,
        complete: bool,
    ) -> Proposal:
        typed("tool", tool, str)
        typed("args_text", args_text, str, none=True)
        typed("native_id", native_id, str, none=True)
        typed("idempotency_key", idempotency_key, str, none=True)
        typed("wish", wish, str)
        typed("complete", complete, bool)
        if turn is not None:
            turn_in(turn)
        if fn is not None:
            callable_named(tool, fn)
        exact, text, problem, dispatch = exact_args(args, args_text)
        if fn is not None:
            self._calls.tools.setdefault(tool, fn)
        seconds = self._calls.timeout if isinstance(timeout, Default) else timeout
        if seconds is not None:
            seconds_in("timeout", seconds, or_none="wait for ever")
        return Proposal(
            tool=tool,
            exact=exact,
            text=text,
            dispatch=dispatch,
            args_text=args_text,
            problem=problem,
            fn=fn,
            timeout=seconds,
            native_id=native_id,
            turn=turn,
            wish=wish,
            idempotency_key=idempotency_key,
            complete=complete,
        )

    def _end(self, reason: str) -> Status:
        return self._closing.end(reason)

    def _end_locked(self, reason: str) -> Status:
        with self._journal.lock:
            return self._closing.end(reason)

    def _heard(self, text: str, truncated: bool, then: Steps[Finish]) -> Steps[Finish]:
        """Read the last word for a report before it is judged; what it reports moves no verdict."""
        if self._reporting.encoding is not None:
            yield Write(lambda: self._reporting.hear(text, truncated=truncated, last=True))
        finish: Finish = yield from then
        return finish

    async def _adrive(self, steps: Steps[T]) -> T:
        if self._writer is None:
            self._writer = ThreadPoolExecutor(1, thread_name_prefix="tallystick-ledger")
        return await adrive(steps, self._writer)

    def _drop_writer(self) -> None:
        if self._writer is not None:
            self._writer.shutdown(wait=False)
            self._writer = None


def _one(do: Callable[[], T]) -> Steps[T]:
    value: T = yield Write(do)
    return value
