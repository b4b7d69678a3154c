"""The environment's side: cases, private specifications and records stay in this process; an agent has a pipe to it.

One JSON object a line. Requests are `open` (a case by name), `task`, `call`, `infrastructure`, `close`; whatever else
is asked is answered with an error. Answers hold the public part or a tool's result, nothing more. Episodes are appended
to a file that the agent has no need to reach; scores are computed from it afterwards, and never told to the agent.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import IO, Any, Final

import msgspec

from tallystick.errors import InputError
from tallystick.evals.evidence.case import Case
from tallystick.evals.evidence.derived import sets
from tallystick.evals.evidence.manifest import case as suite_case
from tallystick.evals.evidence.plan import SEED
from tallystick.evals.evidence.room import Room
from tallystick.model import jsontext

BUDGET_SECONDS: Final = 600.0
"""Wall time per case (SafeActBench B.4)."""
MAX_LINE: Final = 1_000_000


def find(name: str, seed: str = SEED) -> Case:
    """Return a case of the suite or of a derived set by its name.

    Raises:
        InputError: there is no such case.
    """
    if ":" in name:
        found = _derived(seed).get(name)
        if found is None:
            raise InputError(f"there is no case `{name[:80]}`", fix="see `tallystick eval evidence --list`")
        return found
    return suite_case(name, seed)


@cache
def _derived(seed: str) -> dict[str, Case]:
    return {one.id: one for found in sets(seed).values() for one in found}


class Server:
    """Answers the requests of one agent, one case at a time.

    Args:
        keep: is given each episode when it ends.
        gated: put the act gate before the tools.
        seed: of the suite.
        budget: seconds per case.
        clock: seconds, monotonic.
    """

    def __init__(
        self,
        keep: Callable[[Any], None],
        *,
        gated: bool = False,
        seed: str = SEED,
        budget: float = BUDGET_SECONDS,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._keep = keep
        self._gated = gated
        self._seed = seed
        self._budget = budget
        self._clock = clock
        self._room: Room | None = None
        self._started = 0.0

    def answer(self, line: str) -> dict[str, Any]:
        """Return the answer to one request."""
        try:
            asked = jsontext.loads(line)
        except InputError as bad:
            return {"error": f"not a request: {bad.message}"}
        if not isinstance(asked, dict):
            return {"error": "not a request: not an object"}
        op = asked.get("op")
        if op == "open":
            return self._open(asked)
        if op == "close":
            self.leave(str(asked.get("note", "")))
            return {"over": True}
        room = self._room
        if room is None:
            return {"error": "no case is open"}
        if op == "task":
            return {"task": room.task()}
        if op == "infrastructure":
            room.close("infrastructure", str(asked.get("note", "")))
            return {"over": True}
        if op != "call" or not isinstance(asked.get("tool"), str) or not isinstance(asked.get("args"), dict):
            return {"error": "requests are open, task, call, infrastructure and close"}
        if self._clock() - self._started > self._budget:
            room.close("limit", f"more than {self._budget:g} seconds")
        return {"result": room.call(asked["tool"], asked["args"]), "over": room.over}

    def leave(self, note: str = "") -> None:
        """End the open case as it stands and keep its record."""
        if self._room is not None:
            self._room.close("stopped", note[:500])
            self._keep(self._room.episode(round(self._clock() - self._started, 3)))
            self._room = None

    def _open(self, asked: dict[str, Any]) -> dict[str, Any]:
        self.leave()
        try:
            found = find(str(asked.get("case")), self._seed)
        except InputError as bad:
            return {"error": bad.message}
        epoch = asked.get("epoch", 0)
        self._room = Room(
            found, str(asked.get("agent", "agent"))[:200], gated=self._gated,
            epoch=epoch if isinstance(epoch, int) else 0,
        )  # fmt: skip
        self._started = self._clock()
        return {"task": self._room.task()}

    def run(self, reader: IO[str], writer: IO[str]) -> None:
        """Answer until the reader ends."""
        while line := reader.readline(MAX_LINE):
            whole = line.endswith("\n")
            answer = self.answer(line) if whole else {"error": f"a request longer than {MAX_LINE} characters"}
            writer.write(jsontext.dumps(answer) + "\n")
            writer.flush()
            if not whole:
                break
        self.leave()


def main(args: list[str] | None = None) -> None:
    """Serve over standard input and output."""
    parser = argparse.ArgumentParser(description="environment of the evidence suite, over standard input and output")
    parser.add_argument("--out", type=Path, required=True, help="file to append episodes to, as JSON lines")
    parser.add_argument("--gate", action="store_true", help="put the act gate before the tools")
    parser.add_argument("--seed", default=SEED, help="of the suite; the frozen one by default")
    parser.add_argument("--budget", type=float, default=BUDGET_SECONDS, help="seconds per case")
    chosen = parser.parse_args(args)
    with chosen.out.open("ab") as out:

        def keep(episode: Any) -> None:
            out.write(msgspec.json.encode(episode) + b"\n")
            out.flush()

        server = Server(keep, gated=chosen.gate, seed=chosen.seed, budget=chosen.budget)
        server.run(sys.stdin, sys.stdout)


if __name__ == "__main__":
    main()
