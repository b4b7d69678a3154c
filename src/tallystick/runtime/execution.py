"""Running one tool: inline, on a worker thread under a timeout, or as a coroutine. Nothing is decided here.

A thread cannot be stopped. When the wait for one is given up, the tool may still be at work; its late result is handed
to whoever asked for it with `when_late`. A driver that forwards calls to another process uses `elsewhere`.
"""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from datetime import datetime
from typing import Any

import msgspec

from tallystick.runtime.journal import Clock

Tool = Callable[..., Any]


class Ran(msgspec.Struct, frozen=True, kw_only=True):
    """What came of running a tool: its value, or what it raised, at `at`."""

    at: datetime
    value: Any = None
    error: BaseException | None = None


class Execution:
    """One call of one tool.

    Attributes:
        abandoned: the caller gave up waiting; the tool may still be at work.
        kept_back: why the tool was never started, where `fence` did not let it; else None.
    """

    def __init__(
        self,
        fn: Tool,
        args: Mapping[str, Any],
        timeout: float | None,
        clock: Clock,
        fence: Callable[[], None] | None = None,
    ) -> None:
        self.fn = fn
        self.args = args
        self.timeout = timeout
        self.clock = clock
        self.abandoned = False
        self.fence = fence
        self.kept_back: BaseException | None = None
        self._future: Future[Any] | None = None

    def run(self) -> Ran:
        """Run the tool and wait for it. Its exceptions are results; an interrupt of this process is raised."""
        held = self._held()
        if held is not None:
            return held
        try:
            value = self.fn(**self.args) if self.timeout is None else self._started().result(self.timeout)
            if inspect.iscoroutine(value):
                value.close()
                raise TypeError("the tool returned a coroutine; propose it with `acall`")
        except FutureTimeout as bad:
            return self._failed(bad)
        except Exception as bad:  # noqa: BLE001 - whatever a tool raises is recorded, not handled
            return Ran(error=bad, at=self.clock())
        except BaseException:
            self.abandoned = self._future is not None
            raise
        return Ran(value=value, at=self.clock())

    async def arun(self) -> Ran:
        """Run the tool without blocking the loop: a coroutine on it, a plain function on a worker thread."""
        if self.fence is not None:
            try:
                held = await asyncio.to_thread(self._held)  # it reads the store
            except BaseException as bad:
                self.kept_back = bad
                raise
            if held is not None:
                return held
        try:
            async with asyncio.timeout(self.timeout):
                if inspect.iscoroutinefunction(self.fn):
                    value = await self.fn(**self.args)
                else:
                    # Shielded: cancelling the wait must not cancel the record of what the thread returns.
                    value = await asyncio.shield(asyncio.wrap_future(self._started()))
                    if inspect.isawaitable(value):
                        value = await value
        except TimeoutError as bad:
            return self._failed(bad)
        except Exception as bad:  # noqa: BLE001 - whatever a tool raises is recorded, not handled
            return Ran(error=bad, at=self.clock())
        except BaseException:
            self.abandoned = self._future is not None
            raise
        return Ran(value=value, at=self.clock())

    def when_late(self, then: Callable[[Ran], None]) -> None:
        """Call `then`, on the tool's own thread, with what comes of it after the wait was given up."""
        assert self._future is not None

        def done(future: Future[Any]) -> None:
            error = future.exception()
            then(Ran(value=None if error else future.result(), error=error, at=self.clock()))

        self._future.add_done_callback(done)

    def elsewhere(self) -> Future[Any]:
        """Say that the tool works outside this process, for a driver that only forwards the call.

        Complete the returned future with what comes back. If the wait is given up first, set `abandoned` before the
        path of the call goes on; what completes the future after that is recorded as late.

        Raises:
            LedgerError: the call must not be forwarded; throw it into the steps, or drop them.
        """
        if self._held() is not None and self.kept_back is not None:
            raise self.kept_back
        self._future = Future()
        return self._future

    def _held(self) -> Ran | None:
        try:
            if self.fence is not None:
                self.fence()
        except Exception as bad:  # noqa: BLE001 - whatever it is, nobody could say that the tool may start
            self.kept_back = bad
            return Ran(error=bad, at=self.clock())
        return None

    def _failed(self, bad: BaseException) -> Ran:
        future = self._future
        if future is None or (future.done() and future.exception() is bad):
            return Ran(error=bad, at=self.clock())  # the tool's own TimeoutError, or a coroutine that was cancelled
        self.abandoned = True
        text = f"no answer within {self.timeout} s" if self.timeout is not None else str(bad)
        return Ran(error=TimeoutError(text), at=self.clock())

    def _started(self) -> Future[Any]:
        future: Future[Any] = Future()
        context = contextvars.copy_context()

        def work() -> None:
            try:
                value = context.run(self.fn, **self.args)
            except BaseException as bad:  # noqa: BLE001 - handed to whoever waits
                future.set_exception(bad)
            else:
                future.set_result(value)

        self._future = future
        # A thread of its own and a daemon: a tool that hangs for ever blocks no other and no exit.
        threading.Thread(target=work, name="tallystick-tool", daemon=True).start()
        return future
