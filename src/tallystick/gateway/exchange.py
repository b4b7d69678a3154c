"""HTTP's side of a session: which stream a line goes to."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Final

from tallystick.gateway.child import Child
from tallystick.gateway.frames import Id
from tallystick.gateway.session import Session, Wires
from tallystick.gateway.stdio import GRACE, timer
from tallystick.runtime.run import Run

SILENCE: Final = 15.0
"""Seconds without a line after which a stream says that it is still there."""
KEPT: Final = 1_000
"""Lines of the server's own accord kept while the client has no stream open."""


class Link:
    """A session, its server process, and the client's open HTTP requests.

    Attributes:
        exchanges: the client's requests that wait for their answer, by id.
        stream: where lines go that belong to no request, while the client has such a stream open.

    Args:
        gone: called when the server has ended.

    Raises:
        InputError: the server cannot be started.
    """

    def __init__(self, run: Run, command: Sequence[str], *, timeout: float | None, gone: Callable[[], None]) -> None:
        self.exchanges: dict[Id, Exchange] = {}
        self.stream: asyncio.Queue[bytes] | None = None
        self._kept: deque[bytes] = deque(maxlen=KEPT)
        self._over = asyncio.Event()
        self._child = Child(command)

        def ended() -> None:
            self.session.server_gone("the server behind the gateway has ended")
            self._over.set()
            gone()

        wires = Wires(
            to_server=self._child.write,
            reply=self._reply,
            to_client=self._to_client,
            later=timer(asyncio.get_running_loop()),
        )
        self.session = Session(run, wires, timeout=timeout, ids_once=False)
        self._child.listen(line=self.session.from_server, excess=lambda _: None, gone=ended, full=lambda _: None)

    async def close(self) -> None:
        """End the server; what it still answers is recorded."""
        await self._child.close(lambda: self.session.busy, GRACE)
        self._over.set()

    async def of_its_own(self, left: asyncio.Event) -> AsyncIterator[bytes]:
        """Yield the lines that belong to no request, until the client leaves or the session ends; b"" in silence."""
        self.stream = asyncio.Queue()
        for line in self._kept:
            self.stream.put_nowait(line)
        self._kept.clear()
        try:
            while not left.is_set() and not self._over.is_set():
                found = await _next(self.stream, left, self._over)
                if found is not None:
                    yield found
        finally:
            stream, self.stream = self.stream, None
            while stream is not None and not stream.empty():
                self._kept.append(stream.get_nowait())

    def aside(self, line: bytes) -> None:
        """Take a line that belongs to no request's stream."""
        if self.stream is not None:
            self.stream.put_nowait(line)
        else:
            self._kept.append(line)

    def _reply(self, id_: Id | None, line: bytes) -> None:
        exchange = self.exchanges.pop(id_, None) if id_ is not None else None
        if exchange is not None:
            exchange.put(line, last=True)

    def _to_client(self, line: bytes, about: Id | None) -> None:
        exchange = self.exchanges.get(about) if about is not None else None
        if exchange is None and self.stream is None and self.exchanges:
            exchange = next(iter(self.exchanges.values()))  # a question of the server must reach the client somehow
        if exchange is not None:
            exchange.put(line, last=False)
        else:
            self.aside(line)


class Exchange:
    """One request of the client and what comes back for it."""

    def __init__(self, link: Link, id_: Id) -> None:
        self._link = link
        self._id = id_
        self._queue: asyncio.Queue[bytes] = asyncio.Queue()
        self._done = False
        link.exchanges[id_] = self

    def put(self, line: bytes, *, last: bool) -> None:
        """Take a line for this request; the last one is its answer."""
        self._done = self._done or last
        self._queue.put_nowait(line)

    def aside(self, line: bytes) -> None:
        """Pass on a line that this request's client does not take here."""
        if line:
            self._link.aside(line)

    async def lines(self, left: asyncio.Event) -> AsyncIterator[tuple[bytes, bool]]:
        """Yield (line, whether it is the answer) until the answer, or until the client leaves; b"" in silence."""
        while not left.is_set():
            line = await _next(self._queue, left)
            if line is None:
                return
            last = self._done and self._queue.empty() and bool(line)
            yield line, last
            if last:
                return

    def abandon(self, *, cancel: bool) -> None:
        """The client has gone. Does nothing where it got its answer."""
        if self._link.exchanges.pop(self._id, None) is not None and cancel:
            self._link.session.cancelled(self._id)


async def _next(queue: asyncio.Queue[bytes], *ends: asyncio.Event) -> bytes | None:
    """Return the next line, b"" after a silence, or None where one of the events came first."""
    if not queue.empty():
        return queue.get_nowait()
    getting = asyncio.ensure_future(queue.get())
    waits = [asyncio.ensure_future(e.wait()) for e in ends]
    try:
        await asyncio.wait([getting, *waits], timeout=SILENCE, return_when=asyncio.FIRST_COMPLETED)
        if getting.done():
            return getting.result()
        return None if any(w.done() for w in waits) else b""
    finally:
        for task in (getting, *waits):
            if not task.done():
                task.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await task
