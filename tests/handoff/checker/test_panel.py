"""Scripted judges: their labels, their agreement, and the rules beside them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from tallystick.errors import InputError
from tallystick.handoff.checker import check
from tallystick.handoff.checker.concordance import concordance
from tallystick.handoff.checker.panel import Vote, panel
from tallystick.handoff.checker.second import second_opinion
from tests.handoff.checker.test_check import TASK, WHOLE

WEAK = "Everyone agreed it is harmless. We will hand over the tenant list on Tuesday."
TEXTS = [(TASK, WHOLE), (TASK, WEAK)]
YES = Vote(status=True, prerequisite=True, authority=True, fallback=True, actionable=True)
NO = Vote(status=False, prerequisite=False, authority=False, fallback=False, actionable=False)
OWNERLESS = Vote(status=True, prerequisite=True, authority=False, fallback=True, actionable=True)


def scripted(*votes: Vote):  # type: ignore[no-untyped-def] # a judge that reads its answers off a list
    by_text = {WHOLE: votes[0], WEAK: votes[1]}
    return lambda _, artifact: by_text[artifact]


def broken(_: Mapping[str, Any], __: str) -> Vote:
    raise RuntimeError("no answer")


def test_majority_conservative_and_contract_are_three_labels() -> None:
    judges = {"a": scripted(OWNERLESS, NO), "b": scripted(OWNERLESS, NO), "c": scripted(NO, NO)}
    found = panel(judges, TEXTS)
    assert found.deactivated() == (False, True)
    assert found.deactivated("conservative") == (False, True)
    assert found.deactivated("contract") == (True, True)


def test_a_tie_decides_nothing_for_the_majority_and_counts_against_the_artifact_for_the_conservative() -> None:
    found = panel({"a": scripted(YES, NO), "b": scripted(NO, NO)}, TEXTS)
    assert found.deactivated() == (None, True)
    assert found.deactivated("conservative") == (True, True)


def test_leaving_the_odd_one_out_changes_the_label() -> None:
    found = panel({"a": scripted(YES, NO), "b": scripted(NO, NO)}, TEXTS)
    assert found.leave_one_out() == {"a": (True, True), "b": (False, True)}


def test_a_judges_fault_is_ambiguous_and_counted() -> None:
    found = panel({"a": scripted(YES, NO), "b": broken}, TEXTS)
    assert found.failed == {"a": 0, "b": 2}
    assert found.deactivated() == (False, True)
    assert found.pairwise()["actionable"].agreement is None
    assert found.pairwise()["actionable"].ambiguous == 0.5


def test_agreement_among_judges_and_with_the_rules() -> None:
    found = panel({"a": scripted(YES, NO), "b": scripted(YES, NO), "c": scripted(NO, NO)}, TEXTS)
    pair = found.pairwise()["status"]
    assert pair.agreement == pytest.approx((1 + 0.5 + 0.5) / 3)
    against = found.against([check(task, text) for task, text in TEXTS])
    assert {c: f and f.macro_f1 for c, f in against.items()} == dict.fromkeys(against, 1.0)
    with pytest.raises(InputError):
        found.against([])


def test_misuse_of_a_panel_is_an_input_error() -> None:
    with pytest.raises(InputError):
        panel({}, TEXTS)
    found = panel({"a": scripted(YES, NO)}, TEXTS)
    with pytest.raises(InputError):
        found.deactivated(without="z")
    with pytest.raises(InputError):
        found.deactivated("loudest")  # type: ignore[arg-type]


def test_concordance_is_what_one_computes_by_hand() -> None:
    one = concordance([True, True, False, False], [True, False, False, False])
    assert one.agreement == 0.75
    assert one.kappa == pytest.approx(0.5)
    assert one.macro_f1 == pytest.approx((2 / 3 + 4 / 5) / 2)
    assert concordance([True], [True]).kappa == 1.0
    with pytest.raises(InputError):
        concordance([True], [])


def test_a_second_opinion_points_and_never_changes_the_profile() -> None:
    profile = check(TASK, WEAK)
    doubts = second_opinion(profile, TASK, WEAK, lambda *_: 0.9)
    assert {d.field for d in doubts} == {"status", "prerequisite", "authority", "fallback"}
    assert {d.kind for d in doubts} == {"overlooked"}
    assert {d.kind for d in second_opinion(check(TASK, WHOLE), TASK, WHOLE, lambda *_: 0.0)} == {"unlike"}
    assert second_opinion(profile, TASK, WEAK, lambda *_: 0.3) == ()
    assert check(TASK, WEAK) == profile
    with pytest.raises(InputError):
        second_opinion(profile, TASK, WEAK, lambda *_: 0.3, like=0.1, unlike=0.2)
