"""Running panels: the model is asked what is not kept yet, and the episodes follow from what is kept."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Literal

from tallystick.errors import InputError
from tallystick.evals.handoff import kept
from tallystick.evals.handoff.asking import Asker, Kept, UnaskedError
from tallystick.evals.handoff.episode import Cast, Episode, Study
from tallystick.evals.handoff.items import Item
from tallystick.evals.handoff.panels import ITEMS, STUDIES, played
from tallystick.evals.handoff.roles import (
    REFERENCE,
    ModelExecutor,
    ModelReviewer,
    ModelTransformer,
    ReferenceExecutor,
    ReferenceTransformer,
    ScriptedReviewer,
)
from tallystick.evals.handoff.substrates import substrate

Reviewing = Literal["model", "scripted"]
REVIEWERS: Final[tuple[Reviewing, ...]] = ("model", "scripted")


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """What is run.

    Attributes:
        studies: panels, in order, each played once; all but transport where empty.
        reviewer: a scripted one passes the canonical record on, and D_up is 1 by its script.
        substrate: what carries artifacts.
        limit: most items of each panel, taken evenly over conditions and tasks; None for all.
    """

    studies: tuple[Study, ...] = ()
    reviewer: Reviewing = "model"
    substrate: str = "plain"
    limit: int | None = None

    def checked(self) -> Plan:
        """Return the plan with its panels named.

        Raises:
            InputError: no such panel or reviewer; a limit below 1.
        """
        other = next((s for s in self.studies if s not in STUDIES), None)
        if other is not None:
            raise InputError(f"there is no panel `{other[:80]}`", where="--panel", fix=f"one of: {', '.join(STUDIES)}")
        if self.reviewer not in REVIEWERS:
            raise InputError(
                f"there is no reviewer `{self.reviewer[:80]}`",
                where="--reviewer",
                fix=f"one of: {', '.join(REVIEWERS)}",
            )
        if self.limit is not None and self.limit < 1:
            raise InputError(f"`{self.limit}` is too few", where="--limit", fix="1 or more")
        studies = tuple(dict.fromkeys(self.studies)) or tuple(s for s in STUDIES if s != "transport")
        return Plan(studies=studies, reviewer=self.reviewer, substrate=self.substrate, limit=self.limit)

    def items(self, study: Study) -> tuple[Item, ...]:
        """Return the items of a panel that are run."""
        found = ITEMS[study]()
        return found if self.limit is None else _evenly(found, self.limit)


def _evenly(found: Sequence[Item], limit: int) -> tuple[Item, ...]:
    """Return so many items, the conditions taking turns and each starting at another task."""
    queues: dict[str, list[Item]] = {}
    for one in found:
        queues.setdefault(one.condition, []).append(one)
    turned = [q[n * len(q) // len(queues) :] + q[: n * len(q) // len(queues)] for n, q in enumerate(queues.values())]
    deep = max(map(len, turned), default=0)
    return tuple(q[n] for n in range(deep) for q in turned if n < len(q))[:limit]


def reference_cast(carried: str = "plain") -> Cast:
    """Return the scripted cast: no model anywhere."""
    return Cast(
        model=REFERENCE, reviewer=ScriptedReviewer(), transformer=ReferenceTransformer(),
        executor=ReferenceExecutor(), substrate=substrate(carried),
    )  # fmt: skip


def model_cast(asker: Asker, reviewer: Reviewing = "model", carried: str = "plain") -> Cast:
    """Return a cast in which a model transforms and acts, and reviews unless that is scripted."""
    asked = ModelReviewer(asker)
    return Cast(
        model=asker.name, reviewer=_Half(asked) if reviewer == "scripted" else asked,
        transformer=ModelTransformer(asker), executor=ModelExecutor(asker), substrate=substrate(carried),
    )  # fmt: skip


class _Half(ScriptedReviewer):
    """A scripted reviewer beside a real competence control."""

    def __init__(self, control: ModelReviewer) -> None:
        self._control = control

    def competent(self, about: Any) -> bool:
        return self._control.competent(about)


@dataclass(frozen=True, kw_only=True, slots=True)
class Ran:
    """Episodes, and by panel how many items of the plan's are missing because a reply is."""

    episodes: tuple[Episode, ...]
    missing: dict[str, int]


def episodes(plan: Plan, cast: Cast) -> Ran:
    """Play every episode of a plan; one whose reply is missing is counted and left out."""
    plan = plan.checked()
    found: list[Episode] = []
    missing: dict[str, int] = {}
    for study in plan.studies:
        for item in plan.items(study):
            try:
                found += played(study, cast, [item])
            except UnaskedError:
                missing[study] = missing.get(study, 0) + 1
    return Ran(episodes=tuple(found), missing=missing)


def settings(plan: Plan, model: str, more: dict[str, Any] | None = None) -> dict[str, Any]:
    """Return what a folder keeps of a run's settings. More panels may be added to a folder later."""
    return {
        "model": model, "reviewer": plan.reviewer, "substrate": plan.substrate, "limit": plan.limit,
        "panels": list(plan.checked().studies), **(more or {}),
    }  # fmt: skip


def kept_cast(folder: Path) -> tuple[Cast, dict[str, Any]]:
    """Return the cast of a kept run, which answers from its replies only, and the run's settings."""
    its = kept.settings_of(folder)
    carried = str(its.get("substrate", "plain"))
    if its.get("model") == REFERENCE:
        return reference_cast(carried), its
    reviewer: Reviewing = "scripted" if its.get("reviewer") == "scripted" else "model"
    return model_cast(Kept(folder, str(its["model"])), reviewer, carried), its
