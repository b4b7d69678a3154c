"""Where an argument comes from: what the user was told and said, or what an earlier result answered."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tallystick.drafting.mining.candidate import USUAL, Candidate, akin, alike
from tallystick.drafting.mining.corpus import Corpus
from tallystick.drafting.mining.structure import Structure
from tallystick.drafting.mining.witness import Known, Success
from tallystick.drafting.sheet import is_identifier


def heard(tool: str, cases: Sequence[Success], structure: Structure, corpus: Corpus) -> Iterator[Candidate]:
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


def predecessors(tool: str, cases: Sequence[Success], structure: Structure, corpus: Corpus) -> Iterator[Candidate]:
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
                if not pointer.isprintable() or not akin(arg, pointer.rpartition("/")[2], kind):
                    continue
                fits = [alike(r.leaves.get(pointer), c.raw[arg]) for c, r in there]
                asked = all(any(alike(v, c.raw[arg]) for v in r.args.values()) for c, r in there)
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
