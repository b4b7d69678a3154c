"""What is rendered: one item per task and condition, before anybody is asked.

216 items are the primary matrix for one model: six static conditions over 20 tasks, eight dynamic ones over 12. A model
only changes who writes and acts, never an item. 48 a compression arm are 12 dynamic tasks in four forms, and 64 fixed
artifacts are 32 tasks under two compression arms; the paper prints the counts only, so both are *reconstructed*.
"""

from __future__ import annotations

from functools import cache
from typing import Final, Literal

import msgspec

from tallystick.errors import InputError
from tallystick.evals.handoff.task import Task, Trajectory, task, tasks
from tallystick.evals.handoff.wording import fill, wording
from tallystick.model.canonical import canonical, digest

Panel = Literal["main", "compression", "base", "paraphrase1", "paraphrase2"]
STATIC: Final = ("P0", "P1", "P2", "P3", "P4", "P5")
DYNAMIC: Final = ("S0", "S3", "S4", "C0", "C4", "C5", "E0", "E4")
CONTROL_OF: Final = {
    "P1": "P0", "P2": "P0", "P3": "P0", "P4": "P0", "P5": "P0", "S3": "S0", "S4": "S0", "C4": "C0", "C5": "C0",
    "E4": "E0",
}  # fmt: skip
"""Transformed condition → its direct-state control."""
CONTROLS: Final = ("P0", "S0", "C0", "E0")
FAMILY: Final = {
    **dict.fromkeys(CONTROLS, "control"), "P1": "plan assimilation", "P2": "compression", "P3": "convergence",
    "P4": "ownership deferral", "P5": "precedent substitution", "S3": "compression", "S4": "compression",
    "C4": "plan assimilation", "C5": "plan assimilation", "E4": "convergence",
}  # fmt: skip
"""Table 1 of the paper; where a condition belongs is *reconstructed*."""
COMPRESSION: Final = ("direct", "light", "normal", "compressed", "aggressive")
FORMS: Final = ("summary", "plan", "ticket", "memory")
BASES: Final = ("normal", "aggressive")
"""Arms whose artifacts are fixed and then restored, left out of, or controlled."""
PARAPHRASED: Final = ("P0", "P1", "P4", "S0", "S3", "C4")
"""In other words: 3 conditions over 20 static and 3 over 12 dynamic tasks, two wordings: 192 (*reconstructed*)."""
PARAPHRASES: Final[tuple[Panel, ...]] = ("paraphrase1", "paraphrase2")
TRANSPORT: Final = ("P0", "P4", "S3", "S4", "C4")
TRANSPORTED: Final = 8
"""Tasks of each condition that are carried inside a framework."""


class Item(msgspec.Struct, frozen=True, kw_only=True):
    """One rendered item.

    Attributes:
        text: what the first hop is given, or for a direct arm the artifact itself.
        hops: templates after the first, each with `{text}` for what came.
        form: what kind of artifact it is.
    """

    panel: Panel
    condition: str
    task: str
    form: str
    text: str
    hops: tuple[str, ...] = ()

    @property
    def id(self) -> str:
        """`panel/condition/task/form`."""
        return f"{self.panel}/{self.condition}/{self.task}/{self.form}"

    @property
    def direct(self) -> bool:
        """Whether nothing is transformed."""
        return self.condition in CONTROLS or self.condition == "direct"

    @property
    def trajectory(self) -> Trajectory:
        """Which rule its artifact is coded by."""
        return task(self.task).trajectory

    @property
    def digest(self) -> str:
        """SHA-256 of everything a role is given, the task's record included."""
        told = {"record": task(self.task).record(), "text": self.text, "hops": list(self.hops), "form": self.form}
        return digest(canonical(told))


@cache
def main() -> tuple[Item, ...]:
    """Return the primary matrix of one model, condition by condition."""
    return tuple(
        item("main", condition, one)
        for conditions, trajectory in ((STATIC, "static"), (DYNAMIC, "dynamic"))
        for condition in conditions
        for one in tasks(trajectory)
    )


@cache
def compression() -> tuple[Item, ...]:
    """Return the compression gradient: each arm over the dynamic tasks in four forms."""
    return tuple(
        item("compression", arm, one, form) for arm in COMPRESSION for one in tasks("dynamic") for form in FORMS
    )


@cache
def bases() -> tuple[Item, ...]:
    """Return what the fixed artifacts are made from: every task under two compression arms, as a note."""
    return tuple(item("base", arm, one, "note") for arm in BASES for one in tasks())


@cache
def paraphrased() -> tuple[Item, ...]:
    """Return six conditions in two other wordings each."""
    return tuple(
        item(panel, i.condition, task(i.task)) for panel in PARAPHRASES for i in main() if i.condition in PARAPHRASED
    )


@cache
def transported() -> tuple[Item, ...]:
    """Return what is carried inside a framework: eight tasks of five conditions, spread over the domains."""
    return tuple(i for c in TRANSPORT for i in _spread([i for i in main() if i.condition == c]))


def _spread(found: list[Item]) -> list[Item]:
    """Return `TRANSPORTED` items, the domains taking turns."""
    queues: dict[str, list[Item]] = {}
    for one in found:
        queues.setdefault(task(one.task).domain, []).append(one)
    turns = [queue[n] for n in range(max(map(len, queues.values()))) for queue in queues.values() if n < len(queue)]
    return turns[:TRANSPORTED]


def item(panel: Panel, condition: str, about: Task, form: str | None = None) -> Item:
    """Render one item.

    Raises:
        InputError: there is no such condition.
    """
    told = wording()
    words = about.words()
    other = told["paraphrases"][PARAPHRASES.index(panel)] if panel in PARAPHRASES else {}
    if condition in CONTROLS or condition == "direct":
        kind = form or {"P0": "note", "S0": "ticket", "C0": "plan", "E0": "summary"}[condition]
        template = other.get("direct", told["direct"]) + told["control"].get(condition, "")
        text = fill(template, words | {"form": told["forms"][kind]})
        return Item(panel=panel, condition=condition, task=about.id, form=kind, text=text)
    found = told["conditions"].get(condition) or told["compression"].get(condition)
    if found is None:
        raise InputError(f"there is no condition `{condition[:80]}`", where="condition")
    kind = form or str(found["form"])
    source = fill(other.get("finding", told["finding"]), words)
    words |= {"finding": source, "form": str(told["forms"][kind]).lower(), "text": "{text}"}
    hops = other["conditions"][condition] if other else found["hops"]
    first, *rest = (fill(hop, words) for hop in hops)
    return Item(panel=panel, condition=condition, task=about.id, form=kind, text=first, hops=tuple(rest))


def finding(about: Task) -> str:
    """Return the source state as the reviewer passes it on: the canonical record's four fields."""
    return fill(wording()["finding"], about.words())
