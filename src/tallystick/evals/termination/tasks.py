"""The 48 base tasks: six families of eight, the first two of each for development, the other six held out."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Final

from tallystick.contracts import Task, load_task
from tallystick.evals.common.draw import Draw
from tallystick.evals.termination.families import FAMILIES
from tallystick.evals.termination.family import Family, Scenario, contract_of
from tallystick.evals.termination.snapshot import Split

SEED: Final = "tallystick-termination-1"
PER_FAMILY: Final = 8
DEVELOPMENT: Final = 2


@dataclass(frozen=True, kw_only=True, slots=True)
class BaseTask:
    """One base task: its name, family, number within the family (from 0), split and drawn scenario."""

    name: str
    family: Family
    number: int
    split: Split
    scenario: Scenario

    @property
    def task(self) -> Task:
        """The task as a run freezes it."""
        bindings = dict(self.scenario.bindings)
        return load_task({"request": self.scenario.request, "bindings": bindings}, contract_of(self.family.NAME))


@cache
def tasks(seed: str = SEED) -> tuple[BaseTask, ...]:
    """Return the base tasks. Another seed draws others of the same make."""
    return tuple(_tasks(seed))


def _tasks(seed: str) -> Iterator[BaseTask]:
    for family in FAMILIES:
        for number in range(PER_FAMILY):
            yield BaseTask(
                name=f"{family.NAME}-{number + 1}",
                family=family,
                number=number,
                split="development" if number < DEVELOPMENT else "heldout",
                scenario=family.draw(Draw(seed, family.NAME, number), number),
            )
