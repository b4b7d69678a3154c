"""One artifact passed on: judged against the record, and repaired by rule where something was lost.

Repair takes the blocks out and puts the record's own rendering in; it never writes a byte of prose, and done twice it
is done once. Source: deterministic repair, and the precedence of a complete block over the prose around it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Literal

from tallystick.contracts.types import Contract
from tallystick.gates.handoff import may_hand_off
from tallystick.handoff.carrier import Carrier, carrier_of
from tallystick.handoff.compare import Compared, Loss, State, compare, preserved
from tallystick.handoff.forms import Form, form_of, prose_text, with_block
from tallystick.model.decision import Decision, Reason, Verdict
from tallystick.model.proposal import Handoff
from tallystick.view import View

Answer = Literal["accept", "repaired", "reject"]
_SAYS: Final[dict[State, tuple[str, str]]] = {
    "absent": ("handoff.absent", "it carries no block of the record"),
    "partial": ("handoff.partial", "part of its carrier block is gone"),
    "edited": ("handoff.edited", "its carrier block was changed, or says what the record does not"),
    "foreign": ("handoff.foreign", "its carrier block is of another run"),
    "stale": ("handoff.stale", "its carrier block is older than what the record says now"),
}


@dataclass(frozen=True, kw_only=True, slots=True)
class Transfer:
    """What became of an artifact at one hop.

    Attributes:
        verdict: accept (as it is), repaired (the block was put in), or reject.
        decision: the handoff gate's answer about the artifact as it was given; its reasons say what was lost.
        state: how its block stood against the ledger.
        losses: field by field, of every open blocker.
        artifact: what to pass on; after a repair with the block in it, after a rejection as it was given.
        carrier: what the record says has to travel.
    """

    verdict: Answer
    decision: Decision
    state: State
    losses: tuple[Loss, ...]
    artifact: Any
    form: Form
    carrier: Carrier

    @property
    def accepted(self) -> bool:
        """Whether what is in `artifact` may be passed on."""
        return self.verdict != "reject"

    @property
    def repaired(self) -> bool:
        """Whether the block was put in here."""
        return self.verdict == "repaired"

    @property
    def preserved(self) -> bool | None:
        """P of the artifact as it was given, where its block decides; None where only its prose can be judged."""
        return preserved(self.state, self.losses)

    def to_json(self) -> dict[str, Any]:
        """Return what a program reads; the artifact itself is not in it."""
        return {
            "verdict": self.verdict,
            "state": self.state,
            "form": self.form,
            "losses": [
                {"blocker": loss.blocker, "field": loss.field, "how": loss.how, "found": loss.found}
                for loss in self.losses
            ],
            "carrier": self.carrier.to_json(),
            "carrier_sha256": self.carrier.digest(),
            "decision": self.decision.to_json(),
        }


def transfer(
    view: View,
    contract: Contract,
    artifact: Any,
    *,
    now: datetime,
    form: str | None = None,
    to: str = "",
    residual: Iterable[str] | None = None,
    repair: bool = True,
    role: str = "system",
) -> Transfer:
    """Judge an artifact against the record, and repair it where it does not carry what the record says. Pure.

    Args:
        view: the record.
        contract: what it is judged by.
        artifact: a text, a list of messages (`role`, `content`), or a ticket (a mapping, or its JSON text).
        now: the recorded instant.
        form: text, markdown, messages, ticket or ticket-text; by the artifact's type where None.
        to: who gets it.
        residual: obligations the sender says are left, where it says so beside the artifact; checked, never repaired.
        repair: False rejects where something was lost.
        role: role of the message that carries the block, where the artifact is a list of messages.

    Raises:
        InputError: the artifact has not the form named, or none that is known.
    """
    known = form_of(artifact, form)
    expected = carrier_of(view, contract, now)
    found = compare(artifact, known, expected, view)
    said = tuple(residual) if residual is not None else None
    given = _judged(view, contract, artifact, known, found, expected, said, now, to)
    if given.verdict is Verdict.ACCEPT:
        return Transfer(verdict="accept", decision=given, state=found.state, losses=found.losses, artifact=artifact,
                        form=known, carrier=expected)  # fmt: skip
    if repair:
        whole = with_block(artifact, known, expected, role=role)
        again = compare(whole, known, expected, view)
        after = _judged(view, contract, whole, known, again, expected, said, now, to)
        if after.verdict is Verdict.ACCEPT:
            return Transfer(verdict="repaired", decision=given, state=found.state, losses=found.losses,
                            artifact=whole, form=known, carrier=expected)  # fmt: skip
    return Transfer(verdict="reject", decision=given, state=found.state, losses=found.losses, artifact=artifact,
                    form=known, carrier=expected)  # fmt: skip


def repair(view: View, contract: Contract, artifact: Any, *, form: str | None = None, role: str = "system",
           now: datetime | None = None) -> Any:  # fmt: skip
    """Return the artifact with exactly the record's block; an artifact that has it already comes back as it is.

    Raises:
        InputError: the artifact has not the form named, or none that is known.
    """
    known = form_of(artifact, form)
    expected = carrier_of(view, contract, now)
    if compare(artifact, known, expected, view).state == "complete":
        return artifact
    return with_block(artifact, known, expected, role=role)


def _judged(view: View, contract: Contract, artifact: Any, form: Form, found: Compared, expected: Carrier,
            said: tuple[str, ...] | None, now: datetime, to: str) -> Decision:  # fmt: skip
    left = said if said is not None else found.left
    handoff = Handoff(text=prose_text(artifact, form), now=now, residual=left, carries=found.carried, to=to)
    decision = may_hand_off(view, contract, handoff)
    # That a blocker is over has to arrive too: whoever was told of it would wait for ever, or believe anybody's word.
    needed = bool(expected.blockers or expected.resolved) or decision.verdict is not Verdict.ACCEPT
    own = tuple(_reasons(found, needed=needed))
    if not own:
        return decision
    return Decision(
        verdict=Verdict.REJECT, reasons=(*own, *decision.reasons), basis=decision.basis,
        judged_upto=decision.judged_upto,
    )  # fmt: skip


def _reasons(found: Compared, *, needed: bool) -> Iterator[Reason]:
    if found.state == "complete" or (found.state == "absent" and not needed):
        return  # nothing has to travel, and nothing does
    code, text = _SAYS[found.state]
    by: dict[str, list[str]] = {}
    for loss in found.losses:
        by.setdefault(loss.blocker, []).append(f"{loss.field} {loss.how}")
    for name, fields in by.items():
        yield Reason(code=code, message=f"{text}: `{name}`: {', '.join(fields)}", where=name,
                     reverses="the block of the record as it is now, whole and unchanged")  # fmt: skip
    if not by:
        yield Reason(code=code, message=text, reverses="the block of the record as it is now, whole and unchanged")
