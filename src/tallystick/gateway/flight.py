"""Driving the steps of a guarded call from frames: the third driver beside `drive` and `adrive`.

A flight runs until its tool has to be asked, then it is parked; the frame that answers takes it up again. Nothing waits
on a thread, so a call costs no more than its two ledger events. Everything happens on one thread.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, Final, Generic, TypeVar

from tallystick.runtime.drivers import Steps, Wait, Write
from tallystick.runtime.execution import Execution, Ran

T = TypeVar("T")
Later = Callable[[float, Callable[[], None]], Callable[[], None]]
"""Call something after so many seconds; returns what cancels it. The transport's loop provides it."""


class Remote:
    """Stands for a tool that another process runs. It is never called: a flight asks for it to be forwarded."""

    def __init__(self, tool: str) -> None:
        self.tool: Final = tool

    def __call__(self, **_: Any) -> Any:
        """Fail: this tool is run by forwarding a frame."""
        raise RuntimeError(f"{self.tool} is run by the server behind the gateway")


class Flight(Generic[T]):
    """One proposal on its way through the guard.

    Args:
        steps: its steps.
        ask: called with the execution when a tool has to be asked; whoever answers calls `landed` or `lost`.
        then: called with what the steps return. Not called for a flight that was dropped.
        failed: called with an exception of our own, wherever it struck; the flight is over then.
        later: for waiting until a parallel identical call has its receipt.
    """

    def __init__(
        self,
        steps: Steps[T],
        ask: Callable[[Flight[T], Execution], None],
        then: Callable[[T], None],
        failed: Callable[[Exception], None],
        later: Later,
    ) -> None:
        self._steps = steps
        self._ask = ask
        self._then = then
        self._failed = failed
        self._later = later
        self._execution: Execution | None = None
        self._future: Future[Any] | None = None
        self._waiting = False
        self._dropped = False
        self._concluding = False

    def start(self) -> None:
        """Take the first steps."""
        self._go(lambda: next(self._steps))

    @property
    def asking(self) -> bool:
        """Whether a tool has been asked and its answer is awaited."""
        return self._execution is not None

    def landed(self, value: Any) -> None:
        """The tool has answered: record it and go on."""
        execution, future = self._execution, self._future
        assert execution is not None
        assert future is not None
        self._execution = None
        future.set_result(value)
        self._resume(Ran(value=value, at=execution.clock()))

    def lost(self, error: BaseException) -> Callable[[Any], None]:
        """Nobody waits for the answer any more: record that, and return what takes it if it comes late all the same."""
        execution, future = self._execution, self._future
        assert execution is not None
        assert future is not None
        self._execution = None
        execution.abandoned = True

        def late(value: Any) -> None:
            if future.done():
                return
            if isinstance(value, BaseException):
                future.set_exception(value)
            else:
                future.set_result(value)

        self._resume(Ran(error=error, at=execution.clock()))
        return late

    def drop(self) -> None:
        """Forget the proposal as far as nothing of its own has been asked of the server yet."""
        self._dropped = True
        if self._waiting:
            self._steps.close()

    # ------------------------------------------------------------------ inside

    def _resume(self, ran: Ran) -> None:
        self._concluding = True  # what came back is recorded even for a proposal that was dropped meanwhile
        self._go(lambda: self._steps.send(ran))

    def _go(self, first: Callable[[], Any]) -> None:
        try:
            self._take(first)
        except Exception as bad:  # noqa: BLE001 - nobody above can tell whose call this was
            self._failed(bad)

    def _take(self, first: Callable[[], Any]) -> None:
        take = first
        while True:
            try:
                step = take()
            except StopIteration as done:
                if not self._dropped:
                    self._then(done.value)
                return
            if self._dropped and not self._concluding:
                self._steps.close()
                return
            self._concluding = False
            if isinstance(step, Write):
                try:
                    value = step.do()
                except BaseException as bad:  # noqa: BLE001 - the steps decide what it means
                    error = bad
                    take = lambda: self._steps.throw(error)  # noqa: E731, B023 - called at once, in this turn
                else:
                    take = lambda: self._steps.send(value)  # noqa: E731, B023 - called at once, in this turn
            elif isinstance(step, Execution):
                self._execution = step
                self._future = step.elsewhere()
                self._ask(self, step)
                return
            else:
                self._wait(step)
                return

    def _wait(self, step: Wait) -> None:
        self._waiting = True
        over = False

        def on(_: object = None) -> None:
            nonlocal over
            if over:
                return
            over = True
            cancel()
            # Not in the middle of the other call's conclusion, which is what completes the future.
            self._later(0, self._after_wait)

        cancel = self._later(step.seconds, on)
        step.future.add_done_callback(on)

    def _after_wait(self) -> None:
        self._waiting = False
        if not self._dropped:
            self._go(lambda: self._steps.send(None))
