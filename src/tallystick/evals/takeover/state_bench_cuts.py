"""Where a recorded conversation could be handed over: cuts with a real prefix, real mistakes in it included.

A cut lies immediately before a call that changed the database (or at the end of the recording, where its end is wrong),
after at least one other did. It is a frontier if the prefix met part of what the task wants and left part of it open.
Both are judged by replaying the prefix in the simulator; without one, by the folder's labels, and then only recordings
with a right end are cut, because only of those is it known what was still to be done.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tallystick.evals.takeover.state_bench_data import Episode, Label, Task
from tallystick.evals.takeover.state_bench_world import Simulated, Simulator, Snapshot, exact
from tallystick.model import jsontext

MAX_REPAIR = 3
"""Calls of a continuation that is looked for where the recording does not have one."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Made:
    """One recorded call.

    Attributes:
        id: as the importer names it, `m2.c7`.
        message, index: the assistant message, and the call's place in it.
        changed: whether it changed the database, whatever its result says.
    """

    id: str
    message: int
    index: int
    tool: str
    args: Mapping[str, Any]
    result: Any
    changed: bool


@dataclass(frozen=True, kw_only=True)
class Walk:
    """A recording replayed call by call.

    Attributes:
        calls: in order.
        right: whether its end is as the task wants it; None where nobody knows.
        met: per number of calls made, from 0, which requirements are met; empty without a simulator.
        touched: per call, (kind, key, field) → (value before, after); empty without a simulator.
        faithful: whether every result came out as recorded; a recording that does not replay is not cut.
    """

    episode: Episode
    task: Task
    conversation: Sequence[Mapping[str, Any]]
    calls: Sequence[Made]
    right: bool | None
    met: Sequence[tuple[bool, ...]] = ()
    touched: Sequence[Mapping[tuple[str, str, str], tuple[Any, Any]]] = ()
    faithful: bool = True

    def standing(self, upto: int) -> tuple[int, ...]:
        """Return the calls before `upto` that changed the database and of whose change something is still there.

        Without a simulator that cannot be told, and every call that changed it counts.
        """
        made = [at for at, call in enumerate(self.calls[:upto]) if call.changed]
        if not self.touched:
            return tuple(made)
        now: dict[tuple[str, str, str], Any] = {}
        for change in self.touched[:upto]:
            now.update({place: after for place, (_, after) in change.items()})
        return tuple(at for at in made if any(now[p] == after for p, (_, after) in self.touched[at].items()))


@dataclass(frozen=True, kw_only=True)
class Cut:
    """One frontier of a recording.

    Attributes:
        upto: calls in the prefix.
        messages: whole messages in the prefix; of the next one, `partial` calls are in it too.
        rest: indices of the recorded calls that finish the task, in order, looks included; empty where the recording
            has none.
        repair: calls that finish the task where the recording does not: found by trying, see `repaired`.
        turns: user messages between the cut and the last call of `rest`: a remainder over more than one turn needs the
            customer's answer on the way.
        met, open: requirements that the prefix met, and that are open; None where nobody knows.
    """

    walk: Walk
    upto: int
    messages: int
    partial: int
    rest: tuple[int, ...] = ()
    repair: tuple[tuple[str, Mapping[str, Any]], ...] = ()
    turns: int = 0
    met: int | None = None
    open: int | None = None

    @property
    def id(self) -> str:
        """Return `DOMAIN/ID@CALLS`."""
        return f"{self.walk.episode.name}@{self.upto}"

    @property
    def effects(self) -> tuple[int, ...]:
        """Return the calls of `rest` that changed the database."""
        return tuple(at for at in self.rest if self.walk.calls[at].changed)

    @property
    def continuation(self) -> Sequence[tuple[str, Mapping[str, Any], Any, bool]]:
        """Return (tool, args, recorded result, whether it is one of the effects owed) of what finishes the task."""
        if self.repair:
            return [(tool, args, None, True) for tool, args in self.repair]
        effects = set(self.effects)
        calls = self.walk.calls
        return [(calls[at].tool, calls[at].args, calls[at].result, at in effects) for at in self.rest]

    def prefix(self) -> dict[str, Any]:
        """Return the prefix as a conversation of the same format."""
        conversation = [dict(message) for message in self.walk.conversation[: self.messages]]
        if self.partial:
            cut = self.walk.conversation[self.messages]
            # Words come after an assistant message's calls, so those of the cut one were never said.
            conversation.append({"role": cut["role"], "content": "", "tool_calls": cut["tool_calls"][: self.partial]})
        return {"conversation": conversation}


def replayed(
    episode: Episode,
    task: Task,
    conversation: Sequence[Mapping[str, Any]],
    simulator: Simulator | None,
    label: Label | None,
) -> Walk:
    """Replay a recording in a fresh world; without a simulator, read off its label what its calls did."""
    listed = list(_listed(conversation))
    if simulator is None:
        changed = label.changed if label is not None else frozenset()
        calls = tuple(_made(where, call, where in changed) for where, call in listed)
        return Walk(
            episode=episode, task=task, conversation=conversation, calls=calls,
            right=label.right if label is not None else None,
        )  # fmt: skip
    world = simulator.open(episode, task.now)
    before = _snapshot(world)
    text = world.fingerprint()
    met = [_met(task.requirements, before)]
    touched: list[Mapping[tuple[str, str, str], tuple[Any, Any]]] = []
    made = []
    faithful = True
    for where, call in listed:
        fn = world.tools.get(call["name"])
        result = fn(**call["arguments"]) if fn is not None else None
        faithful = faithful and result == call.get("result")
        now = world.fingerprint()
        changed_it = now != text
        if changed_it:
            after = _snapshot(world)
            touched.append(_difference(before, after))
            met.append(_met(task.requirements, after))
            before, text = after, now
        else:
            touched.append({})
            met.append(met[-1])
        made.append(_made(where, call, changed_it))
    return Walk(
        episode=episode, task=task, conversation=conversation, calls=tuple(made), right=world.right(),
        met=tuple(met), touched=tuple(touched), faithful=faithful,
    )  # fmt: skip


def cuts_of(walk: Walk, simulator: Simulator | None = None) -> Iterator[Cut]:
    """Yield the frontiers of a recording, in order."""
    if not walk.faithful:
        return
    realised = [at for at, call in enumerate(walk.calls) if call.changed]
    for at, following in itertools.zip_longest(realised, realised[1:]):
        upto = following if following is not None else len(walk.calls)
        if not walk.met:
            if walk.right and following is not None:
                yield _cut(walk, upto, _rest(walk, upto, None))
            continue
        start, now = walk.met[0], walk.met[at + 1]
        met = sum(is_ and not was for is_, was in zip(now, start, strict=True))
        if not met or all(now) or (following is None and walk.right):
            continue
        left = now.count(False)
        rest = _rest(walk, upto, simulator) if walk.right and simulator is not None else ()
        if rest:
            yield _cut(walk, upto, rest, met=met, left=left)
            continue
        repair = repaired(walk, upto, simulator) if simulator is not None else ()
        yield _cut(walk, upto, (), repair, met=met, left=left)


def repaired(walk: Walk, upto: int, simulator: Simulator) -> tuple[tuple[str, Mapping[str, Any]], ...]:
    """Return calls that finish a task whose recording does not: the fewest, tried in copies of the world; or ().

    Tried are the recording's own later writes, its previews committed, and the cancellations that the requirements ask
    for. Made with the answer key and the simulator, so for the evaluator alone.
    """
    tried: list[tuple[str, Mapping[str, Any]]] = []
    for at, call in enumerate(walk.calls):
        if at >= upto and call.changed:
            tried.append((call.tool, call.args))
        if call.args.get("confirm") is False:
            tried.append((call.tool, {**call.args, "confirm": True}))
    cancel = {"bookings": ("cancel_booking", "booking_id"), "hotels": ("cancel_hotel_reservation", "reservation_id"),
              "car_rentals": ("cancel_car_rental", "rental_id")}  # fmt: skip
    for need in walk.task.requirements:
        if need.get("field") == "status" and need.get("expected_value") == "cancelled":
            tool, arg = cancel.get(need["entity_type"], ("", ""))
            if tool:
                tried.append((tool, {arg: need["record_key"], "confirm": True}))
    candidates = list({jsontext.dumps([tool, args]): (tool, args) for tool, args in tried}.values())
    world = _at(walk, upto, simulator)
    for count in range(1, MAX_REPAIR + 1):
        for some in itertools.permutations(candidates[:12], count):
            if _finishes(world, some) is not None:
                return some
    return ()


def _rest(walk: Walk, upto: int, simulator: Simulator | None) -> tuple[int, ...]:
    """Return the recorded calls after `upto` that finish the task, up to the end of the turn that does.

    Left out is what failed and what was unmade later; where the task cannot be finished without, all calls are taken.
    """
    standing = [at for at in walk.standing(len(walk.calls)) if at >= upto]
    if not standing:
        return ()
    turn = walk.calls[standing[-1]].message
    span = [at for at in range(upto, len(walk.calls)) if walk.calls[at].message <= turn]
    kept = set(standing)
    clean = tuple(at for at in span if at in kept or (not walk.calls[at].changed and not failed(walk.calls[at])))
    if simulator is None:
        return clean
    world = _at(walk, upto, simulator)
    for some in (clean, tuple(span)):
        done = _finishes(world, [(walk.calls[at].tool, walk.calls[at].args) for at in some])
        if done is not None:
            return tuple(at for at, came in zip(some, done, strict=True) if not failed_with(came))
    return ()


def failed(call: Made) -> bool:
    """Return whether a call's result says that it came to nothing."""
    return failed_with(call.result)


def failed_with(result: Any) -> bool:
    """Return whether a result says that its call came to nothing."""
    return isinstance(result, Mapping) and ("error" in result or result.get("status") == "rejected")


def _finishes(world: Simulated, calls: Sequence[tuple[str, Mapping[str, Any]]]) -> list[Any] | None:
    """Return what calls come to in a copy of the world, if they finish the task."""
    copied = world.copied()
    results = [copied.tools[tool](**args) for tool, args in calls]
    return results if copied.right() else None


def _at(walk: Walk, upto: int, simulator: Simulator) -> Simulated:
    world = simulator.open(walk.episode, walk.task.now)
    for call in walk.calls[:upto]:
        world.tools[call.tool](**call.args)
    return world


def _cut(
    walk: Walk,
    upto: int,
    rest: tuple[int, ...],
    repair: tuple[tuple[str, Mapping[str, Any]], ...] = (),
    met: int | None = None,
    left: int | None = None,
) -> Cut:
    if upto < len(walk.calls):
        messages, partial = walk.calls[upto].message, walk.calls[upto].index
    else:
        messages, partial = len(walk.conversation), 0
    effects = [at for at in rest if walk.calls[at].changed]
    last = walk.calls[effects[-1]].message if effects else messages
    turns = sum(message.get("role") == "user" for message in walk.conversation[messages:last])
    return Cut(
        walk=walk, upto=upto, messages=messages, partial=partial, rest=rest, repair=repair, turns=turns,
        met=met, open=left,
    )  # fmt: skip


def _listed(conversation: Sequence[Mapping[str, Any]]) -> Iterator[tuple[tuple[int, int], Mapping[str, Any]]]:
    for at, message in enumerate(conversation):
        for index, call in enumerate(message.get("tool_calls") or ()):
            yield (at, index), call


def _made(where: tuple[int, int], call: Mapping[str, Any], changed: bool) -> Made:
    return Made(
        id=f"m{where[0]}.c{where[1]}", message=where[0], index=where[1], tool=call["name"], args=call["arguments"],
        result=call.get("result"), changed=changed,
    )  # fmt: skip


def _snapshot(world: Simulated) -> Snapshot:
    found: Snapshot = exact(world.snapshot())
    return found


def _difference(before: Snapshot, after: Snapshot) -> dict[tuple[str, str, str], tuple[Any, Any]]:
    found: dict[tuple[str, str, str], tuple[Any, Any]] = {}
    for kind in before.keys() | after.keys():
        old, new = before.get(kind, {}), after.get(kind, {})
        for key in old.keys() | new.keys():
            one, other = old.get(key, {}), new.get(key, {})
            if (key in old) != (key in new):
                found[kind, key, ""] = (key in old, key in new)
            for name in one.keys() | other.keys():
                if one.get(name) != other.get(name):
                    found[kind, key, name] = (one.get(name), other.get(name))
    return found


def _met(requirements: Sequence[Mapping[str, Any]], now: Snapshot) -> tuple[bool, ...]:
    return tuple(_holds(need, now) for need in requirements)


def _holds(need: Mapping[str, Any], now: Snapshot) -> bool:
    """Whether one requirement is met: a field's value, a record found by its fields, or the key of such a record.

    The benchmark's three shapes (its `docs/eval/state-requirements.md`). Its scorer decides whether an episode is
    right; this only counts how much of it is.
    """
    kind = need["entity_type"]
    if "record_key" in need:
        record = now.get(kind, {}).get(str(need["record_key"]), {})
        wanted = need.get("expected_value")
        other = need.get("expected_value_from_match")
        if other is not None:
            keys = _matching(now, other["entity_type"], other["match_fields"])
            if len(keys) != 1:
                return False
            wanted = keys[0]
        return need["field"] in record and _same(record[need["field"]], wanted)
    keys = _matching(now, kind, need["match_fields"])
    if len(keys) != 1:
        return False
    record = now[kind][keys[0]]
    return all(name in record and _same(record[name], value) for name, value in need["expected_fields"].items())


def _matching(now: Snapshot, kind: str, fields: Mapping[str, Any]) -> list[str]:
    return [
        key
        for key, record in now.get(kind, {}).items()
        if all(_same(record.get(name), value) for name, value in fields.items())
    ]


def _same(one: Any, other: Any) -> bool:
    return bool(one == other) and isinstance(one, bool) == isinstance(other, bool)
