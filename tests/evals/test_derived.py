"""Interventions, pairs and triples: their sizes, what may differ, and what is right in each."""

from __future__ import annotations

from collections import Counter
from typing import Any

import msgspec
import pytest

from tallystick.evals.evidence.case import Case, item_digest
from tallystick.evals.evidence.derived import ARMS, BASES, sets
from tallystick.evals.evidence.manifest import digests, stored
from tallystick.evals.evidence.measures import paired
from tallystick.evals.evidence.room import Room
from tallystick.evals.evidence.score import score
from tallystick.evals.evidence.scripted import Scripted


def test_the_cohorts_have_the_published_sizes() -> None:
    """43 withheld, 22 of them contradicted, 100 pairs, 99 scenarios from 33 tasks."""
    found = sets()
    assert {name: len(cases) for name, cases in found.items()} == {
        **dict.fromkeys(ARMS, 43), "contradicted": 22, "pairs": 100, "triples": 99, "triples-static": 99,
    }  # fmt: skip
    assert {c.base for c in found["contradicted"]} < {c.base for c in found["withheld"]}
    assert len({c.base for c in found["triples"]}) == 33
    assert len({item_digest(c.public) for c in found["pairs"]}) == 100
    for cases in found.values():
        assert len({c.domain for c in cases}) == 6


def test_each_set_is_frozen_by_its_manifest() -> None:
    """Digests of every derived case are those on file."""
    assert {name: digests(cases) for name, cases in sets().items()} == stored()["derived"]


def _differs(left: Any, right: Any, path: str = "") -> set[str]:
    """The dotted places, two deep, in which two cases differ."""
    a, b = msgspec.to_builtins(left), msgspec.to_builtins(right)
    found = set()
    for part in ("public", "private"):
        found |= {f"{part}.{k}" for k in a[part] if a[part][k] != b[part][k]}
    return found | ({"records"} if a["records"] != b["records"] else set())


@pytest.mark.parametrize("arm", [a for a in ARMS if a != "original"])
def test_an_arm_differs_from_its_base_in_its_declared_fields_only(arm: str) -> None:
    """Whatever changes in an agent's behaviour between two arms has one cause."""
    base = {c.base: c for c in sets()[BASES[arm]]}
    for case in sets()[arm]:
        found = _differs(case, base[case.base])
        assert found
        assert found <= set(ARMS[arm])


def test_exactly_one_record_is_withheld_and_exactly_one_value_contradicted() -> None:
    """Nothing else of the world moves."""
    originals = {c.base: c for c in sets()["original"]}
    for case in sets()["withheld"]:
        before, after = originals[case.base].records.live, case.records.live
        gone = [(k, i) for k in before for i in before[k] if i not in after[k]]
        assert len(gone) == 1
        assert all(after[k][i] == before[k][i] for k in after for i in after[k])
    for case in sets()["contradicted"]:
        before, after = originals[case.base].records.live, case.records.live
        changed = [
            (k, i, f) for k in before for i in before[k] for f in before[k][i] if after[k][i][f] != before[k][i][f]
        ]
        assert len(changed) == 1


def test_triples_are_balanced_and_show_the_same_candidate() -> None:
    """One ALLOW, one BLOCK, one DEFER per task; static and interactive alike, with one candidate."""
    found = sets()
    assert Counter(c.private.label for c in found["triples"]) == {"DONE": 33, "BLOCK": 33, "DEFER": 33}
    assert Counter(c.private.label for c in found["triples-static"]) == {"ALLOW": 33, "BLOCK": 33, "DEFER": 33}
    static: dict[str, list[Case]] = {}
    for case in found["triples-static"]:
        static.setdefault(case.base, []).append(case)
    for group in static.values():
        assert len({msgspec.json.encode(c.public.candidate) for c in group}) == 1
    interactive: dict[str, set[str]] = {}
    for case in found["triples"]:
        interactive.setdefault(case.base, set()).add(case.public.text)
    assert all(len(texts) == 1 for texts in interactive.values())


def test_pairs_show_the_interactive_case_with_everything_supplied(by_id: dict[str, Case]) -> None:
    """The static twin has the case's records and its right action, and no tool but the answer."""
    for case in sets()["pairs"]:
        twin = by_id[case.base]
        assert case.records == twin.records
        assert [t["name"] for t in case.public.tools] == ["submit"]
        assert case.public.candidate is not None
        assert case.public.candidate["args"] == twin.private.actions[0].args
        assert len(case.public.supplied) >= len(twin.private.records) - 1


def test_a_contrast_between_arms_is_over_scenarios() -> None:
    """The correct agent acts in every original and in no withheld case: a difference of -1, without spread."""

    def played(name: str) -> list[Any]:
        found = []
        for case in sets()[name]:
            room = Room(case, "scripted:correct", seed=b"arms")
            Scripted().play(case, room)
            found.append(score(case, room.episode()))
        return found

    told = paired(played("original"), played("contradicted"))
    assert told == {"scenarios": 22, "base": 1.0, "arm": 0.0, "difference": -1.0, "bootstrap": (-1.0, -1.0)}
    assert paired([], [])["difference"] is None
