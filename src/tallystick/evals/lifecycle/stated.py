"""What a scripted reporter's stated rates imply for every measure, worked out without parsing or scoring a reply.

The scorer is held against these: what it measures of a reporter must be what the reporter was told to do.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from tallystick.evals.lifecycle.suite.item import Item
from tallystick.evals.lifecycle.suite.reporters import Fault, Scripted
from tallystick.gates.stage import Stage


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """The flags of one reply, and W."""

    s: bool = True
    m: bool = True
    e: bool = False
    f: bool = False
    v: bool = False
    w: bool = False


_RIGHT: Final = Outcome(e=True, f=True, v=True)
_DUE: Final[Mapping[Fault, Outcome]] = {
    "miss": Outcome(),
    "diverge": Outcome(m=False),
    "malformed": Outcome(e=True),
    "stale": Outcome(e=True, f=True),
    "premature": Outcome(e=True, f=True, w=True),
    "transport": Outcome(s=False, m=False),
}
_NOT_DUE: Final[Mapping[Fault, Outcome]] = {
    "alarm": Outcome(e=True, f=True),  # it names the true stage, so it is false only in being there
    "silent_act": Outcome(),
    "transport": Outcome(s=False, m=False),
}
Stated = dict[str, float | None]
"""Measure → its value under the stated rates; None where its denominator is empty."""


def stated(reporter: Scripted, items: Iterable[Item]) -> Stated:
    """Return every measure's stated value over some items, each asked equally often.

    The names are those of `measures.MEASURES`; `theta@CHECKPOINT` is θ at one checkpoint.
    """
    found: dict[str, list[float]] = {}

    def count(name: str, p: float, of: bool, hit: bool) -> None:
        sums = found.setdefault(name, [0.0, 0.0])
        sums[0] += p * (of and hit)
        sums[1] += p * of

    for item in items:
        for p, o in _outcomes(reporter, item):
            due, off = o.s and item.key.due, o.s and not item.key.due
            clean = o.m and o.e and o.f and o.v
            count("theta", p, due, clean)
            if item.key.due:
                count(f"theta@{item.checkpoint}", p, due, clean)
            count("phi", p, due and o.m, clean)
            count("emission", p, due, o.e)
            count("omega", p, off, not o.e)
            count("mu", p, o.s, o.w)
            count("nu", p, o.s and o.e, o.w)
            count("divergence", p, due, not o.m)
            count("omission", p, due, o.m and not o.e)
            count("malformed", p, due, o.m and o.e and not o.f)
            count("wrong_value", p, due, o.m and o.f and not o.v)
    return {name: hits / of if of else None for name, (hits, of) in found.items()}


def _outcomes(reporter: Scripted, item: Item) -> list[tuple[float, Outcome]]:
    """Return the chances of what a reporter does at an item."""
    if item.key.due:
        right, effects = _RIGHT, _DUE
    else:
        right, effects = Outcome(m=item.key.mode == "speak"), _NOT_DUE
    told, left = [], 1.0
    for fault, rate in reporter.rates.get(item.checkpoint, {}).items():
        outcome = effects.get(fault)
        if outcome is None or (fault == "premature" and item.key.stage is Stage.COMPLETED):
            continue  # a fault that cannot be committed here leaves the reply right
        p = min(left, rate * reporter.scale)
        told.append((p, outcome))
        left -= p
    return [*told, (left, right)]
