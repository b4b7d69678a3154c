"""What an artifact's words seem to keep is advice beside the verdict: named field by field, and never evidence."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from tallystick import InputError, Run
from tallystick.handoff.checker.panel import AMBIGUOUS, Vote
from tallystick.handoff.reading import MOST
from tallystick.runtime.recheck import recheck
from tests.handoff.desk import CONTRACT, Desk, blocked, guarded

WHOLE = (
    "Do not open document DOC-7 until security gives its approval that covers DOC-7; meanwhile use the public version."
)
YES = Vote(status=True, prerequisite=True, authority=True, fallback=True, actionable=True)


@pytest.fixture
def run() -> Run:
    made = guarded(Desk()).run()
    made.block(
        "b1", "open_document", status="do not open it", prerequisite="an approval that covers DOC-7",
        authority="security", fallback="use the public version",
    )  # fmt: skip
    return made


def test_words_that_keep_every_field_are_read_so_and_rejected_all_the_same(run: Run) -> None:
    found = run.receive(WHOLE, repair=False)
    (reading,) = found.readings()
    assert (reading.outcome.p, reading.kept, reading.lost) == (
        True,
        ("status", "prerequisite", "authority", "fallback"),
        (),
    )
    assert "not evidence" in reading.note
    assert (found.verdict, found.state, found.preserved) == ("reject", "absent", None)
    assert "condition.not_carried" in found.decision.codes
    assert run.call("open_document", {"resource": "DOC-7"}).refused


def test_words_that_lose_fields_are_read_field_by_field(run: Run) -> None:
    found = run.receive("Finish DOC-7 today. Security is informed.")
    (reading,) = found.readings()
    assert (reading.outcome.d, reading.lost) == (True, ("status", "prerequisite", "authority", "fallback"))
    assert reading.note.endswith("they keep nothing, and lose status, prerequisite, authority, fallback")
    assert {f.field for f in reading.findings} >= {"status", "prerequisite", "authority", "fallback"}
    told = found.to_json()["readings"][0]
    assert (told["blocker"], told["evidence"], told["D"], told["r_s"]) == ("b1", False, True, False)


def test_where_a_block_decides_or_nothing_is_open_no_words_are_read(run: Run) -> None:
    whole = run.hand_off("x", "Finish it.").artifact
    assert run.receive(whole).readings() == ()
    assert run.receive(whole.replace("do not open it", "worth a look")).readings() == ()
    assert guarded(Desk()).run().receive("go on").readings() == ()


def test_a_second_opinion_and_judges_stand_beside_it_and_change_nothing(run: Run) -> None:
    def similar(one: str, other: str) -> float:
        return 0.9

    def judge(task: Mapping[str, Any], text: str) -> Vote:
        assert task["z"]["authority"] == "security"
        return YES

    def broken(task: Mapping[str, Any], text: str) -> Vote:
        raise RuntimeError(text)

    found = run.receive("Finish DOC-7 today.", repair=False)
    before = found.readings()[0]
    (reading,) = found.readings(similar=similar, judges={"a": judge, "b": broken})
    assert reading.profile == before.profile
    assert {(d.field, d.kind) for d in reading.doubts} == {
        (field, "overlooked") for field in ("status", "prerequisite", "authority", "fallback")
    }
    assert reading.votes == {"a": YES, "b": AMBIGUOUS}
    assert reading.to_json()["votes"]["a"]["actionable"] is True
    assert found.verdict == "reject"
    with pytest.raises(InputError, match="mapping of callables"):
        found.readings(judges={"a": 5})  # type: ignore[dict-item]


def test_a_reading_is_no_part_of_the_record_and_a_long_text_is_read_from_its_beginning() -> None:
    guard = guarded(Desk())
    run = guard.run()
    blocked(run)
    found = run.receive(WHOLE + " and so on" * MOST, repair=False)
    assert found.readings()[0].cut
    assert recheck(guard.store.events(run.id), CONTRACT).differences == ()
    bare = guard.run()
    bare.block("b", "share_file")  # it states no field at all
    assert bare.receive("Share it.").readings()[0].outcome.d
