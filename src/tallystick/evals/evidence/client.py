"""The agent's side of a case: the public part, calls, a label. Needs nothing but the standard library.

An agent, or the harness of one, talks to the environment over two streams, one JSON object a line. `connect` starts the
environment as a process of its own; a program that was itself started by the environment uses `Session(sys.stdin,
sys.stdout)`. Private specifications live in the other process, and no request asks for them (`serve`).
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, Any


class InfrastructureError(Exception):
    """Raised by an agent's harness for a failure that is not the agent's (a model endpoint is down): not scored."""


class Session:
    """One case as its agent sees it.

    Attributes:
        task: `{"text", "tools", "supplied", "candidate"}`; tools as `{"name", "description", "parameters"}`.
        over: whether the case has ended.
    """

    def __init__(self, reader: IO[str], writer: IO[str], task: dict[str, Any] | None = None) -> None:
        self._reader = reader
        self._writer = writer
        self.over = False
        self.task: dict[str, Any] = task if task is not None else self._ask({"op": "task"})["task"]

    def call(self, tool: str, args: Mapping[str, Any]) -> Any:
        """Make a call and return its result as JSON values; `{"error": …}` where something was wrong with it."""
        answer = self._ask({"op": "call", "tool": tool, "args": dict(args)})
        self.over = bool(answer.get("over"))
        return answer.get("result", {"error": answer.get("error", "no result")})

    def submit(self, label: str, note: str = "") -> Any:
        """End the case with a terminal label."""
        return self.call("submit", {"label": label, "note": note})

    def _ask(self, message: dict[str, Any]) -> dict[str, Any]:
        return _exchange(self._reader, self._writer, message)


def _exchange(reader: IO[str], writer: IO[str], message: dict[str, Any]) -> dict[str, Any]:
    try:
        writer.write(json.dumps(message) + "\n")
        writer.flush()
    except BrokenPipeError:
        raise EOFError("the environment has gone") from None
    line = reader.readline()
    if not line:
        raise EOFError("the environment has gone")
    answer: dict[str, Any] = json.loads(line)
    return answer


class Environment:
    """A running environment process that opens cases one after another."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        assert process.stdin is not None
        assert process.stdout is not None
        self._process = process
        self._reader: IO[str] = process.stdout
        self._writer: IO[str] = process.stdin

    def open(self, case: str, *, agent: str = "agent", epoch: int = 0) -> Session:
        """Open a case, ending the one before as it stands, and return its session."""
        answer = _exchange(self._reader, self._writer, {"op": "open", "case": case, "agent": agent, "epoch": epoch})
        if "error" in answer:
            raise ValueError(answer["error"])
        return Session(self._reader, self._writer, answer["task"])

    def close(self, *, failure: str | None = None, note: str = "") -> None:
        """End the open case as it stands and have its record written.

        Args:
            note: kept with the record, unless the agent left one of its own when it submitted.
            failure: why it failed, where that was not the agent's doing; it will then not be scored.
        """
        if failure is not None:
            _exchange(self._reader, self._writer, {"op": "infrastructure", "note": failure[:500]})
        _exchange(self._reader, self._writer, {"op": "close", "note": note[:500]})


@contextmanager
def connect(out: str | Path, *, gated: bool = False, options: Iterable[str] = ()) -> Iterator[Environment]:
    """Start the environment as a process of its own and end it afterwards.

    Args:
        out: the file to which it appends each episode's record; a scorer reads it, an agent need not.
        gated: put the act gate before the tools.
        options: further options of `python -m tallystick.evals.evidence.serve`.
    """
    command = [sys.executable, "-m", "tallystick.evals.evidence.serve", "--out", str(out), *options]
    process = subprocess.Popen(  # noqa: S603 - our own module, arguments as a list
        [*command, "--gate"] if gated else command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        encoding="utf-8",
    )
    try:
        yield Environment(process)
    finally:
        assert process.stdin is not None
        with suppress(BrokenPipeError):
            process.stdin.close()
        try:
            process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        if process.stdout is not None:
            process.stdout.close()
