"""Scripted successors: a continuation known to be right, and stated mistakes made in it at stated rates. No model.

A scripted successor is made from the gold of its frontier, so what it does says nothing about any model: it tests the
stages. The same frontier, seed and round give the same mistake in every stage, and the n-th time it is told that
something is wrong, it mends or does not mend alike.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Literal, get_args

from tallystick.errors import InputError
from tallystick.evals.common.draw import Draw
from tallystick.evals.takeover.costs import Usage
from tallystick.evals.takeover.ports import Port, Seen, troubled
from tallystick.evals.takeover.surface import Frontier, Gold, Proposal
from tallystick.model import jsontext
from tallystick.model.pointer import MISSING, resolve, split
from tallystick.model.residual import AT, FROM, Residual
from tallystick.view import View

Mode = Literal["perfect", "omitting", "repeating", "wrong_entity", "wrong_order", "false_claim"]
MODES: Final[tuple[Mode, ...]] = get_args(Mode)
MADE_UP: Final = "made-up"
"""What a script gives for a value it does not have: it was asked for before the call that would have shown it."""
MIXTURE: Final = "mixture"


@dataclass(frozen=True, kw_only=True, slots=True)
class Rates:
    """How often each mistake is made, and how often it is mended when feedback comes.

    Attributes:
        wrong: mistake → probability; what is left to 1 is perfect.
        mend: probability that a refusal or a visible error turns the script to the right continuation.
    """

    wrong: Mapping[Mode, float]
    mend: float

    def to_json(self) -> dict[str, Any]:
        """Return the rates as they are shown beside every figure."""
        rest = round(1 - sum(self.wrong.values()), 6)
        return {"scripted": True, "rates": {"perfect": rest, **self.wrong}, "mend": self.mend}


STATED: Final = Rates(
    wrong={"omitting": 0.15, "repeating": 0.10, "wrong_entity": 0.10, "wrong_order": 0.10, "false_claim": 0.10},
    mend=0.5,
)
"""The mixture of the suite: *ours*, chosen before anything was run. 45% perfect."""


def rates_of(name: str, mend: float = STATED.mend) -> Rates:
    """Return the rates that a successor's name stands for: `mixture`, or one mode always.

    Raises:
        InputError: there is no such scripted successor.
    """
    if name == MIXTURE:
        return Rates(wrong=STATED.wrong, mend=mend)
    for mode in MODES:
        if mode == name:
            return Rates(wrong={} if mode == "perfect" else {mode: 1.0}, mend=mend)
    raise InputError(
        f"there is no scripted successor `{name[:80]}`",
        where="--successor",
        fix=f"one of: {', '.join(MODES)}, mixture; or `local:NAME`, or a model with --base-url",
    )


def mode_of(rates: Rates, draw: Draw) -> Mode:
    """Draw a mode."""
    point = draw.below(10**6) / 10**6
    for mode, rate in rates.wrong.items():
        if point < rate:
            return mode
        point -= rate
    return "perfect"


@dataclass
class Scripted:
    """One scripted successor on one frontier. It is used once: its draws are spent.

    Attributes:
        mode: the mistake it makes until it mends.
        proposals: every proposal it made, in order, as it wrote them.
        mended: whether it turned to the right continuation.
        made: by id, the calls it made step by step that came to something.
    """

    gold: Gold
    mode: Mode
    mend: float
    draw: Draw
    proposals: list[Proposal] = field(default_factory=list)
    mended: bool = False
    made: dict[str, Any] = field(default_factory=dict)
    tokens: int = 0  # no model, so none are spent
    usages: list[Usage] = field(default_factory=list)

    def first(self, owed: Sequence[str] = ()) -> Proposal:
        """Return the proposal it starts with, given the ids of what the contract says is owed."""
        return mistaken(self.mode, self.gold, owed)

    def __call__(self, brief: Any) -> Proposal:
        """Propose, as `run.take_over` asks: author on the replica where there is one, mend or not after feedback."""
        if brief.feedback:
            self.told()
        wanted = self._now([one.id for one in brief.residual.owed])
        if brief.replica is not None:
            written, trouble = authored(wanted, brief.replica)
            # Mended, it writes with references: the replica already shows what its first try did there.
            wanted = self.gold.proposal if trouble and not self.mended and self.told() else written
        self.proposals.append(wanted)
        return wanted

    def act(
        self,
        port: Port,
        *,
        view: View | None = None,  # noqa: ARG002 - a script reads nothing
        residual: Residual | None = None,
        told: str = "",  # noqa: ARG002
    ) -> None:
        """Act call by call: values are filled from what came back. Told of a failure, mend or go on regardless."""
        proposal = self._now([one.id for one in residual.owed] if residual is not None else ())
        self.proposals.append(proposal)
        done: dict[str, Any] = {}
        queue = list(proposal.get("calls", ()))
        while queue:
            call = queue.pop(0)
            seen = port.call(call["tool"], filled(call.get("args", {}), done))
            if seen.over:
                return
            if not seen.failed:
                done[call["id"]] = seen.result
                self.made[call["id"]] = call
            if seen.failed and not self.mended and self.told():
                queue = self.rest()
        self._conclude(port, done)

    def told(self) -> bool:
        """It is told that something is wrong: draw whether it mends. Return whether it has."""
        self.mended = self.mended or self.draw.chance(self.mend)
        return self.mended

    def _now(self, owed: Sequence[str]) -> Proposal:
        return self.gold.proposal if self.mended else self.first(owed)

    def rest(self) -> list[Any]:
        """Return the right continuation without the calls of it that were made."""
        return [call for call in self.gold.proposal["calls"] if self.made.get(call["id"]) != call]

    def _conclude(self, port: Port, done: dict[str, Any]) -> None:
        seen = self._finish(port, done)
        while seen.refused and not seen.over:
            if self.mended or not self.told():
                return  # it has nothing else to offer, and leaves
            for call in self.rest():
                came = port.call(call["tool"], filled(call.get("args", {}), done))
                if came.over:
                    return
                if not came.failed:
                    done[call["id"]], self.made[call["id"]] = came.result, call
            seen = self._finish(port, done)

    def _finish(self, port: Port, done: Mapping[str, Any]) -> Seen:
        answer = self._now(()).get("answer", {})
        return port.finish(answer.get("text", ""), filled(answer.get("claims", {}), done))


def scripted(frontier: Frontier, rates: Rates, seed: str, round_: int = 0) -> Scripted:
    """Return the successor of a frontier in one round; the same in every stage."""
    draw = Draw(seed, "successor", frontier.id, round_)
    return Scripted(gold=frontier.gold, mode=possible(mode_of(rates, draw), frontier.gold), mend=rates.mend, draw=draw)


def possible(mode: Mode, gold: Gold) -> Mode:
    """Return the mode, or `perfect` where the frontier gives it nothing to do wrong: reported is what is played."""
    return mode if _effects(gold) and mistaken(mode, gold) != gold.proposal else "perfect"


def mistaken(mode: Mode, gold: Gold, owed: Sequence[str] = ()) -> Proposal:
    """Return the right continuation with one stated mistake in it.

    - omitting: the last call that realises something owed is left out, with what depends on it.
    - repeating: an effect of the prefix is made again, before everything else; where there is none, its own first one.
    - wrong_entity: every value of `Gold.others` is replaced by the wrong one of its kind.
    - wrong_order: the last call that has an effect comes first, before what it depends on.
    - false_claim: as omitting, but a call that stays declares that it covers what is owed, and the answer claims it.
    """
    calls = [dict(call) for call in gold.proposal.get("calls", ())]
    answer = dict(gold.proposal.get("answer", {}))
    effects = _effects(gold)
    if mode in ("omitting", "false_claim") and effects:
        lost = _with_dependents(calls, effects[-1])
        kept = [call for call in calls if call["id"] not in lost]
        if mode == "false_claim":
            if kept:
                kept[-1]["covers"] = list(owed)
            answer["claims"] = {name: _unsourced(value, lost) for name, value in answer.get("claims", {}).items()}
        else:
            claims = answer.get("claims", {})
            answer["claims"] = {name: value for name, value in claims.items() if not set(_sources(value)) & lost}
        return {"calls": kept, "answer": answer}
    if mode == "repeating":
        again = gold.repeats[0] if gold.repeats else next(c for c in calls if c["id"] == effects[0])
        if gold.repeats:
            return {"calls": [{**again, "id": "again"}, *calls], "answer": answer}
        at = next(n for n, c in enumerate(calls) if c["id"] == effects[0])
        return {"calls": [*calls[: at + 1], {**again, "id": "again"}, *calls[at + 1 :]], "answer": answer}
    if mode == "wrong_entity":
        changed = [{**call, "args": _swapped(call.get("args", {}), gold.others)} for call in calls]
        return {"calls": changed, "answer": answer}
    if mode == "wrong_order" and effects:
        last = next(c for c in calls if c["id"] == effects[-1])
        return {"calls": [last, *(c for c in calls if c is not last)], "answer": answer}
    return gold.proposal


def filled(value: Any, done: Mapping[str, Any], *, keep: bool = False) -> Any:
    """Return a value with every `{"$from", "$at"}` replaced by what that call returned.

    Where it returned nothing there, `MADE_UP` stands in its place; with `keep` the reference stays.
    """
    if isinstance(value, Mapping):
        if FROM in value:
            found = resolve(done[value[FROM]], split(value.get(AT, ""))) if value[FROM] in done else MISSING
            if found is MISSING or found is None:
                return value if keep else MADE_UP
            return found
        return {(k[1:] if k.startswith("$$") else k): filled(v, done, keep=keep) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [filled(v, done, keep=keep) for v in value]
    return value


def authored(proposal: Proposal, replica: Any) -> tuple[Proposal, bool]:
    """Try a proposal's calls on a replica; return it with the values seen there, and whether something went wrong.

    The values are the replica's, as a model would copy them: the bridge has to bind them to their sources again.
    """
    done: dict[str, Any] = {}
    calls: list[Any] = []
    trouble = False
    for call in proposal.get("calls", ()):
        calls.append({**call, "args": filled(call.get("args", {}), done, keep=True)})
        result = replica.call(call["tool"], filled(call.get("args", {}), done))
        if troubled(result):
            trouble = True
        else:
            done[call["id"]] = result
    # What the answer says stays bound to calls: a claim with a replica's value would claim what never happened live.
    return {**proposal, "calls": calls}, trouble


def _effects(gold: Gold) -> list[str]:
    """Return the ids of the calls of the right continuation that realise something owed."""
    tools = {one.tool for one in gold.owed}
    return [call["id"] for call in gold.proposal.get("calls", ()) if call["tool"] in tools]


def _with_dependents(calls: Sequence[Mapping[str, Any]], first: str) -> set[str]:
    lost = {first}
    for call in calls:
        if set(_sources(call.get("args", {}))) & lost or set(call.get("after", ())) & lost:
            lost.add(call["id"])
    return lost


def _sources(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        if FROM in value:
            yield value[FROM]
            return
        for inner in value.values():
            yield from _sources(inner)
    elif isinstance(value, (list, tuple)):
        for inner in value:
            yield from _sources(inner)


def _unsourced(value: Any, lost: set[str]) -> Any:
    return MADE_UP if set(_sources(value)) & lost else value


def _swapped(value: Any, others: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        return others.get(value, value)
    if isinstance(value, Mapping):
        return {k: v if k in (FROM, AT) else _swapped(v, others) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [_swapped(v, others) for v in value]
    return value


def same_calls(one: Proposal, other: Proposal) -> bool:
    """Whether two proposals make the same calls in the same order, whatever the calls are named."""

    def made(proposal: Proposal) -> list[tuple[str, str]]:
        return [(c["tool"], jsontext.dumps(c.get("args", {}))) for c in proposal.get("calls", ())]

    return made(one) == made(other)
