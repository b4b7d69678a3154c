"""Frontier rules read the record and nothing else."""

from __future__ import annotations

import pytest

from tallystick.errors import InputError
from tallystick.gates.residual import ErrorStreak, Explicit, Spent, Supported, at_frontier
from tallystick.model import events as e
from tests.gates.residual.desk import AFTER_PAYMENT, PAY, READ, SEND_IT, Step, body, call, contract, say, view_of

FAILED = call("c-1", "get_invoice", {"invoice_id": "I-9"}, {"error": "not found"})
REFUSED = body(e.Refusal(tool="pay_invoice", args=e.blob(b"{}")), "runtime")


@pytest.mark.parametrize(
    ("rule", "steps", "fires"),
    [
        (Supported(), AFTER_PAYMENT, True),
        (Supported(), (say(),), False),
        (Supported(), (*AFTER_PAYMENT, SEND_IT), False),
        (ErrorStreak(2), (READ, FAILED, REFUSED), True),
        (ErrorStreak(2), (FAILED, READ, REFUSED), False),
        (ErrorStreak(2), (FAILED,), False),
        (Spent(calls=2), AFTER_PAYMENT, True),
        (Spent(calls=3), AFTER_PAYMENT, False),
        (Spent(refusals=1), (READ, REFUSED), True),
        (Spent(refusals=2), (READ, REFUSED), False),
        (Explicit(), (), True),
    ],
)
def test_a_rule_fires_on_what_the_record_says(
    rule: Supported | ErrorStreak | Spent | Explicit, steps: tuple[Step, ...], fires: bool
) -> None:
    assert at_frontier(view_of(*steps), contract(), [rule]) == (rule.name if fires else None)


def test_what_is_under_way_breaks_no_streak_and_makes_none() -> None:
    view = view_of(READ, lambda log: log.intent("c-9", "pay_invoice", PAY))
    assert at_frontier(view, contract(), [ErrorStreak(1)]) is None


def test_the_first_rule_that_fires_is_named() -> None:
    assert at_frontier(view_of(*AFTER_PAYMENT), contract(), [Spent(calls=9), Supported(), Explicit()]) == "supported"
    assert at_frontier(view_of(*AFTER_PAYMENT), contract(), []) is None


def test_a_limit_that_means_nothing_is_refused() -> None:
    for bad in (Spent, lambda: ErrorStreak(0)):
        with pytest.raises(InputError):
            bad()
