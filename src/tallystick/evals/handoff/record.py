"""The record of each task: a run in an in-memory ledger whose open blocker is the canonical one.

What a block is compared with, what the endpoint controls ask, and what the act gate refuses by, is this record.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cache
from typing import Any, Final

from tallystick.contracts import parse
from tallystick.contracts.types import Contract
from tallystick.evals.handoff.task import Task, task
from tallystick.handoff import Carrier, carrier_of
from tallystick.model.decision import Decision
from tallystick.runtime.guard import Guard
from tallystick.runtime.run import Run
from tallystick.view import View

BLOCKER: Final = "c1"
NOW: Final = datetime(2026, 11, 30, 9, tzinfo=UTC)
"""The suite's instant; nothing in it depends on the time."""
_CONTRACT: Final = """
contract: handoff-suite/1
tools:
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Record:
    """What is recorded of a task: the view of its run, and the carrier that belongs to it."""

    contract: Contract
    view: View
    carrier: Carrier


def contract_of(about: Task) -> Contract:
    """Return the contract of a task: every action label is a tool that writes."""
    lines = [f"  {label}: {{effect: write}}" for label in (*about.removed, *about.admissible)]
    return parse(_CONTRACT + "\n".join(lines) + "\n")


def started(about: Task, done: list[str] | None = None) -> Run:
    """Return a run of a task with its blocker raised; what is carried out is noted in `done`."""
    noted = done if done is not None else []

    def act(label: str) -> Any:
        def carry_out() -> dict[str, Any]:
            noted.append(label)
            return {"ok": True}

        return carry_out

    labels = (*about.removed, *about.admissible)
    guard = Guard(contract_of(about), tools={label: act(label) for label in labels}, clock=lambda: NOW)
    run = guard.run(run_id=about.id, without_approvers=True)
    z = about.z
    run.block(
        BLOCKER, about.removed, status=z["status"], prerequisite=z["prerequisite"], authority=about.who,
        fallback=z["fallback"], by="reviewer",
    )  # fmt: skip
    return run


@cache
def record(name: str) -> Record:
    """Return the record of the task of this id."""
    run = started(task(name))
    contract = contract_of(task(name))
    return Record(contract=contract, view=run.view, carrier=carrier_of(run.view, contract, NOW))


def by_act_gate(about: Task, action: str) -> tuple[Decision, bool]:
    """Propose an action to a real run of the task: its decision, and whether the action was carried out."""
    done: list[str] = []
    answer = started(about, done).call(action, {})
    return answer.decision, action in done
