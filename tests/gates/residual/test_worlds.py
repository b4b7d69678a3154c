"""Theorems of the takeover gate, over random small worlds and proposals, half of them adversarial.

`benchmarks/takeover_worlds.py` runs the same over any number of worlds.
"""

from __future__ import annotations

from collections import Counter

import pytest

from tallystick.gates.residual import construct, may_take_over
from tallystick.model.residual import graph_of
from tests.gates.residual.live_worlds import carried_out
from tests.gates.residual.naive_takeover import judge
from tests.gates.residual.proposals import proposal_of
from tests.gates.residual.worlds import NOW, world_of

WORLDS = 1_000
LIVE = 150


def test_the_naive_twin_agrees_on_verdict_and_codes() -> None:
    verdicts, codes = Counter[str](), Counter[str]()
    for seed in range(WORLDS):
        world = world_of(seed)
        residual, _ = construct(world.view, world.contract, tenure="t", allow=world.allow)
        if residual is None:
            continue
        raw, replica = proposal_of(world, residual)
        decision, graph = may_take_over(world.view, world.contract, residual, raw, replica, NOW)
        mine = str(decision.verdict), {code.removeprefix("residual.") for code in decision.codes}
        assert mine == judge(world.view, world.contract, residual, raw, replica, NOW), seed
        assert graph is None or graph_of(graph.canonical()) == graph
        verdicts[mine[0]] += 1
        codes.update(mine[1])
    # The worlds are worth their time only where every answer is given.
    assert min(verdicts[v] for v in ("admit", "refuse", "hold")) > 10, verdicts
    wanted = ("malformed", "grounding", "dependency", "duplicate", "effect", "coverage", "claim", "hold")
    assert min(codes[c] for c in wanted) > 5, codes


def test_an_admitted_and_successful_run_never_repeats_or_undoes_breaks_no_choice_and_covers_what_is_owed() -> None:
    ends = Counter[str]()
    for seed in range(WORLDS, WORLDS + LIVE):
        found = carried_out(seed)
        assert not found.wrong, (seed, found)
        ends[found.status + " " + found.verdict] += 1
    assert ends["complete admit"] > 20, ends
    assert ends["bottom refuse"] > 20, ends


@pytest.mark.parametrize("seed", range(40))
def test_a_proposal_for_another_state_is_never_admitted(seed: int) -> None:
    one, other = world_of(seed), world_of(seed + 5_000)
    residual, _ = construct(one.view, one.contract, tenure="t")
    if residual is None:
        return
    raw, replica = proposal_of(one, residual, adversarial=False)
    decision, _ = may_take_over(other.view, other.contract, residual, raw, replica, NOW)
    assert not decision.positive
