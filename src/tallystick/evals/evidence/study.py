"""Several derived sets at once, and each arm beside its base over the scenarios both have."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any, Final

from tallystick.errors import InputError
from tallystick.evals.evidence.derived import BASES
from tallystick.evals.evidence.measures import paired
from tallystick.evals.evidence.plan import SEED
from tallystick.evals.evidence.run import INTERACTIVE, Agent, Rolled, roll

GROUPS: Final[dict[str, tuple[str, ...]]] = {
    "interventions": tuple(BASES),
    "matched": ("pairs", INTERACTIVE),
    "balanced": ("triples-static", "triples"),
}
"""Names under which arms that belong together are asked for at once."""
_EXACT: Final = (("pairs", INTERACTIVE), ("triples-static", "triples"))


def arms_of(wanted: Iterable[str]) -> tuple[str, ...]:
    """Return the arms that names of arms and of groups stand for, each once and in order."""
    return tuple(dict.fromkeys(arm for name in wanted for arm in GROUPS.get(name, (name,))))


def study(
    agent: Agent,
    arms: Iterable[str],
    protocol: str | None = None,
    limit: int | None = None,
    out: str | Path | None = None,
    *,
    name: str | None = None,
    gated: bool = False,
    epochs: int = 1,
    seed: str = SEED,
    resample: bool = True,
    progress: Callable[[int, int], None] | None = None,
    settings: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """Run an agent over derived sets; the arguments are those of `run`, `limit` for each arm.

    Returns:
        `{"agent", "scripted", "gated", "seed", "settings", "arms": {arm: report}, "paired": [{"base", "arm",
        "measure", "scenarios", "base_mean", "arm_mean", "difference", "bootstrap"}]}`.

    Raises:
        InputError: as `run`; or no arm was named.
    """
    names = arms_of(arms)
    if not names:
        raise InputError("no derived set was named", where="--arm")
    rolled: dict[str, Rolled] = {}
    for arm in names:
        rolled[arm] = roll(
            agent, protocol, limit, out, name=name, gated=gated, epochs=epochs, arm=arm, seed=seed, resample=resample,
            progress=progress, settings=settings,
        )  # fmt: skip
    head = rolled[names[0]].head
    return {
        **{k: head[k] for k in ("agent", "scripted", "gated", "seed", "settings")},
        "arms": {arm: found.report(resample=resample) for arm, found in rolled.items()},
        "paired": [_pair(rolled, *wanted, resample=resample) for wanted in _wanted(names)],
    }


def _wanted(names: tuple[str, ...]) -> list[tuple[str, str, str]]:
    """Return (base, arm, measure) of the comparisons that the arms at hand allow."""
    found = []
    for arm, base in BASES.items():
        if arm in names and base in names and arm != "original":
            found.append((base, arm, "acted"))
            if "distractors" in arm:
                found.append((base, arm, "information_calls"))
    found += [(static, live, "exact") for static, live in _EXACT if static in names and live in names]
    return found


def _pair(rolled: Mapping[str, Rolled], base: str, arm: str, measure: str, *, resample: bool) -> dict[str, Any]:
    told = paired(rolled[base].scores(), rolled[arm].scores(), measure, resample=resample)
    return {
        "base": base, "arm": arm, "measure": measure, "scenarios": told["scenarios"], "base_mean": told["base"],
        "arm_mean": told["arm"], "difference": told["difference"], "bootstrap": told["bootstrap"],
    }  # fmt: skip
