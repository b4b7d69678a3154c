"""Rows made for tests: a plan of checkpoints, and replies written straight from what a test wants said."""

from __future__ import annotations

import random
from collections.abc import Iterable
from typing import Any, Final

from tallystick.evals.lifecycle.corruption import marker
from tallystick.evals.lifecycle.row import Encoding, Reply, Row
from tallystick.gates.stage import Stage

STAGE: Final = {
    "wait": Stage.NEEDS_INFO, "ready": Stage.READY, "act": Stage.READY, "step": Stage.POST_OBS,
    "done": Stage.COMPLETED, "post_done": Stage.COMPLETED,
}  # fmt: skip
DUE: Final = ("wait", "ready", "step", "done")


def row(checkpoint: str = "step", **changes: Any) -> Row:
    """A row at a checkpoint of the baseline, not answered in any particular way."""
    due = checkpoint in DUE
    told: dict[str, Any] = {
        "study": "main", "deployment": "d", "scenario": "s1", "checkpoint": checkpoint, "encoding": "xml", "due": due,
        "stage": STAGE[checkpoint], "expected": STAGE[checkpoint].value if due else None, "reply": Reply(),
    }  # fmt: skip
    return Row(**{**told, **changes})


def said(value: str | None = None, encoding: Encoding = "xml", text: str = "Done.", **changes: Any) -> Reply:
    """A reply with a report, or without one."""
    return Reply(text=text if value is None else f"{text}\n{marker(value, encoding)}", **changes)


def plan(
    clean: dict[str, float],
    *,
    deployment: str = "d",
    scenarios: int = 12,
    repetitions: int = 20,
    encodings: Iterable[Encoding] = ("xml",),
    seed: int = 1,
    spread: float = 0.0,
) -> list[Row]:
    """Baseline rows that are clean with a probability per checkpoint, else silent; `spread` moves it by scenario."""
    draw = random.Random(f"{seed}/{deployment}")
    rows = []
    for n in range(scenarios):
        shift = draw.uniform(-spread, spread)
        for checkpoint, p in clean.items():
            for encoding in encodings:
                for repetition in range(repetitions):
                    right = draw.random() < p + shift
                    value = STAGE[checkpoint].value if right else None
                    rows.append(
                        row(checkpoint, deployment=deployment, scenario=f"s{n}", encoding=encoding,
                            repetition=repetition, reply=said(value, encoding))
                    )  # fmt: skip
    return rows
