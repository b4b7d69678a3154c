"""What never goes together: tools that never both changed one thing, and calls that would be the same effect twice."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

from tallystick.drafting.counts import SURE, Seen, Tally, none_by_chance
from tallystick.drafting.mining.structure import Structure
from tallystick.drafting.mining.witness import Success, Witness
from tallystick.view.keys import key_value


@dataclass(kw_only=True)
class Apart:
    """Tools of which at most one changed any one entity: `per` gives each tool's argument."""

    tools: tuple[str, ...]
    kind: str
    per: Mapping[str, str]
    tally: Tally
    chance: float
    likely: bool = False
    in_force: bool = False


def exclusions(structure: Structure, seen: Witness, limit: float, least: int) -> list[Apart]:
    """Return sets of tools that never both took effect on one entity, and pairs that did.

    Two tools are likely to exclude each other where no entity got both and that would be unlikely by chance, given how
    many of that kind were known in the trajectories in which one of them took effect. Pairs that all exclude each other
    become one set. In force is what `SURE` allows.
    """
    about = {t: b for t, b in structure.primary.items() if b.arg is not None and structure.sheet.tools[t].writes}
    touched = {t: _touched(t, seen, b.alias) for t, b in about.items()}
    pairs: dict[tuple[str, str], Apart] = {}
    for one, other in combinations(sorted(about), 2):
        kind = about[one].kind
        if kind != about[other].kind or not touched[one] or not touched[other]:
            continue
        a, b = touched[one], touched[other]
        runs = {trace for trace, _ in (*a, *b)}
        known = {(trace, id_) for trace, k, id_ in seen.entities if k == kind and trace in runs} | set(a) | set(b)
        tally = Tally()
        for key in sorted(set(a) | set(b)):
            tally.add((a.get(key) or b[key]).seen, not (key in a and key in b))
        pairs[one, other] = Apart(
            tools=(one, other),
            kind=kind,
            per={t: str(about[t].arg) for t in (one, other)},
            tally=tally,
            chance=none_by_chance(len(known), len(a), len(b)) * max(1, len(about) - 1),
        )
    good = {p for p, x in pairs.items() if not x.tally.broke and x.chance <= limit and
            min(len({k[0] for k in touched[t]}) for t in p) >= least}  # fmt: skip
    return [*_sets(good, pairs), *(x for p, x in pairs.items() if p not in good)]


def _touched(tool: str, seen: Witness, alias: str) -> dict[tuple[str, str], Success]:
    return {(s.seen.trace, s.ids[alias]): s for s in seen.successes.get(tool, ()) if alias in s.ids}


def _sets(good: set[tuple[str, str]], pairs: Mapping[tuple[str, str], Apart]) -> list[Apart]:
    """Return the pairs as few sets in which every tool excludes every other."""
    found: list[Apart] = []
    left = set(good)
    while left:
        first = min(left)
        members = list(first)
        for tool in sorted({t for p in good for t in p} - set(first)):
            if all(tuple(sorted((tool, m))) in good for m in members):
                members.append(tool)
        inside = [p for p in good if set(p) <= set(members)]
        left -= set(inside)
        tally = Tally()
        for pair in sorted(inside):
            tally.extend(pairs[pair].tally)
        per = {t: arg for p in inside for t, arg in pairs[p].per.items()}
        chance = max(pairs[p].chance for p in inside)
        tools, kind, sure = tuple(sorted(members)), pairs[first].kind, tally.lower >= SURE
        found.append(Apart(tools=tools, kind=kind, per=per, tally=tally, chance=chance, likely=True, in_force=sure))
    return found


@dataclass(frozen=True, kw_only=True)
class Once:
    """What makes two calls of a tool one effect: an argument, or None for all arguments; and the cases.

    `undone_by`: tools of which one, between two identical effects on one entity, unmade the first, in every case.
    """

    arg: str | None
    tally: Tally
    chance: float
    undone_by: tuple[str, ...] = ()


def once_per(tool: str, structure: Structure, seen: Witness, limit: float) -> Once:
    """Return what identifies an effect of `tool`.

    The entity alone, where several effects in one trajectory each took another one although they could have repeated;
    else all arguments, with the trajectories in which even those repeated as counter-examples.
    """
    runs: dict[str, list[Success]] = defaultdict(list)
    for success in seen.successes.get(tool, ()):
        runs[success.seen.trace].append(success)
    primary = structure.primary.get(tool)
    if primary is not None and primary.arg is not None:
        tally, chance = Tally(), 1.0
        for listed in runs.values():
            taken: set[str] = set()
            for success in listed:
                id_ = success.ids.get(primary.alias, "")
                if taken:
                    tally.add(success.seen, id_ not in taken)
                    many = max(len(success.others.get(primary.kind, {}).get("id", [])), len(taken) + 1)
                    chance *= (many - len(taken)) / many
                taken.add(id_)
        if tally.held and not tally.broke and chance <= limit:
            return Once(arg=primary.arg, tally=tally, chance=chance)
    tally = _repeats(runs)
    return Once(arg=None, tally=tally, chance=1.0, undone_by=_undone(tool, runs, tally, seen))


def _repeats(runs: Mapping[str, Sequence[Success]]) -> Tally:
    tally = Tally()
    for listed in runs.values():
        taken: list[Any] = []
        for success in listed:
            key = key_value(dict(success.raw))
            tally.add(success.seen, key not in taken)
            taken.append(key)
    return tally


def _undone(tool: str, runs: Mapping[str, Sequence[Success]], repeats: Tally, seen: Witness) -> tuple[str, ...]:
    """Return the tools with an effect on the same entity between each two identical effects, where it is one tool."""
    common: set[str] | None = None
    again = {(s.trace, s.call) for s in repeats.broke}
    for label, listed in runs.items():
        for i, success in enumerate(listed):
            if (label, success.seen.call) not in again:
                continue
            first = next(s for s in listed[:i] if key_value(dict(s.raw)) == key_value(dict(success.raw)))
            between = {
                name
                for name, others in seen.successes.items()
                for o in others
                if name != tool and o.seen.trace == label and o.targets & success.targets
                and _order(first.seen) < _order(o.seen) < _order(success.seen)
            }  # fmt: skip
            common = between if common is None else common & between
    return tuple(sorted(common)) if common and len(common) == 1 else ()


def _order(seen: Seen) -> tuple[int, int]:
    return seen.message, int(seen.call.partition(".c")[2] or 0)
