"""The paper's estimators over scored rows. Every share keeps its denominator; every interval resamples scenarios.

Source: unreliable-progress-bar, appendix A, equations 5 to 13, and appendix M. Transport failures are in no denominator
but their own.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from tallystick.evals.common.clusters import difference, estimate, estimates, sign_flip
from tallystick.evals.common.clusters import share as ratio
from tallystick.evals.common.estimate import Estimate, not_estimable
from tallystick.evals.common.intervals import Interval, numpy, wilson
from tallystick.evals.lifecycle.columns import ORDER, REPORTED, Columns
from tallystick.evals.lifecycle.labels import Label
from tallystick.evals.lifecycle.score import CODES, Code
from tallystick.gates.stage import Stage

INTERMEDIATE: Final = (Stage.NEEDS_INFO, Stage.READY, Stage.POST_OBS)
"""The due stages before the last."""
FAILURES: Final[tuple[Code, ...]] = ("APP_MISS", "APP_DIVERGENCE", "MALFORMED", "STATE_WRONG")
"""What a due checkpoint fails by: omission, divergence, malformed, wrong value."""
MEASURES: Final[Mapping[str, tuple[str, Label]]] = {
    "theta": ("clean / due: spoke, reported, well formed, the true value (primary)", "Observational"),
    "phi": ("clean / due and no tool call (diagnostic)", "Observational"),
    "emission": ("report present / due", "Observational"),
    "omega": ("report withheld / not due", "Observational"),
    "mu": ("false COMPLETED / responses", "Observational"),
    "nu": ("false COMPLETED / responses with a report", "Post-treatment descriptive"),
    "omission": ("spoke without a report / due", "Observational"),
    "divergence": ("called a tool / due", "Observational"),
    "malformed": ("malformed report / due", "Observational"),
    "wrong_value": ("well-formed wrong value / due", "Observational"),
}
"""Name → definition and label."""


class Cell(msgspec.Struct, frozen=True, kw_only=True):
    """A share: its counts, a Wilson interval for a fixed denominator, and the interval over scenarios."""

    hits: int
    of: int
    wilson: Interval | None
    over_scenarios: Estimate

    @property
    def value(self) -> float | None:
        """The share, None on an empty denominator."""
        return self.hits / self.of if self.of else None


def cell(c: Columns, mask: Any, hits: Any) -> Cell:
    """Return the share of `hits` among the rows of a mask."""
    sums = c.per_cluster(mask, hits)
    hit, of = (int(n) for n in sums.sum(axis=0))
    return Cell(hits=hit, of=of, wilson=wilson(hit, of), over_scenarios=estimate(sums, ratio))


def of_measure(c: Columns, name: str) -> tuple[Any, Any]:
    """Return (denominator, numerator) of one of `MEASURES`, as masks over rows."""
    due, off = c.s & c.due, c.s & ~c.due
    clean = c.coded("CLEAN")
    if name == "theta":
        return due, clean
    if name == "phi":
        return due & c.m, clean
    if name == "emission":
        return due, c.e
    if name == "omega":
        return off, ~c.e
    if name == "mu":
        return c.s, c.w
    if name == "nu":
        return c.s & c.e, c.w
    return due, c.coded(dict(zip(("omission", "divergence", "malformed", "wrong_value"), FAILURES, strict=True))[name])


def measure(c: Columns, name: str, mask: Any = None) -> Cell:
    """Return one of `MEASURES` over the rows of a mask, or all."""
    of, hits = of_measure(c, name)
    return cell(c, of if mask is None else of & mask, hits)


def contrast(c: Columns, name: str, treated: Any, base: Any) -> Estimate:
    """Return a measure on `treated` rows minus on `base` rows, with interval and exact sign-flip p over scenarios."""
    of, hits = of_measure(c, name)
    return compared(c, of & treated, hits, of & base, hits)


def compared(c: Columns, first: Any, first_hits: Any, second: Any, second_hits: Any) -> Estimate:
    """Return one share minus another, paired by scenario; see `contrast`."""
    np = numpy()
    sums = np.concatenate([c.per_cluster(first, first_hits), c.per_cluster(second, second_hits)], axis=1)
    found = estimate(sums, difference)
    both = sums[(sums[:, 1] > 0) & (sums[:, 3] > 0)]
    flipped = sign_flip([a / m - b / n for a, m, b, n in both.tolist()])
    return msgspec.structs.replace(found, p=flipped.p) if found.value is not None else found


def delta(c: Columns, mask: Any = None) -> Estimate:
    """Return Δ: CLEAN over the pooled due checkpoints before the last, minus over the last; negative is lost mid-task.

    The paper's is over the baseline arm with encodings pooled; the caller picks the rows.
    """
    rows = c.s & c.due if mask is None else c.s & c.due & mask
    clean = c.coded("CLEAN")
    return compared(c, rows & c.at(*INTERMEDIATE), clean, rows & c.at(Stage.COMPLETED), clean)


def composition(c: Columns, mask: Any = None) -> dict[str, Cell]:
    """Return the share of each code among due responses; transport is not among them."""
    rows = c.s & c.due if mask is None else c.s & c.due & mask
    return {code: cell(c, rows, c.coded(code)) for code in (*FAILURES, "CLEAN")}


def wrong_values(c: Columns, mask: Any = None) -> dict[str, Cell]:
    """Return what well-formed wrong values say, as shares of them.

    `stale` names a stage before the true one, `premature` completion of an unfinished task (both the paper's), `ahead`
    a later stage that is not completion, `other` none of the four stages (ours).
    """
    wrong = c.coded("STATE_WRONG") if mask is None else c.coded("STATE_WRONG") & mask
    last = len(ORDER) - 1
    staged = (c.reported < len(ORDER)) & (c.stage >= 0)
    kinds = {
        "stale": staged & (c.reported < c.stage),
        "premature": staged & (c.reported == last) & (c.stage < last),
        "ahead": staged & (c.reported > c.stage) & (c.reported < last),
        "other": ~staged,
    }
    return {kind: cell(c, wrong, hits) for kind, hits in kinds.items()}


def matrix(c: Columns, mask: Any = None) -> dict[str, dict[str, int]]:
    """Return gold × reported over all due responses, those without a valid report included: counts."""
    np = numpy()
    rows = c.s & c.due & (c.stage >= 0)
    rows = rows if mask is None else rows & mask
    pairs = np.bincount(c.stage[rows] * len(REPORTED) + c.reported[rows], minlength=len(ORDER) * len(REPORTED))
    counts = pairs.reshape(len(ORDER), len(REPORTED)).tolist()
    return {stage.value: dict(zip(REPORTED, row, strict=True)) for stage, row in zip(ORDER, counts, strict=True)}


def denominators(c: Columns) -> dict[str, int]:
    """Return what rows there are: planned, lost to transport, responses, due, not due, and every code's count."""
    s = c.s
    counts: dict[str, int] = {code: int(c.coded(code).sum()) for code in CODES}
    return {
        "rows": len(c), "transport": int((~s).sum()), "responses": int(s.sum()), "due": int((s & c.due).sum()),
        "not_due": int((s & ~c.due).sum()), **counts,
    }  # fmt: skip


def tally(c: Columns, mask: Any = None) -> dict[str, Cell]:
    """Return every one of `MEASURES`."""
    return {name: measure(c, name, mask) for name in MEASURES}


def by_checkpoint(c: Columns, name: str = "theta", mask: Any = None) -> dict[str, Cell]:
    """Return a measure at each checkpoint that has rows of its denominator: θ by checkpoint is θ by stage."""
    of, hits = of_measure(c, name)
    of = of if mask is None else of & mask
    found = {p: cell(c, of & c.named("checkpoint", p), hits) for p in c.present("checkpoint")}
    return {place: one for place, one in found.items() if one.of}


EFFECTS: Final = ("theta", "emission", "mu")
"""Outcomes J of the crossed study: clean, report present, false completion, each over all responses."""


def crossed(c: Columns, factors: Mapping[str, tuple[str, str]], name: str, mask: Any = None) -> dict[str, Estimate]:
    """Return main effects and two-way interactions of crossed factors on one outcome (equations 14 to 16).

    A main effect is the mean, over all cells of the other factors, of the difference between its two levels. An
    interaction is the difference of such differences, averaged over what is left; the paper names it without defining
    it (*reconstructed*).

    Args:
        c: rows of one deployment.
        factors: factor → (reference level, treated level).
        name: of the measure.
        mask: which rows.
    """
    np = numpy()
    of, hits = of_measure(c, name)
    of = of if mask is None else of & mask
    names = list(factors)
    grid = np.indices((2,) * len(names)).reshape(len(names), -1).T
    parts = []
    for levels in grid:
        here = of.copy()
        for factor, level in zip(names, levels, strict=True):
            here &= c.named(factor, factors[factor][level])
        parts.append(c.per_cluster(here, hits))
    sums = np.concatenate(parts, axis=1)
    if (sums[:, 1::2].sum(axis=0) == 0).any():
        cells = "a cell of the crossed design has no responses"
        return {k: not_estimable(cells) for k in [*names, *(f"{a} x {b}" for a, b in _pairs(names))]}
    signs = 2 * grid - 1
    weights = {factor: signs[:, n] / (len(grid) / 2) for n, factor in enumerate(names)}
    for a, b in _pairs(names):
        weights[f"{a} x {b}"] = signs[:, names.index(a)] * signs[:, names.index(b)] / (len(grid) / 4)
    return _effects(sums, weights)


def _pairs(names: list[str]) -> list[tuple[str, str]]:
    return [(a, b) for n, a in enumerate(names) for b in names[n + 1 :]]


def _effects(sums: Any, weights: Mapping[str, Any]) -> dict[str, Estimate]:
    """Linear combinations of cell means, with intervals over clusters and sign-flip p over per-cluster effects."""
    np = numpy()
    table = np.stack(list(weights.values()), axis=1)

    def effects(totals: Any) -> Any:
        return (totals[..., 0::2] / totals[..., 1::2]) @ table

    full = sums[(sums[:, 1::2] > 0).all(axis=1)].astype(np.float64)
    flipped = (
        [sign_flip(column) for column in effects(full).T.tolist()] if len(full) else [sign_flip([])] * len(weights)
    )
    found = estimates(sums, effects)
    return {
        name: msgspec.structs.replace(one, p=flip.p) for name, one, flip in zip(weights, found, flipped, strict=True)
    }
