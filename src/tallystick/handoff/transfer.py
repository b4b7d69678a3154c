"""One artifact passed on: judged against the record, and repaired by rule where something was lost.

Repair takes the blocks out and puts the record's own rendering in; it never writes a byte of prose, and done twice it
is done once. Source: deterministic repair, and the precedence of a complete block over the prose around it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, Literal

from tallystick.contracts.types import Contract
from tallystick.errors import InputError
from tallystick.gates.handoff import may_hand_off
from tallystick.handoff.carrier import Carrier, carrier_of
from tallystick.handoff.compare import Compared, Foreign, Held, Loss, State, compare, held_by, preserved
from tallystick.handoff.forms import Form, form_of, prose_text, with_block
from tallystick.model.decision import Decision, Reason, Verdict
from tallystick.model.plaintext import printable
from tallystick.model.proposal import Handoff
from tallystick.view import View

if TYPE_CHECKING:
    from tallystick.handoff.checker import Trajectory
    from tallystick.handoff.checker.panel import Judge
    from tallystick.handoff.checker.second import Similar
    from tallystick.handoff.reading import Reading

Answer = Literal["accept", "repaired", "reject"]
FOREIGN: Final = "handoff.foreign"
_SAYS: Final[dict[State, tuple[str, str]]] = {
    "absent": ("handoff.absent", "it carries no block of the record"),
    "partial": ("handoff.partial", "part of its carrier block is gone"),
    "edited": ("handoff.edited", "its carrier block was changed, or says what the record does not"),
    "foreign": (FOREIGN, "its carrier block is of another run"),
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
        foreign: what it had of other runs whose blockers nobody here holds. It is rejected for it, or was discarded.
    """

    verdict: Answer
    decision: Decision
    state: State
    losses: tuple[Loss, ...]
    artifact: Any
    form: Form
    carrier: Carrier
    foreign: tuple[Foreign, ...] = ()

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

    def readings(
        self,
        *,
        trajectory: Trajectory = "static",
        similar: Similar | None = None,
        judges: Mapping[str, Judge] | None = None,
    ) -> tuple[Reading, ...]:
        """Return what the checker reads in the artifact's words of each open blocker, where no block decides.

        Advice for people, and made on demand: it is no evidence, no part of the record, and changes no verdict.

        Args:
            trajectory: static or dynamic; picks the paper's rule.
            similar: two texts to a likeness (a small embedding model's cosine), for a second opinion.
            judges: judges by name, each from (task, text) to a `Vote`.
        """
        if self.preserved is not None:
            return ()
        # Its word lists take a while to load, and most runs never ask.
        from tallystick.handoff.reading import readings_of  # noqa: PLC0415

        text = prose_text(self.artifact, self.form)
        return readings_of(self.carrier, text, trajectory=trajectory, similar=similar, judges=judges)

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
            "foreign": [
                {"run": f.run, "carrier": f.carrier or None, "blockers": list(f.blockers)} for f in self.foreign
            ],
            "readings": [reading.to_json() for reading in self.readings()],
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
    discard_foreign: bool = False,
    held: Held | None = None,
) -> Transfer:
    """Judge an artifact against the record, and repair it where it does not carry what the record says. Pure.

    One with a block of another run whose blockers are not held here is rejected, whatever repair could do: taken out,
    its blockers would bind nobody.

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
        discard_foreign: the caller says that blocks of other runs in it bind nothing here.
        held: what whoever takes it knows of other runs, where that is another record than `view`.

    Raises:
        InputError: the artifact has not the form named, or none that is known.
    """
    known = form_of(artifact, form)
    expected = carrier_of(view, contract, now)
    found = compare(artifact, known, expected, view, held)
    foreign = found.foreign
    if discard_foreign and foreign:
        held = held if held is not None else held_by(view)
        held = replace(held, discarded=held.discarded | {(f.run, f.carrier) for f in foreign})
        found = compare(artifact, known, expected, view, held)
    said = tuple(residual) if residual is not None else None
    given = _judged(view, contract, artifact, known, found, expected, said, now, to)
    answer: Answer = "accept" if given.verdict is Verdict.ACCEPT else "reject"
    passed = artifact
    if answer == "reject" and repair and not found.foreign:
        whole = with_block(artifact, known, expected, role=role)
        again = compare(whole, known, expected, view, held)
        if _judged(view, contract, whole, known, again, expected, said, now, to).verdict is Verdict.ACCEPT:
            answer, passed = "repaired", whole
    return Transfer(verdict=answer, decision=given, state=found.state, losses=found.losses, artifact=passed, form=known,
                    carrier=expected, foreign=foreign)  # fmt: skip


def repair(view: View, contract: Contract, artifact: Any, *, form: str | None = None, role: str = "system",
           now: datetime | None = None, discard_foreign: bool = False) -> Any:  # fmt: skip
    """Return the artifact with exactly the record's block; an artifact that has it already comes back as it is.

    Raises:
        InputError: the artifact has not the form named, or none that is known; or it has a block of another run whose
            blockers the record does not hold, and `discard_foreign` does not say that they bind nothing.
    """
    known = form_of(artifact, form)
    expected = carrier_of(view, contract, now)
    found = compare(artifact, known, expected, view)
    if found.foreign and not discard_foreign:
        raise InputError(_of_others(found.foreign[0]), where="artifact", fix=_TAKE)
    return artifact if found.state == "complete" else with_block(artifact, known, expected, role=role)


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


_TAKE: Final = (
    "`receive(artifact, source=…)` with the run it comes from, which raises here what is open there; or "
    "`discard_foreign=True`, which says that it binds nothing here"
)


_TOLD: Final = 20
"""How many blocks of other runs are told one by one."""


def _of_others(foreign: Foreign) -> str:
    names = ", ".join(f"`{printable(name)}`" for name in foreign.blockers[:10])
    rest = f" and {len(foreign.blockers) - 10} more" if len(foreign.blockers) > 10 else ""
    return f"it has a block of run `{printable(foreign.run)}`, which " + (
        f"states blockers that nobody here holds: {names}{rest}"
        if names
        else "may have blockers that nobody here holds"
    )


def _reasons(found: Compared, *, needed: bool) -> Iterator[Reason]:
    for one in found.foreign[:_TOLD]:
        yield Reason(code=FOREIGN, message=_of_others(one), where=one.run, reverses=_TAKE)
    if len(found.foreign) > _TOLD:
        more = f"it has blocks of {len(found.foreign) - _TOLD} runs more, or other blocks of these"
        yield Reason(code=FOREIGN, message=more, reverses=_TAKE)
    if found.state == "complete" or (found.state == "absent" and not needed):
        return  # nothing has to travel, and nothing does
    code, text = _SAYS[found.state]
    whole = "the block of the record as it is now, whole and unchanged"
    by: dict[str, list[str]] = {}
    for loss in found.losses:
        by.setdefault(loss.blocker, []).append(f"{loss.field} {loss.how}")
    for name, fields in by.items():
        yield Reason(code=code, message=f"{text}: `{name}`: {', '.join(fields)}", where=name, reverses=whole)
    if not by and not (found.foreign and code == FOREIGN):
        yield Reason(code=code, message=text, reverses=whole)
