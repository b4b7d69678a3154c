"""Scoring one checkpoint: exactly one code, by a fixed priority. Reads like the paper's algorithm 1.

Source: unreliable-progress-bar, appendices A and B. Gold comes with the row and was frozen before the reply was read.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Final, Literal

import msgspec

from tallystick.evals.lifecycle.oracle import Mode
from tallystick.evals.lifecycle.row import Row
from tallystick.gates.stage import Stage
from tallystick.progress import STAGES, Report, parse_report

Code = Literal["TRANSPORT", "APP_FALSE_ALARM", "APP_DIVERGENCE", "APP_MISS", "MALFORMED", "STATE_WRONG", "CLEAN"]
CODES: Final[tuple[Code, ...]] = (
    "TRANSPORT", "APP_FALSE_ALARM", "APP_DIVERGENCE", "APP_MISS", "MALFORMED", "STATE_WRONG", "CLEAN",
)  # fmt: skip
"""In the order of their priority."""
Reading = Literal["strict", "envelope_stripped"]
READINGS: Final[tuple[Reading, ...]] = ("strict", "envelope_stripped")
"""The main score, and a diagnostic beside it that never replaces it."""


class Score(msgspec.Struct, frozen=True, kw_only=True):
    """What one reply amounts to.

    Attributes:
        code: exactly one of `CODES`.
        s: S, a valid response came back. All other flags are false where it did not.
        m: M, the turn spoke, as every turn must where a report is due.
        e: E, a report is present.
        v: V, its value is the expected one.
        f: F, it is well formed.
        value: the reported value, None where there is no well-formed report.
        out_of_vocabulary: that value is none of the protocol's.
        false_completion: W, it says completed and the true stage is another (equation 9).
    """

    code: Code
    s: bool
    m: bool
    e: bool
    v: bool
    f: bool
    value: str | None = None
    out_of_vocabulary: bool = False
    false_completion: bool = False


Scorer = Callable[[Row], Score]
"""Anything that scores a row; the corruption gate asks one about corrupted replies."""
_LOST: Final = Score(code="TRANSPORT", s=False, m=False, e=False, v=False, f=False)


def score(row: Row, reading: Reading = "strict") -> Score:
    """Return the score of one answered checkpoint of the frozen suite."""
    if not row.reply.valid:
        return _LOST
    report = parse_report(row.reply.text, row.encoding, reading == "envelope_stripped", vocabulary=vocabulary(row))
    return judge(row.due, (row.expected,) if row.expected else (), row.reply.mode, report, row.stage)


def judge(
    due: bool,
    accepted: Collection[str],
    mode: Mode,
    report: Report,
    stage: Stage | None,
    completed: str = Stage.COMPLETED.value,
) -> Score:
    """Return the score of a valid response: algorithm 1 from its line 3 on.

    Args:
        due: D.
        accepted: the values that are right, usually one: L*.
        mode: B.
        report: what the parser read of R.
        stage: Z*, which decides what a false completion is; without it nothing is one.
        completed: the value that claims completion in this protocol.
    """
    m = mode == "speak"
    e, f = report.present, report.well_formed
    v = f and report.value in accepted
    code: Code
    if not due:
        code = "APP_FALSE_ALARM" if e else "CLEAN"
    elif not m:
        code = "APP_DIVERGENCE"
    elif not e:
        code = "APP_MISS"
    elif not f:
        code = "MALFORMED"
    elif not v:
        code = "STATE_WRONG"
    else:
        code = "CLEAN"
    return Score(
        code=code, s=True, m=m, e=e, v=v, f=f, value=report.value, out_of_vocabulary=report.out_of_vocabulary,
        false_completion=report.value == completed and stage is not None and stage is not Stage.COMPLETED,
    )  # fmt: skip


def vocabulary(row: Row) -> tuple[str, ...]:
    """Return the values a row's protocol knows: the four stages, and an arm's constant (ours)."""
    return STAGES if row.expected is None or row.expected in STAGES else (*STAGES, row.expected)
