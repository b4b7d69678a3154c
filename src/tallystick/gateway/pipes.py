"""File descriptors on an event loop: lines in, bytes out, nothing ever blocks.

Plain `os.read` and `os.write` instead of asyncio's streams: a hop of the relay is two system calls and one wake-up.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import stat
from collections.abc import Callable
from typing import Final

CHUNK: Final = 256 * 1024
FULL: Final = 16 * 1024 * 1024
"""Bytes that may wait to be written before their source is read no further."""


class Inlet:
    """Reads a descriptor whenever it has something.

    Args:
        fd: what is read.
        data: called with what came.
        end: called once, at the end of the stream or where it breaks.
    """

    def __init__(self, fd: int, data: Callable[[bytes], None], end: Callable[[], None]) -> None:
        self._fd = fd
        self._data = data
        self._end = end
        self._loop = asyncio.get_running_loop()
        self._open = True
        self._loop.add_reader(fd, self._read)

    def pause(self, paused: bool) -> None:
        """Stop reading for the time being, or go on."""
        if not self._open:
            return
        if paused:
            self._loop.remove_reader(self._fd)
        else:
            self._loop.add_reader(self._fd, self._read)

    def close(self) -> None:
        """Read no more."""
        if self._open:
            self._open = False
            self._loop.remove_reader(self._fd)

    def _read(self) -> None:
        try:
            data = os.read(self._fd, CHUNK)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        if data:
            self._data(data)
        elif self._open:
            self.close()
            self._end()


class Outlet:
    """Writes to a descriptor as fast as its reader reads.

    Args:
        fd: what is written to. Pipes and sockets are made non-blocking until `close`.
        broken: called once when nobody reads any more.
        full: called with True when too much waits to be written, and with False when it no longer does.
    """

    def __init__(self, fd: int, broken: Callable[[], None], full: Callable[[bool], None] = lambda _: None) -> None:
        self._fd = fd
        self._broken = broken
        self._full = full
        self._loop = asyncio.get_running_loop()
        self._waiting = bytearray()
        self._open = True
        self._is_full = False
        self._empty = asyncio.Event()
        self._empty.set()
        mode = os.fstat(fd).st_mode
        self._was_blocking = os.get_blocking(fd)
        self._polled = stat.S_ISFIFO(mode) or stat.S_ISSOCK(mode)
        if self._polled:
            os.set_blocking(fd, False)

    def write(self, data: bytes) -> None:
        """Write `data`, now or as soon as there is room."""
        if not self._open:
            return
        if self._waiting:
            self._waiting += data
            self._watch()
            return
        written = self._write(data)
        if written < len(data) and self._open:
            self._waiting += memoryview(data)[written:]
            self._empty.clear()
            self._loop.add_writer(self._fd, self._more)
            self._watch()

    async def drained(self, seconds: float) -> None:
        """Wait until everything is written, at most so long."""
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._empty.wait(), seconds)

    def close(self) -> None:
        """Write no more; what still waits is dropped. The descriptor stays open and is as it was found."""
        if not self._open:
            return
        self._open = False
        self._stop_waiting()
        if self._polled:
            with contextlib.suppress(OSError):
                os.set_blocking(self._fd, self._was_blocking)

    def _write(self, data: bytes | bytearray) -> int:
        written = 0
        view = memoryview(data)
        try:
            while written < len(data):
                written += os.write(self._fd, view[written:])
        except BlockingIOError:
            pass
        except OSError:
            self.close()
            self._broken()
        finally:
            view.release()
        return written

    def _more(self) -> None:
        written = self._write(self._waiting)
        if not self._open:
            return
        del self._waiting[:written]
        if not self._waiting:
            self._stop_waiting()
        self._watch()

    def _stop_waiting(self) -> None:
        self._loop.remove_writer(self._fd)
        self._waiting.clear()
        self._empty.set()

    def _watch(self) -> None:
        is_full = len(self._waiting) > FULL
        if is_full != self._is_full:
            self._is_full = is_full
            self._full(is_full)
