"""Blockers of a run in the runtime: those whose time is over, those another run hands down, and where each stands."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal

import msgspec
from msgspec import UNSET

from tallystick.contracts.types import Contract
from tallystick.errors import InputError
from tallystick.gates.undone import standing_blockers
from tallystick.handoff import Blocker, carrier_of
from tallystick.handoff.carrier import raised_blocker
from tallystick.handoff.compare import origin_of
from tallystick.model import jsontext
from tallystick.model.events import Lifted, Raised
from tallystick.model.pointer import split
from tallystick.model.values import EntityRef
from tallystick.runtime.claims import exact_value
from tallystick.runtime.journal import RUNTIME, Journal, stamp
from tallystick.runtime.known import text_of
from tallystick.view import ConditionRecord, View
from tallystick.view.state import when


@dataclass(frozen=True, kw_only=True, slots=True)
class Shown:
    """What a receipt has to show for a blocker's prerequisite to be satisfied.

    It counts only where it went well, was asked after the blocker was raised, and speaks of the blocker's entity (the
    call's target) and its arguments (of the call, or in the result). A newer receipt that shows something else opens
    the blocker again; a later write to the entity makes it void.

    Attributes:
        tool: the tool whose receipt it is.
        values: JSON Pointer into the result → the exact value there.
        not_over: JSON Pointers of instants that must still be to come when the action is proposed.
    """

    tool: str
    values: Mapping[str, Any]
    not_over: tuple[str, ...] = ()


Standing = Literal["open", "resolved", "left_aside", "over"]
"""open: removes its actions · resolved: by its authority, or by a receipt · left_aside: its fallback was taken, and its
actions stay removed · over: expired, withdrawn, or its operation is closed."""


@dataclass(frozen=True, kw_only=True, slots=True)
class BlockerStanding:
    """Where one blocker stands.

    Attributes:
        blocker: what it says.
        standing: see `Standing`.
        raised_at: seq of the event that raised it; 0 for a standing condition of the contract.
        raised_by: who raised it, as the event says; evidence: on what.
        ended_how, ended_by, ended_digest: how it ended, by whom or what, and the event or receipt; "" while it binds.
        origin: [run, digest] where it was raised first, for one taken over from another run.
        deciders: ids of the principals of the run that can resolve it, compared as written; none where nobody can.
    """

    blocker: Blocker
    standing: Standing
    raised_at: int = 0
    raised_by: str = ""
    evidence: tuple[str, ...] = ()
    ended_how: str = ""
    ended_by: str = ""
    ended_digest: str = ""
    origin: tuple[str, ...] = ()
    deciders: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        one = self.blocker
        return {
            "id": one.id, "standing": self.standing, "status": one.status, "prerequisite": one.prerequisite,
            "authority": one.authority, "fallback": one.fallback, "removes": list(one.removes),
            "entity": list(one.entity) or None, "scope": [list(pair) for pair in one.scope],
            "expires": one.expires or None, "operation": one.operation or None, "of_contract": one.standing,
            "raised_at": self.raised_at or None, "raised_by": self.raised_by or None, "evidence": list(self.evidence),
            "event": one.event, "origin": list(self.origin) or None, "ended_how": self.ended_how or None,
            "ended_by": self.ended_by or None, "ended_digest": self.ended_digest or None,
            "deciders": list(self.deciders),
        }  # fmt: skip


def blockers_of(view: View, contract: Contract, now: datetime | None = None) -> tuple[BlockerStanding, ...]:
    """Return every blocker of a run: raised ones, oldest first, then the contract's that are in force."""
    raised = sorted(view.raised, key=lambda r: r.seq)
    found = [
        BlockerStanding(
            blocker=raised_blocker(r), standing=_standing(view, r, now), raised_at=r.seq, raised_by=r.body.by,
            evidence=tuple(r.body.evidence or ()), ended_how=r.lifted_how, ended_by=r.lifted_by,
            ended_digest=r.lifted_digest, origin=tuple(r.body.origin or ()),
            deciders=_deciders(view, r.body.authority),
        )
        for r in raised
    ]  # fmt: skip
    known = {r.blocker.id for r in found}
    if standing_blockers(view, contract):
        found.extend(
            BlockerStanding(blocker=b, standing="open", raised_by="contract", deciders=_deciders(view, b.authority))
            for b in carrier_of(view, contract, now).blockers
            if b.standing and b.id not in known
        )
    return tuple(found)


def rows_of(contract: Contract, until: Shown, entity: EntityRef | None, args: Mapping[str, Any]) -> list[list[str]]:
    """Return what an event keeps of `until`.

    Raises:
        InputError: the contract has no such tool, it cannot speak of the entity, or a place or value is none.
    """
    if not isinstance(until, Shown):
        raise InputError(f"a {type(until).__name__} does not say what to show", where="block: until", fix="`Shown(…)`")
    where = "block: until"
    tool = contract.tools.get(until.tool) if isinstance(until.tool, str) else None
    if tool is None:
        raise InputError(f"the contract has no tool `{until.tool}`", where=where, fix="a tool of the contract")
    if not isinstance(until.values, Mapping) or not isinstance(until.not_over, (tuple, list)):
        raise InputError("it names places and values in another way", where=where,
                         fix="values={pointer: value}, not_over=(pointer,)")  # fmt: skip
    if entity is not None and not any(target.kind == entity.kind for target in tool.target):
        raise InputError(f"a call of `{until.tool}` has no {entity.kind} as its target, so no receipt of it can speak "
                         f"of {entity}", where=where, fix="a tool whose `target` is that kind of entity")  # fmt: skip
    if entity is None and tool.target and not args:
        raise InputError(f"a receipt of `{until.tool}` about any {tool.target[0].kind} would resolve it", where=where,
                         fix="raise it for one entity, or for the arguments it is about")  # fmt: skip
    if not until.values:
        raise InputError("nothing is to be shown", where=where, fix="a JSON Pointer and the value that must be there")
    rows: list[list[str]] = []
    for place, value in (*until.values.items(), *((p, None) for p in until.not_over)):
        try:
            split(text_of("place", place, where))
        except ValueError as bad:
            raise InputError(str(bad), where=where, fix="a JSON Pointer into the result") from None
        text = "" if len(rows) >= len(until.values) else jsontext.dumps(exact_value(value, place))
        rows.append([until.tool, place, text])
    return rows


def instant_in(name: str, given: object) -> datetime:
    """Return an instant with a time zone.

    Raises:
        InputError: it is none.
    """
    if isinstance(given, datetime) and given.tzinfo is not None:
        return given
    raise InputError(f"`{given}` is no instant with a time zone", where=name, fix="datetime(…, tzinfo=UTC)")


def _deciders(view: View, authority: str) -> tuple[str, ...]:
    return tuple(p.id for p in view.principals.values() if authority in ("", p.id, p.role))


def _standing(view: View, record: ConditionRecord, now: datetime | None) -> Standing:
    over = when(record.body.expires or "")
    if now is not None and over is not None and over <= now and not record.over:
        return "over"  # the run's writer records it before its next decision
    if record.lifted_how == "fallback":
        return "left_aside"
    if view.binds(record, now):
        return "open"
    return "resolved" if record.lifted_how in ("resolved", "evidence") else "over"


def lift_expired(journal: Journal) -> None:
    """Record the end of every blocker whose time is over; from then on it removes nothing. Call under the lock.

    Raises:
        LedgerError: the store cannot be written.
    """
    due = [r for r in journal.view.raised if r.body.expires and not r.over]
    if not due:
        return
    now = journal.clock()
    for record in due:
        over = when(record.body.expires or "")
        if over is not None and over <= now:
            body = Lifted(id=record.body.id, how="expired", by="runtime")
            journal.append(body, RUNTIME, durable=False, at=stamp(now))


@dataclass(frozen=True, slots=True)
class Down:
    """A blocker that a run hands down: what it is called there, and the event that raises it again."""

    there: tuple[str, ...]
    body: Raised


def handed_down(source: View, contract_sha256: str, now: datetime) -> tuple[Down, ...]:
    """Return what is open in a record, as a run that takes work from it raises it again.

    Conditions of the source's contract too, where the run that takes it has another one and would not know them. As at
    `now`: an approval that is over binds nobody to anything, and what it satisfied is open again.
    """
    down = [
        Down((source.run, r.digest), _again(source.run, raised_blocker(r), r.body))
        for r in source.raised
        if source.binds(r, now)
    ]
    if source.contract.sha256 != contract_sha256:
        standing = (b for b in carrier_of(source, source.contract, now).blockers if b.standing)
        down.extend(Down(origin_of(source.run, b), _again(source.run, b, None)) for b in standing)
    return tuple(down)


def _again(run: str, one: Blocker, body: Raised | None) -> Raised:
    return Raised(
        id=one.id, removes=list(one.removes), scope=[list(p) for p in one.scope], entity=list(one.entity),
        status=one.status, prerequisite=one.prerequisite, authority=one.authority, fallback=one.fallback,
        operation=body.operation if body is not None else None, by=f"run {run}",
        expires=body.expires if body is not None else UNSET, until=body.until if body is not None else UNSET,
        # Where it was raised first: handed round in a circle it comes back as what it was.
        origin=list((body.origin if body is not None else None) or origin_of(run, one)),
    )  # fmt: skip


def take_over(
    journal: Journal, source: View | Iterable[Down], blockers: Iterable[Blocker] | None = None
) -> tuple[str, ...]:
    """Raise here what is open in another run, and return the ids; what was taken over before is not raised again.

    Do it before anything that lets the run go on is recorded: whoever resumes a run that was killed in between has
    nothing to make up for, and nothing can be called without them.

    Args:
        journal: the run's; call under its lock.
        source: the other run's record, or what it hands down (`handed_down`).
        blockers: only these of its blockers.

    Raises:
        LedgerError: the store cannot be written.
    """
    if isinstance(source, View):
        down: Iterable[Down] = handed_down(source, journal.view.contract.sha256, journal.clock())
        if blockers is not None:
            wanted = {origin_of(source.run, one) for one in blockers}
            down = [one for one in down if one.there in wanted]
    else:
        down = source
    view = journal.view
    have = {tuple(r.body.origin or ()) for several in view.index.conditions_by_id.values() for r in several}
    taken: list[str] = []
    for body in (one.body for one in down):
        origin = tuple(body.origin or ())
        if origin in have or origin[1] == view.contract.sha256:
            continue  # here already, or a condition of this very contract
        if origin[0] == view.run and view.has_event(origin[1], view.upto):
            continue  # raised here first, and come back
        # Not under the name of one that is here: the two are lifted apart.
        known = body.id in view.conditions or any(rule.id == body.id for rule in view.contract.conditions)
        name = f"{origin[0]}/{body.id}" if known else body.id
        journal.append(msgspec.structs.replace(body, id=name), RUNTIME, durable=True)
        have.add(origin)
        taken.append(name)
    return tuple(taken)
