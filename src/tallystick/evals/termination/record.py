"""A recorded run, made without a runtime: a world answers calls, and each becomes an intent and a receipt.

Ids, instants and digests are the same on every machine, so that a manifest can hold the snapshots to their bytes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any, Final

import msgspec

from tallystick.contracts import task_text
from tallystick.contracts.types import Contract, Task
from tallystick.evals.termination.family import Family, World, answered
from tallystick.model import jsontext
from tallystick.model.canonical import digest
from tallystick.model.events import (
    ENVELOPE_VERSION,
    GENESIS,
    SEMANTICS,
    Actor,
    AnyBody,
    Event,
    Intent,
    Receipt,
    Role,
    Said,
    Sealed,
    Started,
    blob,
    seal,
)

START: Final = datetime(2026, 11, 2, 9, 0, tzinfo=UTC)
_STEP: Final = timedelta(seconds=7)


class Recorder:
    """Writes one run's events while its calls are made.

    Args:
        run: the run's id.
        family: whose world answers.
        contract: what the run is judged by.
        task: what it owes.
        world: the environment; calls change it.
    """

    def __init__(self, run: str, family: Family, contract: Contract, task: Task, world: World) -> None:
        self.run = run
        self.world = world
        self.events: list[Sealed] = []
        self._family = family
        self._calls = 0
        text = task_text(task)
        started = Started(
            semantics=SEMANTICS,
            contract=contract.text,
            contract_sha256=contract.sha256,
            task=text,
            task_sha256=digest(text.encode("utf-8")),
        )
        self._add(started, "runtime", "guard")
        self.say("user", task.request)

    def say(self, role: Role, text: str) -> None:
        """Record words of the user or of the agent."""
        self._add(Said(role="assistant" if role == "agent" else role, text=text), role, role)

    def call(self, tool: str, args: Mapping[str, Any]) -> Any:
        """Make a call of the world and return its answer."""
        result = answered(self._family, self.world, tool, args)
        self.made(tool, args, result)
        return result

    def made(self, tool: str, args: Mapping[str, Any], result: Any) -> None:
        """Record a call and what came back for it, the transport saying that all went well."""
        self._calls += 1
        name = f"c{self._calls}"
        asked = blob(jsontext.dumps(dict(args)).encode("utf-8"))
        self._add(Intent(call=name, tool=tool, args=asked, now=self._now()), "runtime", "guard")
        receipt = Receipt(
            id=f"r{self._calls}",
            call=name,
            result=blob(jsontext.dumps(result).encode("utf-8")),
            flag="ok",
            outcome="ok",
            observed_at=self._now(),
        )
        self._add(receipt, "executor", "guard")

    def amend(self, change: Callable[[Any], Any]) -> None:
        """Record the last call's answer as another one: what came back is not what the world would have said."""
        last = self.events.pop()
        body = last.event.body
        assert isinstance(body, Receipt)
        assert body.result is not None
        result = change(jsontext.loads(body.result.raw))
        self._add(
            msgspec.structs.replace(body, result=blob(jsontext.dumps(result).encode("utf-8"))), "executor", "guard"
        )

    def _now(self) -> str:
        return (START + _STEP * len(self.events)).isoformat().replace("+00:00", "Z")

    def _add(self, body: AnyBody, role: Role, name: str) -> None:
        event = Event(
            v=ENVELOPE_VERSION,
            run=self.run,
            seq=len(self.events) + 1,
            at=self._now(),
            actor=Actor(role=role, id=name),
            body=body,
            prev=self.events[-1].digest if self.events else GENESIS,
        )
        self.events.append(seal(event))
