"""What the suite consists of, counted from what is rendered."""

from __future__ import annotations

import pytest

from tallystick.errors import InputError
from tallystick.evals.handoff import items, manifest
from tallystick.evals.handoff.panels import STUDIES, played
from tallystick.evals.handoff.restore import LEAVE_OUT, RESTORE, restored
from tallystick.evals.handoff.run import Plan, reference_cast
from tallystick.evals.handoff.task import DOMAINS, FIELDS, task, tasks


def test_the_counts_are_the_papers() -> None:
    told = manifest.listing()
    assert told["tasks"] == {"static": 20, "dynamic": 12}
    assert told["domains"] == 6
    assert told["episodes_per_model"] == 216
    assert {c["over_six_models"] for n, c in told["conditions"].items() if n.startswith("P")} == {120}
    assert {c["over_six_models"] for n, c in told["conditions"].items() if not n.startswith("P")} == {72}
    counts = {name: (set(one["arms"].values()), one["episodes"]) for name, one in told["interventions"].items()}
    assert counts == {
        "compression": ({48}, 240), "restoration": ({64}, 384), "leave_out": ({128}, 768), "endpoint": ({128}, 640)
    }  # fmt: skip
    assert set(told["transport"].values()) == {8}
    assert told["paraphrases"] == 192
    assert told["manifest_ok"]


def test_a_changed_item_breaks_the_manifest(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = manifest.stored()
    first = next(iter(kept["items"]))
    monkeypatch.setattr(manifest, "stored", lambda: {**kept, "items": {**kept["items"], first: "0" * 64}})
    assert not manifest.listing()["manifest_ok"]


def test_every_task_has_a_blocker_and_finite_actions_in_one_of_six_domains() -> None:
    assert {t.domain for t in tasks()} == set(DOMAINS)
    for one in tasks():
        assert all(one.z[field].strip(" .") for field in FIELDS)
        assert len({*one.removed, *one.admissible}) == len(one.removed) + len(one.admissible) == 5
    labels = [frozenset((*t.removed, *t.admissible)) for t in tasks()]
    assert len(set(labels)) == len(labels)  # the reference executor tells tasks apart by them


def test_contrasted_conditions_share_task_blocker_and_actions() -> None:
    of = {c: {i.task for i in items.main() if i.condition == c} for c in (*items.STATIC, *items.DYNAMIC)}
    assert all(of[condition] == of[control] for condition, control in items.CONTROL_OF.items())


def test_transformation_material_holds_no_braces_left_to_fill() -> None:
    for one in (*items.main(), *items.compression(), *items.bases(), *items.paraphrased()):
        assert "{" not in one.text
        assert all(hop.count("{") == 1 and "{text}" in hop for hop in one.hops)


def test_restoring_changes_no_byte_of_the_artifact() -> None:
    prose = "Go on.\n\n  Later: {odd}  \n"
    for about in tasks()[::7]:
        for fields in {*RESTORE.values(), *LEAVE_OUT.values()}:
            assert restored(prose, about.id, fields).endswith(prose)


def test_a_field_left_out_is_in_no_line_that_was_put_in() -> None:
    for about in tasks():
        for field, phrase in zip(FIELDS, (about.do, about.need, about.who, about.use), strict=True):
            given = restored("", about.id, LEAVE_OUT[f"without {field}"]).lower()
            assert phrase.lower() not in given
            if field == "status":
                assert not any(label in given for label in about.removed)
            assert all(v.lower().strip(".") in given for k, v in about.z.items() if k != field)


def test_a_limit_takes_turns_over_conditions() -> None:
    some = Plan(studies=("main",), limit=14).items("main")
    assert len({i.condition for i in some}) == 14
    assert len({i.task for i in some}) >= 10


def test_what_is_not_there_is_said() -> None:
    for bad in (Plan(studies=("nothing",)), Plan(reviewer="nobody"), Plan(limit=0)):  # type: ignore[arg-type]
        with pytest.raises(InputError):
            bad.checked()
    with pytest.raises(InputError):
        task("nobody")
    with pytest.raises(InputError):
        items.item("main", "P9", tasks()[0])


def test_a_panel_played_twice_is_the_same() -> None:
    for study in STUDIES:
        some = Plan(studies=(study,), limit=6).items(study)
        assert list(played(study, reference_cast(), some)) == list(played(study, reference_cast(), some))
