"""Tasks and snapshots: what is in them, that nothing in them tells the label, that every changed byte is noticed."""

from __future__ import annotations

import inspect
import random
import re
from collections import Counter
from copy import deepcopy
from dataclasses import fields, replace
from typing import Any

import msgspec
import pytest

from tallystick.evals.termination import manifest, policies
from tallystick.evals.termination.conditions import CONDITIONS, change_of, isolated, snapshot
from tallystick.evals.termination.corrupt import corrupted
from tallystick.evals.termination.families import FAMILIES
from tallystick.evals.termination.family import contract_of
from tallystick.evals.termination.policies import DETERMINISTIC
from tallystick.evals.termination.snapshot import Labelled, Snapshot
from tallystick.evals.termination.stated import stated
from tallystick.evals.termination.tasks import tasks
from tallystick.model.certificate import lexical, value_of


def test_there_are_48_tasks_in_six_families_with_two_of_eight_for_development() -> None:
    found = Counter((t.family.NAME, t.split) for t in tasks())
    assert found == {(f.NAME, s): n for f in FAMILIES for s, n in (("development", 2), ("heldout", 6))}
    assert len({t.scenario.request for t in tasks()}) == 48


def test_every_task_has_a_snapshot_per_condition_and_no_two_are_alike(labelled: tuple[Labelled, ...]) -> None:
    assert Counter(s.condition for s in labelled) == dict.fromkeys(CONDITIONS, 48)
    assert len({s.snapshot.id for s in labelled}) == len(labelled)
    assert {s.gold for s in labelled if s.condition == "C0"} == {"complete"}
    assert {s.gold for s in labelled if s.condition != "C0"} == {"continue"}


def test_the_slots_cover_the_types_and_quantifiers_a_certificate_knows() -> None:
    slots = [s for f in FAMILIES for s in contract_of(f.NAME).answer]
    assert {s.type.name for s in slots} >= {
        "money", "quantity", "date", "instant", "id", "string", "integer", "set", "list", "record",
    }  # fmt: skip
    assert {s.quantifier for s in slots} == {"one", "all", "none", "count"}
    assert {bool(s.dates) for s in slots} == {True, False}


@pytest.mark.parametrize("family", FAMILIES, ids=lambda f: f.NAME)
def test_another_entity_answers_otherwise_and_another_scope_does_where_the_family_says_so(family: Any) -> None:
    """So that a swapped receipt never supports the right value by chance, and F4's two kinds are what they are."""
    for base in (t for t in tasks() if t.family.NAME == family.NAME):
        own = _read(base, base.scenario.bindings)
        assert base.family.truth(_done(base), base.scenario.bindings) is not None
        assert _read(base, base.scenario.elsewhere) != own
        same = family.NAME in ("lookup", "confirm")
        assert (_read(base, base.scenario.shifted) == own) is same


def _read(base: Any, bindings: Any) -> list[Any]:
    """What the family's reads are answered, values only: of each result everything but the ids asked for."""
    world, seen = _done(base), []

    def call(tool: str, args: Any) -> Any:
        seen.append(base.family.reply(world, tool, args))
        return seen[-1]

    base.family.read(bindings, call)
    return seen


def _done(base: Any) -> Any:
    world = deepcopy(base.scenario.world)
    base.family.act(base.scenario.bindings, lambda tool, args: base.family.reply(world, tool, args))
    world["job"]["state"] = "ready"
    return world


def test_clean_answers_are_in_lexical_form_and_corrupted_ones_are_other_values_of_the_same_type(
    labelled: tuple[Labelled, ...],
) -> None:
    for one in (s for s in labelled if s.condition == "C0"):
        for slot in one.snapshot.contract.answer:
            value = one.snapshot.shown.answer[slot.name]
            assert lexical(value_of(slot.type, value), slot.type) == value
            wrong = corrupted(slot.type, value)
            assert value_of(slot.type, wrong) != value_of(slot.type, value)
            assert stated(slot.type, wrong) != stated(slot.type, value)


# ---------------------------------------------------------------------- nothing tells the label


def test_a_snapshot_holds_no_gold_no_fault_and_no_name_that_tells_them(labelled: tuple[Labelled, ...]) -> None:
    assert {f.name for f in fields(Snapshot)} == {"family", "task", "events", "shown"}
    telling = re.compile(rb"\b(F[1-9]|C0|fault|gold|label|ablation|forged|corrupt\w*)\b")
    for one in labelled:
        raw = b"\n".join(e.raw for e in one.snapshot.events) + msgspec.json.encode(one.snapshot.shown)
        assert not telling.search(raw), one.condition
        assert one.task.encode() not in raw


def test_a_policy_is_given_a_snapshot_and_nothing_else() -> None:
    for policy in DETERMINISTIC.values():
        required = [p for p in inspect.signature(policy).parameters.values() if p.default is inspect.Parameter.empty]
        assert [p.annotation for p in required] == ["Snapshot"]
    assert "Labelled" not in inspect.getsource(policies)


@pytest.mark.parametrize("name", DETERMINISTIC)
def test_permuting_ids_and_labels_changes_no_decision(labelled: tuple[Labelled, ...], name: str) -> None:
    """Run ids, digests and certificates are made anew under other names, in another order, beside other labels."""
    policy = DETERMINISTIC[name]
    bases = {t.name: t for t in tasks()}
    some = [s for s in labelled if s.task.endswith(("-1", "-4"))]
    random.Random(4).shuffle(some)
    for one in some:
        base = bases[one.task]
        renamed = snapshot(base, change_of(one.condition), f"permuted {len(one.task)}")
        assert renamed.id != one.snapshot.id
        assert renamed.events[0].event.run != one.snapshot.events[0].event.run
        mislabelled = replace(one, gold="stuck", condition="C0", snapshot=renamed)
        assert policy(mislabelled.snapshot) == policy(one.snapshot)


def test_only_the_oracle_reads_the_environment(labelled: tuple[Labelled, ...]) -> None:
    """Every other policy says the same when the environment is gone."""
    for one in labelled[::7]:
        gone = replace(one.snapshot, shown=msgspec.structs.replace(one.snapshot.shown, environment={}))
        for name, policy in DETERMINISTIC.items():
            if name != "postcondition_oracle":
                assert policy(gone) == policy(one.snapshot)


def test_the_oracle_does_not_read_the_trace(labelled: tuple[Labelled, ...]) -> None:
    for one in labelled[::7]:
        gone = replace(one.snapshot, events=one.snapshot.events[:1])
        assert policies.postcondition_oracle(gone) == policies.postcondition_oracle(one.snapshot)


# ---------------------------------------------------------------------- the manifest


def test_the_manifest_holds_every_snapshot() -> None:
    on_file = manifest.stored()
    assert manifest.manifest_ok()
    assert {len(row) for row in on_file["snapshots"].values()} == {len(CONDITIONS)}
    assert {len(row) for row in on_file["isolated"].values()} == {48}
    assert set(on_file["isolated"]) == set(isolated())


def test_one_changed_character_of_a_snapshot_changes_its_digest(labelled: tuple[Labelled, ...]) -> None:
    one = labelled[0].snapshot
    shown = msgspec.structs.replace(one.shown, text=one.shown.text + ".")
    assert replace(one, shown=shown).id != one.id
    assert replace(one, events=one.events[:-1]).id != one.id


def test_a_changed_task_breaks_the_manifest(monkeypatch: pytest.MonkeyPatch) -> None:
    stored = manifest.stored()
    name = next(iter(stored["snapshots"]))
    digest = stored["snapshots"][name]["F3"]
    stored["snapshots"][name]["F3"] = digest[:-1] + ("0" if digest[-1] != "0" else "1")
    monkeypatch.setattr(manifest, "stored", lambda: stored)
    assert not manifest.manifest_ok()
