"""What is counted over trajectories, the differences to the controller, and the three gates.

Counts are over the primary clusters. The unit of every interval is the task cluster, not the trajectory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from tallystick.evals.common import clusters as stats
from tallystick.evals.termination.closed.play import Trajectory

MARGIN: Final = -10.0
"""Points by which supported completion may be lower than the controller's and still count as not inferior."""
ECT: Final = "ect"
CONTROLLER: Final = "controller"
MEASURES: Final[Mapping[str, str]] = {
    "U": "premature unsupported termination: at an incomplete checkpoint, the policy let it end as done, unsupported",
    "S": "supported completion, at either checkpoint: the policy let it end as done, and the end is supported",
    "FC": "clean false continuation: at a complete checkpoint, the policy's first answer was not complete",
    "R": "successful recovery: at an incomplete checkpoint, after a continue, what was missing was made good",
}
GATES: Final[Mapping[str, str]] = {
    "U_difference": "the interval of the U difference to the controller lies below 0",
    "S_non_inferiority": f"the interval of the S difference to the controller lies above {MARGIN:g} points",
    "recovery": "at least one recovery (reconstructed: the source says that three gates passed and names two)",
}


def _incomplete(t: Trajectory) -> bool:
    return t.checkpoint == "incomplete"


_COUNTED: Final[Mapping[str, tuple[Callable[[Trajectory], bool], Callable[[Trajectory], bool]]]] = {
    "U": (_incomplete, lambda t: t.end == "complete" and not t.supported),
    "S": (lambda _: True, lambda t: t.supported),
    "FC": (lambda t: not _incomplete(t), lambda t: t.first != "complete"),
    "R": (_incomplete, lambda t: t.recovered),
}


def row(trajectories: Sequence[Trajectory]) -> dict[str, Any]:
    """Return one policy's counts and means over its trajectories."""
    found: dict[str, Any] = {}
    for name, (among, hit) in _COUNTED.items():
        those = [t for t in trajectories if among(t)]
        found[name] = sum(map(hit, those))
        found[f"{name}_of"] = len(those)
    found["recovered_then_completed"] = sum(t.recovered and t.supported for t in trajectories if _incomplete(t))
    for name in ("turns", "calls"):
        found[name] = sum(getattr(t, name) for t in trajectories) / len(trajectories) if trajectories else None
    found["ends"] = {end: sum(t.end == end for t in trajectories) for end in ("complete", "stuck", "left", "budget")}
    found["trajectories"] = len(trajectories)
    return found


def difference(first: Sequence[Trajectory], second: Sequence[Trajectory], measure: str) -> dict[str, Any]:
    """Return the difference of two policies' shares in points, with its 95% task-cluster bootstrap interval."""
    names = sorted({t.cluster for t in (*first, *second)})
    sums = [[*_sums(first, name, measure), *_sums(second, name, measure)] for name in names]
    found = stats.estimate(sums, stats.difference) if any(any(s) for s in sums) else None
    if found is None or found.value is None:
        return {"points": None, "low": None, "high": None, "clusters": len(names)}
    ends = {"low": found.low, "high": found.high}
    told = {name: None if value is None else _points(value) for name, value in ends.items()}
    return {"points": _points(found.value), **told, "clusters": found.clusters}


def _points(value: float) -> float:
    return round(100 * value, 2)


def _sums(trajectories: Iterable[Trajectory], cluster: str, measure: str) -> tuple[int, int]:
    among, hit = _COUNTED[measure]
    those = [t for t in trajectories if t.cluster == cluster and among(t)]
    return sum(map(hit, those)), len(those)


def gates(tested: Sequence[Trajectory], controller: Sequence[Trajectory]) -> dict[str, Any]:
    """Return differences to the controller and, for each gate, whether it is passed; None where it cannot be told."""
    apart = {name: difference(tested, controller, name) for name in ("U", "S")}
    high, low = apart["U"]["high"], apart["S"]["low"]
    recovered = row(tested)["R"] if tested else None
    return {
        "differences": apart,
        "margin": MARGIN,
        "gates": {
            "U_difference": None if high is None else high < 0,
            "S_non_inferiority": None if low is None else low > MARGIN,
            "recovery": None if recovered is None else recovered > 0,
        },
    }
