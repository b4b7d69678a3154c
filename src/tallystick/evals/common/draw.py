"""Seeded draws that are the same on every machine and Python: bits come from SHA-256, not from `random`."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


class Draw:
    """A stream of choices named by a seed and a path; two paths of one seed are independent.

    Args:
        seed: the suite's seed.
        path: names of what is drawn, e.g. `("case", "commerce", "V1", 3)`.
    """

    def __init__(self, seed: str, *path: object) -> None:
        self._name = "\n".join([seed, *map(str, path)]).encode("utf-8")
        self._count = 0

    def below(self, limit: int) -> int:
        """Return a whole number from 0 to `limit` - 1. The bias is below 2^-200."""
        self._count += 1
        raw = hashlib.sha256(self._name + b"\n" + str(self._count).encode("ascii")).digest()
        return int.from_bytes(raw, "big") % limit

    def between(self, low: int, high: int) -> int:
        """Return a whole number from `low` to `high`, both included."""
        return low + self.below(high - low + 1)

    def pick(self, items: Sequence[T]) -> T:
        """Return one item."""
        return items[self.below(len(items))]

    def shuffled(self, items: Sequence[T]) -> list[T]:
        """Return the items in a drawn order."""
        out = list(items)
        for i in range(len(out) - 1, 0, -1):
            j = self.below(i + 1)
            out[i], out[j] = out[j], out[i]
        return out

    def chance(self, p: float) -> bool:
        """Return true with probability `p`."""
        return self.below(10**9) < p * 10**9
