"""The 24 task clusters: four fresh tasks of each tool-use family, each with one gap at its incomplete checkpoint.

Reconstructed: the source has 22 primary clusters and says no more. Tasks are drawn by the static study's families from
another seed, so none of them is a task of that study. Gaps go round, so that each occurs in four clusters, of four
families. The two clusters that are not primary are run and reported apart.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Final, Literal

from tallystick.contracts import Contract, Task, load_task
from tallystick.evals.common.draw import Draw
from tallystick.evals.termination.families import FAMILIES
from tallystick.evals.termination.family import Family, Scenario, contract_of

SEED: Final = "tallystick-termination-closed-1"
PER_FAMILY: Final = 4
SECONDARY: Final = frozenset({"lookup-4", "period-4"})
Gap = Literal["unread", "other_entity", "nested_error", "omitted", "wrong_value", "polling"]
GAPS: Final[Mapping[Gap, str]] = {
    "unread": "the reads the answer rests on were never made; the values are guessed right",
    "other_entity": "the reads were made about another entity; the values are guessed right",
    "nested_error": "the reads answered an error beneath transport success; the values are guessed right",
    "omitted": "everything was read, and one required slot is left out of the answer",
    "wrong_value": "everything was read, and one value of the answer is a little off",
    "polling": "the job is pending and was asked about three times; nothing was read yet",
}
OF_ANSWERS: Final[frozenset[Gap]] = frozenset({"omitted", "wrong_value"})
"""Gaps that another answer closes; the others need calls."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Cluster:
    """One task cluster.

    Attributes:
        name: family and number.
        number: within the family, from 0.
        primary: whether it counts in the primary measures.
        gap: what is missing at its incomplete checkpoint.
    """

    name: str
    family: Family
    number: int
    primary: bool
    gap: Gap
    scenario: Scenario

    @property
    def contract(self) -> Contract:
        """The family's contract."""
        return contract_of(self.family.NAME)

    @property
    def task(self) -> Task:
        """The task as a run freezes it."""
        return load_task({"request": self.scenario.request, "bindings": dict(self.scenario.bindings)}, self.contract)


@cache
def clusters(seed: str = SEED) -> tuple[Cluster, ...]:
    """Return the clusters, in order. Another seed draws others of the same make."""
    gaps = tuple(GAPS)
    found = []
    for place, family in enumerate(FAMILIES):
        for number in range(PER_FAMILY):
            name = f"{family.NAME}-{number + 1}"
            found.append(
                Cluster(
                    name=name,
                    family=family,
                    number=number,
                    primary=name not in SECONDARY,
                    gap=gaps[(place + number) % len(gaps)],
                    scenario=family.draw(Draw(seed, family.NAME, number), number),
                )
            )
    return tuple(found)
