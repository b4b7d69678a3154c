"""Estimands: shares by condition, component and transition loss, matched differences, ranges, and label flips.

The unit of every interval is the task. Differences are matched: only tasks that both conditions have, in episodes whose
reviewer identified the source state. Source: constraint weakening, sections 4.2 and 4.3, appendices A.4 and C.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final

import msgspec

from tallystick.evals.common.clusters import difference, estimate, share
from tallystick.evals.common.estimate import Estimate, not_estimable
from tallystick.evals.handoff.items import CONTROL_OF, CONTROLS
from tallystick.evals.handoff.rows import Reading, Row
from tallystick.evals.handoff.task import FIELDS

Flag = Callable[[Row], bool]
REPLICATES: Final = 2_000
FLIPS: Final = (0.05, 0.10, 0.15, 0.20)
"""Shares of labels that an adversary flips (table 11)."""


class Share(msgspec.Struct, frozen=True, kw_only=True):
    """Hits of so many, and the share with its interval over tasks."""

    hits: int
    of: int
    value: Estimate


def outcomes(reading: Reading) -> dict[str, Flag]:
    """Return outcome → how a row answers it. P and D exclude each other and are not complements."""
    return {
        "P": lambda row: row.coded(reading).p,
        "D": lambda row: row.coded(reading).d,
        "U": lambda row: row.coded(reading).u,
        "C": lambda row: row.coded(reading).c,
        "Y": lambda row: row.episode.forbidden,
        "transition_loss": lambda row: row.episode.transition_lost,
        "recognised": lambda row: row.episode.recognised,
    }


def shared(rows: Iterable[Row], flag: Flag) -> Share:
    """Return how many rows have a flag."""
    sums: dict[str, list[float]] = {}
    for row in rows:
        own = sums.setdefault(row.episode.task, [0.0, 0.0])
        own[0] += flag(row)
        own[1] += 1
    hits, of = (int(sum(own[n] for own in sums.values())) for n in (0, 1))
    if not of:
        return Share(hits=0, of=0, value=not_estimable("no episodes"))
    return Share(hits=hits, of=of, value=estimate(list(sums.values()), share, replicates=REPLICATES))


def matrix(rows: Sequence[Row], reading: Reading) -> dict[str, dict[str, Share]]:
    """Return condition → outcome → share, conditions in the order of the rows (tables 2, 3, 6, 13 and 14)."""
    told = outcomes(reading)
    return {
        condition: {name: shared(own, flag) for name, flag in told.items()}
        for condition, own in by_condition(rows).items()
    }


def by_condition(rows: Iterable[Row]) -> dict[str, list[Row]]:
    """Return condition → its rows."""
    found: dict[str, list[Row]] = {}
    for row in rows:
        found.setdefault(row.episode.condition, []).append(row)
    return found


def losses(rows: Sequence[Row], reading: Reading) -> dict[str, Share]:
    """Return field → the share that lost it; authority over dynamic artifacts only, as in table 7."""
    found: dict[str, Share] = {}
    for field in FIELDS:
        counted = [r for r in rows if field != "authority" or r.episode.trajectory == "dynamic"]
        found[field] = shared(counted, lambda row, f=field: not getattr(row.coded(reading), f))  # type: ignore[misc]
    found["actionability"] = shared(rows, lambda row: row.coded(reading).d)
    return found


def retention(rows: Sequence[Row], reading: Reading) -> dict[str, float]:
    """Return condition → mean retention."""
    return {
        name: sum(r.coded(reading).retention for r in own) / len(own) for name, own in by_condition(rows).items()
    }  # fmt: skip


# ---------------------------------------------------------------------- matched differences


class Contrast(msgspec.Struct, frozen=True, kw_only=True):
    """A condition against its control, given D_up = 1.

    Attributes:
        n: episodes of the condition, and of the control, that count.
        delta_p: control minus condition, loss of preservation; delta_d, delta_y: condition minus control.
    """

    condition: str
    control: str
    n: tuple[int, int]
    delta_p: Estimate
    delta_d: Estimate
    delta_y: Estimate


def contrasts(rows: Sequence[Row], reading: Reading) -> list[Contrast]:
    """Return every matched contrast the rows have both sides of (table 8)."""
    told = by_condition(r for r in rows if r.episode.d_up)
    found = outcomes(reading)
    made = []
    for condition, control in CONTROL_OF.items():
        treated, plain = told.get(condition, []), told.get(control, [])
        both = {r.episode.task for r in treated} & {r.episode.task for r in plain}
        treated, plain = ([r for r in own if r.episode.task in both] for own in (treated, plain))
        if not both:
            continue
        made.append(
            Contrast(
                condition=condition, control=control, n=(len(treated), len(plain)),
                delta_p=compared(plain, treated, found["P"]), delta_d=compared(treated, plain, found["D"]),
                delta_y=compared(treated, plain, found["Y"]),
            )
        )  # fmt: skip
    return made


def compared(first: Iterable[Row], second: Iterable[Row], flag: Flag) -> Estimate:
    """Return the share of the first rows minus that of the second, resampled over tasks."""
    sums: dict[str, list[float]] = {}
    for place, rows in ((0, first), (2, second)):
        for row in rows:
            own = sums.setdefault(row.episode.task, [0.0] * 4)
            own[place] += flag(row)
            own[place + 1] += 1
    return estimate(list(sums.values()), difference, replicates=REPLICATES) if sums else not_estimable("no episodes")


def is_control(row: Row) -> bool:
    """Whether a row is of a direct-state control."""
    return row.episode.condition in CONTROLS or row.episode.condition == "direct"


def gap(rows: Iterable[Row], flag: Flag, weight: Callable[[Row], str] | None = None) -> float:
    """Return the pooled share of transformed rows minus that of controls; NaN where a side is empty.

    Args:
        rows: both sides.
        flag: the outcome.
        weight: name of the slice a row is in; slices then count alike on each side.
    """
    sides: tuple[dict[str, list[int]], dict[str, list[int]]] = ({}, {})
    for row in rows:
        own = sides[is_control(row)].setdefault(weight(row) if weight else "", [0, 0])
        own[0] += flag(row)
        own[1] += 1
    treated, plain = (sum(h / n for h, n in side.values()) / len(side) if side else math.nan for side in sides)
    return treated - plain


_SLICES: Final[Mapping[str, Callable[[Row], str]]] = {
    "domain": lambda row: row.episode.domain,
    "model": lambda row: row.episode.model,
}
_WEIGHTS: Final[Mapping[str, Callable[[Row], str]]] = {
    **_SLICES, "condition": lambda row: row.episode.condition, "task": lambda row: row.episode.task,
    "trajectory": lambda row: row.episode.trajectory,
}  # fmt: skip


class Span(msgspec.Struct, frozen=True, kw_only=True):
    """The pooled gap over some slices.

    Attributes:
        low, high: the range; None where no slice has both sides, or there is one slice only.
        by_slice: slice → gap.
    """

    low: float | None
    high: float | None
    by_slice: dict[str, float | None]


def spans(rows: Sequence[Row], reading: Reading) -> dict[str, dict[str, Span]]:
    """Return analysis → outcome → range of the gap: a domain or model left out, and balanced weighting (table 10)."""
    told = {name: flag for name, flag in outcomes(reading).items() if name in ("D", "Y")}
    found: dict[str, dict[str, Span]] = {}
    for name, slice_of in _SLICES.items():
        names = list(dict.fromkeys(slice_of(r) for r in rows))
        found[f"leave_one_{name}_out"] = {
            outcome: _span({n: gap([r for r in rows if slice_of(r) != n], flag) for n in names}, least=2)
            for outcome, flag in told.items()
        }
    found["balanced"] = {
        outcome: _span({name: gap(rows, flag, weight) for name, weight in _WEIGHTS.items()})
        for outcome, flag in told.items()
    }
    return found


def _span(found: Mapping[str, float], least: int = 1) -> Span:
    known = [v for v in found.values() if not math.isnan(v)]
    enough = len(found) >= least and known
    return Span(
        low=min(known) if enough else None, high=max(known) if enough else None,
        by_slice={name: None if math.isnan(v) else v for name, v in found.items()},
    )  # fmt: skip


# ---------------------------------------------------------------------- label flips


class Flipped(msgspec.Struct, frozen=True, kw_only=True):
    """The gap after the worst flips of so large a share of labels on each side."""

    share: float
    gap: float | None
    state: str


def flipped(rows: Sequence[Row], flag: Flag) -> list[Flipped]:
    """Return what is left of a positive gap when an adversary flips labels (table 11).

    On the transformed side positives become negative, on the control side negatives positive, as far as there are any.
    That both sides are hit by the same share is *reconstructed*; it gives the paper's states from its gaps.
    """
    treated = [flag(r) for r in rows if not is_control(r)]
    plain = [flag(r) for r in rows if is_control(r)]
    found = []
    for share_ in FLIPS:
        if not treated or not plain:
            found.append(Flipped(share=share_, gap=None, state="not estimable"))
            continue
        down = min(sum(treated), math.floor(share_ * len(treated) + 1e-9))
        up = min(len(plain) - sum(plain), math.floor(share_ * len(plain) + 1e-9))
        left = (sum(treated) - down) / len(treated) - (sum(plain) + up) / len(plain)
        found.append(Flipped(share=share_, gap=left, state="identified positive" if left > 0 else "inconclusive"))
    return found


# ---------------------------------------------------------------------- the two layers


def apart(rows: Iterable[Row]) -> list[str]:
    """Return where preservation and containment are mixed up: nothing, unless a control touched an artifact.

    For each fixed artifact and route, every control must leave the received bytes, P and C bit for bit as they are.
    """
    first: dict[tuple[str, str, str], Row] = {}
    found = []
    for row in rows:
        episode = row.episode
        before = first.setdefault((episode.model, episode.source, episode.route), row)
        for name, same in (
            ("bytes", episode.sha256 == before.episode.sha256),
            ("P", row.precedence.p == before.precedence.p and row.plain.p == before.plain.p),
            ("C", row.precedence.c == before.precedence.c and row.plain.c == before.plain.c),
        ):
            if not same:
                found.append(f"{episode.source} ({episode.route}): `{episode.control}` changed {name}")
    return found
