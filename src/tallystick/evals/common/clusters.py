"""Statistics whose unit is a cluster of rows: bootstrap intervals of functions of sums, and the exact sign-flip test.

Rows are summed per cluster once; a resample of clusters is then a row of weights over the sums, so its cost does not
depend on how many rows there are. Source: unreliable-progress-bar, section 4.1 (scenario clusters are the unit).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, Final

from tallystick.evals.common.estimate import Estimate, not_estimable
from tallystick.evals.common.intervals import numpy

REPLICATES: Final = 10_000
SEED: Final = 20261130
MOST_FLIPPED: Final = 20
"""Clusters above which all sign patterns are too many to enumerate."""
_MOST_UNDEFINED: Final = 0.05


def estimate(
    sums: Any,
    statistic: Callable[[Any], Any],
    *,
    replicates: int = REPLICATES,
    seed: int = SEED,
) -> Estimate:
    """Return a statistic of summed rows with its 95% percentile interval, clusters resampled with replacement.

    Args:
        sums: array (clusters, k) of sums per cluster; clusters whose sums are all 0 hold no rows and are left out.
        statistic: from totals (..., k) to values (...); undefined values are NaN.
        replicates: resamples.
        seed: of the generator; two statistics over as many clusters see the same resamples.

    Returns:
        The estimate; without an interval, and saying why, where there is one cluster only or too many resamples in
        which the statistic is undefined; not estimable where it is undefined on the rows themselves.
    """
    return estimates(sums, lambda totals: statistic(totals)[..., None], replicates=replicates, seed=seed)[0]


def estimates(
    sums: Any, statistics: Callable[[Any], Any], *, replicates: int = REPLICATES, seed: int = SEED
) -> list[Estimate]:
    """Return several statistics of the same sums, resampled once; see `estimate`.

    Args:
        sums: as for `estimate`.
        statistics: from totals (..., k) to values (..., number of statistics).
        replicates: resamples.
        seed: of the generator.
    """
    np = numpy()
    sums = np.asarray(sums, dtype=np.float64)
    sums = sums[sums.any(axis=1)]
    clusters = len(sums)
    with np.errstate(divide="ignore", invalid="ignore"):
        values = statistics(sums.sum(axis=0)).tolist()
        drawn = statistics(weights(clusters, replicates, seed) @ sums) if clusters > 1 else np.empty((0, len(values)))
    return [_estimated(value, drawn[:, n], clusters) for n, value in enumerate(values)]


def _estimated(value: float, drawn: Any, clusters: int) -> Estimate:
    np = numpy()
    if math.isnan(value):
        return not_estimable("nothing in a denominator", clusters=clusters)
    if clusters < 2:
        return Estimate(value=value, clusters=clusters, why="no interval from one cluster")
    undefined = np.isnan(drawn)
    if undefined.mean() > _MOST_UNDEFINED:
        return Estimate(value=value, clusters=clusters, why="undefined in too many resamples")
    low, high = np.quantile(drawn[~undefined] if undefined.any() else drawn, (0.025, 0.975)).tolist()
    return Estimate(value=value, low=low, high=high, clusters=clusters, degenerate=low == high)


@lru_cache(maxsize=8)
def weights(clusters: int, replicates: int = REPLICATES, seed: int = SEED) -> Any:
    """Return how often each cluster is in each resample: array (replicates, clusters), each row summing to clusters."""
    np = numpy()
    picked = np.random.default_rng(seed).integers(clusters, size=(replicates, clusters), dtype=np.int32)
    picked += np.arange(0, replicates * clusters, clusters, dtype=np.int32)[:, None]
    found = np.bincount(picked.ravel(), minlength=replicates * clusters).reshape(replicates, clusters)
    found = found.astype(np.float64)
    found.setflags(write=False)  # shared between all who ask
    return found


def share(totals: Any) -> Any:
    """Hits / of, from totals (..., 2)."""
    return totals[..., 0] / totals[..., 1]


def difference(totals: Any) -> Any:
    """First share minus second, from totals (..., 4): hits, of, hits, of."""
    return totals[..., 0] / totals[..., 1] - totals[..., 2] / totals[..., 3]


def sign_flip(differences: Sequence[float]) -> Estimate:
    """Return the mean of per-cluster differences with its exact two-sided p under random signs.

    All 2^n patterns are counted, so the smallest p is 2 / 2^n: .031 at six clusters. Not estimable with no cluster, or
    with more than `MOST_FLIPPED`. Source: unreliable-progress-bar, section 4.1 and appendix O.
    """
    np = numpy()
    n = len(differences)
    if n == 0:
        return not_estimable("no clusters")
    values = np.asarray(differences, dtype=np.float64)
    mean = float(values.mean())
    if n > MOST_FLIPPED:
        return Estimate(value=mean, clusters=n, why=f"exact test of at most {MOST_FLIPPED} clusters")
    sums = np.zeros(1)
    for value in values:
        sums = np.concatenate([sums + value, sums - value])
    # Patterns equal but for rounding count as equal: the observed one must count itself.
    extreme = np.abs(sums) >= abs(values.sum()) - 1e-9 * max(1.0, float(np.abs(values).sum()))
    return Estimate(value=mean, p=float(extreme.mean()), clusters=n, degenerate=not values.any())
