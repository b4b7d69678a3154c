"""How the checker does on the calibration set: each half, each field, and every confusion."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Final

from tallystick.evals.handoff.calibration.build import Item, digest, items
from tallystick.handoff.checker import Profile, check
from tallystick.handoff.checker.concordance import concordance

FIELDS: Final = ("P", "D", "C", "r_s", "r_q", "r_o", "r_f")
"""What the macro F1 of a half is the mean of."""
ALSO: Final = ("U", "preserves_as_blocker", "caveat_or_later_check_or_omission")


def expected(item: Item) -> dict[str, int]:
    """Return an item's labels with P, D, U and C computed by the same rule the checker uses."""
    coded: dict[str, Any] = {name: bool(value) for name, value in item.labels.items()}
    trajectory: Any = item.trajectory
    return Profile(trajectory=trajectory, **coded).row()


def scored(chosen: Iterable[Item]) -> dict[str, Any]:
    """Score the checker on some items."""
    kept = list(chosen)
    rows = [(i, expected(i), check(i.task, i.artifact, i.trajectory).row()) for i in kept]  # type: ignore[arg-type] # the texts hold the two trajectories
    each = {f: concordance([bool(e[f]) for _, e, _ in rows], [bool(c[f]) for _, _, c in rows]) for f in FIELDS + ALSO}
    return {
        "n": len(kept),
        "mean_macro_f1": round(sum(each[f].macro_f1 for f in FIELDS) / len(FIELDS), 4),
        "macro_f1": {f: round(e.macro_f1, 4) for f, e in each.items()},
        "agreement": {f: round(e.agreement, 4) for f, e in each.items()},
        "kappa": {f: round(e.kappa, 4) for f, e in each.items()},
        "confusions": [
            {"id": i.id, "field": f, "label": e[f], "checker": c[f]} for i, e, c in rows for f in FIELDS if e[f] != c[f]
        ],
    }


def report() -> dict[str, Any]:
    """Return both halves and the digest of the set they were scored on."""
    every = items()
    halves = {half: scored(i for i in every if i.half == half) for half in ("dev", "scored")}
    return {"items": len(every), "sha256": digest(), **halves}
