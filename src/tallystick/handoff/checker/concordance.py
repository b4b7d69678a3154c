"""Agreement of two codings: plain agreement, Cohen's kappa and macro F1 of a binary field."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tallystick.errors import InputError


@dataclass(frozen=True, slots=True)
class Concordance:
    """How two codings of the same artifacts agree on one binary field.

    Attributes:
        n: artifacts.
        agreement: share coded alike.
        kappa: Cohen's; 1.0 where both are constant and equal.
        macro_f1: mean F1 of the two classes; a class neither coding ever uses is left out.
    """

    n: int
    agreement: float
    kappa: float
    macro_f1: float


def concordance(reference: Sequence[bool], coded: Sequence[bool]) -> Concordance:
    """Compare a coding with a reference, item by item.

    Raises:
        InputError: the two have different lengths, or are empty.
    """
    if len(reference) != len(coded) or not reference:
        raise InputError(
            f"{len(reference)} and {len(coded)} codings cannot be compared", where="concordance",
            fix="two codings of the same artifacts, at least one",
        )  # fmt: skip
    n = len(reference)
    both = sum(a and b for a, b in zip(reference, coded, strict=True))
    yes, said = sum(map(bool, reference)), sum(map(bool, coded))
    neither = n - yes - said + both
    seen = (both + neither) / n
    chance = (yes * said + (n - yes) * (n - said)) / (n * n)
    kappa = 1.0 if chance == 1 else (seen - chance) / (1 - chance)
    scores = [_f1(both, yes, said), _f1(neither, n - yes, n - said)]
    kept = [s for s in scores if s is not None]
    return Concordance(n=n, agreement=seen, kappa=kappa, macro_f1=sum(kept) / len(kept))


def _f1(hits: int, reference: int, coded: int) -> float | None:
    return None if reference + coded == 0 else 2 * hits / (reference + coded)
