"""The server behind the gateway: a process of ours that speaks lines on its standard input and output."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import subprocess
from collections.abc import Callable, Sequence
from typing import Final, Literal

from tallystick.errors import InputError
from tallystick.gateway.frames import MAX_FRAME, Lines
from tallystick.gateway.pipes import Inlet, Outlet

PATIENCE: Final = 2.0
"""Seconds between closing its input, asking it to end, and killing it (MCP, "Lifecycle: shutdown")."""


class Child:
    """The server's process. It runs from now on; call `listen` before anything is written to it.

    Args:
        command: program and arguments.

    Raises:
        InputError: it cannot be started.
    """

    def __init__(self, command: Sequence[str]) -> None:
        try:
            # A session of its own, so that an interrupt from the terminal reaches it through us, in order.
            self._process = subprocess.Popen(  # noqa: S603 - running the user's own command is what this is for
                list(command), stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0, start_new_session=True
            )
        except (OSError, ValueError) as bad:
            why = getattr(bad, "strerror", None) or str(bad)
            raise InputError(
                f"the server cannot be started: {str(why).lower()}", where=command[0], fix="give COMMAND after `--`"
            ) from None
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._stdin, self._stdout = self._process.stdin, self._process.stdout
        self._ended = asyncio.Event()

    def listen(
        self,
        *,
        line: Callable[[bytes], None],
        excess: Callable[[bytes], None],
        gone: Callable[[], None],
        full: Callable[[bool], None],
    ) -> None:
        """Start reading.

        Args:
            line: called with each line it writes.
            excess: called with pieces of a line that is too long to be read.
            gone: called once when it writes no more.
            full: called when it reads too slowly, and when it has caught up.
        """

        def over(piece: bytes, at: Literal["start", "more", "end"]) -> None:
            del at
            excess(piece)

        self._gone = gone
        self._lines = Lines(line, over, MAX_FRAME)
        self._inlet = Inlet(self._stdout.fileno(), self._lines.feed, self._end)
        self._outlet = Outlet(self._stdin.fileno(), lambda: None, full)

    def write(self, data: bytes) -> None:
        """Write to its standard input."""
        self._outlet.write(data)

    def pause(self, paused: bool) -> None:
        """Stop reading what it writes for the time being, or go on."""
        self._inlet.pause(paused)

    async def close(self, busy: Callable[[], bool], seconds: float) -> None:
        """End it: let it answer the calls under way for at most `seconds`, close its input, then insist."""
        await self._outlet.drained(PATIENCE)
        # Some servers drop what they are at when their input ends, so the input stays open while calls are under way.
        await self._until(lambda: not busy(), seconds)
        self._outlet.close()
        with contextlib.suppress(OSError):
            self._stdin.close()
        await self._until(lambda: False, PATIENCE)
        for number in (signal.SIGTERM, signal.SIGKILL):
            if await self._exited(0 if self._ended.is_set() else PATIENCE / 4):
                break
            self._signal(number)
            if await self._exited(PATIENCE):
                break
        self._inlet.close()
        self._end()
        with contextlib.suppress(OSError):
            self._stdout.close()

    @property
    def code(self) -> int | None:
        """Its exit code, once it has ended; negative for a signal."""
        return self._process.poll()

    async def _until(self, done: Callable[[], bool], seconds: float) -> None:
        """Wait until `done`, or until it writes no more, at most `seconds`."""
        until = asyncio.get_running_loop().time() + seconds
        while not done() and not self._ended.is_set() and asyncio.get_running_loop().time() < until:
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(self._ended.wait(), 0.02)

    async def _exited(self, seconds: float) -> bool:
        waited = 0.0
        while self._process.poll() is None and waited < seconds:
            await asyncio.sleep(0.02)
            waited += 0.02
        return self._process.poll() is not None

    def _signal(self, number: int) -> None:
        with contextlib.suppress(OSError):
            os.killpg(self._process.pid, number)

    def _end(self) -> None:
        if not self._ended.is_set():
            self._ended.set()
            self._lines.close()
            self._gone()
