"""The published counts come out of running the policies, and planted mutants change them."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any

import pytest

from tallystick.evals.termination import policies
from tallystick.evals.termination.conditions import isolated
from tallystick.evals.termination.policies import DETERMINISTIC, MODEL, ORDER, critic_core, ect
from tallystick.evals.termination.score import counts, macro_f1
from tallystick.evals.termination.snapshot import Decision, Labelled, Snapshot
from tallystick.evals.termination.static import alone, published, static
from tallystick.gates.certify import Verified, verify_certificate
from tallystick.model.certificate import CHECKS, Certificate, Check

FIELDS = ("U", "C", "S")


@pytest.mark.parametrize("name", [n for n in ORDER if n not in (MODEL, "ect")])
def test_a_deterministic_policys_published_counts_come_out_when_it_is_run(told: dict[str, Any], name: str) -> None:
    ours, paper = told["heldout"]["policies"][name], published()["policies"][name]
    assert {k: ours[k] for k in FIELDS} == {k: paper[k] for k in FIELDS}
    assert round(ours["macro_f1"], 3) == paper["macro_f1"]


def test_ect_completes_every_clean_snapshot_and_no_other(told: dict[str, Any]) -> None:
    ours = told["heldout"]["policies"]["ect"]
    assert (ours["U"], ours["C"], ours["S"], ours["macro_f1"]) == (0, 0, 0, 1.0)
    assert ours["of"] == {"faults": 288, "clean": 36}
    assert told["development"]["policies"]["ect"]["of"] == {"faults": 96, "clean": 12}
    assert told["heldout"]["f9"]["ect"] == {"U": 0, "of": 36}


def test_the_difference_to_the_critic_core_is_the_published_one(told: dict[str, Any]) -> None:
    assert told["heldout"]["difference"] == {"points": -87.5, "low": -87.5, "high": -87.5}
    assert told["development"]["difference"]["points"] == -87.5


def test_each_ablation_has_the_published_effect_on_its_matched_fault(told: dict[str, Any]) -> None:
    ours = told["heldout"]["ablations"]
    for check, paper in published()["ablations"].items():
        if paper["delta_U"] is not None:
            assert ours[check]["delta_U"] == paper["delta_U"], check
    assert (ours["exact_transform"]["fault"], ours["exact_transform"]["delta_U"]) == ("F9", 36)


@pytest.mark.parametrize("check", CHECKS)
def test_every_check_has_a_fault_that_only_it_sees_and_that_passes_without_it(told: dict[str, Any], check: str) -> None:
    row = told["isolated"][check]
    assert row == {"of": 48, "refused": 48, "only": 48, "flipped": 48}


def test_twelve_scope_faults_are_seen_by_the_scope_check_alone_by_their_families_construction(
    labelled: tuple[Labelled, ...],
) -> None:
    """Where the other scope has the same values nothing else can see it; where it has others, value replay does too."""
    only = [s for s in labelled if s.condition == "F4" and s.split == "heldout" and _checks(s) == {"task_scope"}]
    assert {s.snapshot.family for s in only} == {"lookup", "confirm"}
    assert len(only) == 12
    others = [s for s in labelled if s.condition == "F4" and s.split == "heldout" and s not in only]
    assert all("value_replay" in _checks(s) for s in others)
    assert all("task_scope" in _checks(s) for s in others)


def _checks(one: Labelled) -> set[Check]:
    shot = one.snapshot
    assert shot.shown.certificate is not None
    return {d.check for d in verify_certificate(shot.view, shot.contract, shot.shown.certificate).deficits}


def test_the_full_trace_critic_is_null_without_a_model(told: dict[str, Any]) -> None:
    assert told["heldout"]["policies"][MODEL] is None
    assert told["model"] is None


# ---------------------------------------------------------------------- planted mutants


def _never_stuck(snapshot: Snapshot) -> Decision:
    return "continue" if critic_core(snapshot) == "stuck" else critic_core(snapshot)


def _state_only(snapshot: Snapshot) -> Decision:
    """The oracle, looking at the state and not at the answer."""
    shown = replace_answer(snapshot)
    return policies.postcondition_oracle(shown)


def replace_answer(snapshot: Snapshot) -> Snapshot:
    family = policies.family_of(snapshot.family)
    bindings = policies.lexical_bindings(snapshot.task.bindings)
    truth = family.truth(snapshot.shown.environment, bindings)
    return replace(snapshot, shown=_with(snapshot.shown, truth or {}))


def _with(shown: Any, answer: dict[str, Any]) -> Any:
    from msgspec.structs import replace as changed

    return changed(shown, answer=answer)


MUTANTS: dict[str, tuple[str, Any, str, int]] = {
    "a critic core that never says stuck": ("critic_core", _never_stuck, "S", 0),
    "an oracle that does not read the answer": ("postcondition_oracle", _state_only, "U", 252),
    "a completion policy that asks for the certificate": (
        "completion",
        lambda s: "complete" if s.shown.certificate is not None and s.shown.certificate.claims else "continue",
        "U",
        216,
    ),
    "an ect that accepts whatever is submitted": (
        "ect",
        lambda s: "complete" if s.shown.certificate is not None else "continue",
        "U",
        252,
    ),
}


@pytest.mark.parametrize("mutant", MUTANTS)
def test_a_planted_mutant_of_a_policy_changes_its_figures(
    told: dict[str, Any], labelled: tuple[Labelled, ...], mutant: str
) -> None:
    name, policy, field, wanted = MUTANTS[mutant]
    changed = counts([(s, policy(s.snapshot)) for s in labelled if s.split == "heldout"])
    assert changed[field] == wanted
    assert changed[field] != told["heldout"]["policies"][name][field]


def _blind(check: Check, monkeypatch: pytest.MonkeyPatch) -> None:
    """Plant a verifier one of whose checks never finds anything."""

    def verify(view: Any, contract: Any, certificate: Certificate, *, without: Collection[Check] = ()) -> Verified:
        return verify_certificate(view, contract, certificate, without={*without, check})

    monkeypatch.setattr("tallystick.evals.termination.static.verify_certificate", verify)
    monkeypatch.setattr(policies, "verify_certificate", verify)


@pytest.mark.parametrize("check", CHECKS)
def test_a_planted_mutant_of_a_check_no_longer_refuses_its_isolated_faults(
    told: dict[str, Any], check: Check, monkeypatch: pytest.MonkeyPatch
) -> None:
    _blind(check, monkeypatch)
    assert alone(check, isolated()[check])["refused"] == 0
    assert told["isolated"][check]["refused"] == 48


def test_a_planted_mutant_of_the_scope_check_changes_every_figure_it_should(monkeypatch: pytest.MonkeyPatch) -> None:
    """U of ECT, the difference with an interval that is no point any more, and an ablation without an effect."""
    _blind("task_scope", monkeypatch)
    found = static()["heldout"]
    assert found["policies"]["ect"]["U"] == 12
    assert found["ablations"]["task_scope"]["delta_U"] == 0
    assert found["difference"]["points"] == pytest.approx(-100 * 240 / 288)
    assert found["difference"]["low"] < found["difference"]["points"] < found["difference"]["high"]


def test_an_ablation_that_removes_nothing_has_no_effect(labelled: tuple[Labelled, ...]) -> None:
    """A gate that does not listen to `without`."""

    def deaf(snapshot: Snapshot, *, without: Collection[Check]) -> Decision:
        return ect(snapshot, without=[c for c in without if c not in CHECKS])

    told = static(policies={n: DETERMINISTIC[n] for n in ("critic_core", "ect")}, gate=deaf)
    assert all(row["delta_U"] == 0 for row in told["heldout"]["ablations"].values())


def test_macro_f1_is_the_mean_over_both_classes(labelled: tuple[Labelled, ...]) -> None:
    """Against the definition, counted cell by cell."""
    some = [s for s in labelled if s.condition != "F9"][:200]
    decided = [(s, policies.postcondition_oracle(s.snapshot)) for s in some]
    scores = []
    for positive in (True, False):
        pairs = [((s.gold == "complete") is positive, (d == "complete") is positive) for s, d in decided]
        tp, fp, fn = (pairs.count(c) for c in ((True, True), (False, True), (True, False)))
        scores.append(2 * tp / (2 * tp + fp + fn))
    assert macro_f1(decided) == pytest.approx(sum(scores) / 2)


def test_another_seed_draws_other_tasks_with_the_same_figures(told: dict[str, Any]) -> None:
    """The counts follow from how the faults are made, not from the records that were drawn."""
    other = static(seed="another seed")
    for split in ("heldout", "development"):
        for key in ("policies", "ablations", "difference", "f9"):
            assert other[split][key] == told[split][key]
    assert other["isolated"] == told["isolated"]
    assert other["manifest_ok"] is None
