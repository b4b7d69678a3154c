"""What a kept run comes to. Scoring, measures and statistics are `lifecycle`'s own; this puts a folder before them."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

from tallystick.evals.lifecycle.score import score
from tallystick.evals.lifecycle.suite import kept
from tallystick.evals.lifecycle.suite.run import rows_in


def report(folder: Path) -> dict[str, Any]:
    """Return what a kept run comes to."""
    rows = rows_in(folder)
    codes = Counter((r.arm, r.checkpoint, score(r).code) for r in rows)
    return {"settings": kept.settings_of(folder), "codes": {"/".join(k): v for k, v in sorted(codes.items())}}


def text(told: dict[str, Any]) -> str:
    """Return a report as text."""
    return "\n".join(f"{k:40} {v}" for k, v in told["codes"].items())
