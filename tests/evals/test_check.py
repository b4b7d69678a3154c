"""The independent check: every case is solvable as it must be and not otherwise; and the check can tell."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import pytest

from tallystick.evals.evidence import score as evaluator
from tallystick.evals.evidence.case import Case, Evidence
from tallystick.evals.evidence.check import check
from tallystick.evals.evidence.derived import sets
from tallystick.evals.evidence.score import ActionCheck, Observed


def test_every_case_is_solved_by_its_paths_and_by_no_corrupted_one(cases: tuple[Case, ...]) -> None:
    """All 656 by the reference path; every corrupted path fails for the stated reason; the gate agrees throughout."""
    found = check(cases)
    assert found.findings == []
    assert (found.cases, found.reference) == (656, 656)
    assert found.other_orders == 570
    assert found.alternative == sum(
        c.protocol != "Legacy" and any(len(e.sources) > 1 for e in c.private.evidence) for c in cases
    )
    assert found.alternative > 300
    assert found.admitted == sum(c.protocol in ("V1", "V2", "V3") for c in cases)
    assert found.not_admitted == sum(c.protocol == "V0" for c in cases)
    assert len(found.corrupted) == 16
    assert sum(found.corrupted.values()) > 10_000


def test_derived_cases_are_checked_as_well() -> None:
    """Interventions, pairs and triples hold to the same check (every fourth here; the command takes all)."""
    found = check(c for group in sets().values() for c in group[::4])
    assert found.findings == []
    assert found.reference == found.cases


def _established(_: Observed, __: Evidence) -> str:
    return "established"


MUTANTS: dict[str, tuple[Any, str, Callable[..., Any]]] = {
    "every evidence is established": (Observed, "status", _established),
    "everything is resolved": (Observed, "resolved", lambda *_: True),
    "any question to the right tool will do": (
        evaluator,
        "_asks",
        lambda e, c: any(s.tool == c.tool for s in e.sources),
    ),
}


@pytest.mark.parametrize("name", MUTANTS)
def test_a_lenient_evaluator_is_noticed(name: str, cases: tuple[Case, ...], monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted mutants of the evaluator make the check complain: it can fail."""
    where, attribute, mutant = MUTANTS[name]
    monkeypatch.setattr(where, attribute, mutant)
    assert check(cases[100:400:17]).findings


@pytest.mark.parametrize("field", ["wrong_targets", "wrong_arguments", "dropped", "repeated", "evidence"])
def test_an_evaluator_blind_in_one_eye_is_noticed(
    field: str, cases: tuple[Case, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each thing an action is judged by is needed by some corrupted path."""
    blank: Any = {"repeated": False, "evidence": {}}.get(field, ())
    honest = evaluator._check

    def blind(*args: Any) -> ActionCheck:
        return dataclasses.replace(honest(*args), **{field: blank})

    monkeypatch.setattr(evaluator, "_check", blind)
    assert check(c for c in cases[250:656:13]).findings


def test_a_case_whose_text_says_nothing_is_noticed(cases: tuple[Case, ...]) -> None:
    """A case that cannot be solved from its public part is no case: the planner or the provenance check says so."""
    import msgspec

    from tallystick.evals.evidence.paths import UnsolvableError, reads

    case = next(c for c in cases if c.protocol == "V1")
    silent = msgspec.structs.replace(case, public=msgspec.structs.replace(case.public, text="Do the right thing."))
    with pytest.raises(UnsolvableError, match="cannot reach"):
        reads(silent)
