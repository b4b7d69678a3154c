"""cov(H): which obligations the typed effects of a remainder discharge, by the rules the view discharges them with.

An event obligation takes the first effect in the order of the calls that it matches, as in the fold. A state obligation
needs what changes the state, where the record does not leave that open, and a look after the last write to its entity.
A standing duty takes the first call of one of its tools; so does one that a call of the remainder will bring about, as
far as that is known before it runs. What the proposal says it covers plays no part.
Source: residual completion, section 3.3, equation 4.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from tallystick.contracts.types import Contract, Duty, Expr, Yield
from tallystick.errors import ExpressionError
from tallystick.gates.duties import open_duties
from tallystick.gates.owed import applies, holds_now
from tallystick.gates.residual.construct import brought_id, duty_id
from tallystick.gates.residual.planned import Planned
from tallystick.gates.scope import scope_of
from tallystick.model.proposal import Call
from tallystick.model.residual import Owed, Residual
from tallystick.model.values import EntityRef
from tallystick.view import EffectRecord, ObligationRecord, Talk, View
from tallystick.view.keys import id_text, typed_args
from tallystick.view.obligations import matches


@dataclass(slots=True)
class Coverage:
    """What each call covers.

    Attributes:
        by_node: call id → ids of the obligations it contributes to.
        effects: per call, what each of its effects discharges of what is owed; () for an effect owed to nobody.
        covered: ids of the obligations covered.
        lost: ids of the state obligations that hold now, that a write makes void, and that nothing shows again.
        unmet: (call id, duty) for every standing duty that a call brings about and none after it discharges.
    """

    by_node: dict[str, list[str]] = field(default_factory=dict)
    effects: dict[str, list[tuple[EffectRecord, tuple[str, ...]]]] = field(default_factory=dict)
    covered: set[str] = field(default_factory=set)
    lost: list[str] = field(default_factory=list)
    unmet: list[tuple[str, Duty]] = field(default_factory=list)

    def add(self, node: str, owed: str) -> None:
        """Note that a call contributes to an obligation."""
        mine = self.by_node.setdefault(node, [])
        if owed not in mine:
            mine.append(owed)


def coverage(view: View, contract: Contract, residual: Residual, calls: Sequence[Planned], now: datetime) -> Coverage:
    """Return what the calls of a remainder, run in this order, cover of the residual contract."""
    found = Coverage()
    owed = {o.id: o for o in residual.owed}
    events = _Events(view)
    states, holding = list(_states(view, residual, owed)), list(_holding(view, owed))
    duties = _Duties(view, contract, residual, now)
    for call in calls:
        effects: list[tuple[EffectRecord, tuple[str, ...]]] = []
        for effect in call.effects():
            event = events.discharge(effect)
            mine = [event] if event in owed else []
            mine.extend(s.id for s in states if s.caused_by(effect))
            mine.extend(duties.taken(call))
            effects.append((effect, tuple(mine)))
        found.effects[call.id] = effects
        rest = () if effects else duties.taken(call)
        for name in (*(name for _, mine in effects for name in mine), *rest):
            if name in owed:
                found.add(call.id, name)
        duties.brought(call)
        for state in (*states, *holding):
            state.see(call)
    for state in states:
        for node in state.shown_by():
            found.add(node, state.id)
    unshown = {s.id for s in states if not s.shown}
    found.by_node = {node: [o for o in names if o not in unshown] for node, names in found.by_node.items()}
    found.covered = {name for names in found.by_node.values() for name in names}
    found.lost = [s.id for s in holding if s.voided and not s.shown]
    found.unmet = [(due.cause, due.duty) for due in duties.open if due.cause]
    return found


# ---------------------------------------------------------------- event obligations


class _Events:
    """The obligations of the run that effects discharge, in the fold's order, indexed by what they are about."""

    def __init__(self, view: View) -> None:
        self._about: dict[tuple[str, str | None], list[tuple[int, ObligationRecord]]] = {}
        for order, record in enumerate(view.obligations.values()):
            if record.kind == "event" and record.discharged_by is None and record.tool is not None:
                about = record.entity.id if record.entity is not None else None
                self._about.setdefault((record.tool, about), []).append((order, record))

    def discharge(self, effect: EffectRecord) -> str | None:
        """Return the id of the first obligation the effect discharges, which is then discharged."""
        best: tuple[int, ObligationRecord] | None = None
        for about in (None, *_ids(effect)):
            for entry in self._about.get((effect.tool, about), ()):
                if (best is None or entry[0] < best[0]) and matches(entry[1], effect):
                    best = entry
                    break
        if best is None:
            return None
        record = best[1]
        self._about[effect.tool, record.entity.id if record.entity is not None else None].remove(best)
        return record.id


def _ids(effect: EffectRecord) -> Iterator[str]:
    """Yield the ids an obligation's entity can have to match an effect: see `view.obligations.matches`."""
    if effect.item is not None:
        yield effect.item
    elif effect.call.targets:
        yield from dict.fromkeys(ref.id for ref in effect.call.targets)
    else:
        yield from dict.fromkeys(map(str, effect.call.args.values()))


# ---------------------------------------------------------------- state obligations


@dataclass(slots=True)
class _State:
    record: ObligationRecord
    entity: EntityRef
    needed: frozenset[str]
    to_change: bool  # the record shows that it does not hold, or its tool has not run: something must change it
    changed: bool = False
    voided: bool = False
    seen: dict[str, str] = field(default_factory=dict)  # field → call that shows it after the last write

    @property
    def id(self) -> str:
        return self.record.id

    def caused_by(self, effect: EffectRecord) -> bool:
        """Return whether an effect is the change that is owed; the first one counts."""
        by = self.record.tool
        if self.changed or by is None or by != effect.tool or not matches(self.record, effect):
            return False
        self.changed = True
        return True

    def see(self, call: Planned) -> None:
        """Note what a call leaves known of the entity: a write voids what was, its own answer speaks after it."""
        if call.writes and (self.entity in call.targets or self.entity.kind in call.open_kinds):
            self.seen.clear()
            self.voided = True
            self.changed = self.changed or (self.record.tool is None and self.entity in call.targets)
        if call.tool is None or call.hangs_on(*(expr.id for expr in call.tool.target)):
            return
        for rule in call.tool.yields:
            if rule.kind == self.entity.kind and _shows(call, rule, self.entity):
                self.seen.update(dict.fromkeys(self.needed & rule.fields.keys(), call.id))

    @property
    def shown(self) -> bool:
        return self.needed <= self.seen.keys() and (self.changed or not self.to_change)

    def shown_by(self) -> Iterator[str]:
        yield from dict.fromkeys(self.seen.values())


def _shows(call: Planned, rule: Yield, entity: EntityRef) -> bool:
    """Return whether a call's answer is about an entity, as far as that is known before it runs."""
    if rule.id_arg is not None:
        return id_text(call.args.get(rule.id_arg)) == entity.id
    assert call.tool is not None
    named = any(expr.kind == entity.kind for expr in call.tool.target)
    return entity in call.targets if named else True  # a listing may hold it; its live answer tells


def _states(view: View, residual: Residual, owed: Mapping[str, Owed]) -> Iterator[_State]:
    """Yield the state obligations that are owed."""
    for name, entry in owed.items():
        record = view.obligations.get(name)
        state = _state_of(view, record) if record is not None and entry.kind == "state" else None
        if state is None:
            continue
        about, by = [*state.entity], state.record.tool
        done = any(kept.tool == by and (not kept.entities or about in kept.entities) for kept in residual.kept)
        state.to_change = state.to_change or (by is not None and not done)
        yield state


def _holding(view: View, owed: Mapping[str, Owed]) -> Iterator[_State]:
    """Yield the state obligations that hold now: progress that a write may undo, or leave unknown."""
    for record in view.obligations.values():
        if record.kind == "state" and record.id not in owed and record.settled is None and holds_now(view, record):
            state = _state_of(view, record)
            if state is not None and applies(view, record):
                state.to_change = False
                yield state


def _state_of(view: View, record: ObligationRecord) -> _State | None:
    if record.rule is None or record.rule.fact is None or record.entity is None:
        return None
    alias = record.rule.entity.alias if record.rule.entity is not None else record.entity.kind
    needed = frozenset(r[1] for r in record.rule.fact.refs if len(r) > 1 and r[0] == alias)
    written = view.last_write(record.entity)
    known = {n for n, f in view.facts(record.entity).items() if f.problem is None and f.observed_seq >= written}
    return _State(record, record.entity, needed, to_change=needed <= known)


# ---------------------------------------------------------------- standing duties


@dataclass(frozen=True, slots=True)
class _Due:
    id: str
    duty: Duty
    args: Mapping[str, Any]  # of the call that brings it about, typed
    targets: tuple[EntityRef, ...]
    cause: str = ""  # that call, where it is one of the remainder


class _Duties:
    """The standing duties that are owed at the handoff, and those the remainder brings about, until discharged."""

    def __init__(self, view: View, contract: Contract, residual: Residual, now: datetime) -> None:
        self._view, self._contract, self._now = view, contract, now
        wanted = {o.id for o in residual.owed if o.kind == "duty"}
        left = {duty_id(d): d for d in open_duties(view, contract, now)} if wanted else {}
        self.open = [
            _Due(name, d.duty, typed_args(contract.tools[d.call.tool], d.call.args), d.call.targets)
            for name, d in left.items() if name in wanted
        ]  # fmt: skip

    def taken(self, call: Planned) -> list[str]:
        """Return the ids of the duties a call, or an effect of it, discharges, which are then discharged."""
        mine = [due for due in self.open if self._takes(call, due)] if self.open else []
        self.open = [due for due in self.open if due not in mine] if mine else self.open
        return [due.id for due in mine]

    def brought(self, call: Planned) -> None:
        """Note the duties that a call brings about: as far as is known, its condition holds."""
        for duty in self._contract.duties:
            if duty.after != call.name or call.tool is None or call.effect == "preview" or duty.ever:
                continue
            if duty.when is None or self._holds(call, duty.when):
                self.open.append(_Due(brought_id(duty), duty, call.typed, call.targets, call.id))

    def _holds(self, call: Planned, when: Expr) -> bool:
        if call.tool is None or call.hangs_on(when) or any(ref[0] == "result" for ref in when.refs):
            return False  # nobody knows yet: where it turns out to be owed, the stop gate asks for it
        scope = scope_of(self._view, self._contract, call.tool, Call(tool=call.name, args=call.args, now=self._now))
        for expr in (*call.tool.target, *call.tool.bind):
            if expr.alias not in scope.entities:
                scope.bind(expr, trusting=True)
        try:
            return when.evaluate(scope.env) is True
        except ExpressionError:
            return False

    def _takes(self, call: Planned, due: _Due) -> bool:
        """Return whether a call discharges a duty, as far as that is known before it runs."""
        if call.tool is None or call.name not in due.duty.owes or call.effect == "preview":
            return False
        kinds = {ref.kind for ref in due.targets} & {ref.kind for ref in call.targets}
        if kinds and set(due.targets).isdisjoint(call.targets):
            return False
        expr = due.duty.expr
        if expr is None or any(ref[0] == "result" for ref in expr.refs):
            return True
        if call.hangs_on(expr):
            return False
        talk = Talk(self._view)
        env = {"args": call.typed, "call": due.args, "now": self._now, "task": self._view.task.bindings, "talk": talk}
        try:
            return expr.evaluate(env) is True
        except ExpressionError:
            return False
