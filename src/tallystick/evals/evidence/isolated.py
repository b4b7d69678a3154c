"""A program as agent: started with nothing but two pipes and an empty folder, ended when its time is over."""

from __future__ import annotations

import os
import subprocess
import tempfile
import threading
import time
from collections.abc import Sequence
from typing import Any, Final

from tallystick.errors import InputError
from tallystick.evals.evidence.case import Case
from tallystick.evals.evidence.episode import Episode
from tallystick.evals.evidence.room import Room
from tallystick.evals.evidence.serve import BUDGET_SECONDS, MAX_LINE
from tallystick.model import jsontext

_KEPT: Final = ("PATH", "LANG", "LC_ALL", "SYSTEMROOT")


def play(
    command: Sequence[str],
    case: Case,
    agent: str,
    *,
    gated: bool = False,
    epoch: int = 0,
    budget: float = BUDGET_SECONDS,
) -> Episode:
    """Run a program on one case and return the record.

    It sends requests (`{"op": "task"}`, `{"op": "call", "tool", "args"}`) on its standard output and reads the answers
    on its standard input, one JSON object a line. It is given no path, no variable and no file of the suite.

    Raises:
        InputError: the program cannot be started.
    """
    room = Room(case, agent, gated=gated, epoch=epoch)
    started = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        try:
            process = subprocess.Popen(  # noqa: S603 - the command is the user's own choice of agent
                list(command),
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                cwd=folder,
                env={k: v for k, v in os.environ.items() if k in _KEPT},
                encoding="utf-8",
                errors="replace",
            )
        except OSError as bad:
            raise InputError(f"cannot be started: {bad.strerror}", where=str(command[0])) from None
        timer = threading.Timer(budget, process.kill)
        timer.start()
        try:
            _serve(process, room)
        finally:
            timer.cancel()
            process.kill()
            process.wait()
    spent = time.monotonic() - started
    if spent >= budget:
        room.close("limit", f"more than {budget:g} seconds")
    return room.episode(round(spent, 3))


def _serve(process: subprocess.Popen[str], room: Room) -> None:
    assert process.stdin is not None
    assert process.stdout is not None
    while not room.over and (line := process.stdout.readline(MAX_LINE)):
        answer = _answer(line, room)
        try:
            process.stdin.write(jsontext.dumps(answer) + "\n")
            process.stdin.flush()
        except (BrokenPipeError, ValueError):
            return


def _answer(line: str, room: Room) -> dict[str, Any]:
    try:
        asked = jsontext.loads(line)
    except InputError as bad:
        return {"error": f"not a request: {bad.message}"}
    if isinstance(asked, dict) and asked.get("op") == "task":
        return {"task": room.task()}
    if isinstance(asked, dict) and asked.get("op") == "call" and isinstance(asked.get("tool"), str):
        args = asked.get("args")
        if isinstance(args, dict):
            return {"result": room.call(asked["tool"], args), "over": room.over}
    return {"error": "requests are task and call"}
