"""Asking the gates about cases, and counting: agreement, and what constant answers would have reached."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from tallystick.errors import InputError
from tallystick.gates.act import may_act
from tallystick.gates.claim import may_claim
from tallystick.gates.handoff import may_hand_off
from tallystick.gates.stop import may_stop
from tallystick.model.decision import Decision, Reason, Verdict
from tallystick.testing.cases.declare import contract_of, shapes_of
from tallystick.testing.cases.kinds import VERDICTS, agrees, kinds_of
from tallystick.testing.cases.propose import call_of, claims_of, handoff_of, stop_of
from tallystick.testing.cases.read import Case, Scene
from tallystick.testing.cases.record import record
from tallystick.testing.cases.wire import Wire, wire_of


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """What the gates say about a scene."""

    decision: Decision

    @property
    def text(self) -> str:
        """The verdict and the reason codes, for people."""
        codes = ", ".join(dict.fromkeys(self.decision.codes))
        return f"{self.decision.verdict}" + (f" ({codes})" if codes else "")


@dataclass(frozen=True, kw_only=True, slots=True)
class Item:
    """One case: whether the answer agrees, what was expected, what was given, and the first reason's sentence."""

    id: str
    agree: bool
    expected: str
    got: str
    reason: str

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {"id": self.id, "agree": self.agree, "expected": self.expected, "got": self.got, "reason": self.reason}


@dataclass(frozen=True, kw_only=True, slots=True)
class Result:
    """All cases of a file.

    Attributes:
        constant_baseline: how many would agree if every attempt kind got its own best constant verdict and kind.
        constant_verdicts: the same where the verdict alone had to agree.
        same_verdict: how many answers have the expected verdict, whatever the reason.
    """

    items: tuple[Item, ...]
    constant_baseline: int
    constant_verdicts: int
    same_verdict: int

    @property
    def agree(self) -> int:
        """How many agree."""
        return sum(item.agree for item in self.items)

    def to_json(self) -> dict[str, Any]:
        """Return the object that `--json` prints."""
        return {
            "agree": self.agree,
            "disagree": len(self.items) - self.agree,
            "constant_baseline": self.constant_baseline,
            "items": [item.to_json() for item in self.items],
        }


def answer(scene: Scene) -> Answer:
    """Return what the gates say about a scene. It has neither a name nor an expectation to look at.

    Raises:
        InputError: the scene cannot be turned into a contract and a record.
    """
    wire = wire_of(scene)
    if scene.attempt["kind"] == "import":
        return Answer(decision=imported(wire))
    shapes = shapes_of(wire)
    contract = contract_of(scene, shapes)
    recorder = record(scene, wire, contract)
    view = recorder.view
    kind = scene.attempt["kind"]
    if kind == "call":
        return Answer(decision=may_act(view, contract, call_of(scene, wire, recorder)))
    if kind == "complete":
        return Answer(decision=may_stop(view, contract, stop_of(scene, shapes, view, recorder)))
    if kind == "handoff":
        return Answer(decision=may_hand_off(view, contract, handoff_of(scene, view, recorder)))
    return Answer(decision=_together([may_claim(view, contract, c) for c in claims_of(scene, shapes, view)]))


def _together(decisions: Sequence[Decision]) -> Decision:
    """Several claims stand only together: one that is rejected rejects, one that is held holds."""
    for verdict in (Verdict.REJECT, Verdict.HOLD):
        found = [d for d in decisions if d.verdict is verdict]
        if found:
            reasons = tuple(dict.fromkeys(r for d in found for r in d.reasons))
            basis = tuple(dict.fromkeys(b for d in found for b in d.basis))
            return Decision(verdict=verdict, reasons=reasons, basis=basis, judged_upto=found[0].judged_upto)
    return decisions[0]


def imported(wire: Wire) -> Decision:
    """Return whether a trace may count as evidence: not where pairing is ambiguous; other damage is only noted."""
    reasons = tuple(
        Reason(code=lost.code, message=f"{lost.where}: {lost.message}", reverses="the whole, unambiguous record")
        for lost in wire.damage
    )
    ambiguous = tuple(r for r in reasons if r.code.startswith("pairing."))
    return Decision(verdict=Verdict.QUARANTINE if ambiguous else Verdict.OK, reasons=ambiguous or reasons)


def run(cases: Iterable[Case]) -> Result:
    """Return the agreement over `cases`.

    Raises:
        InputError: a case cannot be turned into a contract and a record; the message names it.
    """
    listed = list(cases)
    items: list[Item] = []
    same = 0
    for case in listed:
        try:
            given = answer(case.scene)
        except InputError as bad:
            raise InputError(bad.message, where=f"case {case.label}", fix=bad.fix) from None
        decision = given.decision
        same += agrees_by_verdict(decision, case.verdict)
        items.append(
            Item(
                id=case.label,
                agree=agrees(decision, case.verdict, case.reason_kind),
                expected=f"{case.verdict} ({case.reason_kind})",
                got=f"{given.text} [{', '.join(kinds_of(decision)) or 'no kind'}]",
                reason=decision.reasons[0].message if decision.reasons else "",
            )
        )
    return Result(
        items=tuple(items),
        constant_baseline=_constant(listed, by_kind=True),
        constant_verdicts=_constant(listed, by_kind=False),
        same_verdict=same,
    )


def agrees_by_verdict(decision: Decision, verdict: str) -> bool:
    """Return whether the verdict alone is the expected one."""
    return decision.verdict in VERDICTS.get(verdict, frozenset())


def _constant(cases: Sequence[Case], *, by_kind: bool) -> int:
    counts: dict[str, Counter[tuple[str, str]]] = {}
    for case in cases:
        expected = (case.verdict, case.reason_kind if by_kind else "")
        counts.setdefault(case.scene.attempt["kind"], Counter())[expected] += 1
    return sum(counter.most_common(1)[0][1] for counter in counts.values())
