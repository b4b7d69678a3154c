"""A trace as events: order, outcomes, and what folds from them."""

from __future__ import annotations

from pathlib import Path

from tallystick.contracts import EMPTY
from tallystick.model.events import Damage, Intent, Receipt, Said
from tallystick.model.trace import Trace, TraceMessage
from tallystick.traces import read, to_events
from tallystick.traces.to_events import Chain
from tallystick.view import View
from tests.traces.chat import assistant, call, tool, traced, user


def test_calls_come_before_results_and_results_before_what_is_said_next() -> None:
    trace = traced(
        user("go"),
        assistant("looking", call("1", "a"), call("2", "b")),
        tool("2", "B"),
        tool("1", "A"),
        assistant("there"),
    )
    bodies = list(to_events(trace))
    assert [type(b).__name__ for b in bodies] == ["Said", "Intent", "Intent", "Said", "Receipt", "Receipt", "Said"]
    receipts = [b for b in bodies if isinstance(b, Receipt)]
    assert [(r.call, r.native_id, r.source) for r in receipts] == [
        ("m1.c1", "2", "imported"),
        ("m1.c0", "1", "imported"),
    ]


def test_damage_and_orphans_are_kept_and_certify_nothing() -> None:
    bodies = list(to_events(traced(assistant(None, call("1", "a", "{broken")), tool("9", "x"))))
    assert [b.code for b in bodies if isinstance(b, Damage)] == ["args.unparseable", "result.orphan"]
    (intent,) = [b for b in bodies if isinstance(b, Intent)]
    assert intent.args.raw == b"{broken"
    (receipt,) = [b for b in bodies if isinstance(b, Receipt)]
    assert receipt.call is None
    assert receipt.outcome == "unknown"


def test_an_error_at_any_depth_is_unknown_without_a_contract() -> None:
    trace = traced(assistant(None, call("1", "pay", {"n": 1})), tool("1", {"data": [{"error": "timeout"}]}))
    assert [b.outcome for b in to_events(trace) if isinstance(b, Receipt)] == ["unknown"]


def test_a_lone_surrogate_in_a_hand_made_trace_is_escaped() -> None:
    message = TraceMessage(index=0, role="user", text="\ud800")
    trace = Trace(id="\ud800", source="", format="openai-chat", messages=(message,))
    bodies = list(to_events(trace))
    assert [b.text for b in bodies if isinstance(b, Said)] == ["\\ud800"]
    list(Chain(trace).all(bodies))


def test_recorded_trajectories_fold(shared: Path) -> None:
    for trace in read(shared / "data" / "state-bench" / "trajectories" / "travel"):
        chain = Chain(trace, EMPTY)
        view = View(EMPTY, run=chain.run)
        for sealed in chain.all(to_events(trace, EMPTY)):
            view.apply(sealed)
        assert len(view.receipts) == len(trace.calls)
        assert chain.at.endswith("Z")
