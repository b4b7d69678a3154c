"""Penalised logistic odds ratios with task-cluster bootstrap intervals: the secondary summaries of the paper's table 9.

The penalty is Firth's (Jeffreys' prior), so separation still has an estimate; the paper does not name its own, so this
is *reconstructed*. An outcome or predictor that does not vary has no odds ratio, and is *not estimable*.
Source: D. Firth, "Bias reduction of maximum likelihood estimates", 1993.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from tallystick.evals.common.clusters import weights
from tallystick.evals.common.estimate import Estimate, not_estimable
from tallystick.evals.common.intervals import numpy
from tallystick.evals.handoff.measures import is_control, outcomes
from tallystick.evals.handoff.rows import Reading, Row

REPLICATES: Final = 500
_STEPS: Final = 100
_MOST_UNDEFINED: Final = 0.05
Flag = Callable[[Row], bool]


def odds_ratios(rows: Sequence[Row], reading: Reading) -> dict[str, Estimate]:
    """Return model → odds ratio of its first predictor: D and Y on transformation, Y on D, Y on a static trajectory.

    The last two come from one model of Y on both, the others have one predictor each (*reconstructed*).
    """
    told = outcomes(reading)

    def transformed(row: Row) -> bool:
        return not is_control(row)

    def static(row: Row) -> bool:
        return row.episode.trajectory == "static"

    both = fitted(rows, told["Y"], {"D": told["D"], "static": static})
    return {
        "D on transformation": fitted(rows, told["D"], {"transformation": transformed})["transformation"],
        "Y on transformation": fitted(rows, told["Y"], {"transformation": transformed})["transformation"],
        "Y on D": both["D"],
        "Y on static trajectory": both["static"],
    }


def fitted(rows: Sequence[Row], outcome: Flag, predictors: Mapping[str, Flag]) -> dict[str, Estimate]:
    """Return predictor → odds ratio with its interval over tasks."""
    np = numpy()
    tasks = {name: n for n, name in enumerate(dict.fromkeys(r.episode.task for r in rows))}
    cells = sorted({_cell(row, predictors) for row in rows})
    place = {cell: n for n, cell in enumerate(cells)}
    # Cell counts per task: a resample of tasks is a row of weights over them.
    counts = np.zeros((len(tasks), len(cells), 2))
    for row in rows:
        counts[tasks[row.episode.task], place[_cell(row, predictors)], int(outcome(row))] += 1
    whole = counts.sum(axis=0)
    reason = _unusable(whole, cells)
    if reason:
        return {name: not_estimable(reason, clusters=len(tasks), rows=len(rows)) for name in predictors}
    design = np.column_stack([np.ones(len(cells)), np.asarray(cells, dtype=float)])
    values = _firth(design, whole)
    if values is None:
        return {name: not_estimable("the fit does not converge", rows=len(rows)) for name in predictors}
    if len(tasks) < 2:
        return {
            name: Estimate(value=float(np.exp(values[n])), clusters=1, rows=len(rows), why="no interval from one task")
            for n, name in enumerate(predictors, 1)
        }
    drawn = []
    for weight in weights(len(tasks), REPLICATES):
        own = np.tensordot(weight, counts, axes=1)
        fit = None if _unusable(own, cells) else _firth(design, own)
        if fit is not None:
            drawn.append(fit)
    found = {}
    for n, name in enumerate(predictors, 1):
        value = float(np.exp(values[n]))
        if len(drawn) < (1 - _MOST_UNDEFINED) * REPLICATES:
            found[name] = Estimate(
                value=value, clusters=len(tasks), rows=len(rows), why="undefined in too many resamples"
            )
            continue
        low, high = np.exp(np.quantile(np.asarray(drawn)[:, n], (0.025, 0.975))).tolist()
        found[name] = Estimate(
            value=value, low=low, high=high, clusters=len(tasks), rows=len(rows), degenerate=low == high
        )
    return found


def _cell(row: Row, predictors: Mapping[str, Flag]) -> tuple[int, ...]:
    return tuple(int(flag(row)) for flag in predictors.values())


def _unusable(counts: Any, cells: Sequence[tuple[int, ...]]) -> str:
    """Return why a table of counts has no odds ratio, "" where it has."""
    np = numpy()
    if not counts[:, 1].sum() or not counts[:, 0].sum():
        return "degenerate: the outcome does not vary"
    present = np.asarray(cells)[counts.sum(axis=1) > 0]
    if len(present) == 0 or (present == present[0]).all(axis=0).any():
        return "degenerate: a predictor does not vary"
    if present.shape[1] > 1 and np.linalg.matrix_rank(np.column_stack([np.ones(len(present)), present])) < 1 + len(
        present[0]
    ):
        return "degenerate: the predictors are one"
    return ""


def _firth(design: Any, counts: Any) -> Any:
    """Return the coefficients of a Firth logistic fit to grouped counts (cells, [zeros, ones]); None if it fails."""
    np = numpy()
    size, hits = counts.sum(axis=1), counts[:, 1]
    beta = np.zeros(design.shape[1])
    for _ in range(_STEPS):
        p = 1 / (1 + np.exp(-design @ beta))
        spread = size * p * (1 - p)
        try:
            inverse = np.linalg.inv(design.T @ (design * spread[:, None]))
        except np.linalg.LinAlgError:
            return None
        # The hat values of a cell's rows together: their sum over the cell.
        hats = spread * np.einsum("ij,jk,ik->i", design, inverse, design)
        step = inverse @ (design.T @ (hits - size * p + hats * (0.5 - p)))
        step = step / max(1.0, float(np.abs(step).max()) / 5.0)
        beta = beta + step
        if float(np.abs(step).max()) < 1e-8:
            return beta if np.isfinite(beta).all() else None
    return None
