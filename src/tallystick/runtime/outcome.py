"""What a caller gets back: refusals are values that say what would reverse them, never exceptions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NoReturn

from tallystick.errors import TallystickError
from tallystick.model import jsontext
from tallystick.model.certificate import Certificate
from tallystick.model.decision import Decision, Reason, Verdict
from tallystick.runtime.deficits import Deficit
from tallystick.runtime.results import NotJsonError, json_of

Status = Literal["CERTIFIED", "IN_DOUBT", "BLOCKED", "UNCERTIFIED"]
Answer = Literal["COMPLETE", "CONTINUE", "STUCK"]


def refusal(code: str, message: str, reverses: str, *, where: str = "") -> Decision:
    """Return a refusing decision of the runtime itself (not of a gate) with one reason."""
    return Decision(
        verdict=Verdict.REFUSE, reasons=(Reason(code=code, message=message, reverses=reverses, where=where),)
    )


def reasons_json(reasons: tuple[Reason, ...]) -> list[dict[str, Any]]:
    """Return reasons as an agent is told them: code, sentence, what would help, and the reads that would."""
    return [
        {
            "code": r.code,
            "message": r.message,
            "what_would_help": r.reverses,
            "where": r.where,
            "reads": [{"tool": read.tool, "args": jsontext.loads(read.args)} for read in r.reads],
        }
        for r in reasons
    ]


@dataclass(frozen=True, kw_only=True, slots=True)
class Refusal:
    """What an agent gets in the place of a tool's result: why not, and what would reverse it.

    `str()` is the text for the agent. `decision` has everything; programs read codes and never parse the text. It is
    false, and reading a result out of it (`refusal["status"]`, iterating) raises `RefusedError`.

    Attributes:
        tool: the tool that was not run.
        decision: why not.
        ended: the run's final status, where this refusal ended it or came after its end.
        warning: what one more refusal would do, where it would end the run; else "".
    """

    tool: str
    decision: Decision
    ended: Status | None = None
    warning: str = ""

    def __bool__(self) -> bool:
        return False

    def __getitem__(self, key: object) -> NoReturn:
        raise RefusedError(self)

    def __iter__(self) -> NoReturn:
        raise RefusedError(self)

    def __str__(self) -> str:
        lines = [f"{self.tool} was not run ({self.decision.verdict})."]
        for reason in self.decision.reasons:
            lines.append(f"- {reason.code}: {reason.message}.")
            if reason.reverses:
                lines.append(f"  What would help: {reason.reverses}.")
            lines.extend(f"  Read: {read.tool} {read.args}" for read in reason.reads)
        if self.ended is not None:
            lines.append(f"The run has ended: {self.ended}.")
        elif self.warning:
            lines.append(f"Take care: {self.warning}.")
        return "\n".join(lines)

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        told: dict[str, Any] = {
            "guard": str(self.decision.verdict),
            "tool": self.tool,
            "reasons": reasons_json(self.decision.reasons),
            "in_doubt": self.decision.in_doubt,
            "run_ended": self.ended,
        }
        if self.warning:
            told["warning"] = self.warning
        return told


class RefusedError(TallystickError):
    """Raised in the place of a `Refusal` value where a wrapped tool was asked to (`on_refusal="raise"`)."""

    def __init__(self, value: Refusal) -> None:
        super().__init__(str(value))
        self.refusal = value


def in_doubt_text(why: str) -> str:
    """Return what an agent is told of a call in doubt."""
    reason = f" ({why})" if why else ""
    return f"it is not known whether this call took effect{reason}; it will not be repeated until settled"


@dataclass(frozen=True, kw_only=True, slots=True)
class Outcome:
    """What became of one proposed call.

    Attributes:
        tool: the tool's name.
        decision: the gate's decision (or the runtime's own, where it could not even ask).
        result: what the tool returned; for `return_recorded` the recorded result, as exact JSON values, or a
            `LostAnswer` where the effect is known to have happened and the tool's own answer was lost.
        call_id: id of the intent, where the call was admitted.
        receipt_id: receipt that records what came back, or the one handed back.
        error: what the tool raised, the timeout, or that what it returned has no JSON form (`NotJsonError`); None where
            it returned a value a receipt can hold.
        in_doubt: whether it is unknown if the call took effect; nothing like it runs until that is settled.
        why_in_doubt: why nobody can say, e.g. which declared predicate is not true of what came back; else "".
        ended: the run's final status, where this proposal ended the run or came after its end.
        warning: what one more refusal would do, where it would end the run; else "".
    """

    tool: str
    decision: Decision
    result: Any = None
    call_id: str | None = None
    receipt_id: str | None = None
    error: BaseException | None = None
    in_doubt: bool = False
    why_in_doubt: str = ""
    ended: Status | None = None
    warning: str = ""

    @property
    def ran(self) -> bool:
        """Whether this very call was dispatched to the tool."""
        return self.call_id is not None

    @property
    def recorded(self) -> bool:
        """Whether `result` is an earlier result handed back instead of running the tool again."""
        return self.decision.verdict is Verdict.RETURN_RECORDED

    @property
    def refused(self) -> bool:
        """Whether nothing ran and nothing is handed back."""
        return not self.ran and not self.recorded

    def refusal(self) -> Refusal:
        """Return what the agent is told instead of a result."""
        return Refusal(tool=self.tool, decision=self.decision, ended=self.ended, warning=self.warning)

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values: a refusal, or the result with how far it can be trusted."""
        if self.refused:
            return self.refusal().to_json()
        if self.error is not None:
            told: dict[str, Any] = {"error": f"{type(self.error).__name__}: {self.error}"}
        else:
            told = {"result": self._value()}
        if self.recorded:
            told["guard"] = str(self.decision.verdict)
            told["reasons"] = reasons_json(self.decision.reasons)
        if self.in_doubt:
            told["in_doubt"] = in_doubt_text(self.why_in_doubt)
        return told

    def text(self) -> str:
        """Return what an agent reads: the result as JSON text, the error, or the refusal."""
        if self.refused:
            return str(self.refusal())
        marked = self.error is not None or self.recorded or self.in_doubt
        return jsontext.dumps(self.to_json() if marked else self._value())

    def _value(self) -> Any:
        """Return the result as the JSON value the receipt holds."""
        try:
            return json_of(self.result)[0]
        except NotJsonError as bad:  # a wire's bytes that are no text: the record has them, and no JSON can
            return bad.message


@dataclass(frozen=True, kw_only=True, slots=True)
class Finish:
    """The answer to "I am done": COMPLETE, CONTINUE with what is missing, or STUCK.

    `str()` is the text for the agent: the answer and one line for each deficit, and nothing else.

    Attributes:
        decision: the stop gate's decision, with everything.
        deficits: what is missing; none where it was accepted.
        status: the run's final status, once it has one; None while the run goes on.
        reason: why the run ended, as a stable dotted code; "" while it goes on.
        warning: what one more refusal would do, where it would end the run; else "".
        certificate: what was certified, bound to its receipts, where the stop was accepted.
        envelope: the certificate in a signed DSSE envelope, where the guard has a key to sign with.
    """

    decision: Decision
    deficits: tuple[Deficit, ...] = ()
    status: Status | None = None
    reason: str = ""
    warning: str = ""
    certificate: Certificate | None = None
    envelope: bytes | None = None

    @property
    def accepted(self) -> bool:
        """Whether the run is over because the gate accepted this stop."""
        return self.status == "CERTIFIED" and self.decision.positive

    @property
    def answer(self) -> Answer:
        """COMPLETE: accepted. CONTINUE: the run goes on, close the deficits. STUCK: it has ended without acceptance."""
        if self.accepted:
            return "COMPLETE"
        return "CONTINUE" if self.status is None else "STUCK"

    def __str__(self) -> str:
        if self.accepted:
            return "COMPLETE: accepted, the run has ended CERTIFIED."
        if self.status is not None:
            lines = [f"STUCK: not accepted, and the run has ended {self.status} ({self.reason})."]
        else:
            lines = ["CONTINUE: not accepted, because of what follows."]
        lines += [f"- {deficit}" for deficit in self.deficits]
        if self.warning:
            lines.append(f"Take care: {self.warning}.")
        return "\n".join(lines)

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        told: dict[str, Any] = {
            "decision": self.answer,
            "accepted": self.accepted,
            "deficits": [deficit.to_json() for deficit in self.deficits],
            "status": self.status,
        }
        if self.reason:
            told["reason"] = self.reason
        if self.warning:
            told["warning"] = self.warning
        return told
