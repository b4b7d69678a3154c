"""All that may be required before a tool takes effect, form by form; see `candidate`."""

from __future__ import annotations

from collections.abc import Iterator

from tallystick.drafting.mining.before import previews, reads, targets
from tallystick.drafting.mining.candidate import Candidate
from tallystick.drafting.mining.corpus import Corpus
from tallystick.drafting.mining.facts import facts, matches
from tallystick.drafting.mining.kinds import Kinds
from tallystick.drafting.mining.origins import heard, predecessors
from tallystick.drafting.mining.structure import Structure
from tallystick.drafting.mining.witness import Witness


def candidates(tool: str, structure: Structure, seen: Witness, corpus: Corpus, kinds: Kinds) -> Iterator[Candidate]:
    """Yield what may be required before `tool` takes effect."""
    cases = seen.successes.get(tool, [])
    if not cases:
        return
    bound = structure.bound.get(tool, [])
    yield from targets(tool, bound, kinds)
    yield from previews(tool, cases, structure, corpus)
    yield from reads(tool, cases, seen, corpus, kinds)
    yield from facts(tool, cases, bound, structure, seen)
    yield from matches(tool, cases, bound, structure)
    yield from predecessors(tool, cases, structure, corpus)
    yield from heard(tool, cases, structure, corpus)
