"""Intervals: Wilson for a share, and a bootstrap over scenarios from sums per scenario.

Wilson needs nothing but Python. The bootstrap needs numpy, which comes with the `evals` extra and is imported when it
is first used.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

from tallystick.errors import InputError

Z: Final = 1.959963984540054
"""Two-sided 95%."""
_DRAWS_PER_KIND: Final = 5
"""Scenarios per distinct sum above which one multinomial row is cheaper than a draw for each scenario."""
_MOST_DRAWN: Final = 2_000
"""Scenarios above which single draws would take too much memory; below 2^16, so that an index is two bytes."""
Interval = tuple[float, float]


def wilson(hits: int, of: int) -> Interval | None:
    """Return the 95% Wilson score interval of a share, or None where nothing was counted.

    Source: E. B. Wilson, "Probable inference, the law of succession, and statistical inference", 1927.
    """
    if of <= 0:
        return None
    share, square = hits / of, Z * Z
    middle = (share + square / (2 * of)) / (1 + square / of)
    half = Z * math.sqrt(share * (1 - share) / of + square / (4 * of * of)) / (1 + square / of)
    # At the ends the formula gives exactly 0 and 1; rounding does not.
    return 0.0 if hits == 0 else max(0.0, middle - half), 1.0 if hits == of else min(1.0, middle + half)


def bootstrap(sums: Sequence[tuple[int, int]], *, replicates: int = 10_000, seed: int = 20261130) -> Interval | None:
    """Return the 95% percentile interval of sum(hits) / sum(of), scenarios resampled with replacement.

    Args:
        sums: (hits, of) per scenario; an episode's repetitions and derived cases are in its scenario's sums.
        replicates: resamples.
        seed: of the generator.

    Raises:
        InputError: numpy is not installed.
    """
    if sum(of for _, of in sums) == 0:
        return None
    np = numpy()
    kinds = Counter(s for s in sums if s[1])
    table = np.asarray(list(kinds), dtype=np.float64)
    count = kinds.total()
    draw = np.random.default_rng(seed)
    if count < min(_DRAWS_PER_KIND * len(kinds), _MOST_DRAWN):
        rows = np.repeat(table, list(kinds.values()), axis=0)
        picked = draw.integers(count, size=(count, replicates), dtype=np.uint16)
        totals = np.stack([column[picked].sum(axis=0) for column in rows.T.copy()], axis=1)
    else:
        # Scenarios with equal sums are exchangeable, so a resample is one multinomial row over the distinct sums.
        chances = np.asarray(list(kinds.values()), dtype=np.float64) / count
        totals = draw.multinomial(count, chances, size=replicates) @ table
    low, high = np.quantile(totals[:, 0] / totals[:, 1], (0.025, 0.975))
    return float(low), float(high)


def numpy() -> Any:
    """Return numpy.

    Raises:
        InputError: it is not installed.
    """
    try:
        import numpy as np  # noqa: PLC0415 - the core works without it
    except ImportError:
        raise InputError(
            "the bootstrap needs numpy", fix="install the `evals` extra: `pip install 'tallystick[evals]'`"
        ) from None
    return np
