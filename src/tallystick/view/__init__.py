"""The read model of one run, folded from its events."""

from tallystick.view.keys import effect_keys, effect_of, targets_of
from tallystick.view.outcome import Judged, judge
from tallystick.view.records import (
    ApprovalRecord,
    CallRecord,
    Choice,
    ConditionRecord,
    EffectRecord,
    Fact,
    ObligationRecord,
    ReceiptRecord,
)
from tallystick.view.talk import Talk
from tallystick.view.view import View

__all__ = [
    "ApprovalRecord",
    "CallRecord",
    "Choice",
    "ConditionRecord",
    "EffectRecord",
    "Fact",
    "Judged",
    "ObligationRecord",
    "ReceiptRecord",
    "Talk",
    "View",
    "effect_keys",
    "effect_of",
    "judge",
    "targets_of",
]
