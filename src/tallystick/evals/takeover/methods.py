"""Whole methods on the invoice desk, from the first message on: who works when, and what that costs.

- cheap_full, strong_full: one agent does all of it, past the guard. The strong one is the anchor.
- cascade (FrugalGPT-style): the cheap agent does all of it; where it did not say done, or one of its calls visibly
  failed, the strong agent starts over in the same world, told nothing.
- router (RouteLLM-style): before anything is done, requests that name more than one invoice go to the strong agent.
- stepwise (StepWise-style): the cheap agent acts until one of its calls visibly fails; the strong one then goes on,
  told what happened.
- direct, certified_direct, contract_plan, full: the cheap agent works under the guard until the frontier rule fires;
  the strong one then takes over from that captured state, in that stage.

All thresholds were fixed before anything was run. `-style`: a simple version of ours, not the paper's baseline;
MTRouter and AgServe-QAC are not reproduced. An episode the cheap agent brings to an accepted stop is not engaged.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final, Literal, Protocol, get_args

import msgspec

from tallystick.errors import InputError
from tallystick.evals.takeover.costs import Phase, Usage
from tallystick.evals.takeover.episode import Who, played, view_of
from tallystick.evals.takeover.invoice import Episode, gold_of
from tallystick.evals.takeover.live import lived
from tallystick.evals.takeover.ports import Seen
from tallystick.evals.takeover.rows import STAGES, Method, Row
from tallystick.evals.takeover.stages import DirectPort, Successor, contract_for
from tallystick.evals.takeover.surface import Gold
from tallystick.model import jsontext
from tallystick.runtime.run import Run

METHODS: Final[tuple[Method, ...]] = get_args(Method)
BASELINES: Final[tuple[Method, ...]] = tuple(m for m in METHODS if m not in STAGES)
STYLED: Final[Mapping[str, str]] = {
    "cascade": "cascade (FrugalGPT-style)", "router": "router (RouteLLM-style)",
    "stepwise": "stepwise (StepWise-style)",
}  # fmt: skip
STREAK: Final = 2
"""Calls and refused stops in a row that come to nothing, after which the cheap agent has reached its frontier."""
CALLS: Final = 8
"""Calls after which it has reached it anyway."""
Part = Literal["cheap", "strong"]


class Agent(Successor, Protocol):
    """Whoever works; `usages` are its requests."""

    usages: list[Usage]


class Cast(Protocol):
    """Who plays the cheap and the strong part.

    Attributes:
        names: what each is called in rows; scripted says that neither is a model.
    """

    @property
    def names(self) -> Mapping[Part, str]: ...  # noqa: D102 - see the class
    @property
    def scripted(self) -> bool: ...  # noqa: D102

    def agent(self, part: Part, episode: Episode, phase: Phase) -> Agent:
        """Return a fresh agent for an episode."""


class Done(msgspec.Struct, frozen=True, kw_only=True):
    """One thing the cheap agent did in its prefix: a call, or "done" with its answer where `tool` is empty."""

    tool: str = ""
    args: str = "{}"
    text: str = ""


class Prefix(msgspec.Struct, frozen=True, kw_only=True):
    """What the cheap agent did until its frontier; done again, it leads to the same state.

    Attributes:
        frontier: the episode.
        made: in order.
        accepted: its "done" was accepted, so nobody takes over.
        correct: what the world says of it then.
        why: what fired: `accepted`, `streak`, `spent`, `stop_refused`, `left`.
        paid, sent: invoices that the record shows as paid, and as delivered.
        usages: its requests.
    """

    frontier: str
    made: tuple[Done, ...]
    accepted: bool
    correct: bool
    why: str
    paid: tuple[str, ...] = ()
    sent: tuple[str, ...] = ()
    usages: tuple[Usage, ...] = ()


class _FrontierReached(Exception):  # noqa: N818 - no error: it takes control from an agent that acts in a loop
    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


# ---------------------------------------------------------------------- the prefix


class _Guarded:
    """The cheap agent's port: every call goes through the run, and the frontier rule is asked after each."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._streak = 0
        self.made: list[Done] = []
        self.accepted = False

    def call(self, tool: str, args: Mapping[str, Any]) -> Seen:
        self.made.append(Done(tool=tool, args=jsontext.dumps(jsontext.exact(dict(args))[0])))
        seen = proposed(self._run, tool, args)
        self._streak = self._streak + 1 if seen.failed else 0
        if self._streak >= STREAK:
            raise _FrontierReached("streak")
        if len(self.made) >= CALLS:
            raise _FrontierReached("spent")
        return seen

    def finish(self, text: str, claims: Mapping[str, Any]) -> Seen:
        self.made.append(Done(args=jsontext.dumps(jsontext.exact(dict(claims))[0]), text=text))
        given = self._run.finish(text, dict(claims))
        self.accepted = given.accepted
        if given.accepted:
            return Seen(over=True)
        self._streak += 1
        if self._streak >= STREAK or len(self.made) >= CALLS or given.status is not None:
            raise _FrontierReached("stop_refused")
        words = "; ".join(f"{r.code}: {r.message}" for r in given.decision.reasons)
        return Seen(error=words, refused=True, codes=given.decision.codes)


def proposed(run: Run, tool: str, args: Mapping[str, Any]) -> Seen:
    """Propose a call to a run and return what its agent is told."""
    outcome = run.call(tool, args)
    over = outcome.ended is not None
    if outcome.refused:
        words = "; ".join(f"{r.code}: {r.message}" for r in outcome.decision.reasons)
        return Seen(error=words or str(outcome.decision.verdict), refused=True, codes=outcome.decision.codes, over=over)
    error = "" if outcome.error is None else f"{type(outcome.error).__name__}: {outcome.error}"
    return Seen(result=outcome.result, error=error, over=over)


def prefix_of(episode: Episode, cast: Cast) -> Prefix:
    """Let the cheap agent work under the guard until its frontier."""
    with episode.open() as opened:
        port = _Guarded(opened.run)
        agent = cast.agent("cheap", episode, "prefix")
        why = "left"
        try:
            agent.act(port, view=opened.run.view)
            why = "accepted" if port.accepted else "left"
        except _FrontierReached as reached:
            why = reached.why
        return Prefix(
            frontier=episode.id, made=tuple(port.made), accepted=port.accepted, correct=opened.correct(), why=why,
            paid=_done(opened.run, "pay_invoice"), sent=_done(opened.run, "send_receipt"), usages=tuple(agent.usages),
        )  # fmt: skip


def _done(run: Run, tool: str) -> tuple[str, ...]:
    return tuple(
        dict.fromkeys(
            str(effect.call.args.get("invoice_id")) for effect in run.view.writes(tool) if effect.status == "done"
        )
    )


@dataclass(frozen=True, kw_only=True, slots=True)
class Captured(Episode):
    """The state in which a cheap agent's prefix left an episode; what it did is done again at each opening."""

    prefix: Prefix

    @property
    def gold(self) -> Gold:
        """What is right from here on."""
        return gold_of(self, self.prefix.paid, self.prefix.sent)

    def _replay(self, run: Run) -> None:
        self._begin(run)
        for one in self.prefix.made:
            args = jsontext.loads(one.args)
            if one.tool:
                run.call(one.tool, args)
            else:
                run.finish(one.text, args)
        run.settle_by_query()


def captured(episode: Episode, prefix: Prefix) -> Captured:
    """Return the frontier that a prefix reached."""
    return Captured(
        id=episode.id, kind=episode.kind, invoices=episode.invoices, cents=episode.cents, faults=episode.faults,
        other=episode.other, prefix=prefix,
    )  # fmt: skip


# ---------------------------------------------------------------------- methods


class _Watched:
    """A port past the guard that remembers whether a call visibly failed, and may stop its agent there."""

    def __init__(self, port: DirectPort, *, stop: bool) -> None:
        self._port = port
        self._stop = stop
        self.failed = False

    def call(self, tool: str, args: Mapping[str, Any]) -> Seen:
        seen = self._port.call(tool, args)
        self.failed = self.failed or seen.failed
        if seen.failed and self._stop:
            raise _FrontierReached("failed")
        return seen

    def finish(self, text: str, claims: Mapping[str, Any]) -> Seen:
        return self._port.finish(text, claims)


def _alone(part: Part) -> Callable[[Episode, Cast, DirectPort], list[Agent]]:
    def act(episode: Episode, cast: Cast, port: DirectPort) -> list[Agent]:
        agent = cast.agent(part, episode, "prefix" if part == "cheap" else "residual")
        agent.act(port, view=port.view)
        return [agent]

    return act


def _router(episode: Episode, cast: Cast, port: DirectPort) -> list[Agent]:
    return _alone("strong" if len(episode.invoices) > 1 else "cheap")(episode, cast, port)


def _cascade(episode: Episode, cast: Cast, port: DirectPort) -> list[Agent]:
    watched = _Watched(port, stop=False)
    agents = [cast.agent("cheap", episode, "prefix")]
    agents[0].act(watched, view=port.view)
    if port.said is None or watched.failed:
        port.said = None
        agents += _alone("strong")(episode, cast, port)
    return agents


def _stepwise(episode: Episode, cast: Cast, port: DirectPort) -> list[Agent]:
    agents = [cast.agent("cheap", episode, "prefix")]
    try:
        agents[0].act(_Watched(port, stop=True), view=port.view)
    except _FrontierReached:
        strong = cast.agent("strong", episode, "residual")
        strong.act(port, view=port.view, told=port.history())
        agents.append(strong)
    return agents


_ALONE: Final[Mapping[Method, Callable[[Episode, Cast, DirectPort], list[Agent]]]] = {
    "cheap_full": _alone("cheap"), "strong_full": _alone("strong"), "cascade": _cascade, "router": _router,
    "stepwise": _stepwise,
}  # fmt: skip


def baseline(method: Method, episode: Episode, cast: Cast, round_: int = 0) -> Row:
    """Play a method that hands nothing over."""
    began = time.monotonic()
    with episode.open() as opened:
        at = view_of(opened)
        port = DirectPort(opened)
        agents = _ALONE[method](episode, cast, port)
        after = lived(at, episode, opened.meter.dispatched)
        correct = opened.correct()
    return Row(
        surface="invoice", frontier=episode.id, kind=episode.kind, stage=method, successor=named(cast),
        scripted=cast.scripted, round=round_, engaged=len(agents) > 1, correct=correct,
        complete=port.said is not None, reason="" if port.said is not None else "left", writes=after.writes,
        effects=after.effects, failures=after.failures, duplicates=after.duplicates, ungrounded=after.ungrounded,
        tokens=sum(a.tokens for a in agents), usages=tuple(u for a in agents for u in a.usages),
        seconds=round(time.monotonic() - began, 3),
    )  # fmt: skip


def handed_over(method: Method, episode: Episode, cast: Cast, prefix: Prefix, round_: int = 0) -> Row:
    """Play a stage from the state in which the cheap agent's prefix left the episode.

    Raises:
        InputError: it is no stage.
    """
    stage = next((s for s in STAGES if s == method), None)
    if stage is None:
        raise InputError(f"`{method}` hands nothing over", where="--method")
    spent = sum(u.input + u.output for u in prefix.usages)
    who = Who(name=named(cast), scripted=cast.scripted, round=round_)
    frontier = captured(episode, prefix)
    why = "" if not prefix.accepted else "accepted"
    if not why:
        with frontier.open() as opened:
            residual, decision = contract_for(opened, frontier, None)
            why = "" if residual is not None else decision.codes[0]
    if why:
        return Row(
            surface="invoice", frontier=episode.id, kind=episode.kind, stage=method, successor=who.name,
            scripted=who.scripted, round=round_, engaged=False, why=why, correct=prefix.correct,
            complete=prefix.accepted, tokens=spent, usages=prefix.usages,
        )  # fmt: skip
    agent = cast.agent("strong", frontier, "residual")
    row = played("invoice", frontier, stage, who, agent, None, lambda: agent.usages)
    return msgspec.structs.replace(row, tokens=row.tokens + spent, usages=(*prefix.usages, *row.usages))


def named(cast: Cast) -> str:
    """Return what a cast is called in rows."""
    return f"{cast.names['cheap']} / {cast.names['strong']}"


def start_of(one: Episode) -> Episode:
    """Return an episode's start: the same request and world, with nothing done yet."""
    return Episode(id=one.id, kind="start", invoices=one.invoices, cents=one.cents, faults=one.faults, other=one.other)
