"""One call path, two drivers: the steps of a call are a generator, run straight through or on an event loop.

A step is a request to the driver. `Write` touches the ledger: inline in synchronous code, on the run's own single
thread in asynchronous code, so the loop never waits for a disk and the order of writes is the order of requests.
`Execution` runs the tool. `Wait` waits for another call's receipt.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Generator
from concurrent.futures import Executor, Future, wait
from typing import Any, TypeVar

import msgspec

from tallystick.runtime.execution import Execution

T = TypeVar("T")


class Write(msgspec.Struct, frozen=True):
    """Run `do` where ledger writes are run, to its end, whatever happens to the caller meanwhile."""

    do: Callable[[], Any]


class Wait(msgspec.Struct, frozen=True):
    """Wait until `future` is done, or `seconds` have passed."""

    future: Future[None]
    seconds: float


Step = Write | Execution | Wait
Steps = Generator[Step, Any, T]


def drive(steps: Steps[T]) -> T:
    """Run the steps in this thread and return what they return."""
    try:
        step = next(steps)
        while True:
            try:
                value = _do(step)
            except BaseException as bad:  # noqa: BLE001 - the steps decide what an error or an interrupt means
                step = steps.throw(bad)
            else:
                step = steps.send(value)
    except StopIteration as done:
        return done.value  # type: ignore[no-any-return]  # a generator's return value is untyped


def _do(step: Step) -> Any:
    if isinstance(step, Write):
        return step.do()
    if isinstance(step, Execution):
        return step.run()
    return wait([step.future], timeout=step.seconds)


async def adrive(steps: Steps[T], writer: Executor) -> T:
    """Run the steps on the event loop, ledger writes on `writer`, and return what they return."""
    try:
        step = next(steps)
        while True:
            try:
                value = await _ado(step, writer)
            except BaseException as bad:  # noqa: BLE001 - the steps decide what an error or a cancellation means
                step = steps.throw(bad)
            else:
                step = steps.send(value)
    except StopIteration as done:
        return done.value  # type: ignore[no-any-return]  # a generator's return value is untyped


async def _ado(step: Step, writer: Executor) -> Any:
    if isinstance(step, Write):
        return await finished(asyncio.get_running_loop().run_in_executor(writer, step.do))
    if isinstance(step, Execution):
        return await step.arun()
    with contextlib.suppress(TimeoutError):
        await asyncio.wait_for(asyncio.shield(asyncio.wrap_future(step.future)), step.seconds)
    return None


async def finished(future: asyncio.Future[T]) -> T:
    """Return the future's result once it is done; a cancellation meanwhile is raised only then.

    A ledger write cannot be taken back, so nobody may walk away from one without knowing how it ended.
    """
    cancelled: asyncio.CancelledError | None = None
    while not future.done():
        try:
            await asyncio.shield(future)
        except asyncio.CancelledError as bad:
            cancelled = bad
        except Exception:  # noqa: BLE001, S112 - raised below, from the future itself
            continue
    if cancelled is not None:
        with contextlib.suppress(Exception):
            future.result()
        raise cancelled
    return future.result()
