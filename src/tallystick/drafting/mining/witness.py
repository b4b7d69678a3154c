"""What was known when each effect was made: trajectories folded under the contract's structure, and the gate asked."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from typing import Any, Final

from tallystick.audit.contract import Moment, moments
from tallystick.contracts.types import Contract, Requirement
from tallystick.drafting.counts import Seen, Tally
from tallystick.gates.answers import Met
from tallystick.gates.evidence import requirement
from tallystick.gates.scope import Scope, scopes_of
from tallystick.model.pointer import join
from tallystick.model.trace import Trace
from tallystick.view import View

MAX_OTHERS: Final = 200
"""Entities of a kind that are looked at for what an argument might have been instead."""


@dataclass(frozen=True, kw_only=True)
class Known:
    """A good receipt that was there: tool, arguments, plain values by pointer."""

    tool: str
    effect: str
    args: Mapping[str, Any]
    leaves: Mapping[str, Any]
    targets: frozenset[Any]


@dataclass(frozen=True, kw_only=True)
class Success:
    """One effect that was realised, with what the record said just before it.

    Attributes:
        args: typed arguments; `raw` as they were sent.
        facts: name in expressions → field → value, for entities whose facts are not void.
        ids: name in expressions → the entity's id.
        others: kind → field → values known at that moment over entities of the kind, `MAX_OTHERS` at most.
        receipts: good receipts before it, oldest first.
    """

    tool: str
    seen: Seen
    args: Mapping[str, Any]
    raw: Mapping[str, Any]
    facts: Mapping[str, Mapping[str, Any]]
    ids: Mapping[str, str]
    others: Mapping[str, Mapping[str, list[Any]]]
    receipts: tuple[Known, ...]
    targets: frozenset[Any]


@dataclass(kw_only=True)
class Witness:
    """All effects of all trajectories, and what each trajectory knew in the end.

    Attributes:
        entities: (trajectory, kind, id) → field → value, as last known.
        read: trajectory → (tool, arguments) of every good read.
        changed: (kind, id) per trajectory that an effect addressed.
    """

    successes: dict[str, list[Success]] = field(default_factory=dict)
    entities: dict[tuple[str, str, str], dict[str, Any]] = field(default_factory=dict)
    read: dict[str, list[tuple[str, Mapping[str, Any]]]] = field(default_factory=dict)
    changed: set[tuple[str, str, str]] = field(default_factory=set)


def witness(traces: Mapping[str, Trace], contract: Contract) -> Witness:
    """Return every effect realised in some trajectories, with what was known before it."""
    found = Witness()
    for label, trace in traces.items():
        made: list[tuple[str, Success]] = []
        known: dict[str, Known] = {}
        view: View | None = None
        for moment in moments(trace, contract):
            view = moment.view
            if moment.call.tool in contract.tools:
                made.append((moment.call.id, _success(label, moment, contract, known)))
        if view is None:
            view = _end(trace, contract)
        for call, success in made:
            record = view.calls.get(call)
            if record is not None and record.outcome in ("ok", "partial"):
                found.successes.setdefault(success.tool, []).append(success)
                found.changed.update((label, ref.kind, ref.id) for ref in success.targets)
        found.read[label] = [(r.tool, r.args) for r in _receipts(view, known) if r.effect == "read"]
        for kind in contract.entities:
            for ref in view.entities(kind):
                found.entities[label, kind, ref.id] = {
                    name: fact.value for name, fact in view.facts(ref).items() if fact.problem is None
                }
    return found


def _end(trace: Trace, contract: Contract) -> View:
    from tallystick.traces.to_events import Chain, to_events  # noqa: PLC0415 - only for a run without a single write

    chain = Chain(trace, contract)
    view = View(contract, run=chain.run)
    for sealed in chain.all(to_events(trace, contract)):
        view.apply(sealed)
    return view


def _success(label: str, moment: Moment, contract: Contract, known: dict[str, Known]) -> Success:
    tool = contract.tools[moment.call.tool]
    scope = next(scopes_of(moment.view, contract, tool, moment.proposal))
    facts: dict[str, dict[str, Any]] = {}
    for alias, ref in scope.entities.items():
        written = moment.view.last_write(ref)
        facts[alias] = {
            name: fact.value
            for name, fact in moment.view.facts(ref).items()
            if fact.problem is None and fact.observed_seq >= written
        }
    others: dict[str, dict[str, list[Any]]] = {}
    for kind in dict.fromkeys(ref.kind for ref in scope.entities.values()):
        by_field = others.setdefault(kind, {})
        for ref in islice(moment.view.entities(kind), MAX_OTHERS):
            for name, fact in moment.view.facts(ref).items():
                by_field.setdefault(name, []).append(fact.value)
    return Success(
        tool=tool.name,
        seen=Seen(trace=label, message=moment.call.message, call=moment.call.id),
        args=scope.args,
        raw=moment.proposal.args,
        facts=facts,
        ids={alias: ref.id for alias, ref in scope.entities.items()},
        others=others,
        receipts=tuple(_receipts(moment.view, known)),
        targets=frozenset(scope.entities[e.alias] for e in tool.target if e.alias in scope.entities),
    )


def _receipts(view: View, known: dict[str, Known]) -> Iterator[Known]:
    """Yield the good receipts so far; `known` keeps them by id, so that a long run holds each once."""
    for record in view.receipts:
        if not record.good or record.call is None:
            continue
        if record.id not in known:
            known[record.id] = Known(
                tool=record.call.tool,
                effect=record.call.effect,
                args=record.call.args,
                leaves=dict(_leaves(record.value, ())),
                targets=frozenset(record.call.targets),
            )
        yield known[record.id]


def _leaves(value: Any, at: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
    """Yield (pointer, value) of the plain values that stand in no list."""
    if isinstance(value, Mapping) and len(at) < 5:
        for name, inner in value.items():
            yield from _leaves(inner, (*at, name))
    elif not isinstance(value, (Mapping, list)) and at:
        yield join(at), value


def count(traces: Mapping[str, Trace], contract: Contract) -> dict[tuple[str, str], Tally]:
    """Return (tool, requirement id) → how often it was met before an effect, and when not, as the act gate says."""
    found: dict[tuple[str, str], Tally] = {}
    for label, trace in traces.items():
        made: list[tuple[str, Seen, str, dict[str, bool]]] = []
        view: View | None = None
        for moment in moments(trace, contract):
            view = moment.view
            tool = contract.tools.get(moment.call.tool)
            if tool is None or not tool.requires:
                continue
            scopes = list(scopes_of(moment.view, contract, tool, moment.proposal))
            answers = {rule.id: _met(scopes, rule) for rule in tool.requires}
            seen = Seen(trace=label, message=moment.call.message, call=moment.call.id)
            made.append((moment.call.id, seen, tool.name, answers))
        for call, seen, name, answers in made:
            record = view.calls.get(call) if view is not None else None
            if record is not None and record.outcome in ("ok", "partial"):
                for rule_id, holds in answers.items():
                    found.setdefault((name, rule_id), Tally()).add(seen, holds)
    return found


def _met(scopes: Iterable[Scope], rule: Requirement) -> bool:
    return all(isinstance(requirement(scope, rule), Met) for scope in scopes)
