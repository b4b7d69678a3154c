"""The customer-support contract, over the recorded conversations it was not written from."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from tallystick import contracts
from tallystick.gates.act import may_act
from tallystick.model import jsontext
from tallystick.model.decision import Decision, Verdict
from tallystick.model.events import Intent
from tallystick.model.proposal import Call
from tallystick.traces.formats import parse
from tallystick.traces.to_events import Chain, to_events
from tallystick.view import View

CONTRACT = contracts.load(Path(__file__).parents[2] / "examples/state-bench/customer_support.yaml")
NOW = datetime(2026, 7, 17, tzinfo=UTC)


def decisions(path: Path) -> Iterator[tuple[str, Any, Decision]]:
    """Yield (tool, arguments, decision) of every call of a conversation, judged just before it ran."""
    for trace in parse(path.read_bytes(), name=path.name, format="state-bench"):
        view, chain = View(CONTRACT), Chain(trace, CONTRACT)
        view.apply(chain.start())
        for body in to_events(trace, CONTRACT):
            if isinstance(body, Intent):
                args = jsontext.loads(body.args.raw)
                yield body.tool, args, may_act(view, CONTRACT, Call(tool=body.tool, args=args, now=NOW))
            view.apply(chain.add(body))


@pytest.fixture
def conversations(shared: Path) -> list[Path]:
    return sorted((shared / "data/state-bench/trajectories/customer_support").glob("*.json"))


@pytest.mark.shared
def test_a_second_remedy_for_one_item_is_refused_for_that_reason(conversations: list[Path]) -> None:
    """In 28 the hub was replaced under warranty; the refund on top is refused, everything before it admitted."""
    (path,) = [p for p in conversations if p.name.startswith("28-")]
    refused = [(tool, d) for tool, args, d in decisions(path) if not d.positive]
    ((tool, decision),) = refused
    assert tool == "process_refund"
    assert decision.verdict is Verdict.REFUSE
    assert [(r.code, r.where) for r in decision.reasons] == [("exclusion.taken", "one-remedy-per-item")]


@pytest.mark.shared
def test_almost_every_commit_of_a_good_conversation_meets_the_contract(conversations: list[Path]) -> None:
    """A contract that refused most honest work would prove nothing by refusing 28."""
    labels = map(jsontext.loads, (conversations[0].parents[2] / "labels.jsonl").read_text("utf-8").splitlines())
    good = {row["trajectory"] for row in labels if row["domain"] == "customer_support" and row["state_ok"]}
    commits = [d for p in conversations if p.stem in good for _, args, d in decisions(p) if args.get("confirm") is True]
    assert len(commits) > 50
    assert sum(d.positive for d in commits) >= 0.9 * len(commits)
