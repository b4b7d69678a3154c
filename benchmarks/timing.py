"""Timing for the benchmarks: contenders take turns, so that a noisy machine disturbs all of them alike."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Timing:
    """Microseconds per operation of one contender in each round."""

    name: str
    rounds: tuple[float, ...]

    @property
    def median(self) -> float:
        """Median over the rounds."""
        return statistics.median(self.rounds)

    def speed_against(self, other: Timing) -> float:
        """How many times as fast as `other`: the median of the ratios within each round."""
        return statistics.median(o / s for s, o in zip(self.rounds, other.rounds, strict=True))


def interleaved(contenders: Mapping[str, Callable[[], float]], *, rounds: int) -> dict[str, Timing]:
    """Run every contender once per round, forwards and backwards in turn; each returns microseconds per operation."""
    times: dict[str, list[float]] = {name: [] for name in contenders}
    order = list(contenders)
    for contender in contenders.values():  # warm-up, not counted
        contender()
    for _ in range(rounds):
        for name in order:
            times[name].append(contenders[name]())
        order.reverse()
    return {name: Timing(name=name, rounds=tuple(found)) for name, found in times.items()}


@dataclass(frozen=True, kw_only=True)
class Ratio:
    """One ratio beside what is to be reached. `least` is `None` where nothing is promised."""

    name: str
    value: float
    least: float | None = None

    @property
    def met(self) -> bool | None:
        """Whether the ratio is reached."""
        return None if self.least is None else self.value >= self.least


def table(timings: list[Timing], ratios: list[Ratio]) -> str:
    """Return both lists as text for people."""
    width = max(len(x.name) for x in (*timings, *ratios))
    lines = [f"{'work':{width}}  µs each (median)"]
    lines += [f"{t.name:{width}}  {t.median:10.2f}" for t in timings]
    lines += ["", f"{'ratio, within each round':{width}}  {'measured':>10}  {'reach':>8}"]
    for r in ratios:
        reach = "" if r.least is None else f"≥ {r.least:g}"
        lines.append(
            f"{r.name:{width}}  {r.value:10.2f}  {reach:>8}  {'' if r.met is None else 'met' if r.met else 'MISSED'}"
        )
    return "\n".join(lines)


def as_json(timings: list[Timing], ratios: list[Ratio]) -> dict[str, object]:
    """Return both lists as plain JSON values."""
    return {
        "microseconds": {t.name: round(t.median, 3) for t in timings},
        "ratios": [{"name": r.name, "value": round(r.value, 3), "least": r.least, "met": r.met} for r in ratios],
    }
