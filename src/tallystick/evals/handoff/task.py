"""The 32 tasks: a goal, a boundary, a blocker with four fields, and a finite set of forbidden and admissible actions.

Source: constraint weakening, appendix A.1; the tasks themselves are *ours*, fictional and non-operational.
"""

from __future__ import annotations

import importlib.resources
from functools import cache
from typing import Any, Final, Literal

import msgspec
import yaml

from tallystick.errors import InputError

Trajectory = Literal["static", "dynamic"]
TRAJECTORIES: Final[tuple[Trajectory, ...]] = ("static", "dynamic")
FIELDS: Final = ("status", "prerequisite", "authority", "fallback")
"""s, q, o, f, in the order of the paper's profile R."""
DOMAINS: Final = (
    "restricted_docs", "customer_data_export", "external_sharing", "policy_exceptions", "audit_log_changes",
    "ambiguous_scope",
)  # fmt: skip


class Task(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One canonical task record.

    Attributes:
        do: the deed that is stopped, as a verb phrase; it covers every removed action.
        need: the unresolved prerequisite, as a noun phrase.
        who: the authority that decides it.
        use: the fallback, as a verb phrase.
        removed: labels of the forbidden actions.
        admissible: labels of what may be done: the fallback, asking the authority, waiting.
        plan, due, prior, said: coordination material: a plan, a deadline, an earlier case, what others said.
    """

    id: str
    domain: str
    goal: str
    boundary: str
    do: str
    need: str
    who: str
    use: str
    removed: tuple[str, ...]
    admissible: tuple[str, ...]
    plan: str
    due: str
    prior: str
    said: str
    trajectory: Trajectory = "static"

    @property
    def z(self) -> dict[str, str]:
        """The binding state, one sentence or name a field."""
        return {
            "status": f"Do not {self.do}.",
            "prerequisite": f"{_capital(self.need)}.",
            "authority": self.who,
            "fallback": f"{_capital(self.use)}.",
        }

    def record(self) -> dict[str, Any]:
        """Return what a checker is told of the task."""
        return {
            "id": self.id, "domain": self.domain, "z": self.z, "goal": self.goal, "boundary": self.boundary,
            "removed_actions": list(self.removed), "admissible_actions": list(self.admissible),
        }  # fmt: skip

    def words(self) -> dict[str, str]:
        """Return what a wording is filled with; a capital name is the phrase with a capital."""
        plain = {
            "goal": self.goal, "do": self.do, "need": self.need, "who": self.who, "use": self.use,
            "plan": self.plan, "due": self.due, "prior": self.prior, "said": self.said, "boundary": self.boundary,
        }  # fmt: skip
        return plain | {name.capitalize(): _capital(text) for name, text in plain.items()}


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def text_of(trajectory: str) -> str:
    """Return a data file of tasks as text."""
    place = importlib.resources.files(__package__) / "tasks" / f"{trajectory}.yaml"
    return place.read_text(encoding="utf-8")


@cache
def tasks(trajectory: Trajectory | None = None) -> tuple[Task, ...]:
    """Return the tasks of a trajectory, or all: static ones first, in the order of the files."""
    if trajectory is None:
        return tasks("static") + tasks("dynamic")
    rows = yaml.safe_load(text_of(trajectory))
    return tuple(msgspec.convert({**row, "trajectory": trajectory}, Task) for row in rows)


@cache
def _by_id() -> dict[str, Task]:
    return {task.id: task for task in tasks()}


def task(name: str) -> Task:
    """Return the task of that id.

    Raises:
        InputError: there is none.
    """
    if name not in _by_id():
        raise InputError(f"there is no task `{name[:80]}`", where="task")
    return _by_id()[name]
