"""The handoff gate: the residual is exactly what is owed, and every open condition travels along."""

from __future__ import annotations

import pytest

from tallystick.gates.handoff import may_hand_off
from tallystick.model import events as e
from tallystick.model.decision import Decision, Verdict
from tallystick.model.proposal import Handoff
from tests.gates.claim_worlds import NOW, folded, sealed
from tests.gates.test_stop import CONTRACT, NO_STATE, TASK, WHOLE, Bodies, get, raised


def handed(bodies: Bodies, residual: tuple[str, ...] | None, *carries: str, contract: object = CONTRACT) -> Decision:
    view = folded(sealed(bodies), contract, TASK)  # type: ignore[arg-type]
    return may_hand_off(view, contract, Handoff(text="", now=NOW, residual=residual, carries=carries))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("bodies", "residual", "accepted"),
    [
        (get(1), ("paid", "settled"), True),
        (get(1), ("settled", "paid"), True),
        (get(1), ("paid",), False),
        (get(1), ("paid", "settled", "more"), False),
        (get(1), (), False),
        (get(1), None, False),
        (WHOLE, (), True),
        (WHOLE, None, True),
        (WHOLE, ("paid",), False),
    ],
)
def test_the_residual_is_exactly_what_the_record_leaves_open(
    bodies: Bodies, residual: tuple[str, ...] | None, accepted: bool
) -> None:
    decision = handed(bodies, residual)
    assert (decision.verdict is Verdict.ACCEPT) == accepted
    assert decision.codes == (() if accepted else ("residual.mismatch",))


def test_every_open_condition_travels_along() -> None:
    bodies = [*WHOLE, *raised("b", prerequisite="legal"), *raised("k", status="not now")]
    assert handed(bodies, (), "b", "k").verdict is Verdict.ACCEPT
    assert handed(bodies, (), "b").codes == ("condition.not_carried",)
    assert [r.where for r in handed(bodies, ()).reasons] == ["b", "k"]
    lifted = [*WHOLE, *raised("b", prerequisite="legal", lifted="fallback")]
    # Left aside, it still removes its action: whoever takes over must know.
    assert handed(lifted, ()).codes == ("condition.not_carried",)
    over = [*WHOLE, *raised("b", prerequisite="legal", lifted="expired")]
    assert handed(over, ()).verdict is Verdict.ACCEPT


def test_a_standing_condition_on_what_is_left_travels_along() -> None:
    big = get(1, due="5000.00")
    assert handed(big, ("paid",), contract=NO_STATE).codes == ("condition.not_carried",)
    assert handed(big, ("paid",), "big", contract=NO_STATE).verdict is Verdict.ACCEPT


def test_the_words_of_a_handoff_prove_nothing() -> None:
    view = folded(sealed(get(1)), CONTRACT, TASK)
    said = Handoff(text="everything is paid", now=NOW, residual=())
    assert may_hand_off(view, CONTRACT, said).codes == ("residual.mismatch",)
    assert may_hand_off(view, CONTRACT, said).judged_upto == len(get(1)) + 1


def test_basis_names_the_conditions_judged() -> None:
    events = sealed([*WHOLE, *raised("b", prerequisite="legal")])
    decision = may_hand_off(
        folded(events, CONTRACT, TASK), CONTRACT, Handoff(text="", now=NOW, residual=(), carries=("b",))
    )
    assert decision.basis == (events[-1].digest,)
    assert isinstance(events[-1].event.body, e.Raised)
