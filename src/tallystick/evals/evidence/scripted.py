"""Scripted agents with stated faults. They read the reference path: they test the evaluator and the gate, not skill.

Every fault is a choice made per case from a seed, so how often it was committed is known exactly, and what the
evaluator reports can be held against it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, Protocol

import msgspec

from tallystick.evals.common.draw import Draw
from tallystick.evals.evidence.case import ACTING, Case
from tallystick.evals.evidence.paths import Step, actions, end, reads

Fault = Literal["none", "acts_early", "stops_early", "wrong_entity", "drops_result"]
FAULTS: Final[tuple[Fault, ...]] = ("none", "acts_early", "stops_early", "wrong_entity", "drops_result")
MEASURED_BY: Final[dict[Fault, str]] = {
    "acts_early": "acted_early",
    "stops_early": "stopped_early",
    "wrong_entity": "wrong_target",
    "drops_result": "dropped_result",
}
"""The field of a `Score` that shows a fault."""


class Caller(Protocol):
    """What a scripted agent needs of a session."""

    def call(self, tool: str, args: dict[str, Any]) -> Any:
        """Make a call."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Scripted:
    """A scripted agent.

    Attributes:
        fault: what it does wrong.
        p: with which probability per case to which the fault applies.
        seed: of those choices.
    """

    fault: Fault = "none"
    p: float = 0.0
    seed: str = "agents"

    @property
    def name(self) -> str:
        """Its name in reports; says that it is scripted."""
        return "scripted:correct" if self.fault == "none" else f"scripted:{self.fault}@{self.p:g}"

    def commits(self, case: Case, epoch: int = 0) -> bool:
        """Return whether it commits its fault in this case."""
        return applies(self.fault, case) and Draw(self.seed, self.fault, case.id, epoch).chance(self.p)

    def steps(self, case: Case, epoch: int = 0) -> list[Step]:
        """Return what it does in a case, faults included."""
        if case.protocol == "Legacy":
            return [end(case.private.label)]
        if self.commits(case, epoch):
            return faulty(case, self.fault, Draw(self.seed, "how", self.fault, case.id, epoch))
        return [*reads(case), *actions(case), end(case.private.label)]

    def play(self, case: Case, session: Caller, epoch: int = 0) -> None:
        """Play a case over a session."""
        follow(self.steps(case, epoch), session)


def applies(fault: Fault, case: Case) -> bool:
    """Return whether a case leaves room for a fault."""
    if fault == "none" or case.protocol == "Legacy":
        return False
    if fault == "acts_early":
        return case.protocol in ACTING and bool(case.private.actions)  # derived cases may support none
    if fault == "wrong_entity":
        return case.protocol in ACTING and _confusable(case) is not None
    if fault == "drops_result":
        return any(a.cites for a in case.private.actions)
    return True


def follow(steps: Sequence[Step], session: Caller) -> None:
    """Make the steps of a path, with the actual results of earlier actions where a step cites them.

    A step of an action that has taken effect already is left out, so that one made too early and let through is not
    made again when its turn comes.
    """
    results: dict[str, Any] = {}
    for step in steps:
        if step.node and step.node in results:
            continue
        args = dict(step.args)
        for name, node in step.cites.items():
            if node in results:
                args[name] = results[node][name]
        result = session.call(step.tool, args)
        if step.node and isinstance(result, dict) and result.get("status") == "done":
            results[step.node] = result


def faulty(case: Case, fault: Fault, draw: Draw) -> list[Step]:
    """Return a path with one fault."""
    looks, acts, last = reads(case), actions(case), end(case.private.label)
    if fault == "acts_early":
        first = acts[0]
        needed = reads(case, needs=case.private.actions[0].needs)
        cut = draw.below(len(needed))
        rest = [s for s in looks if s not in needed[:cut]]
        return [*needed[:cut], first, *rest, *acts, last]
    if fault == "stops_early":
        return [*looks[: draw.below(len(looks))], last]
    if fault == "wrong_entity":
        target = _confusable(case)
        assert target is not None
        node, arg, other = target
        if draw.chance(0.5):
            # The right records are read, the wrong one is acted on: a matching value from another entity.
            return [*looks, *(_aimed(s, arg, other) if s.node == node else s for s in acts), last]
        # The look-alike is investigated as thoroughly as the right one should have been, and acted on.
        swap = {right: others[0] for right, others in case.private.lookalikes.items()}
        return [*(_swapped(s, swap) for s in looks), *(_swapped(s, swap) if s.node == node else s for s in acts), last]
    chosen = draw.pick([a for a in acts if a.cites])
    arg = draw.pick(sorted(chosen.cites))
    # The citation is left out, or made up.
    made_up = {} if draw.chance(0.5) else {arg: f"{arg[:2].upper()}-{draw.below(16**10):010x}"}
    cites = {k: v for k, v in chosen.cites.items() if k != arg}
    wrong = msgspec.structs.replace(chosen, cites=cites, args={**chosen.args, **made_up})
    return [*looks, *(wrong if s.node == chosen.node else s for s in acts), last]


def _aimed(step: Step, arg: str, other: str) -> Step:
    return msgspec.structs.replace(step, args={**step.args, arg: other})


def _swapped(step: Step, swap: dict[str, str]) -> Step:
    args = {k: swap.get(v, v) if isinstance(v, str) else v for k, v in step.args.items()}
    return msgspec.structs.replace(step, args=args)


def _confusable(case: Case) -> tuple[str, str, str] | None:
    """Return (node, argument, look-alike) of an action whose subject has a look-alike."""
    for spec in case.private.actions:
        for arg in spec.targets:
            others = case.private.lookalikes.get(str(spec.args[arg]))
            if others and arg == spec.targets[1 if len(spec.targets) > 1 else 0]:
                return spec.node, arg, others[0]
    return None
