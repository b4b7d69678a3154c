"""Recheck of a tenure: what is recorded comes out again, and a record that says anything else is found."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from tallystick.contracts import load
from tallystick.model.decision import Decision, Verdict
from tallystick.model.events import (
    GENESIS,
    Event,
    ResidualEnded,
    ResidualFrozen,
    ResidualJudged,
    ResidualStep,
    Sealed,
    StopDecided,
    blob,
    seal,
)
from tallystick.model.residual import graph_of, residual_of
from tallystick.runtime.recheck import recheck
from tallystick.runtime.successors import ScriptedSuccessor
from tests.runtime.takeover_desk import CONTRACT, forked, frontier, rest

STANDING = load(CONTRACT)
Change = Callable[[Any], Any]


@pytest.fixture(scope="module")
def record(tmp_path_factory: pytest.TempPathFactory) -> list[Sealed]:
    """A run with a rejected proposal, an admitted one, and a certified end."""

    def first(brief: Any) -> Any:
        brief.replica.call("payments", {"invoice_id": "I-7"})
        return {"calls": []}

    with frontier(tmp_path_factory.mktemp("desk")) as (run, desk, receipt):
        taken = run.take_over(ScriptedSuccessor([first, rest(receipt)]), replica=forked(desk))
        assert taken.complete
        return list(run._journal.store.events(run.id))


def changed(record: list[Sealed], kind: type, change: Change, nth: int = 0) -> list[Sealed]:
    """Return the record with the nth body of a kind changed, chained anew so that only a recheck can tell."""
    found: list[Sealed] = []
    prev, seen = GENESIS, 0
    for sealed in record:
        event: Event = msgspec.structs.replace(sealed.event, prev=prev)
        if isinstance(event.body, kind):
            if seen == nth:
                event = msgspec.structs.replace(event, body=change(event.body))
            seen += 1
        found.append(seal(event))
        prev = found[-1].digest
    return found


def replaced(**fields: Any) -> Change:
    return lambda body: msgspec.structs.replace(body, **fields)


def without_owed(body: ResidualFrozen) -> ResidualFrozen:
    weaker = msgspec.structs.replace(residual_of(body.residual), owed=[])
    return msgspec.structs.replace(body, residual=weaker.canonical(), residual_sha256=weaker.sha256)


def other_graph(body: ResidualJudged) -> ResidualJudged:
    graph = graph_of(body.graph)
    other = msgspec.structs.replace(graph, nodes=graph.nodes[:1])
    return msgspec.structs.replace(body, graph=other.canonical(), graph_sha256=other.sha256)


def test_what_was_recorded_comes_out_again(record: list[Sealed]) -> None:
    again = recheck(record, STANDING)
    assert again.reproduces
    assert again.compared >= 10


def test_the_copy_that_changes_nothing_reproduces(record: list[Sealed]) -> None:
    assert recheck(changed(record, ResidualStep, replaced()), STANDING).reproduces


@pytest.mark.parametrize(
    ("kind", "nth", "change"),
    [
        (ResidualFrozen, 0, without_owed),
        (ResidualFrozen, 0, replaced(allow=["pay_invoice"])),
        (ResidualFrozen, 0, replaced(residual="{}")),
        (ResidualFrozen, 0, replaced(residual_sha256="0" * 64)),
        (ResidualJudged, 0, replaced(decision=Decision(verdict=Verdict.ADMIT).text())),
        (ResidualJudged, 0, replaced(proposal=blob(b'{"calls": [7]}'))),
        (ResidualJudged, 0, replaced(attempt=2)),
        (ResidualJudged, 0, replaced(now="")),
        (ResidualJudged, 1, other_graph),
        (ResidualJudged, 1, replaced(graph="")),
        (ResidualJudged, 1, replaced(decision=Decision(verdict=Verdict.REFUSE).text())),
        (ResidualStep, 0, replaced(node="check")),
        (ResidualStep, 0, replaced(call="c2")),
        (ResidualStep, 0, replaced(node="nowhere")),
        (ResidualStep, 0, replaced(discharged=[])),
        (ResidualStep, 0, replaced(invalidated=["delivered"])),
        (ResidualStep, 1, replaced(receipt="", call="", matched=True)),
        (ResidualStep, 1, replaced(tenure="t9")),
        (ResidualStep, 1, replaced(matched=False, code="residual.unmatched", why="")),
        (ResidualEnded, 0, replaced(writes=0)),
        (ResidualEnded, 0, replaced(discharged=[])),
        (ResidualEnded, 0, replaced(reason="takeover.declined")),
    ],
)
def test_a_record_that_says_anything_else_does_not_recheck(
    record: list[Sealed], kind: type, nth: int, change: Change
) -> None:
    again = recheck(changed(record, kind, change, nth), STANDING)
    assert again.differences
    assert any(found.what.startswith("tenure") for found in again.differences)


def test_a_tenure_whose_last_step_is_missing_is_not_complete(record: list[Sealed], tmp_path: Path) -> None:
    last = max(i for i, s in enumerate(record) if isinstance(s.event.body, ResidualStep))
    found: list[Sealed] = []
    prev = GENESIS
    for i, sealed in enumerate(record):
        if i == last:
            continue
        event = msgspec.structs.replace(sealed.event, prev=prev, seq=len(found) + 1)
        found.append(seal(event))
        prev = found[-1].digest
    assert any(d.message.startswith("the record does not show") for d in recheck(found, STANDING).differences)


# ------------------------------------------------------------------ no certificate vouches for what the tenure says


@pytest.fixture(scope="module")
def open_record(tmp_path_factory: pytest.TempPathFactory) -> list[Sealed]:
    """A completed tenure of a run that goes on."""
    with frontier(tmp_path_factory.mktemp("desk")) as (run, _, receipt):
        assert run.take_over(ScriptedSuccessor([rest(receipt)]), finish=False).complete
        return list(run._journal.store.events(run.id))


@pytest.mark.parametrize(
    ("kind", "nth", "change", "message"),
    [
        (ResidualStep, 0, replaced(matched=False), "a step matches, or says why it does not"),
        (ResidualStep, 0, replaced(matched=False, code="takeover.lost", why="?"), "nothing is in doubt"),
        (ResidualStep, 1, replaced(matched=False, code="takeover.lost", why="?"), "nothing is in doubt"),
        (ResidualStep, 1, replaced(matched=False, code="takeover.call_refused", why="?"), "it does not match for this"),
        (ResidualStep, 1, replaced(receipt="r1"), "it is no receipt of that call"),
        (ResidualStep, 1, replaced(receipt=""), "no receipt is named"),
        (ResidualStep, 1, replaced(call="", receipt="", matched=False, code="residual.stale", why="?"),
         "nothing was chosen otherwise"),
        (ResidualStep, 1, replaced(call="", receipt="", matched=False, code="residual.unbound", why="?"),
         "it can be bound"),
        (ResidualStep, 1, replaced(call="", receipt="", matched=False, code="whatever", why="?"), "no step ends like"),
        (ResidualStep, 1, replaced(why="?"), "a step matches, or says why it does not"),
        (ResidualJudged, 0, replaced(graph_sha256="0" * 64), "another graph"),
        (ResidualEnded, 0, replaced(status="bottom"), "the last step shows another reason"),
        (ResidualEnded, 0, replaced(status="bottom", reason="takeover.lost"), "the last step shows another reason"),
        (ResidualEnded, 0, replaced(status="bottom", reason="takeover.stale"), "the last step shows another reason"),
    ],
)  # fmt: skip
def test_each_event_of_a_tenure_stands_on_its_own(
    open_record: list[Sealed], kind: type, nth: int, change: Change, message: str
) -> None:
    assert recheck(open_record, STANDING).reproduces
    again = recheck(changed(open_record, kind, change, nth), STANDING)
    assert any(found.message.startswith(message) for found in again.differences), again.differences


def test_a_write_that_no_admitted_graph_has_does_not_recheck(open_record: list[Sealed]) -> None:
    judged = Decision(verdict=Verdict.REFUSE).text()
    refused = changed(open_record, ResidualJudged, replaced(decision=judged, graph="", graph_sha256=""))
    assert any("not admitted for this write" in found.message for found in recheck(refused, STANDING).differences)


def test_the_answer_is_the_one_the_graph_says(record: list[Sealed]) -> None:
    again = recheck(changed(record, StopDecided, replaced(text="Paid 1,000,000.00 EUR.")), STANDING)
    assert any("not the one the graph says" in found.message for found in again.differences)


@pytest.mark.parametrize("kind", [ResidualEnded, ResidualJudged])
def test_a_tenure_with_an_event_missing_does_not_recheck(record: list[Sealed], kind: type) -> None:
    left = [sealed for sealed in record if not isinstance(sealed.event.body, kind)]
    chained: list[Sealed] = []
    for sealed in left:
        prev = chained[-1].digest if chained else GENESIS
        chained.append(seal(msgspec.structs.replace(sealed.event, prev=prev, seq=len(chained) + 1)))
    assert recheck(chained, STANDING).differences
