"""Running the suite on one surface: every frontier, in every stage, with every successor, in every round."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from tallystick.errors import InputError
from tallystick.evals.lifecycle.suite.asking import Deployment
from tallystick.evals.takeover.audits import Contracted
from tallystick.evals.takeover.episode import Extracting, Reached, Who, played, reached, unengaged
from tallystick.evals.takeover.kept import Folder
from tallystick.evals.takeover.models import model_for
from tallystick.evals.takeover.obligations import FromGold, FromModel, Source
from tallystick.evals.takeover.rows import STAGES, Row, Stage
from tallystick.evals.takeover.successors import MIXTURE, Rates, rates_of, scripted
from tallystick.evals.takeover.surface import Frontier, Surface
from tallystick.runtime.extraction import Extractor, ModelExtractor

SEED: Final = "takeover-1"
Told = Callable[[int, int], None]


@dataclass(frozen=True, kw_only=True, slots=True)
class Plan:
    """What is run with scripted successors.

    Attributes:
        episodes: frontiers; None for all of the surface's, or its default.
        seed: of frontiers and successors.
        successors: modes, or `mixture`.
        stages: which.
        runs: complete runs; the mistakes are drawn anew in each.
        mend: see `successors.Rates`.
    """

    episodes: int | None = None
    seed: str = SEED
    successors: tuple[str, ...] = (MIXTURE,)
    stages: tuple[Stage, ...] = STAGES
    runs: int = 1
    mend: float = 0.5

    def checked(self) -> Plan:
        """Return the plan.

        Raises:
            InputError: a number is out of range, or there is no such stage or successor.
        """
        for name, value in (("--episodes", self.episodes), ("--runs", self.runs)):
            if value is not None and value < 1:
                raise InputError(f"`{value}` is too few", where=name, fix="1 or more")
        if not 0 <= self.mend <= 1:
            raise InputError(f"`{self.mend}` is no probability", where="--mend", fix="from 0 to 1")
        other = next((s for s in self.stages if s not in STAGES), None)
        if other is not None:
            raise InputError(f"there is no stage `{other[:80]}`", where="--stage", fix=f"one of: {', '.join(STAGES)}")
        for name in self.successors:
            rates_of(name)
        return self

    def rates(self) -> dict[str, Rates]:
        """Return the stated rates of each successor."""
        return {name: rates_of(name, self.mend) for name in self.successors}

    def named(self, models: Sequence[Deployment]) -> list[tuple[str, Rates | Deployment]]:
        """Return every successor with what it is made from."""
        return [*self.rates().items(), *((one.name, one) for one in models)]

    def settings(self, surface: Surface, source: Source, models: Sequence[Deployment] = ()) -> dict[str, Any]:
        """Return what a folder keeps of it."""
        return {
            "surface": surface.name, "seed": self.seed, "episodes": self.episodes, "runs": self.runs,
            "obligations": source, "scripted": {name: one.to_json() for name, one in self.rates().items()},
            "models": [one.name for one in models], "stages": list(self.stages),
        }  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class Ran:
    """What a run came to.

    Attributes:
        rows: all of them; contracts: one for each engaged frontier.
        source: where obligations came from.
        own: what the surface itself measures of its frontiers, where it has `measures`.
    """

    surface: str
    rows: tuple[Row, ...]
    contracts: tuple[Contracted, ...]
    source: Source
    settings: Mapping[str, Any] = field(default_factory=dict)
    own: Mapping[str, Any] = field(default_factory=dict)


def source_of(surface: Surface, model: ModelExtractor | None = None) -> Source:
    """Return where a surface's obligations come from."""
    return "task" if surface.structured else "gold" if model is None else "model"


def extracting(surface: Surface, model: ModelExtractor | None = None) -> Extracting:
    """Return what makes the extractor of a frontier."""

    def make(frontier: Frontier) -> Extractor | None:
        if surface.structured:
            return None
        return FromGold(frontier=frontier) if model is None else asked

    asked = FromModel(extract=model) if model is not None else None
    return make


def run(
    plan: Plan,
    surface: Surface,
    out: Path | None = None,
    told: Told | None = None,
    models: Sequence[Deployment] = (),
) -> Ran:
    """Run a plan. What a folder holds already is not run again.

    Args:
        plan: which scripted successors, and how.
        surface: where.
        out: folder that rows are kept in.
        told: hears how many of how many episodes are through.
        models: successors besides the scripted ones.

    Raises:
        InputError: the plan cannot be run, the surface is not installed, or the folder cannot be used.
    """
    plan = plan.checked()
    source = source_of(surface)
    settings = plan.settings(surface, source, models)
    folder = Folder(out, settings) if out is not None else None
    frontiers = surface.frontiers(plan.episodes, plan.seed)
    if not frontiers:
        raise InputError("the surface has no frontiers", where=f"--surface {surface.name}")
    make = extracting(surface)
    rows: list[Row] = []
    contracts: list[Contracted] = []
    total = len(frontiers) * len(plan.stages) * (len(plan.successors) + len(models)) * plan.runs
    for frontier in frontiers:
        extract = make(frontier)
        at = reached(frontier, extract)
        if at.audit is not None:
            contracts.append(at.audit)
        for row in _of_frontier(plan, surface, frontier, at, extract, folder, models):
            rows.append(row)
            if told is not None:
                told(len(rows), total)
    own: Mapping[str, Any] = getattr(surface, "measures", dict)()
    return Ran(
        surface=surface.name, rows=tuple(rows), contracts=tuple(contracts), source=source, settings=settings, own=own
    )  # fmt: skip


def _of_frontier(
    plan: Plan, surface: Surface, frontier: Frontier, at: Reached, extract: Extractor | None, folder: Folder | None,
    models: Sequence[Deployment],
) -> Iterator[Row]:  # fmt: skip
    for name, made_from in plan.named(models):
        for round_ in range(plan.runs):
            for stage in plan.stages:
                kept = folder.rows.get((frontier.id, stage, name, round_)) if folder is not None else None
                row = kept or _row(plan, surface, frontier, stage, name, made_from, round_, at, extract)
                if kept is None and folder is not None:
                    folder.add(row)
                yield row


def _row(
    plan: Plan,
    surface: Surface,
    frontier: Frontier,
    stage: Stage,
    name: str,
    made_from: Rates | Deployment,
    round_: int,
    at: Reached,
    extract: Extractor | None,
) -> Row:
    if isinstance(made_from, Deployment):
        who = Who(name=name, scripted=False, round=round_)
        if not at.engaged:
            return unengaged(surface.name, frontier, stage, who, at)
        model = model_for(made_from, frontier)
        return played(surface.name, frontier, stage, who, model, extract, lambda: model.usages)
    successor = scripted(frontier, made_from, plan.seed, round_)
    who = Who(name=name, scripted=True, mode=successor.mode, round=round_)
    if not at.engaged:
        return unengaged(surface.name, frontier, stage, who, at)
    return played(surface.name, frontier, stage, who, successor, extract)


def engaged_share(rows: Sequence[Row]) -> float | None:
    """Return the percentage of episodes in which somebody took over."""
    return 100 * sum(r.engaged for r in rows) / len(rows) if rows else None
