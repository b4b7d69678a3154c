"""One answered checkpoint, as runners write it and the scorer reads it. One JSON object a line.

A stimulus carries everything down to `due`, `stage` and `expected`, frozen before any model is asked; a runner adds
`deployment`, `repetition` and the reply. Scoring needs nothing else, so stored rows can be scored again by anybody.
"""

from __future__ import annotations

from typing import Final, Literal

import msgspec

from tallystick.evals.lifecycle.oracle import Mode
from tallystick.gates.stage import Stage

Encoding = Literal["xml", "json"]
CHECKPOINTS: Final = ("wait", "ready", "act", "step", "done")
"""Waiting on the user, ready to act, the tool-call turn where no report is due, one step done, finished."""
NEGATIVES: Final = ("pre_tool", "mid_chain", "post_done")
"""Negative controls: nothing is due at any of them (appendix N)."""


class Reply(msgspec.Struct, frozen=True, kw_only=True):
    """Y = (B, R), what came back.

    Attributes:
        mode: B, whether the turn speaks or calls a tool; a turn that does both acts.
        text: R, the raw assistant text, "" where there was none.
        valid: S, whether a complete response came back. False is transport and enters no denominator.
    """

    mode: Mode = "speak"
    text: str = ""
    valid: bool = True


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One checkpoint of one repetition, with gold and reply.

    Attributes:
        study: the study's name, such as `main`. Rows of two studies are never pooled.
        deployment: model and serving configuration; a scripted reporter says so in its name.
        scenario: the cluster. All statistics resample scenarios.
        checkpoint: one of `CHECKPOINTS` or `NEGATIVES`.
        encoding: what the protocol asked for.
        arm: the treatment, such as `baseline`, `gold`, `static`.
        repetition: from 0.
        due: D, frozen before the reply was read.
        stage: Z*, the true stage; None where the study states none.
        expected: L* = g(Z*), the value a right report carries in this arm; None where no report is due.
        reply: what came back.
        factors: levels of crossed factors, such as `{"ownership": "other"}`, and other fields an arm declares.
        stimulus: the id of the frozen stimulus in the suite's manifest, where there is one.
    """

    study: str
    deployment: str
    scenario: str
    checkpoint: str
    encoding: Encoding
    arm: str = "baseline"
    repetition: int = 0
    due: bool
    stage: Stage | None
    expected: str | None
    reply: Reply
    factors: dict[str, str] = {}
    stimulus: str = ""
