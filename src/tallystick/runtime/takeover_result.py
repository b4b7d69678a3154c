"""What a caller of `Run.take_over` gets back."""

from __future__ import annotations

from typing import Any, Literal

import msgspec

from tallystick.model.decision import Decision, Reason
from tallystick.model.events import ResidualStep
from tallystick.model.residual import Graph, Residual
from tallystick.runtime.outcome import Finish, reasons_json


class Takeover(msgspec.Struct, frozen=True, kw_only=True):
    """How a successor's tenure went: complete, or bottom (⊥) with reasons. Bottom promises no rollback.

    Attributes:
        status: `complete`: every call of the admitted graph has its matching live receipt, every obligation of the
            frozen contract is discharged and, unless the tenure was not asked to finish, the run has ended CERTIFIED.
            `bottom`: anything else; where nothing was written, the run goes on as before.
        reason: stable dotted code.
        reasons: why, each with what would reverse it.
        tenure: id of the tenure in the record; "" where no contract could be frozen.
        trigger: the frontier rule that fired, or `explicit`; "" where none did.
        residual: the frozen contract.
        graph: the admitted graph; None where no proposal was admitted.
        decisions: the whole-graph decision about each proposal, in order.
        steps: what became of each node that was tried.
        writes: state-changing calls that were dispatched to live tools, whatever came of them.
        discharged: obligations of the contract whose evidence is valid.
        finish: the stop gate's answer, where the tenure got that far.
        tokens: what the successor said it used.
        error: what the successor, the extractor or the replica raised, where that ended it. Not recorded.
    """

    status: Literal["complete", "bottom"]
    reason: str
    reasons: tuple[Reason, ...] = ()
    tenure: str = ""
    trigger: str = ""
    residual: Residual | None = None
    graph: Graph | None = None
    decisions: tuple[Decision, ...] = ()
    steps: tuple[ResidualStep, ...] = ()
    writes: int = 0
    discharged: tuple[str, ...] = ()
    finish: Finish | None = None
    tokens: int = 0
    error: BaseException | None = None

    @property
    def complete(self) -> bool:
        """Whether the remainder was carried out in full."""
        return self.status == "complete"

    @property
    def attempts(self) -> int:
        """Proposals that were judged."""
        return len(self.decisions)

    def __str__(self) -> str:
        head = f"{'complete' if self.complete else 'bottom'} ({self.reason}), changes dispatched: {self.writes}"
        return "\n".join([head, *map(_told, self.reasons)])

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values: codes and digests, no arguments."""
        return {
            "status": self.status,
            "reason": self.reason,
            "reasons": reasons_json(self.reasons),
            "tenure": self.tenure,
            "trigger": self.trigger,
            "residual_sha256": self.residual.sha256 if self.residual is not None else None,
            "graph_sha256": self.graph.sha256 if self.graph is not None else None,
            "decisions": [{"verdict": str(d.verdict), "codes": list(d.codes)} for d in self.decisions],
            "steps": [msgspec.to_builtins(step) for step in self.steps],
            "writes": self.writes,
            "discharged": list(self.discharged),
            "run_status": self.finish.status if self.finish is not None else None,
            "tokens": self.tokens,
        }


def _told(reason: Reason) -> str:
    helps = f"; what would help: {reason.reverses}" if reason.reverses else ""
    about = f" `{reason.where}`:" if reason.where and reason.where not in reason.message else ""
    return f"- {reason.code}:{about} {reason.message}{helps}"
