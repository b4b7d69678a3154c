"""What came before every effect: the target was shown or chosen, a preview was made, a rule was read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from tallystick.audit.step import is_id_name
from tallystick.drafting.mining.candidate import MISSING, USUAL, Candidate, alike, is_number
from tallystick.drafting.mining.corpus import Corpus
from tallystick.drafting.mining.kinds import Kinds
from tallystick.drafting.mining.outcomes import is_quotable, text_of
from tallystick.drafting.mining.structure import Bound, Structure
from tallystick.drafting.mining.witness import Known, Success, Witness
from tallystick.drafting.sheet import is_identifier
from tallystick.model.pointer import split
from tallystick.model.values import same


def targets(tool: str, bound: Sequence[Bound], kinds: Kinds) -> Iterator[Candidate]:
    """Yield that the entities addressed had been shown by a result, and the first of them chosen by the user."""
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


def previews(tool: str, cases: Sequence[Success], structure: Structure, corpus: Corpus) -> Iterator[Candidate]:
    """Yield that a preview of the same arguments went well, said that amount, and was shown to the user."""
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
    numbers = sorted({p for _, shown in matched for p, v in shown.leaves.items() if is_number(v) and v != 0})
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
        given = [(case, shown) for case, shown in matched if is_number(case.raw.get(arg))]
        if len(given) < USUAL * len(matched) or not is_identifier(arg):
            continue
        for pointer in sorted({p for _, shown in given for p, v in shown.leaves.items() if is_number(v)}):
            path = _path("preview", pointer)
            fits = [same(shown.leaves.get(pointer), case.raw[arg]) for case, shown in given]
            if path is None or sum(fits) < USUAL * len(given):
                continue
            chance = 1.0
            for _, preview in given:
                chance /= max(1, len({v for v in preview.leaves.values() if is_number(v)}))
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
    a, b = one.get(arg, MISSING), other.get(arg, MISSING)
    return a is b if MISSING in (a, b) else same(a, b)


def _path(root: str, pointer: str) -> str | None:
    tokens = split(pointer)
    return ".".join((root, *tokens)) if all(is_identifier(t) for t in tokens) else None


def reads(tool: str, cases: Sequence[Success], seen: Witness, corpus: Corpus, kinds: Kinds) -> Iterator[Candidate]:
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
                hits = [any(alike(g.get(arg), c.raw.get(own)) for g in b) for c, b in zip(cases, before, strict=True)]
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
