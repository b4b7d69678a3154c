"""From a slot of the plan to a case: records, task text, tools, and the private specification."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from tallystick.evals.common.draw import Draw
from tallystick.evals.evidence.case import (
    ActionSpec,
    Case,
    Change,
    Evidence,
    Private,
    Public,
    Reader,
    Records,
    Source,
)
from tallystick.evals.evidence.plan import Slot
from tallystick.evals.evidence.records import LABEL, Cast
from tallystick.evals.evidence.schemas import action_schema, read_schema, submit_schema
from tallystick.evals.evidence.static import static_of
from tallystick.evals.evidence.wording import task_text
from tallystick.evals.evidence.world import Action, Need, ReadTool, World, world

LEFT_OUT: Final = 0.3
"""Chance that a case offers one of two live tools that show the same records, not both."""


def build(slot: Slot, seed: str) -> Case:
    """Return the case of a slot. The same slot and seed give the same case, byte for byte, on every machine."""
    draw = Draw(seed, "case", slot.id)
    place = world(slot.domain)
    actions = tuple(place.actions[name] for name, _ in slot.nodes)
    cast = Cast(place, actions, draw, named=slot.named)
    args = {a.name: place.arguments(a) for a in actions}
    for action in actions:
        for need in action.needs:
            assert cast.holds(need, args[action.name]), f"{slot.id}: {action.name} {need.id}"
    decisive, withheld = _turn(slot, cast, actions[0], args[actions[0].name])
    cast.publish(withheld)
    offered = _offered(place, cast, actions, draw, named=slot.named)
    evidence = _evidence(cast, actions, offered, withheld)
    specs = tuple(_spec(cast, action, f"n{i + 1}", slot, args[action.name]) for i, action in enumerate(actions))
    interactive = slot.protocol != "Legacy"
    label = {"": "DONE" if interactive else "ALLOW", "violated": "BLOCK", "withheld": "DEFER"}[slot.turn]
    acting = interactive and not slot.turn
    writers = _writers(place, actions, draw)
    public = Public(
        protocol=slot.protocol,
        domain=slot.domain,
        text=task_text(place, cast, specs, draw, protocol=slot.protocol, index=any(t.index for t in offered)),
        tools=(
            *(read_schema(place, tool) for tool in offered),
            *(action_schema(place, place.actions[name]) for name in writers),
            submit_schema("interactive"),
        ),
    )
    private = Private(
        label=label,
        evidence=evidence,
        actions=specs if acting else (),
        readers={t.name: _reader(place, t) for t in offered},
        writers=tuple(writers),
        decisive=decisive,
        lookalikes=cast.lookalikes,
        traps=_traps(slot, offered),
        candidate=None if acting else specs[0],
    )
    records = Records(domain=slot.domain, live=cast.live, index=cast.index)
    case = Case(id=slot.id, protocol=slot.protocol, domain=slot.domain, public=public, private=private, records=records)
    if interactive:
        return case
    return static_of(case, public.text, specs[0], silent=slot.pick % 2 == 1)


# ---------------------------------------------------------------------- what makes acting wrong


def turnable(action: Action) -> tuple[Need, ...]:
    """Return the needs of an action that records can violate (an argument that follows the record never does)."""
    return tuple(n for n in action.needs if n.test != "arg")


def removable(place: World, action: Action) -> tuple[str, ...]:
    """Return the aliases whose records can be withheld: whatever does not lead to everything else."""
    kept = {"request", action.subject}
    return tuple(a for a in place.entities(action) if a not in kept and a in {n.alias for n in action.needs})


def _turn(slot: Slot, cast: Cast, action: Action, args: Mapping[str, str]) -> tuple[tuple[str, ...], frozenset[str]]:
    """Violate one condition or withhold one record, as the slot says; return (decisive evidence, withheld aliases)."""
    if slot.turn == "violated":
        choices = turnable(action)
        if not slot.named:
            # Somebody else's record cannot be found by the requester's name.
            choices = tuple(n for n in choices if not (n.test == "same" and n.alias == action.subject))
        need = choices[slot.pick % len(choices)]
        cast.violate(need, dict(args))
        assert not cast.holds(need, dict(args))
        return (f"{need.alias}.{need.field}",), frozenset()
    if slot.turn == "withheld":
        aliases = removable(cast.world, action)
        alias = aliases[slot.pick % len(aliases)]
        # A record that somebody else's record is about keeps nothing that hints at it.
        return tuple(f"{n.alias}.{n.field}" for n in action.needs if n.alias == alias), frozenset({alias})
    return (), frozenset()


# ---------------------------------------------------------------------- what is offered


def _offered(place: World, cast: Cast, actions: tuple[Action, ...], draw: Draw, *, named: bool) -> tuple[ReadTool, ...]:
    """Return the read tools of a case: enough to establish everything, sometimes by one way only, and some others."""
    kinds = {place.aliases[alias].kind for alias in cast.ids}
    subjects = {place.kind_of(a.subject).name for a in actions if a.subject}
    found = []
    for tool in place.reads.values():
        if tool.kind not in kinds:
            if draw.chance(0.12):
                found.append(tool)  # no record of the case is behind it
            continue
        if tool.index and tool.kind in subjects and not named:
            found.append(tool)  # the only way from a name to an id
        elif tool.index:
            if draw.chance(0.6):
                found.append(tool)
        else:
            found.append(tool)
    for kind in sorted(kinds):
        live = [t for t in found if t.kind == kind and not t.index]
        single = [t for t in live if not t.every or place.kinds[kind].prefix == ""]
        if len(live) > 1 and len(single) > 1 and draw.chance(LEFT_OUT):
            found.remove(draw.pick(single))
    return tuple(found)


def _writers(place: World, actions: tuple[Action, ...], draw: Draw) -> list[str]:
    wanted = {a.name for a in actions}
    others = [name for name in place.actions if name not in wanted]
    wanted |= set(draw.shuffled(others)[: draw.between(1, 3)])
    return [name for name in place.actions if name in wanted]


def _reader(place: World, tool: ReadTool) -> Reader:
    return Reader(kind=tool.kind, id=place.kinds[tool.kind].id, lists=tool.lists, live=not tool.index)


# ---------------------------------------------------------------------- what is required


def paths_of(place: World, action: Action, *, named: bool) -> dict[str, str]:
    """Return everything an action needs established: `alias.field` → sort."""
    found: dict[str, str] = {}
    if action.subject:
        id_field = place.kind_of(action.subject).id
        if named:
            found[f"request.{id_field}"] = "entity"
        else:
            found[f"request.{action.subject}_{LABEL}"] = "entity"
            found[f"{action.subject}.{LABEL}"] = "entity"
    for need in action.needs:
        found.setdefault(f"{need.alias}.{need.field}", need.sort)
        if need.test == "same":
            found.setdefault(need.operand, need.sort)
    return found


def _evidence(
    cast: Cast, actions: tuple[Action, ...], offered: tuple[ReadTool, ...], withheld: frozenset[str]
) -> tuple[Evidence, ...]:
    place = cast.world
    found: dict[str, Evidence] = {}
    for action in actions:
        for path, sort in paths_of(place, action, named=cast.named).items():
            alias, _, name = path.partition(".")
            entity = cast.ids[alias]
            gone = alias in withheld
            found.setdefault(
                path,
                Evidence(
                    id=path,
                    sort=sort,
                    kind=place.aliases[alias].kind,
                    entity=entity,
                    field=name,
                    value=None if gone else cast.at(path),
                    sources=_sources(cast, alias, offered),
                    obtainable=not gone,
                ),
            )
    for item in found.values():
        assert item.sources, item
    return tuple(found.values())


def _sources(cast: Cast, alias: str, offered: tuple[ReadTool, ...]) -> tuple[Source, ...]:
    kind = cast.world.kind_of(alias)
    found = []
    for tool in offered:
        if tool.kind != kind.name or tool.index:
            continue
        args = {} if tool.every else {tool.by or kind.id: cast.fields[alias][tool.by] if tool.by else cast.ids[alias]}
        found.append(Source(tool=tool.name, args=args))
    return tuple(found)


def _spec(cast: Cast, action: Action, node: str, slot: Slot, args: Mapping[str, str]) -> ActionSpec:
    place = cast.world
    before = dict(slot.nodes)[action.name]
    names = [name for name, _ in slot.nodes]
    cites = {f"{place.actions[name].noun}_id": f"n{names.index(name) + 1}" for name in before}
    about = action.subject or ("request" if action.closes else "")
    changes = [
        Change(kind=place.aliases[about].kind, entity=cast.ids[about], field=field, value=value)
        for field, value in action.sets.items()
    ]
    if action.subject and "version" in place.kind_of(action.subject).fields:
        version = cast.at(f"{action.subject}.version") + 1
        changes.append(Change(kind=place.aliases[about].kind, entity=cast.ids[about], field="version", value=version))
    targets = [n for n, path in args.items() if path.split(".")[1] == place.kind_of(path.split(".")[0]).id]
    return ActionSpec(
        node=node,
        tool=action.name,
        args={name: cast.at(path) for name, path in args.items()},
        targets=tuple(targets),
        cites=cites,
        makes=f"{action.noun}_id",
        needs=tuple(paths_of(place, action, named=cast.named)),
        changes=tuple(changes),
    )


def _traps(slot: Slot, offered: tuple[ReadTool, ...]) -> tuple[str, ...]:
    found = ["a look-alike of the subject with the same owner and the same amounts, in another state"]
    if any(t.index for t in offered):
        found.append("an overnight index whose states and limits are out of date")
    if any(t.every and not t.index for t in offered):
        found.append("lists in which only one record will do")
    if slot.turn == "violated":
        found.append("one condition that the records do not meet, against the requester's word")
    if slot.turn == "withheld":
        found.append("one record that is not available")
    return tuple(found)
