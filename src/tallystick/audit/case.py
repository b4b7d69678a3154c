"""One trace prepared for the rules: its calls in order, what came of each, and the words and results they rest on."""

from __future__ import annotations

from tallystick.audit.evidence import Evidence
from tallystick.audit.findings import Finding, Severity, ToolUse
from tallystick.audit.step import Step, step_of
from tallystick.audit.tools import Tools
from tallystick.model.trace import Trace


class Case:
    """A trace with its steps and evidence; rules read it and add findings.

    Attributes:
        steps: every call in order; `writes` those whose tool writes; `open` how many have no result.
        unsure: a tool of unknown effect was called, or a write may yet finish.
        used: what each tool called was taken to be.
        cut: the record is known to be incomplete (unreadable lines), so absence at its end means little.
    """

    __slots__ = ("cut", "evidence", "findings", "open", "steps", "trace", "unsure", "used", "writes")

    def __init__(self, trace: Trace, tools: Tools) -> None:
        self.trace = trace
        self.findings: list[Finding] = []
        self.steps: list[Step] = []
        self.writes: list[Step] = []
        self.used: dict[str, ToolUse] = {}
        self.cut = any([d.code.startswith("line.") for d in trace.damage])  # noqa: C419 - a list is faster
        self.open = 0
        self.unsure = False
        steps, writes, used = self.steps, self.writes, self.used
        pieces: list[bytes] = []
        owners: list[Step | None] = []
        starts: list[int] = []
        size = asked = 0
        for message in trace.messages:
            if message.calls:
                after: list[Step] = []
                for call in message.calls:
                    name = call.tool
                    used[name] = use = tools.use(name, call.args)
                    step = step_of(call, len(steps), asked, use, size)
                    steps.append(step)
                    if step.writes:
                        writes.append(step)
                        if step.came == "pending":
                            self.unsure = True
                    elif use.effect == "unknown":
                        self.unsure = True
                    result = call.result
                    if result is None:
                        self.open += 1
                    elif result.index == message.index:
                        pieces.append(step.said)
                        owners.append(step)
                        starts.append(size)
                        size += len(step.said) + 1
                    else:
                        after.append(step)
                # Where results come in messages of their own, calls of one turn did not see each other's.
                for step in after:
                    pieces.append(step.said)
                    owners.append(step)
                    starts.append(size)
                    size += len(step.said) + 1
            if message.role != "assistant":
                if message.role == "user":
                    asked += 1
                piece = message.text.encode("utf-8", "surrogatepass")
                pieces.append(piece)
                owners.append(None)
                starts.append(size)
                size += len(piece) + 1
        self.evidence = Evidence(pieces, owners, starts, size)

    def find(
        self,
        code: str,
        severity: Severity,
        message: str,
        *,
        step: Step | None = None,
        at: int | None = None,
        pointer: str = "",
        guess: bool = False,
        evidence: tuple[str, ...] = (),
    ) -> None:
        """Add a finding about a call (which then also says whether its tool was guessed to write) or a message."""
        if step is not None:
            at = step.call.message
            guess = guess or (step.writes and step.use.guess)
        self.findings.append(
            Finding(
                code=code,
                severity=severity,
                message=message,
                at=at,
                call=step.call.id if step is not None else "",
                pointer=pointer,
                guess=guess,
                evidence=evidence,
            )
        )
