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
