"""A report beside the derived stage. It is compared, never believed: nothing here can move a stage or a verdict.

Source: unreliable-progress-bar, section 2.2: a well-formed wrong value that names a stage already passed is stale, one
that names completion of an unfinished task premature. *Ours*: `ahead` and `unknown`, for the wrong values left over.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Final, Literal

import msgspec

from tallystick.gates.stage import Stage
from tallystick.model.events import Reported
from tallystick.progress.report import STAGES, TAU2_STAGES, Report

Agreement = Literal["match", "stale", "premature", "ahead", "unknown", "absent", "malformed"]
"""match: it names the derived stage · stale: an earlier one · premature: completion of an unfinished task · ahead: a
later one that is not completion · unknown: none of the four · absent: a report was due, and there is none · malformed:
there is one, and it is not well formed."""
AGREEMENTS: Final[tuple[Agreement, ...]] = ("match", "stale", "premature", "ahead", "unknown", "absent", "malformed")
_ORDER: Final = tuple(Stage)
_NAMED: Final[Mapping[str, Stage]] = dict(zip((*STAGES, *TAU2_STAGES), _ORDER * 2, strict=True))
KEPT: Final = 200
"""Characters of a malformed report that the record keeps: the end of the reply."""


def stage_named(value: str) -> Stage | None:
    """Return the stage a report's value names, in either vocabulary; None for any other value."""
    return _NAMED.get(value)


def compared(body: Reported, stage: Stage) -> Agreement:
    """Return how a recorded report stands to the stage that the record implies at that point."""
    if not body.stage:
        return "malformed" if body.text else "absent"
    named = stage_named(body.stage)
    if named is None:
        return "unknown"
    if named is stage:
        return "match"
    if _ORDER.index(named) < _ORDER.index(stage):
        return "stale"
    return "premature" if named is Stage.COMPLETED else "ahead"


def reported(report: Report, text: str) -> Reported:
    """Return the event that records what a reply reports: its value; malformed, the end of the reply; else nothing."""
    if report.value is not None:
        return Reported(stage=report.value)
    return Reported(text=text.rstrip()[-KEPT:] if report.present else "")


class Said(msgspec.Struct, frozen=True, kw_only=True):
    """One report of a model, beside the stage as it was derived at that point of the record.

    Attributes:
        value: what it names; "" where it is absent or malformed.
        derived: the stage that the record implied then.
        agreement: how the two stand to each other.
        seq: the event it is.
    """

    value: str
    derived: Stage
    agreement: Agreement
    seq: int


class Reports:
    """The reports of a run so far.

    Attributes:
        last: the newest, None where there is none.
        counts: how many stood how.
    """

    def __init__(self) -> None:
        self.last: Said | None = None
        self.counts: Counter[Agreement] = Counter()

    def take(self, body: Reported, seq: int, derived: Stage) -> Said:
        """Add the report of event `seq`, made where the record implied `derived`."""
        self.last = Said(value=body.stage, derived=derived, agreement=compared(body, derived), seq=seq)
        self.counts[self.last.agreement] += 1
        return self.last
