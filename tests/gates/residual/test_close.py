"""The bridge: deterministic, and it adds, removes and replaces no call."""

from __future__ import annotations

import json
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tallystick.gates.residual import UnclosedError, close, construct, parse_proposal
from tallystick.model.residual import graph_of
from tests.gates.residual.desk import AFTER_PAYMENT, NOW, view_of
from tests.gates.residual.proposals import proposal_of
from tests.gates.residual.worlds import world_of

VIEW = view_of(*AFTER_PAYMENT)
RESIDUAL, _ = construct(VIEW, VIEW.contract, tenure="t")


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 7), st.integers(0, 2**32))
def test_closing_keeps_every_call_and_the_order_that_is_asked_for(count: int, seed: int) -> None:
    assert RESIDUAL is not None
    rng = random.Random(seed)
    names = [f"n{i}" for i in range(count)]
    ranks = rng.sample(names, count)
    calls = [
        {"id": n, "tool": "get_invoice", "args": {"invoice_id": "I-7"},
         "after": [m for m in names if ranks.index(m) < ranks.index(n) and rng.random() < 0.4]}
        for n in names
    ]  # fmt: skip
    proposal = parse_proposal({"calls": calls})
    graph = close(VIEW, VIEW.contract, RESIDUAL, proposal, (), now=NOW)
    assert sorted(n.id for n in graph.nodes) == names
    assert {n.id: n.after for n in graph.nodes} == {c["id"]: c["after"] for c in calls}
    done: set[str] = set()
    for node in graph.nodes:
        # A call stands behind what it follows, and as early as it is listed where that is free.
        assert set(node.after) <= done
        free = [c["id"] for c in calls if c["id"] not in done and set(c["after"]) <= done]
        assert node.id == free[0]
        done.add(node.id)
    assert graph_of(graph.canonical()) == graph


def test_what_cannot_be_closed_is_said_at_once_and_in_full() -> None:
    assert RESIDUAL is not None
    calls = [
        {"id": "a", "tool": "payments", "after": ["b", "x"]},
        {"id": "b", "tool": "payments", "after": ["a"]},
        {"id": "a", "tool": "payments"},
        {"id": "task", "tool": "payments", "args": {"invoice_id": {"$from": "gone"}}},
    ]
    with pytest.raises(UnclosedError) as bad:
        close(VIEW, VIEW.contract, RESIDUAL, parse_proposal({"calls": calls}))
    assert sorted({r.code for r in bad.value.reasons}) == ["residual.dependency", "residual.grounding"]
    assert len(bad.value.reasons) == 4


def test_the_same_proposal_closes_to_the_same_graph_whatever_the_replica_was_tried_for() -> None:
    closed = 0
    for seed in range(200):
        world = world_of(seed)
        residual, _ = construct(world.view, world.contract, tenure="t", allow=world.allow)
        if residual is None:
            continue
        raw, replica = proposal_of(world, residual, adversarial=False)
        proposal = parse_proposal(raw)
        try:
            one = close(world.view, world.contract, residual, proposal, replica, now=NOW)
        except UnclosedError:
            continue
        again = close(world.view, world.contract, residual, parse_proposal(raw.decode()), replica, now=NOW)
        assert one.canonical() == again.canonical()
        # Whatever the bridge binds, each call keeps its tool and the names of its arguments.
        mine = {c.id: (c.tool, sorted(c.args)) for c in proposal.calls}
        assert {n.id: (n.tool, sorted(json.loads(n.args))) for n in one.nodes} == mine
        closed += 1
    assert closed > 50
