"""The gateway on standard input and output: one client, one server, one run."""

from __future__ import annotations

import asyncio
import contextlib
import selectors
import signal
import sys
from collections.abc import Callable, Sequence
from typing import Final, Literal

from tallystick.gateway.child import Child
from tallystick.gateway.flight import Later
from tallystick.gateway.frames import MAX_FRAME, Id, Lines
from tallystick.gateway.pipes import Inlet, Outlet
from tallystick.gateway.session import Session, Wires
from tallystick.runtime.run import Run

GRACE: Final = 5.0
"""Seconds a call that is under way gets to be answered after the client has gone."""
SIGNALS: Final = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


def serve(run: Run, command: Sequence[str], *, timeout: float | None = None) -> str:
    """Relay between this process's standard streams and the server until either ends; return which one did.

    Returns:
        `client`, `server` or `signal`.

    Raises:
        InputError: the server cannot be started.
    """
    # poll, not epoll: standard input may be a plain file.
    with asyncio.Runner(loop_factory=lambda: asyncio.SelectorEventLoop(selectors.PollSelector())) as runner:
        return runner.run(_serve(run, command, timeout))


def timer(loop: asyncio.AbstractEventLoop) -> Later:
    """Return the loop's timer in the form a session takes."""

    def later(seconds: float, then: Callable[[], None]) -> Callable[[], None]:
        return (loop.call_later(seconds, then) if seconds > 0 else loop.call_soon(then)).cancel

    return later


async def _serve(run: Run, command: Sequence[str], timeout: float | None) -> str:
    loop = asyncio.get_running_loop()
    over: asyncio.Future[str] = loop.create_future()

    def end(why: str) -> None:
        if not over.done():
            over.set_result(why)

    def gone() -> None:
        session.server_gone("the server behind the gateway has ended")
        end("server")

    child = Child(command)
    outlet = Outlet(sys.stdout.fileno(), lambda: end("client"), child.pause)

    def reply(_: Id | None, line: bytes) -> None:
        outlet.write(line)

    def to_client(line: bytes, _: Id | None) -> None:
        outlet.write(line)

    wires = Wires(to_server=child.write, reply=reply, to_client=to_client, later=timer(loop))
    session = Session(run, wires, timeout=timeout)

    def over_long(_: bytes, at: Literal["start", "more", "end"]) -> None:
        if at == "start":
            session.excess_from_client()

    lines = Lines(session.from_client, over_long, MAX_FRAME)

    def client_ended() -> None:
        lines.close()
        end("client")

    inlet = Inlet(sys.stdin.fileno(), lines.feed, client_ended)
    child.listen(line=session.from_server, excess=session.excess_from_server, gone=gone, full=inlet.pause)
    for number in SIGNALS:
        with contextlib.suppress(NotImplementedError):
            loop.add_signal_handler(number, end, "signal")
    why = await over
    inlet.close()
    # What the server still answers belongs in the record, whether or not anybody reads it.
    await child.close(lambda: session.busy, GRACE)
    await outlet.drained(1.0)
    outlet.close()
    return why
