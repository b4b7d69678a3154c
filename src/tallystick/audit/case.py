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
        steps: every call in order; `writes` those whose tool writes.
        cut: the record is known to be incomplete (unreadable lines), so absence at its end means little.
    """

    def __init__(self, trace: Trace, tools: Tools) -> None:
        self.trace = trace
        self.findings: list[Finding] = []
        self.evidence = Evidence()
        self.steps: list[Step] = []
        self.writes: list[Step] = []
        self.used: dict[str, ToolUse] = {}
        self.cut = any(d.code.startswith("line.") for d in trace.damage)
        evidence = self.evidence
        steps = self.steps
        used = self.used
        asked = 0
        for message in trace.messages:
            if message.calls:
                after: list[Step] = []
                for call in message.calls:
                    name = call.tool
                    used[name] = use = tools.use(name, call.args)
                    step = step_of(call, len(steps), asked, use, evidence.size)
                    steps.append(step)
                    if step.writes:
                        self.writes.append(step)
                    if call.result is not None:
                        # Where results come in messages of their own, calls of one turn did not see each other's.
                        if call.result.index == message.index:
                            evidence.add(step.said, step)
                        else:
                            after.append(step)
                for step in after:
                    evidence.add(step.said, step)
            if message.role != "assistant":
                if message.role == "user":
                    asked += 1
                evidence.add(message.text.encode("utf-8", "surrogatepass"), None)
        self.asked = asked

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
