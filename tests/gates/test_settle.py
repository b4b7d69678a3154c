"""Settling doubt by the contract's status query."""

from __future__ import annotations

from typing import Any

import pytest

from tallystick.contracts import parse
from tallystick.gates.settle import settled_by, status_query
from tallystick.model import jsontext
from tallystick.model.events import Tenure
from tallystick.view import View
from tests.gates.worlds_kit import Log

DESK = parse("""
contract: desk/1
entities:
  invoice: {id: id, status: string}
tools:
  get:
    effect: read
    args: {id: id}
    target: invoice(args.id)
    yields: {invoice: {id: /id, status: /status}}
  pay:
    effect: write
    args: {id: id, amount: money(EUR)}
    target: invoice(args.id)
    settle: {tool: get, args: {id: args.id}, shows: invoice.status == "paid", lag: 30s}
  forget:
    effect: write
    args: {id: id}
    target: invoice(args.id)
""")


def folded(log: Log) -> View:
    view = View(DESK)
    for event in log.events:
        view.apply(event)
    return view


def lost(*, after: int = 60, read: str = "I-1", status: str = "open", **more: Any) -> tuple[View, Any]:
    """A payment whose answer was lost, and a status query `after` seconds later; what the query shows."""
    log = Log()
    log.intent("c1", "pay", {"id": "I-1", "amount": "420.00"})
    log.receipt("c1", None, error="timeout")
    log.second += after
    log.done("c2", "get", {"id": read}, {"id": read, "status": status}, **more)
    view = folded(log)
    return view, settled_by(view, DESK, view.calls["c1"], view.receipts[-1])


def test_the_contract_names_the_read_that_settles_doubt() -> None:
    view, _ = lost()
    query = status_query(DESK, view.calls["c1"])
    assert query is not None
    assert (query.tool, jsontext.loads(query.args)) == ("get", {"id": "I-1"})
    log = Log()
    log.intent("c1", "forget", {"id": "I-1"})
    assert status_query(DESK, folded(log).calls["c1"]) is None


@pytest.mark.parametrize(
    ("case", "outcome"),
    [
        ({"status": "paid"}, "ok"),
        ({"status": "paid", "after": 0}, "ok"),  # what happened is seen at once
        ({"status": "open"}, "no_effect"),
        ({"status": "open", "after": 10}, None),  # sooner than the declared lag: it may have missed the write
        ({"status": "paid", "read": "I-2"}, None),  # another invoice
        ({"status": "paid", "source": "replica"}, None),
        ({"status": "paid", "synthetic": True}, None),
        ({"status": "paid", "flag": "error"}, None),
    ],
)
def test_what_a_status_query_shows(case: dict[str, Any], outcome: str | None) -> None:
    _, settled = lost(**case)
    assert (settled.outcome if settled is not None else None) == outcome
    if settled is not None:
        assert (settled.call, settled.by, settled.evidence) == ("c1", "query", ["r-c2"])


def test_a_settlement_ends_the_doubt_and_an_effect_is_recorded() -> None:
    for status, stands in (("paid", "done"), ("open", "no_effect")):
        log = Log()
        log.intent("c1", "pay", {"id": "I-1", "amount": "420.00"})
        log.receipt("c1", None, error="timeout")
        log.second += 60
        log.done("c2", "get", {"id": "I-1"}, {"id": "I-1", "status": status})
        view = folded(log)
        assert set(view.doubts) == {"c1"}
        settled = settled_by(view, DESK, view.calls["c1"], view.receipts[-1])
        assert settled is not None
        view.apply(log.add(settled, "runtime"))
        assert not view.doubts
        assert [e.status for e in view.effects_of_call("c1")] == [stands]


def test_a_read_made_while_the_call_was_under_way_never_shows_that_nothing_happened() -> None:
    """It may have come before the change: parallel calls, or a process that was killed after both."""
    for ends in ("timeout", "crash"):
        log = Log()
        log.add(Tenure(epoch=1, holder="a"))
        log.intent("c1", "pay", {"id": "I-1", "amount": "420.00"})
        log.second += 60
        log.done("c2", "get", {"id": "I-1"}, {"id": "I-1", "status": "open"})
        if ends == "timeout":
            log.receipt("c1", None, error="timeout")
        else:
            log.add(Tenure(epoch=2, holder="b"))
        view = folded(log)
        assert set(view.doubts) == {"c1"}
        read = next(r for r in view.receipts if r.id == "r-c2")
        assert settled_by(view, DESK, view.calls["c1"], read) is None


def test_not_finished_is_not_never() -> None:
    log = Log()
    log.done("c1", "pay", {"id": "I-1", "amount": "420.00"}, {"status": "queued"})
    log.second += 60
    log.done("c2", "get", {"id": "I-1"}, {"id": "I-1", "status": "open"})
    view = folded(log)
    assert settled_by(view, DESK, view.calls["c1"], view.receipts[-1]) is None
