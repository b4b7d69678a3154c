"""The frozen suite: a manifest of digests, and the composition counted from the items themselves."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from typing import Any, Final

import msgspec

from tallystick.errors import InputError
from tallystick.evals.evidence.build import build
from tallystick.evals.evidence.case import PROTOCOLS, Case, edges, item_digest, private_digest
from tallystick.evals.evidence.plan import SEED, slots
from tallystick.evals.evidence.world import DOMAINS, data

FILE: Final = "manifest.json"


def suite(seed: str = SEED) -> tuple[Case, ...]:
    """Return every case of the suite. Another seed gives a parallel suite with other records, for held-out use."""
    return _suite(seed)


@cache
def _suite(seed: str) -> tuple[Case, ...]:
    return tuple(build(slot, seed) for slot in slots(seed))


def case(name: str, seed: str = SEED) -> Case:
    """Return one case.

    Raises:
        InputError: there is no such case.
    """
    for slot in slots(seed):
        if slot.id == name:
            return build(slot, seed)
    raise InputError(f"there is no case `{name[:80]}`", fix="see `tallystick eval evidence --list`")


def digests(cases: Iterable[Case]) -> dict[str, list[str]]:
    """Return case id → [SHA-256 of the public item, SHA-256 of the private part]."""
    return {c.id: [item_digest(c.public), private_digest(c)] for c in cases}


def written(seed: str = SEED) -> dict[str, Any]:
    """Return the manifest of the suite and of everything derived from it, as it is now."""
    from tallystick.evals.evidence.derived import sets  # noqa: PLC0415 - it derives from this module's suite

    return {
        "seed": seed,
        "cases": digests(suite(seed)),
        "derived": {name: digests(found) for name, found in sets(seed).items()},
    }


def stored() -> dict[str, Any]:
    """Return the manifest in the package."""
    found: dict[str, Any] = msgspec.json.decode(data(FILE))
    return found


def manifest_ok() -> bool:
    """Return whether every item, drawn again, has the digests in the manifest, and none is more or less."""
    on_file = stored()
    return on_file["cases"] == digests(suite()) and written() == on_file


def list_composition() -> dict[str, Any]:
    """Return what the suite consists of, counted from distinct rendered items.

    Returns:
        `{"protocols": {P: n}, "domains": {D: n}, "v3": {"nodes", "edges", "forks", "joins"}, "reads":
        {"mean_by_protocol": {P: mean}, "max"}, "manifest_ok"}`. Required reads are the records that must be read, each
        once, by any acceptable source; for Legacy they are supplied with the case.
    """
    distinct: dict[str, Case] = {}
    for one in suite():
        distinct.setdefault(item_digest(one.public), one)
    cases = list(distinct.values())
    reads = {p: [len(c.private.records) for c in cases if c.protocol == p] for p in PROTOCOLS}
    graphs = [c.private.actions for c in cases if c.protocol == "V3"]
    return {
        "protocols": {p: len(reads[p]) for p in PROTOCOLS},
        "domains": {d: sum(c.domain == d for c in cases) for d in DOMAINS},
        "v3": {
            "nodes": sum(len(g) for g in graphs),
            "edges": sum(len(edges(g)) for g in graphs),
            "forks": sum(_most(before for before, _ in edges(g)) > 1 for g in graphs),
            "joins": sum(_most(after for _, after in edges(g)) > 1 for g in graphs),
        },
        "reads": {
            "mean_by_protocol": {p: round(sum(found) / len(found), 3) for p, found in reads.items()},
            "max": max(n for found in reads.values() for n in found),
        },
        "manifest_ok": manifest_ok(),
    }


def by_domain() -> dict[str, dict[str, int]]:
    """Return domain → protocol → cases."""
    return {d: {p: sum(c.domain == d and c.protocol == p for c in suite()) for p in PROTOCOLS} for d in DOMAINS}


def _most(nodes: Iterable[str]) -> int:
    counts: dict[str, int] = {}
    for node in nodes:
        counts[node] = counts.get(node, 0) + 1
    return max(counts.values(), default=0)
