"""What an adapter raises when the guard says that the framework's loop must not go on as it would."""

from __future__ import annotations

from tallystick.errors import TallystickError
from tallystick.model.decision import Decision
from tallystick.runtime.outcome import Status


class RunEndedError(TallystickError):
    """The run is over without an accepted "done": a bound was reached. The framework's loop must not go on.

    Attributes:
        status: the run's final status.
        decision: the refusal that ended it, where there is one.
    """

    def __init__(self, status: Status, decision: Decision | None = None) -> None:
        why = "; ".join(r.message for r in decision.reasons) if decision is not None else ""
        super().__init__(f"the run has ended: {status}" + (f" ({why})" if why else ""))
        self.status = status
        self.decision = decision


class NotPassedOnError(TallystickError):
    """Messages that the handoff gate rejects and cannot repair. Nobody may be shown them as they are.

    Attributes:
        decision: the gate's decision.
    """

    def __init__(self, decision: Decision) -> None:
        ways = list(dict.fromkeys(r.reverses for r in decision.reasons if r.reverses))
        super().__init__("; ".join(r.message for r in decision.reasons), where="handoff", fix=ways[0] if ways else None)
        self.decision = decision
