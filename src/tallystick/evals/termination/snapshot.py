"""What a policy is shown, and what only the scorer knows. The two never meet in one object.

A `Snapshot` has no gold decision, no fault and no name that tells either: its id is a digest. `Labelled` holds the
snapshot beside its label; policies are given the first and never the second.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final, Literal

import msgspec

from tallystick.contracts import Contract, Task
from tallystick.evals.termination.family import contract_of
from tallystick.model import jsontext
from tallystick.model.canonical import digest
from tallystick.model.certificate import Certificate
from tallystick.model.events import Sealed, unseal
from tallystick.view import View

Decision = Literal["complete", "continue", "stuck"]
Split = Literal["development", "heldout"]
Condition = Literal["C0", "F1", "F2", "F3", "F4", "F5", "F6", "F7", "F8", "F9"]
CLEAN: Final = "C0"
FAULTS: Final[tuple[Condition, ...]] = ("F1", "F2", "F3", "F4", "F5", "F6", "F7", "F8")
"""The faults that are counted together. F9 is ours and is never pooled with them."""


class Shown(msgspec.Struct, frozen=True, kw_only=True):
    """The agent's side of a snapshot, and the environment at that moment.

    Attributes:
        completion: whether the agent signals that it is done (its turn ended with a final text and no call).
        text: that final text.
        self_check: what the agent answered when it was asked whether every part of the request is done.
        answer: slot → value the final text states, in lexical form.
        certificate: the claims it submits, bound to receipts; None where it submits nothing.
        environment: the environment's own state. Only the postcondition oracle may look at it.
    """

    completion: bool
    text: str
    self_check: str
    answer: dict[str, Any]
    certificate: Certificate | None
    environment: dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class Snapshot:
    """One recorded run at the moment where somebody must say: complete, continue or stuck.

    Attributes:
        id: opaque; SHA-256 of everything below.
        family: tool-use family, which names the contract.
        task: what the run owes.
        events: the run's ledger.
        shown: the agent's side.
    """

    family: str
    task: Task
    events: tuple[Sealed, ...]
    shown: Shown

    @cached_property
    def id(self) -> str:
        """SHA-256 over the ledger's bytes, the contract's text and the agent's side."""
        parts = [e.raw for e in self.events]
        parts += [self.contract.text.encode("utf-8"), jsontext.dumps(msgspec.to_builtins(self.shown)).encode("utf-8")]
        return digest(b"\n".join(digest(p).encode("ascii") for p in parts))

    @property
    def contract(self) -> Contract:
        """The family's contract."""
        return contract_of(self.family)

    @cached_property
    def view(self) -> View:
        """The run's record, folded from its events' bytes."""
        return folded(self.family, self.task, self.events)


@dataclass(frozen=True, kw_only=True, slots=True)
class Labelled:
    """A snapshot with what only the scorer knows.

    Attributes:
        task: name of the base task; the cluster of the bootstrap.
        split: development or held-out.
        condition: clean or the fault put in.
        gold: the permitted decision.
    """

    task: str
    split: Split
    condition: Condition
    gold: Decision
    snapshot: Snapshot


def folded(family: str, task: Task, events: Sequence[Sealed]) -> View:
    """Return the view of a run, folded from its events' bytes."""
    view = View(contract_of(family), task, run=events[0].event.run)
    for sealed in events:
        view.apply(unseal(sealed.raw))
    return view
