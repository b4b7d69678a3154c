"""Requirements that may hold, each generated from what was known before every effect of a tool.

A form is a sentence an author could write: the target was read; a policy was read; a preview of the same arguments
came first; a fact was so; an argument is what a record or an earlier result says. `chance` is how likely it is that the
form would hold in all cases although it means nothing, by what was different elsewhere; the smaller, the better.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Final, Literal

from tallystick.audit.step import is_id_name
from tallystick.audit.tools import words_of
from tallystick.drafting.mining.corpus import Corpus
from tallystick.drafting.mining.kinds import Kinds
from tallystick.drafting.mining.outcomes import is_quotable, text_of
from tallystick.drafting.mining.structure import Bound, Structure
from tallystick.drafting.mining.witness import Known, Success, Witness
from tallystick.drafting.shape import is_amount
from tallystick.drafting.sheet import is_identifier
from tallystick.model.pointer import split
from tallystick.model.values import same

Form = Literal[
    "target-read", "read-of", "policy", "previewed", "fact", "match", "predecessor", "limit", "confirmed", "heard"
]
USUAL: Final = 0.8
"""Share of cases in which a form must hold to be weighed at all."""
_MISSING: Final = object()
_STATUS: Final = frozenset(
    {"active", "allowed", "approved", "available", "eligible", "enabled", "frozen", "locked", "open", "paid", "stage",
     "state", "status", "stock", "verified"}
)  # fmt: skip
"""Words of a field's name that say it is there to be asked before acting."""


@dataclass(kw_only=True)
class Candidate:
    """A requirement that may hold.

    Attributes:
        fields: as written under `requires`, without `id`.
        stem: what its id starts with.
        because: the sentence of the remark.
        chance: see the module; already the product over all cases.
        binds: texts of entities it needs bound besides.
    """

    tool: str
    form: Form
    fields: dict[str, Any]
    stem: str
    because: str
    chance: float
    binds: tuple[str, ...] = field(default=())


def candidates(tool: str, structure: Structure, seen: Witness, corpus: Corpus, kinds: Kinds) -> Iterator[Candidate]:
    """Yield what may be required before `tool` takes effect."""
    cases = seen.successes.get(tool, [])
    if not cases:
        return
    bound = structure.bound.get(tool, [])
    yield from _targets(tool, bound, kinds)
    yield from _previews(tool, cases, structure, corpus)
    yield from _reads(tool, cases, seen, corpus, kinds)
    yield from _facts(tool, cases, bound, structure, seen)
    yield from _matches(tool, cases, bound, structure)
    yield from _predecessors(tool, cases, structure, corpus)
    yield from _heard(tool, cases, structure, corpus)


def _targets(tool: str, bound: Sequence[Bound], kinds: Kinds) -> Iterator[Candidate]:
    readable = {place.kind for listed in kinds.places.values() for place in listed}
    for i, entity in enumerate(bound):
        if entity.kind in readable:
            yield Candidate(
                tool=tool,
                form="target-read",
                fields={"known": entity.alias},
                stem=f"{entity.alias}-read",
                because=f"a result had shown that very {entity.kind}",
                chance=0.0,
            )
        if i == 0:
            yield Candidate(
                tool=tool,
                form="confirmed",
                fields={"confirmed": entity.alias},
                stem=f"{entity.alias}-chosen",
                because=f"the user had named that {entity.kind}, or agreed after it was shown (guessed from words)",
                chance=0.0,
            )


def _plain(value: Any) -> bool:
    return value is None or isinstance(value, (str, bool, int, Decimal))


def _number(value: Any) -> bool:
    return isinstance(value, (int, Decimal)) and not isinstance(value, bool)


# ---- previews


def _previews(tool: str, cases: Sequence[Success], structure: Structure, corpus: Corpus) -> Iterator[Candidate]:
    switch = corpus.tools[tool].switch
    if switch is None:
        return
    primary = structure.primary.get(tool)
    matched: list[tuple[Success, Known]] = []
    for case in cases:
        before = [r for r in case.receipts if r.tool == tool and r.effect == "preview"]
        if primary is not None and primary.arg is not None:
            before = [r for r in before if _equal(r.args, case.raw, primary.arg)]
        if before:
            matched.append((case, before[-1]))
    if len(matched) < USUAL * len(cases):
        return
    args = list(dict.fromkeys(a for case, _ in matched for a in case.raw))
    same_args = [
        a for a in args if a != switch and is_identifier(a)
        and all(_equal(shown.args, case.raw, a) for case, shown in matched)
        and not any(isinstance(case.raw.get(a), str) and " " in case.raw[a] for case in cases)  # words are free
    ]  # fmt: skip
    if not same_args:
        return
    base: dict[str, Any] = {"previewed": same_args}
    yield Candidate(
        tool=tool,
        form="previewed",
        fields=base,
        stem="previewed",
        because="a preview of the same arguments had gone well",
        chance=0.0,
    )
    numbers = sorted({p for _, shown in matched for p, v in shown.leaves.items() if _number(v) and v != 0})
    for pointer in numbers:
        path = _path("preview", pointer)
        if path is not None and all(pointer in shown.leaves for _, shown in matched):
            yield Candidate(
                tool=tool,
                form="heard",
                fields={**base, "with": f"talk.heard.mentions({path})"},
                stem=f"{pointer.rpartition('/')[2]}-heard",
                because=f"the user had been shown the preview's `{pointer}`, and spoken since",
                chance=len(numbers) * 0.5 ** len({case.seen.trace for case, _ in matched}),
            )
    for arg in args:
        given = [(case, shown) for case, shown in matched if _number(case.raw.get(arg))]
        if len(given) < USUAL * len(matched) or not is_identifier(arg):
            continue
        for pointer in sorted({p for _, shown in given for p, v in shown.leaves.items() if _number(v)}):
            path = _path("preview", pointer)
            fits = [same(shown.leaves.get(pointer), case.raw[arg]) for case, shown in given]
            if path is None or sum(fits) < USUAL * len(given):
                continue
            chance = 1.0
            for _, preview in given:
                chance /= max(1, len({v for v in preview.leaves.values() if _number(v)}))
            free = f"!has(args.{arg}) || " if len(given) < len(matched) else ""
            yield Candidate(
                tool=tool,
                form="previewed",
                fields={**base, "with": f"{free}args.{arg} == {path}"},
                stem=f"previewed-{arg}",
                because=f"`{arg}` was what the preview said",
                chance=chance,
            )


def _equal(one: Mapping[str, Any], other: Mapping[str, Any], arg: str) -> bool:
    a, b = one.get(arg, _MISSING), other.get(arg, _MISSING)
    return a is b if _MISSING in (a, b) else same(a, b)


def _path(root: str, pointer: str) -> str | None:
    tokens = split(pointer)
    return ".".join((root, *tokens)) if all(is_identifier(t) for t in tokens) else None


# ---- reads


def _reads(tool: str, cases: Sequence[Success], seen: Witness, corpus: Corpus, kinds: Kinds) -> Iterator[Candidate]:
    """A read with the same constant argument before every effect; or with an argument of the call itself."""
    elsewhere = [
        _asked((r.tool, r.args) for r in c.receipts if r.effect == "read")
        for name, listed in seen.successes.items() if name != tool for c in listed
    ]  # fmt: skip
    mine = {c.seen.trace for c in cases}
    elsewhere += [
        _asked(reads) for label, reads in seen.read.items() if label not in mine
    ]  # fmt: skip
    for name, usage in corpus.tools.items():
        if usage.writes:
            continue
        before = [[r.args for r in c.receipts if r.tool == name and r.effect == "read"] for c in cases]
        if sum(bool(b) for b in before) < USUAL * len(cases):
            continue
        args = list(dict.fromkeys(a for listed in before for given in listed for a in given if is_identifier(a)))
        yield from _constants(tool, name, args, cases, before, elsewhere, kinds)
        for arg in args:
            for own in dict.fromkeys(a for c in cases for a in c.raw):
                like = kinds.of_arg.get((name, arg)) == kinds.of_arg.get((tool, own), "")
                if not like or not is_identifier(own):
                    continue
                hits = [any(_same(g.get(arg), c.raw.get(own)) for g in b) for c, b in zip(cases, before, strict=True)]
                if sum(hits) >= USUAL * len(cases):
                    there = sum(any(known[0] == name for known in asked) for asked in elsewhere)
                    rate = max(0.5, (there + 1) / (len(elsewhere) + 2))
                    yield Candidate(
                        tool=tool,
                        form="read-of",
                        fields={"read": name, "with": f"args.{arg} == call.{own}"},
                        stem=f"{name}-of-{own}",
                        because=f"`{name}` had been asked about that `{own}`",
                        chance=rate ** len(mine),
                    )


def _asked(reads: Iterable[tuple[str, Mapping[str, Any]]]) -> set[tuple[str, str, str]]:
    """Return (tool, argument, value) of some reads; a read without arguments counts by its tool."""
    found = set()
    for name, args in reads:
        found.add((name, "", ""))
        found.update((name, arg, v) for arg, v in args.items() if isinstance(v, str))
    return found


def _same(one: Any, other: Any) -> bool:
    return one is not None and other is not None and same(one, other)


def _constants(
    tool: str,
    name: str,
    args: Iterable[str],
    cases: Sequence[Success],
    before: Sequence[Sequence[Mapping[str, Any]]],
    elsewhere: Sequence[set[tuple[str, str, str]]],
    kinds: Kinds,
) -> Iterator[Candidate]:
    runs = len({c.seen.trace for c in cases})
    for arg in args:
        if (name, arg) in kinds.of_arg or is_id_name(arg):
            continue
        values = sorted({g[arg] for b in before for g in b if is_quotable(g.get(arg))})
        usual = [v for v in values if sum(any(g.get(arg) == v for g in b) for b in before) >= USUAL * len(cases)]
        # One that goes through all values each time (every hour of a day, say) searches; it does not look up a rule.
        for value in usual if len(usual) <= 2 else ():
            there = sum((name, arg, value) in known for known in elsewhere)
            rate = (there + 1) / (len(elsewhere) + 2)
            yield Candidate(
                tool=tool,
                form="policy",
                fields={"read": name, "with": f"args.{arg} == {text_of(value)}"},
                stem=f"{name}-{value}",
                because=f"`{name}` had been read for `{value}`",
                chance=rate**runs,
            )


# ---- facts


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


def _facts(
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
            told = [_facts_of(entity, c, seen).get(name, _MISSING) for c in cases]
            held = [v for v in told if v is not _MISSING]
            if len(held) < USUAL * len(cases):
                continue
            tried += 1
            first = max(held, key=lambda v: (sum(v is w or v == w for w in held), repr(v)))
            if sum(v is not _MISSING and v == first for v in told) < USUAL * len(cases):
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


def _matches(tool: str, cases: Sequence[Success], bound: Sequence[Bound], structure: Structure) -> Iterator[Candidate]:
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
                if arg == entity.arg or not _comparable(type_, text) or not _akin(arg, name, type_):
                    continue
                told = [(c, c.facts.get(entity.alias, {}).get(name, _MISSING)) for c in cases if arg in c.args]
                if len(told) < USUAL * len(cases):
                    continue
                tried += 1
                fits = [v is not _MISSING and v is not None and _same(c.args[arg], v) for c, v in told]
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
                    within = [_number(v) and _number(c.args[arg]) and c.args[arg] <= v for c, v in told]
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


def _akin(arg: str, other: str, type_: str) -> bool:
    """Whether names allow that two values mean the same: small numbers and words agree by accident all the time."""
    if type_ == "id":
        return True
    return bool(set(words_of(arg)) & set(words_of(other))) or (is_amount(arg) and is_amount(other))


def _comparable(arg: str, fact: str) -> bool:
    texts, numbers = ("string", "id"), ("integer", "decimal")
    return (arg in texts and fact in texts) or (arg in numbers and fact in numbers)


# ---- words


def _heard(tool: str, cases: Sequence[Success], structure: Structure, corpus: Corpus) -> Iterator[Candidate]:
    """An argument had been named by the user, or shown to the user before the user's last word.

    The gate itself counts how often; all that is told here is what the arguments are.
    """
    types = structure.sheet.tools[tool].value("args") or {}
    runs = len({c.seen.trace for c in cases})
    found = []
    for arg in dict.fromkeys(a for c in cases for a in c.raw):
        type_ = str(types.get(arg, "json")).removeprefix("optional ")
        given = [c for c in cases if c.raw.get(arg) not in (None, "")]
        words = any(isinstance(c.raw[arg], str) and " " in c.raw[arg] for c in given)
        if not is_identifier(arg) or type_ not in ("string", "id", "integer", "decimal") or words or not given:
            continue
        if arg == corpus.tools[tool].switch or len(given) < USUAL * len(cases):
            continue
        free = f"!has(args.{arg}) || " if len(given) < len(cases) else ""
        found.append(
            Candidate(
                tool=tool,
                form="heard",
                fields={"fact": f"{free}talk.heard.mentions(args.{arg})"},
                stem=f"{arg}-heard",
                because=f"the user had named that `{arg}`, or had been shown it and spoken since",
                chance=0.5**runs,
            )
        )
    for candidate in found:
        candidate.chance *= len(found)
        yield candidate


# ---- predecessors


def _predecessors(tool: str, cases: Sequence[Success], structure: Structure, corpus: Corpus) -> Iterator[Candidate]:
    """An argument is what the newest result of another tool, about the same thing, says."""
    args = [a for a in dict.fromkeys(a for c in cases for a in c.raw) if is_identifier(a)]
    types = structure.sheet.tools[tool].value("args") or {}
    for arg in args:
        if str(types.get(arg, "json")).removeprefix("optional ") not in ("string", "id", "integer", "decimal"):
            continue
        given = [c for c in cases if c.raw.get(arg) not in (None, "")]
        if len(given) < USUAL * len(cases) or len({repr(c.raw[arg]) for c in given}) < 2:
            continue
        for name in corpus.tools:
            newest = [_newest(c, name) for c in given]
            there = [(c, r) for c, r in zip(given, newest, strict=True) if r is not None]
            if name == tool or len(there) < USUAL * len(given):
                continue
            for pointer in sorted({p for _, r in there for p in r.leaves}):
                kind = str(types.get(arg, "json")).removeprefix("optional ")
                if not pointer.isprintable() or not _akin(arg, pointer.rpartition("/")[2], kind):
                    continue
                fits = [_same(r.leaves.get(pointer), c.raw[arg]) for c, r in there]
                asked = all(any(_same(v, c.raw[arg]) for v in r.args.values()) for c, r in there)
                if sum(fits) < USUAL * len(given) or asked:
                    continue  # what was asked about comes back; the reads say that already
                chance = 1.0
                for case, known in {c.seen.trace: (c, r) for c, r in there}.values():
                    chance /= max(1, len({repr(v) for v in known.leaves.values() if type(v) is type(case.raw[arg])}))
                yield Candidate(
                    tool=tool,
                    form="predecessor",
                    fields={"arg": arg, "equals": f"{name}.{pointer}"},
                    stem=f"{arg}-from-{name}",
                    because=f"`{arg}` was what `{name}` had answered",
                    chance=chance,
                )


def _newest(case: Success, name: str) -> Known | None:
    mine = set(case.ids.values())
    for receipt in reversed(case.receipts):
        about = {ref.id for ref in receipt.targets}
        if receipt.tool == name and (not about or not mine or about & mine):
            return receipt
    return None
