"""What was so at every effect: fields of the entities addressed, and arguments that are what the record says."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from tallystick.audit.tools import words_of
from tallystick.drafting.mining.candidate import MISSING, USUAL, Candidate, akin, alike, is_number
from tallystick.drafting.mining.outcomes import is_quotable, text_of
from tallystick.drafting.mining.structure import Bound, Structure
from tallystick.drafting.mining.witness import Success, Witness
from tallystick.drafting.shape import is_amount
from tallystick.drafting.sheet import is_identifier

_STATUS: Final = frozenset(
    {"active", "allowed", "approved", "available", "eligible", "enabled", "frozen", "locked", "open", "paid", "stage",
     "state", "status", "stock", "verified"}
)  # fmt: skip
"""Words of a field's name that say it is there to be asked before acting."""


def _chain(bound: Sequence[Bound], structure: Structure) -> Iterator[Bound]:
    """Yield the entities bound by arguments, and those that one of their own fields names."""
    yield from bound
    taken = {b.alias for b in bound}
    for entity in bound:
        for (kind, name), text in structure.types.items():
            if kind != entity.kind or text != "id":
                continue
            other = next((k for k in structure.sheet.entities if name in (k, f"{k}_id")), None)
            if other is not None and other not in taken:
                taken.add(other)
                yield Bound(alias=other, kind=other, text=f"{other}({entity.alias}.{name})", arg=None)


def _facts_of(entity: Bound, case: Success, seen: Witness) -> Mapping[str, Any]:
    if entity.arg is not None:
        return case.facts.get(entity.alias, {})
    # `order(article.order_id)`: the entity that a field of a bound one names, as it was known.
    found = re.fullmatch(r"\w+\((\w+)\.(\w+)\)", entity.text)
    assert found is not None
    id_ = case.facts.get(found[1], {}).get(found[2])
    return seen.entities.get((case.seen.trace, entity.kind, str(id_)), {}) if id_ is not None else {}


def facts(
    tool: str, cases: Sequence[Success], bound: Sequence[Bound], structure: Structure, seen: Witness
) -> Iterator[Candidate]:
    """A field of the entity addressed had one value whenever the effect was made, and others elsewhere."""
    runs = len({c.seen.trace for c in cases})
    tried = 0
    found: list[Candidate] = []
    for entity in _chain(bound, structure):
        mine = {(c.seen.trace, entity.kind, c.ids.get(entity.alias, "")) for c in cases}
        rest = [fields for key, fields in seen.entities.items() if key[1] == entity.kind and key not in mine]
        for (kind, name), text in structure.types.items():
            if kind != entity.kind or text not in ("string", "boolean"):
                continue
            told = [_facts_of(entity, c, seen).get(name, MISSING) for c in cases]
            held = [v for v in told if v is not MISSING]
            if len(held) < USUAL * len(cases):
                continue
            tried += 1
            first = max(held, key=lambda v: (sum(v is w or v == w for w in held), repr(v)))
            if sum(v is not MISSING and v == first for v in told) < USUAL * len(cases):
                continue
            if first is not None and not isinstance(first, bool) and not is_quotable(first):
                continue
            contrast = [fields[name] for fields in rest if name in fields]
            others = sum(v != first for v in contrast)
            if not others:
                continue  # it was never otherwise, so nothing shows that it matters
            rate = (len(contrast) - others + 1) / (len(contrast) + 2)
            value = "null" if first is None else str(first).lower() if isinstance(first, bool) else text_of(first)
            found.append(
                Candidate(
                    tool=tool,
                    form="fact",
                    fields={"fact": f"{entity.alias}.{name} == {value}"},
                    stem=f"{entity.alias}-{name}",
                    because=f"it was so, and not for {others} of {len(contrast)} others",
                    chance=rate**runs,
                    binds=() if entity.arg is not None else (entity.text,),
                )
            )
    for candidate in found:
        if not _STATUS.intersection(words_of(str(candidate.fields["fact"]).partition(" ")[0].partition(".")[2])):
            # Bonferroni: many fields were looked at, and no name vouches for this one.
            candidate.chance *= max(1, tried)
        yield candidate


def matches(tool: str, cases: Sequence[Success], bound: Sequence[Bound], structure: Structure) -> Iterator[Candidate]:
    """An argument is what the record says in a field of the entity; an amount stays within one."""
    args = [a for a in dict.fromkeys(a for c in cases for a in c.raw) if is_identifier(a)]
    types = structure.sheet.tools[tool].value("args") or {}
    found: list[Candidate] = []
    tried = 0
    for entity in bound:
        for (kind, name), text in structure.types.items():
            if kind != entity.kind or text in ("json", "mixed"):
                continue
            for arg in args:
                type_ = str(types.get(arg, "json")).removeprefix("optional ")
                if arg == entity.arg or not _comparable(type_, text) or not akin(arg, name, type_):
                    continue
                told = [(c, c.facts.get(entity.alias, {}).get(name, MISSING)) for c in cases if arg in c.args]
                if len(told) < USUAL * len(cases):
                    continue
                tried += 1
                fits = [v is not MISSING and v is not None and alike(c.args[arg], v) for c, v in told]
                free = f"!has(args.{arg}) || " if len(told) < len(cases) else ""
                runs = {c.seen.trace for c, _ in told}
                if sum(fits) >= USUAL * len(told):
                    chance = 1.0
                    for case in {c.seen.trace: c for c, _ in told}.values():
                        known = case.others.get(kind, {}).get(name, [])
                        chance /= max(1, len({repr(v) for v in known}))
                    found.append(
                        Candidate(
                            tool=tool,
                            form="match",
                            fields={"fact": f"{free}args.{arg} == {entity.alias}.{name}"},
                            stem=f"{arg}-of-{entity.alias}",
                            because=f"`{arg}` was the `{name}` that the record gave",
                            chance=chance,
                        )
                    )
                elif is_amount(arg) and is_amount(name) and type_ in ("integer", "decimal"):
                    within = [is_number(v) and is_number(c.args[arg]) and c.args[arg] <= v for c, v in told]
                    if sum(within) >= USUAL * len(told):
                        found.append(
                            Candidate(
                                tool=tool,
                                form="limit",
                                fields={"fact": f"{free}args.{arg} <= {entity.alias}.{name}"},
                                stem=f"{arg}-within-{name}",
                                because=f"`{arg}` was no more than the `{name}` on record",
                                chance=0.5 ** len(runs),
                            )
                        )
    for candidate in found:
        candidate.chance *= max(1, tried)
        yield candidate


def _comparable(arg: str, fact: str) -> bool:
    texts, numbers = ("string", "id"), ("integer", "decimal")
    return (arg in texts and fact in texts) or (arg in numbers and fact in numbers)
