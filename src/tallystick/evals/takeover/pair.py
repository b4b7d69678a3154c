"""A cheap and a strong agent on the invoice desk: methods and stages, episode by episode, kept as they are through."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import msgspec

from tallystick.demo.schemas import SCHEMAS
from tallystick.errors import InputError
from tallystick.evals.common.draw import Draw
from tallystick.evals.lifecycle.suite.asking import Deployment
from tallystick.evals.takeover import measures
from tallystick.evals.takeover.audits import audited
from tallystick.evals.takeover.costs import Phase, Prices, cost_of, cost_percent
from tallystick.evals.takeover.invoice import Episode, InvoiceDesk
from tallystick.evals.takeover.kept import Folder, lines
from tallystick.evals.takeover.methods import (
    BASELINES,
    METHODS,
    STYLED,
    Agent,
    Cast,
    Part,
    Prefix,
    baseline,
    handed_over,
    named,
    prefix_of,
    start_of,
)
from tallystick.evals.takeover.models import Model
from tallystick.evals.takeover.rows import STAGES, Method, Row
from tallystick.evals.takeover.run import SEED, Told, engaged_share
from tallystick.evals.takeover.successors import Rates, Scripted, mode_of, possible
from tallystick.evals.takeover.surfaces import ATTACHED, SURFACES, not_run
from tallystick.models import is_local

PREFIXES: Final = "prefixes.jsonl"
CHEAP: Final = Rates(
    wrong={"omitting": 0.25, "repeating": 0.10, "wrong_entity": 0.10, "wrong_order": 0.10, "false_claim": 0.05},
    mend=0.3,
)
"""How often the scripted cheap agent errs: *ours*, fixed before anything was run."""
STRONG: Final = Rates(wrong={"omitting": 0.05, "repeating": 0.05, "wrong_entity": 0.03, "wrong_order": 0.02}, mend=0.8)
"""How often the scripted strong agent errs: *ours*."""


@dataclass(frozen=True, kw_only=True)
class ScriptedCast:
    """Two scripts with stated mistakes. No model, no tokens, no cost."""

    seed: str = SEED
    round: int = 0
    scripted: bool = True

    @property
    def names(self) -> Mapping[Part, str]:
        """What they are called."""
        return {"cheap": "scripted-cheap", "strong": "scripted-strong"}

    def agent(self, part: Part, episode: Episode, phase: Phase) -> Agent:  # noqa: ARG002 - scripts cost nothing
        """Return a fresh script; the same for the same part and episode."""
        rates = CHEAP if part == "cheap" else STRONG
        draw = Draw(self.seed, part, episode.id, self.round)
        mode = possible(mode_of(rates, draw), episode.gold)
        return Scripted(gold=episode.gold, mode=mode, mend=rates.mend, draw=draw)


@dataclass(frozen=True, kw_only=True)
class ModelCast:
    """Two models."""

    cheap: Deployment
    strong: Deployment
    scripted: bool = False

    @property
    def names(self) -> Mapping[Part, str]:
        """What they are called."""
        return {"cheap": self.cheap.name, "strong": self.strong.name}

    def agent(self, part: Part, episode: Episode, phase: Phase) -> Agent:
        """Return the model, with nothing said yet."""
        return Model(
            deployment=self.cheap if part == "cheap" else self.strong, request=episode.request, tools=episode.schemas,
            descriptions={one["function"]["name"]: one["function"]["description"] for one in SCHEMAS}, phase=phase,
            structured=is_local(self.names[part]),
        )  # fmt: skip


@dataclass(frozen=True, kw_only=True, slots=True)
class PairPlan:
    """What a pair plays.

    Attributes:
        episodes: how many tasks.
        seed: of the tasks.
        methods: which; the cheap prefix of an episode is played once for all stages.
    """

    episodes: int = 50
    seed: str = SEED
    methods: tuple[Method, ...] = METHODS

    def checked(self) -> PairPlan:
        """Return the plan.

        Raises:
            InputError: too few episodes, or no such method.
        """
        if self.episodes < 1:
            raise InputError(f"`{self.episodes}` is too few", where="--episodes", fix="1 or more")
        other = next((m for m in self.methods if m not in METHODS), None)
        if other is not None:
            raise InputError(
                f"there is no method `{other[:80]}`", where="--method", fix=f"one of: {', '.join(METHODS)}"
            )
        return self

    def tasks(self) -> list[Episode]:
        """Return the tasks, each from its start; those that would be over at once are none."""
        desk = InvoiceDesk()
        return [start_of(one) for one in desk.frontiers(self.episodes, self.seed)]

    def settings(self, cast: Cast) -> dict[str, Any]:
        """Return what a folder keeps of it. More methods and episodes may follow in the same folder."""
        rates = {cast.names["cheap"]: CHEAP.to_json(), cast.names["strong"]: STRONG.to_json()} if cast.scripted else {}
        return {
            "surface": "invoice", "pair": dict(cast.names), "seed": self.seed, "scripted": rates,
            "begins_with": ["request", "list_invoices"],
        }  # fmt: skip


def played(plan: PairPlan, cast: Cast, out: Path | None = None, told: Told | None = None) -> list[Row]:
    """Play a plan. What a folder holds already is not played again.

    Raises:
        InputError: the plan cannot be run, the folder cannot be used, or an endpoint does not answer.
    """
    plan = plan.checked()
    folder = Folder(out, plan.settings(cast)) if out is not None else None
    prefixes = {} if out is None else {one.frontier: one for one in lines(out / PREFIXES, Prefix)}
    rows: list[Row] = []
    total = plan.episodes * len(plan.methods)
    for episode in plan.tasks():
        for row in _of_episode(plan, episode, cast, folder, prefixes):
            rows.append(row)
            if told is not None:
                told(len(rows), total)
    return rows


def _of_episode(
    plan: PairPlan, episode: Episode, cast: Cast, folder: Folder | None, prefixes: dict[str, Prefix]
) -> Iterator[Row]:
    for method in plan.methods:
        kept = folder.rows.get((episode.id, method, named(cast), 0)) if folder is not None else None
        if kept is not None:
            yield kept
            continue
        if method in BASELINES:
            row = baseline(method, episode, cast)
        else:
            if episode.id not in prefixes:
                prefixes[episode.id] = prefix_of(episode, cast)
                if folder is not None:
                    folder.append(PREFIXES, prefixes[episode.id])
            row = handed_over(method, episode, cast, prefixes[episode.id])
        if folder is not None:
            folder.add(row)
        yield row


def report(rows: Sequence[Row], cast: Cast, plan: PairPlan, prices: Prices) -> dict[str, Any]:
    """Return what a pair comes to: the stages' measures, and each method's score and cost beside the strong anchor."""
    by: dict[Method, list[Row]] = {m: own for m in METHODS if (own := [r for r in rows if r.stage == m])}
    handed = [r for r in rows if r.stage in STAGES]
    anchor = by.get("strong_full")
    methods: dict[str, Any] = {}
    for method, found in by.items():
        cost = cost_of((u for r in found for u in r.usages), prices)
        beside = cost_of((u for r in anchor for u in r.usages), prices).total if anchor else None
        score = measures.scores(found)
        theirs = measures.scores(anchor)["mean"] if anchor else None
        methods[STYLED.get(method, method)] = {
            "score": score, "episodes": len(found), "requests": sum(len(r.usages) for r in found),
            "calls_that_write": sum(r.writes for r in found), "tokens": sum(r.tokens for r in found),
            "engaged_percent": engaged_share(found) if method in STAGES else None,
            "false_complete": sum(r.complete and not r.correct for r in found),
            "duplicate_effects": sum(r.duplicates for r in found), "cost": cost.to_json(),
            "gap": None if theirs is None or method == "strong_full" else score["mean"] - theirs,
            "cost_percent": cost_percent({"invoice": cost.total}, {"invoice": beside}) if not cast.scripted else None,
        }  # fmt: skip
    who = named(cast)
    told: dict[str, Any] = {
        **measures.by_stage(handed),
        "surface": "invoice", "successor": who, "scripted": cast.scripted,
        "settings": plan.settings(cast), "obligations_from": "task",
        "engaged_percent": engaged_share(handed),
        "unengaged": _why(handed), "methods": methods, "prices": {"date": prices.date},
        "methods_note": _note(cast),
        "successors": {who: _stages(handed)} if handed else {},
        "surfaces": {
            name: "run" if name == "invoice" else not_run(name) for name in (*SURFACES, *ATTACHED)
        },
    }  # fmt: skip
    plain: dict[str, Any] = msgspec.to_builtins(told)
    return plain


def _why(rows: Sequence[Row]) -> dict[str, int]:
    found: dict[str, int] = {}
    for why in {r.frontier: r.why for r in rows if not r.engaged}.values():
        found[why] = found.get(why, 0) + 1
    return found


def _note(cast: Cast) -> str:
    return (
        "Both agents are scripts with stated mistakes: scores follow from the rates, and there are no tokens."
        if cast.scripted
        else "Real models; whatever they score."
    )


def _stages(rows: Sequence[Row]) -> dict[str, Any]:
    by = {stage: own for stage in STAGES if (own := [r for r in rows if r.stage == stage])}
    one: Mapping[str, Callable[[Sequence[Row]], Any]] = {
        "stages": measures.measured, "scores": measures.scores, "kinds": measures.by_kind, "modes": measures.by_mode,
        "interventions": measures.interventions, "ended": measures.reasons,
    }  # fmt: skip
    told: dict[str, Any] = {name: {stage: fn(own) for stage, own in by.items()} for name, fn in one.items()}
    return {**told, "audit": audited((), by.get("full", ()))}
