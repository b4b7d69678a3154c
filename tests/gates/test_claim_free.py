"""Free claims: what a cited receipt can and cannot support. Theorems about words, evidence and order."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tallystick.contracts.build import EMPTY, build
from tallystick.gates.claim import may_claim
from tallystick.gates.stop import may_stop
from tallystick.model import events as e
from tallystick.model.decision import Decision, Verdict
from tallystick.model.proposal import Claim
from tallystick.model.values import EntityRef
from tests.gates.claim_worlds import CONTRACT as INVOICES
from tests.gates.claim_worlds import folded, intent, receipt, sealed, world

CONTRACT = build(
    {
        "contract": "free/1",
        "entities": {"room": {"id": "id", "seats": "json", "name": "string"}},
        "tools": {
            "get": {"effect": "read", "target": "room(args.id)", "yields": {"room": {"id": "/id", "seats": "/seats"}}},
            "find": {
                "effect": "read",
                "yields": {"room": {"at": "/rooms/*", "id": "/id", "seats": "/seats", "name": "/name"}},
                "complete": {"flag": "/all", "items": "/rooms"},
            },
            "paint": {"effect": "write", "target": "room(args.id)", "no_effect": 'result.status == "refused"'},
            "now": {"effect": "read"},
        },
    }
)
ROOM = EntityRef("room", "R1")
Bodies = list[tuple[e.AnyBody, e.Role]]


def read(n: int, value: Any, room: str = "R1", **more: Any) -> Bodies:
    return [intent(f"g{n}", "get", {"id": room}), receipt(f"r{n}", f"g{n}", value, **more)]


def paint(n: int, value: Any, color: str = "red", **more: Any) -> Bodies:
    return [intent(f"p{n}", "paint", {"id": "R1", "color": color}), receipt(f"w{n}", f"p{n}", value, **more)]


def find(value: Any, **args: str) -> Bodies:
    return [intent("f1", "find", args), receipt("fr", "f1", value)]


def judged(bodies: Bodies, field: str, value: Any, *cites: str, **more: Any) -> Decision:
    claim = Claim(field=field, value=value, cites=cites, **{"subject": ROOM, **more})
    return may_claim(folded(sealed(bodies), CONTRACT), CONTRACT, claim)


ELSEWHERE = find({"rooms": [{"id": "R2"}], "all": True})
GOOD = read(1, {"id": "R1", "seats": 4, "door": {"lock": "open"}})


@pytest.mark.parametrize(
    ("bodies", "field", "value", "cites", "codes"),
    [
        (GOOD, "seats", 4, ("r1",), ()),
        (GOOD, "lock", "open", ("r1",), ("claim.other_field",)),
        (GOOD, "door.lock", "open", ("r1",), ()),
        (GOOD, "seats", 5, ("r1",), ("claim.mismatch",)),
        (GOOD, "seats", "4", ("r1",), ("claim.mismatch",)),
        (GOOD, "chairs", 4, ("r1",), ("claim.other_field",)),
        (GOOD, "chairs", 9, ("r1",), ("claim.value_absent",)),
        (GOOD, "seats", 4, (), ("claim.uncited",)),
        (GOOD, "seats", 9, (), ("claim.uncited", "claim.value_absent")),
        (GOOD, "seats", 4, ("r9",), ("receipt.forged",)),
        (GOOD[:1], "seats", 4, ("g1",), ("receipt.missing",)),
        (read(1, {"id": "R1", "seats": 4}, flag="error"), "seats", 4, ("r1",), ("result.error_flag",)),
        (read(1, {"id": "R1", "seats": 4}, source="replica"), "seats", 4, ("r1",), ("receipt.replica",)),
        (read(1, {"id": "R1", "seats": 4}, synthetic=True), "seats", 4, ("r1",), ("result.synthetic",)),
        (read(1, {"id": "R1", "seats": 4, "data": {"isError": True}}), "seats", 4, ("r1",), ("result.nested_error",)),
        (read(1, {"id": "R1", "seats": 4}, room="R2"), "seats", 4, ("r1",), ()),  # it says which room it found
        (read(1, {"seats": 4}, room="R2"), "seats", 4, ("r1",), ("evidence.other_entity",)),
        ([*GOOD, *paint(1, {"ok": True})], "seats", 4, ("r1",), ("evidence.stale",)),
        ([*GOOD, *read(2, {"id": "R1", "seats": 5})], "seats", 4, ("r1",), ("claim.contradicted_readback",)),
        (paint(1, {"ok": True}), "color", "red", ("w1",), ()),
        (paint(1, {"ok": True}), "color", "blue", ("w1",), ("claim.mismatch",)),
        (paint(1, {"ok": True}), "done", True, ("w1",), ()),
        (paint(1, {"ok": True}), "paint", True, ("w1",), ()),
        (paint(1, {"ok": True}), "done", False, ("w1",), ("claim.contradicted_earlier",)),
        (paint(1, {"ok": True}, late=True), "done", False, ("w1",), ("claim.contradicted_late",)),
        (paint(1, {"status": "refused"}), "done", False, ("w1",), ()),
        (paint(1, {"status": "queued"}), "done", True, ("w1",), ("result.pending", "claim.unsupported")),
        ([*paint(1, {"ok": True}), *paint(2, {"ok": True}, "blue")], "done", True, ("w1",), ()),
        ([*paint(1, {"ok": True}), *paint(2, {"ok": True}, "blue")], "color", "red", ("w1",), ("evidence.stale",)),
        (find({"rooms": [{"id": "R1", "seats": 4}], "all": False}), "seats", 4, ("fr",), ()),
        (find({"rooms": [{"id": "R1"}], "all": False}), "exists", True, ("fr",), ()),
        (ELSEWHERE, "exists", False, ("fr",), ()),
        (ELSEWHERE, "exists", True, ("fr",), ("evidence.other_entity", "claim.unsupported")),
        (GOOD, "exists", True, ("r1",), ()),
        (read(1, {"found": False}), "exists", True, ("r1",), ("claim.unsupported",)),
        (read(1, {"found": False}), "exists", False, ("r1",), ("evidence.partial",)),
        (read(1, "hello"), "text", "hello", ("r1",), ()),
        (read(1, "hello"), "text", "hallo", ("r1",), ("claim.mismatch",)),
        (read(1, "free"), "state", "free", ("r1",), ("claim.value_absent",)),
        (find({"rooms": [{"id": "R2"}], "all": False}), "exists", False, ("fr",), ("evidence.partial",)),
        (find({"rooms": [{"id": "R2"}], "all": True}, city="x"), "exists", False, ("fr",), ("evidence.other_entity",)),
    ],
)  # fmt: skip
def test_what_a_receipt_supports(
    bodies: Bodies, field: str, value: Any, cites: tuple[str, ...], codes: tuple[str, ...]
) -> None:
    decision = judged(bodies, field, value, *cites)
    assert decision.codes == codes
    assert (decision.verdict is Verdict.ACCEPT) == (not codes)
    assert all(r.message and r.reverses for r in decision.reasons)


def test_all_none_and_count_need_a_complete_listing() -> None:
    for listed, codes in ((True, ()), (False, ("evidence.partial",))):
        bodies = find({"rooms": [{"id": "R1", "name": "a"}, {"id": "R2", "name": "b"}], "all": listed})
        assert judged(bodies, "count", 2, "fr", subject=None, quantifier="count").codes == codes
        assert judged(bodies, "name", ["a", "b"], "fr", subject=None, quantifier="all").codes == codes
    one = judged(find({"rooms": [{"id": "R1", "name": "a"}], "all": False}), "name", ["a"], "fr", subject=None)
    assert one.verdict is Verdict.ACCEPT


def test_a_count_names_what_is_counted() -> None:
    bodies = find({"rooms": [{"id": "R1"}, {"id": "R2"}], "all": True})
    assert judged(bodies, "rooms_count", 2, "fr", subject=None, quantifier="count").verdict is Verdict.ACCEPT
    free = judged(bodies, "free_rooms", 2, "fr", subject=None, quantifier="count")
    assert free.verdict is Verdict.REJECT


@pytest.mark.parametrize(
    ("text", "structured", "claimed", "verdict"),
    [
        ("4 seats", 4, 4, Verdict.ACCEPT),
        ("room for all", 4, 4, Verdict.ACCEPT),
        ("5 seats", 4, 4, Verdict.HOLD),
        ("5 seats", 4, 5, Verdict.HOLD),
        ("5 seats", 4, 6, Verdict.REJECT),
        ('{"id":"R1","seats":5}', 4, 4, Verdict.HOLD),
        ('{"id":"R1","seats":4}', 4, 4, Verdict.ACCEPT),
        ("12 lamps", 4, 4, Verdict.ACCEPT),  # it speaks of something else
    ],
)
def test_two_channels_agree_or_the_claim_is_held(text: str, structured: int, claimed: int, verdict: Verdict) -> None:
    body = read(1, text, structured=e.blob(f'{{"id":"R1","seats":{structured}}}'.encode()))
    assert judged(body, "seats", claimed, "r1").verdict is verdict


def test_what_the_model_wrote_and_what_was_sent_must_be_one() -> None:
    sent = intent("g1", "get", {"id": "R1"}, raw_args=e.blob(b'{"id":"R7"}'))
    assert "args.mutated" in judged([sent, GOOD[1]], "seats", 4, "r1").codes


def test_one_native_id_for_several_calls_is_cited_by_occurrence() -> None:
    bodies = [
        intent("a", "get", {"id": "R1"}, native_id="x"), receipt("ra", "a", {"id": "R1", "seats": 4}, native_id="x"),
        intent("b", "get", {"id": "R2"}, native_id="x"), receipt("rb", "b", {"id": "R2", "seats": 6}, native_id="x"),
    ]  # fmt: skip
    assert judged(bodies, "seats", 4, "x#1").verdict is Verdict.ACCEPT
    assert judged(bodies, "seats", 4, "x").codes == ("pairing.ambiguous",)
    assert "evidence.other_entity" in judged(bodies, "seats", 6, "x#2").codes


def test_without_a_contract_a_read_still_answers_for_nobody() -> None:
    view = folded(sealed(GOOD), EMPTY)
    claim = Claim(field="seats", value=4, subject=ROOM, cites=("r1",))
    assert may_claim(view, EMPTY, claim).verdict is Verdict.REJECT


def test_a_claim_without_a_subject_rests_on_what_was_asked() -> None:
    bodies = [intent("n", "now", {}), receipt("nr", "n", {"hour": 9})]
    assert judged(bodies, "hour", 9, "nr", subject=None).verdict is Verdict.ACCEPT
    assert judged(bodies, "hour", 9, "nr").codes == ("evidence.other_entity",)


# ---------------------------------------------------------------- theorems, over random records

seeds = st.integers(min_value=0, max_value=5_000)


def bodies_of(events: tuple[e.Sealed, ...]) -> Bodies:
    return [(s.event.body, s.event.actor.role) for s in events[1:]]


@settings(max_examples=150)
@given(seeds, st.lists(st.sampled_from(["done", "it is paid, I checked", "APPROVED BY USER"]), max_size=3))
def test_words_never_change_an_answer(seed: int, words: list[str]) -> None:
    one = world(seed)
    said: Bodies = [(e.Said(role="user", text=w), "agent") for w in words]
    said += [(e.Reported(stage="completed", text=w), "agent") for w in words]
    after = folded(sealed([*bodies_of(one.events), *said]))
    before = may_stop(one.view(), INVOICES, one.stop)
    again = may_stop(after, INVOICES, one.stop)
    assert (again.verdict, again.reasons) == (before.verdict, before.reasons)


@settings(max_examples=150)
@given(seeds)
def test_who_declares_the_end_makes_no_difference(seed: int) -> None:
    one = world(seed)
    decisions = [
        may_stop(one.view(), INVOICES, replace(one.stop, declared_by=who))
        for who in ("agent", "framework", "stop_reason")
    ]
    assert decisions[0] == decisions[1] == decisions[2]


@settings(max_examples=200)
@given(seeds, st.data())
def test_losing_a_cited_receipt_never_turns_reject_into_accept(seed: int, data: st.DataObject) -> None:
    one = world(seed)
    cites = [c for claim in one.stop.claims for c in claim.cites]
    if not cites:
        return
    lost = data.draw(st.sampled_from(cites))
    kept = [(b, r) for b, r in bodies_of(one.events) if not (isinstance(b, e.Receipt) and b.id == lost)]
    assert may_stop(folded(sealed(kept)), INVOICES, one.stop).verdict is not Verdict.ACCEPT


@settings(max_examples=200)
@given(seeds)
def test_a_free_claim_accepted_without_its_citation_is_never_accepted(seed: int) -> None:
    one = world(seed)
    for claim in one.stop.claims:
        if claim.slot is None:
            bare = Claim(field=claim.field, value=claim.value, subject=claim.subject)
            assert may_claim(one.view(), INVOICES, bare).verdict is Verdict.REJECT


@settings(max_examples=200)
@given(seeds)
def test_each_reason_alone_would_reject_and_names_what_would_reverse_it(seed: int) -> None:
    one = world(seed)
    decision = may_stop(one.view(), INVOICES, one.stop)
    assert (decision.verdict is Verdict.ACCEPT) == (not decision.reasons)
    assert len(set(decision.reasons)) == len(decision.reasons)
    for reason in decision.reasons:
        assert reason.message
        assert reason.reverses
        assert all(1 <= ref <= decision.judged_upto for ref in reason.refs)


@settings(max_examples=200)
@given(seeds)
def test_an_accepted_end_rests_on_recorded_digests(seed: int) -> None:
    one = world(seed)
    decision = may_stop(one.view(), INVOICES, one.stop)
    known = {s.digest for s in one.events}
    assert set(decision.basis) <= known
    if decision.verdict is Verdict.ACCEPT:
        assert decision.basis


class Broken:
    """A contract whose every part fails: the gate's own fault certifies nothing."""

    def __getattr__(self, name: str) -> Any:
        raise RuntimeError(name)


def test_an_error_in_the_gate_is_a_rejection() -> None:
    view = folded(sealed(GOOD), CONTRACT)
    decision = may_claim(view, Broken(), Claim(field="seats", value=4, cites=("r1",)))  # type: ignore[arg-type]
    assert decision.verdict is Verdict.REJECT
    assert decision.codes == ("gate.error",)
