"""An estimate with its uncertainty, or the reason why there is none."""

from __future__ import annotations

from typing import Final

import msgspec

NOT_ESTIMABLE: Final = "not estimable"


class Estimate(msgspec.Struct, frozen=True, kw_only=True):
    """A number, and how sure it is.

    Attributes:
        value: the estimate, None where it is not estimable.
        low: lower end of the 95% interval, None where there is none.
        high: its upper end.
        se: standard error, where a model gives one.
        p: two-sided, where a test was made.
        clusters: how many clusters it rests on.
        rows: how many rows a model was fitted to.
        degenerate: the interval is one point, or all differences are 0: the clusters do not differ.
        why: why something is missing, or what was done so that it is not.
    """

    value: float | None = None
    low: float | None = None
    high: float | None = None
    se: float | None = None
    p: float | None = None
    clusters: int = 0
    rows: int = 0
    degenerate: bool = False
    why: str = ""

    @property
    def excludes_zero(self) -> bool:
        """Whether the interval lies strictly on one side of 0; a bound exactly at 0 does not exclude it."""
        return self.low is not None and self.high is not None and (self.low > 0 or self.high < 0)

    def shown(self, scale: float = 100, digits: int = 1, *, sign: bool = False) -> str:
        """Return the estimate as text: `+4.2 [-1.0, +9.4]`, `100.0 [degenerate]`, or `not estimable (why)`."""
        if self.value is None:
            return f"{NOT_ESTIMABLE} ({self.why})" if self.why else NOT_ESTIMABLE

        def one(value: float) -> str:
            text = f"{scale * value:{'+' if sign else ''}.{digits}f}"
            return text if float(text) else text.lstrip("+-")  # no signed zero

        if self.low is None or self.high is None:
            return one(self.value)
        interval = "degenerate" if self.degenerate else f"{one(self.low)}, {one(self.high)}"
        return f"{one(self.value)} [{interval}]"


def not_estimable(why: str, *, clusters: int = 0, rows: int = 0) -> Estimate:
    """Return that there is no estimate, and why."""
    return Estimate(why=why, clusters=clusters, rows=rows)
