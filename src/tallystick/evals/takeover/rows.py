"""What is kept of an episode: one frontier, one stage, one successor, one round. Measures are derived from rows."""

from __future__ import annotations

from typing import Final, Literal, get_args

import msgspec

from tallystick.evals.takeover.costs import Usage

Stage = Literal["direct", "certified_direct", "contract_plan", "full"]
STAGES: Final[tuple[Stage, ...]] = get_args(Stage)
"""In the paper's order; see `stages` for what each is here."""
Method = Literal[
    "direct", "certified_direct", "contract_plan", "full", "cheap_full", "strong_full", "cascade", "router", "stepwise"
]
"""The stages, and what they are compared with; see `methods`."""
HOLD: Final = "hold"


class Intervention(msgspec.Struct, frozen=True, kw_only=True):
    """Once that something was not carried out, or "done" was not accepted.

    Attributes:
        code: what follows `residual.` in the first reason's code, `hold`, or the whole code of another gate.
        codes: all reasons' codes.
        before: no write had been dispatched since the frontier.
        of: a whole proposal, one call of it, or "done".
        again: a recheck came to the same answer; None where nothing recorded can be rechecked.
    """

    code: str
    codes: tuple[str, ...] = ()
    before: bool
    of: Literal["proposal", "call", "done"]
    again: bool | None = None


class Row(msgspec.Struct, frozen=True, kw_only=True):
    """One episode.

    Attributes:
        surface, frontier, kind: which state it starts from.
        stage: how it was finished: a stage, or a baseline.
        successor: a scripted mode or `mixture`, or the model's name; scripted says which.
        mode: the scripted mistake that was drawn, "" for a model.
        round: which complete run it belongs to.
        engaged: a contract could be frozen, so that the stages have something to finish; else the prefix's outcome
            stands, in every stage. why: the first reason's code where not.
        correct: by the world's own truth, in the end.
        complete: the stage ended as a success: "done" was believed, accepted, or the tenure was complete.
        reason: why it ended otherwise, dotted.
        writes: state-changing calls that reached the live world; effects: those that took effect.
        failures: live calls that raised, or did not do what they were to do.
        duplicates: effects among them that had been realised before.
        rejected_writes: writes dispatched for a proposal that whole-graph admission rejects.
        ungrounded: live writes with a value that has no source.
        interventions: in order.
        needless: something was refused of a proposal that would have been right.
        proposals: how many were made.
        tokens: as the successor reported them; usages: by request.
        seconds: wall clock.
    """

    surface: str
    frontier: str
    kind: str
    stage: Method
    successor: str
    scripted: bool
    mode: str = ""
    round: int = 0
    engaged: bool = True
    why: str = ""
    correct: bool
    complete: bool = False
    reason: str = ""
    writes: int = 0
    effects: int = 0
    failures: int = 0
    duplicates: int = 0
    rejected_writes: int = 0
    ungrounded: int = 0
    interventions: tuple[Intervention, ...] = ()
    needless: bool = False
    proposals: int = 0
    tokens: int = 0
    usages: tuple[Usage, ...] = ()
    seconds: float = 0.0

    @property
    def partial(self) -> bool:
        """Some write took effect, a live call failed, and the world is not as it should be."""
        return self.effects > 0 and self.failures > 0 and not self.correct

    @property
    def false_complete(self) -> bool:
        """It ended as a success, and the world is not as it should be."""
        return self.engaged and self.complete and not self.correct
