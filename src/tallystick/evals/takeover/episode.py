"""One episode: a frontier, a stage and a successor make a row. What it says of the world, the world itself said."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import msgspec

from tallystick.evals.takeover.audits import Contracted, contracted
from tallystick.evals.takeover.costs import Usage
from tallystick.evals.takeover.live import lived
from tallystick.evals.takeover.ports import troubled
from tallystick.evals.takeover.rows import HOLD, Row, Stage
from tallystick.evals.takeover.stages import Came, Successor, contract_for, finished, short
from tallystick.evals.takeover.successors import filled
from tallystick.evals.takeover.surface import Frontier, Opened, Proposal
from tallystick.gates.residual import may_take_over
from tallystick.model.decision import Verdict, decision_of
from tallystick.model.events import ReplicaCall, ResidualJudged, blob
from tallystick.runtime.extraction import Extractor
from tallystick.runtime.recheck import recheck
from tallystick.runtime.successors import proposal_bytes
from tallystick.view import View

Extracting = Callable[[Frontier], Extractor | None]
"""Makes the extractor of a frontier; None where the task itself says what is owed."""
_STEPWISE = ("direct", "certified_direct")


@dataclass(frozen=True, kw_only=True, slots=True)
class Reached:
    """A frontier as all stages find it.

    Attributes:
        engaged: a contract can be frozen; why: the first code where not.
        correct: what the prefix alone comes to.
        audit: what the contract found beside what gold says.
    """

    engaged: bool
    why: str
    correct: bool
    audit: Contracted | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Who:
    """Who finishes, as rows name it."""

    name: str
    scripted: bool
    mode: str = ""
    round: int = 0


def reached(frontier: Frontier, extract: Extractor | None) -> Reached:
    """Open a frontier, make its contract, and close it again: which episodes are engaged is the same in all stages."""
    with frontier.open() as opened:
        correct = opened.correct()
        residual, decision = contract_for(opened, frontier, extract)
        if residual is None:
            return Reached(engaged=False, why=decision.codes[0], correct=correct, audit=None)
        return Reached(
            engaged=True, why="", correct=correct, audit=contracted(frontier, residual, opened.run.view, extract)
        )


def unengaged(surface: str, frontier: Frontier, stage: Stage, who: Who, at: Reached) -> Row:
    """Return the row of an episode that nobody takes over: the prefix's outcome stands."""
    return Row(
        surface=surface, frontier=frontier.id, kind=frontier.kind, stage=stage, successor=who.name,
        scripted=who.scripted, round=who.round, engaged=False, why=at.why, correct=at.correct,
    )  # fmt: skip


def played(
    surface: str, frontier: Frontier, stage: Stage, who: Who, successor: Successor, extract: Extractor | None,
    usages: Callable[[], Sequence[Usage]] = tuple,
) -> Row:  # fmt: skip
    """Finish a frontier in a stage and return the row.

    Args:
        surface: where it is from.
        frontier: which.
        stage: how.
        who: as the row names it.
        successor: fresh.
        extract: finds what is owed, where the task does not say.
        usages: gives the successor's requests when it is through.
    """
    began = time.monotonic()
    with frontier.open() as opened:
        at = view_of(opened)
        came = finished(stage, opened, frontier, successor, extract)
        after = lived(at, frontier, opened.meter.dispatched)
        correct = opened.correct()
        alike = _rechecked(opened) if stage == "full" else {}
    rejected_writes = came.rejected_writes
    if stage in _STEPWISE and rejected_writes and not rejected(frontier, came.proposed[0], came.shown, extract):
        rejected_writes = 0
    interventions = [
        msgspec.structs.replace(one, again=alike.get(n)) if one.of == "proposal" else one
        for n, one in enumerate(came.interventions)
    ]
    return Row(
        surface=surface, frontier=frontier.id, kind=frontier.kind, stage=stage, successor=who.name,
        scripted=who.scripted, mode=who.mode, round=who.round, correct=correct, complete=came.complete,
        reason=came.reason, writes=after.writes, effects=after.effects, failures=after.failures,
        duplicates=after.duplicates, rejected_writes=rejected_writes, ungrounded=after.ungrounded,
        interventions=tuple(interventions), needless=_needless(frontier, came), proposals=len(came.proposed),
        tokens=successor.tokens, usages=tuple(usages()), seconds=round(time.monotonic() - began, 3),
    )  # fmt: skip


def view_of(opened: Opened) -> View:
    """Return the view as it is at the frontier, folded again from the ledger, so that nothing later changes it."""
    view = View(opened.run.contract, opened.run.task, run=opened.run.id)
    if opened.store is not None:
        for sealed in opened.store.events(opened.run.id):
            view.apply(sealed)
    return view


def _rechecked(opened: Opened) -> dict[int, bool]:
    """Return, for each proposal of the run that was not admitted, whether its decision comes out again."""
    if opened.store is None:
        return {}
    events = list(opened.store.events(opened.run.id))
    apart = {one.seq for one in recheck(events).differences}
    judged = [(s.event.seq, s.event.body) for s in events if isinstance(s.event.body, ResidualJudged)]
    stopped = [seq for seq, body in judged if not decision_of(body.decision).positive]
    return {n: seq not in apart for n, seq in enumerate(stopped)}


def rejected(frontier: Frontier, proposal: Proposal, shown: Sequence[ReplicaCall], extract: Extractor | None) -> bool:
    """Return whether whole-graph admission rejects calls that were made one by one, taken as one proposal.

    A hold is no rejection. Nor are reasons about claims alone: acting call by call, nobody writes down where a value of
    the answer comes from.
    """
    with frontier.open() as opened:
        residual, _ = contract_for(opened, frontier, extract)
        if residual is None:
            return True
        decision, _ = may_take_over(
            opened.run.view, frontier.contract, residual, blob(proposal_bytes(proposal)), tuple(shown), opened.run.now()
        )
        return decision.verdict is Verdict.REFUSE and any(short(code) != "claim" for code in decision.codes)


def _needless(frontier: Frontier, came: Came) -> bool:
    """Whether something was refused of a proposal whose calls, run past all gates in a fresh opening, are right.

    Refusals for what the answer claims, and nothing else, are never needless: the world cannot tell.
    """
    told = [i for i in came.interventions if i.of != "done"]
    if not told or all(i.code in ("claim", HOLD) for i in told):
        return False
    return any(right(frontier, proposal) for proposal in came.refused)


def right(frontier: Frontier, proposal: Proposal) -> bool:
    """Return whether all calls of a proposal, run past all gates in a fresh opening, work and leave the world right."""
    done: dict[str, object] = {}
    with frontier.open() as opened:
        at = view_of(opened)
        calls = proposal.get("calls")
        for call in calls if isinstance(calls, (list, tuple)) else ():
            fn = opened.meter.tools.get(str(call.get("tool"))) if isinstance(call, dict) else None
            if fn is None:
                return False
            args = filled(call.get("args", {}), done)
            if not isinstance(args, dict):
                return False
            try:
                result = fn(**args)
            except Exception:  # noqa: BLE001 - whatever it raises, it did not work
                return False
            if troubled(result):
                return False
            done[str(call.get("id"))] = result
        return opened.correct() and lived(at, frontier, opened.meter.dispatched).duplicates == 0
