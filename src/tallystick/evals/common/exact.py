"""Exact one-sided limits of a share."""

from __future__ import annotations

import math


def upper_limit(hits: int, of: int, level: float = 0.95) -> float | None:
    """Return the one-sided Clopper-Pearson upper limit of a share, or None where nothing was counted.

    The largest share under which so few hits still have a probability of 1 - `level`: 0 of 50 gives 5.8%.

    Source: C. Clopper, E. Pearson, "The use of confidence or fiducial limits", 1934.
    """
    if of <= 0:
        return None
    if hits >= of:
        return 1.0
    low, high = hits / of, 1.0
    for _ in range(200):  # bisection: the tail falls as the share grows
        middle = (low + high) / 2
        if middle in (low, high):
            break
        low, high = (middle, high) if _at_most(hits, of, middle) > 1 - level else (low, middle)
    return high


def _at_most(hits: int, of: int, share: float) -> float:
    """P(X <= hits) of a binomial, summed from logarithms so that nothing under- or overflows."""
    if share >= 1:
        return 0.0 if hits < of else 1.0
    if share <= 0:
        return 1.0
    log_p, log_q = math.log(share), math.log1p(-share)
    terms = (
        math.lgamma(of + 1) - math.lgamma(k + 1) - math.lgamma(of - k + 1) + k * log_p + (of - k) * log_q
        for k in range(hits + 1)
    )
    return math.fsum(math.exp(t) for t in terms)
