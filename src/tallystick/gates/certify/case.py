"""What every check reads: the record, the contract, the certificate, and its claims beside what they point to."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime

from tallystick.contracts.task import task_text
from tallystick.contracts.terms import sources
from tallystick.contracts.types import Contract, Slot
from tallystick.gates.certify.demand import fact_names, lookup
from tallystick.gates.certify.evaluate import MAX_TOTAL
from tallystick.gates.certify.exhibits import Exhibit, exhibits, scope_of_slot
from tallystick.model.canonical import digest
from tallystick.model.certificate import Certificate
from tallystick.model.decision import Read
from tallystick.model.proposal import Stop
from tallystick.view import View
from tallystick.view.state import when


@dataclass(frozen=True, slots=True)
class Case:
    """A certificate before the verifier.

    Attributes:
        steps: what is left, as its only item, of the steps that evaluating all its derivations may take.
    """

    view: View
    contract: Contract
    certificate: Certificate
    exhibits: tuple[Exhibit, ...] = field(init=False)
    steps: list[int] = field(default_factory=lambda: [MAX_TOTAL])

    def __post_init__(self) -> None:
        object.__setattr__(self, "exhibits", tuple(exhibits(self.view, self.contract, self.certificate)))

    @property
    def live(self) -> bool:
        """Whether the run is a live one, whose evidence must be live; an imported trace has none."""
        return self.view.started is not None and self.view.started.format is None

    @property
    def stop(self) -> Stop:
        """The stop the certificate speaks of, without its claims."""
        now = when(self.certificate.now) or datetime.max.replace(tzinfo=UTC)
        return Stop(now=now, outcome=self.certificate.outcome)

    def reads_for(self, slot: Slot) -> tuple[Read, ...]:
        """Return the reads that would give evidence for a slot."""
        scope = scope_of_slot(self.view, slot)[0]
        names = [s.tool for _, s in sources(slot.derive.term)]
        if scope is not None and fact_names(slot, slot.derive.term):
            names += [n for n, tool in self.contract.tools.items() if any(r.kind == scope.kind for r in tool.yields)]
        tools = (self.contract.tools.get(name) for name in dict.fromkeys(names))
        return tuple(lookup(tool, scope) for tool in tools if tool is not None and tool.effect == "read")


def task_digest(view: View) -> str:
    """Return the SHA-256 of the task's text: as the run's first event has it, else of the view's own task."""
    if view.started is not None:
        return view.started.task_sha256
    return digest(task_text(view.task).encode("utf-8"))
