"""The demo's own agent: scripted, so the demo runs offline and the same way every time.

It is a deterministic policy over what it observes, with the habits that make unguarded agents do harm: it looks at the
first page only, takes the request's word for the amount, repeats a payment that timed out or does not show yet, reads
only the top level of an answer, and says "done" because it went through its steps. When something refuses it, it
follows the reasons it is given. It never looks at which port it is talking to.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, Protocol

from tallystick.demo.ports import Observation, Port
from tallystick.model import jsontext
from tallystick.model.decision import Read, Verdict

MAX_STEPS: Final = 24
"""Most calls and "done"s the agent makes in one run."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Job:
    """What the agent is asked: words, and the invoice and amount (EUR, a decimal string) they name."""

    request: str
    invoice: str
    amount: str


class Agent(Protocol):
    """Anything that works on a job through a port. `label` says what it is, on every table it appears in."""

    @property
    def label(self) -> str:
        """E.g. `scripted agent`."""

    def run(self, port: Port, job: Job) -> None:
        """Work until "done" is accepted, the run is over, or the agent's own step limit is reached."""


class ScriptedAgent:
    """The scripted agent. It keeps nothing between runs, so one object serves both sides of the comparison."""

    label = "scripted agent"

    def run(self, port: Port, job: Job) -> None:
        """Work on `job` through `port`."""
        _Turn(port, job).run()


class _Turn:
    """One run of the scripted agent: its steps and what it remembers."""

    def __init__(self, port: Port, job: Job) -> None:
        self.port = port
        self.job = job
        self.steps = 0
        self.attempts = 0
        self.file: str | None = None

    def run(self) -> None:
        self.look_up()
        self.pay()
        self.check()
        self.send()
        self.conclude()

    def look_up(self) -> None:
        """Look for the invoice on the first page of the list; if it is there, read it."""
        seen = self.call("list_invoices", {})
        listed = seen.result.get("invoices", []) if isinstance(seen.result, Mapping) else []
        if any(item.get("id") == self.job.invoice for item in listed):
            self.call("get_invoice", {"invoice_id": self.job.invoice})

    def pay(self) -> None:
        """Pay what the request says; once more if nothing came back."""
        self.attempts += 1
        seen = self.call("pay_invoice", {"invoice_id": self.job.invoice, "amount": self.job.amount})
        if seen.error is not None and self.attempts < 2:
            self.pay()

    def check(self) -> None:
        """See whether the payment shows; if it does not, pay again, unless that was tried."""
        seen = self.call("get_invoice", {"invoice_id": self.job.invoice})
        if isinstance(seen.result, Mapping) and seen.result.get("status") == "open" and self.attempts < 2:
            self.pay()

    def send(self) -> None:
        """Send the receipt the last answers named. That the answer says `ok` or `sent` at the top is good enough."""
        if self.file is None:
            self.call("payments", {"invoice_id": self.job.invoice})
        if self.file is not None:
            self.call("send_receipt", {"invoice_id": self.job.invoice, "file": self.file})

    def conclude(self) -> None:
        """Say "done". While that is refused, do what is still owed, else get the evidence wanted, and say it again."""
        remedies = {"paid": self.pay, "delivered": self.send}
        while self.steps < MAX_STEPS:
            self.steps += 1
            answer = self.port.finish(
                f"Done. I paid {self.job.amount} EUR for {self.job.invoice} and sent the receipt.",
                {"amount_paid": self.job.amount},
            )
            if answer.accepted or answer.over:
                return
            owed = [r.where for r in answer.reasons if r.where in remedies]
            for name in owed:
                remedies[name]()
            reads = tuple(read for reason in answer.reasons for read in reason.reads)
            if not owed:
                self.read(reads or self.fresh_look())

    def fresh_look(self) -> tuple[Read, ...]:
        """Where evidence is wanted and no read is named: ask again for everything that was said to be done."""
        args = jsontext.dumps({"invoice_id": self.job.invoice})
        return (Read(tool="payments", args=args), Read(tool="delivery_status", args=args))

    def call(self, tool: str, args: Mapping[str, Any]) -> Observation:
        """Propose a call. If it is put off with reads that would help, do them and propose it once more."""
        seen = self._call(tool, args)
        if seen.decision is not None and seen.decision.verdict in (Verdict.HOLD, Verdict.RECONCILE):
            reads = tuple(read for reason in seen.decision.reasons for read in reason.reads)
            if reads:
                self.read(reads)
                seen = self._call(tool, args)
        return seen

    def read(self, reads: tuple[Read, ...]) -> None:
        for read in dict.fromkeys((r.tool, r.args) for r in reads):
            self._call(read[0], jsontext.loads(read[1]))

    def _call(self, tool: str, args: Mapping[str, Any]) -> Observation:
        if self.steps >= MAX_STEPS:
            return Observation(text="", error="step limit")
        self.steps += 1
        seen = self.port.call(tool, args)
        self.file = _receipt_in(seen.result) or self.file
        return seen


def _receipt_in(value: Any) -> str | None:
    """Return the last `receipt_file` anywhere in an answer, or None."""
    found: str | None = None
    if isinstance(value, Mapping):
        for key, item in value.items():
            found = (item if key == "receipt_file" and isinstance(item, str) else _receipt_in(item)) or found
    elif isinstance(value, list):
        for item in value:
            found = _receipt_in(item) or found
    return found
