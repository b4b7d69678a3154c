"""The suite's own transformers in chains of up to six hops, over all tasks, with the handoff gate and without it."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from tallystick.evals.handoff.items import CONTROL_OF, item
from tallystick.evals.handoff.record import NOW, contract_of, started
from tallystick.evals.handoff.roles import reference
from tallystick.evals.handoff.task import tasks
from tallystick.handoff import carrier_of, compare

ARMS = [*CONTROL_OF, "light", "normal", "compressed", "aggressive"]


def rewritten(condition: str, about: int) -> str:
    panel = "main" if condition in CONTROL_OF else "compression"
    return reference(item(panel, condition, tasks()[about], None if panel == "main" else "note"))  # type: ignore[arg-type]


@settings(max_examples=60, deadline=None)
@given(about=st.integers(0, 31), chain=st.lists(st.sampled_from(ARMS), min_size=1, max_size=6), keeps=st.booleans())
def test_with_the_gate_no_chain_of_transformers_loses_the_blocker(about: int, chain: list[str], keeps: bool) -> None:
    """Each hop writes its own words, over what it got or behind it; the next one is handed what the gate lets pass."""
    done: list[str] = []
    one = tasks()[about]
    run = started(one, done)
    text = "the finding"
    for condition in chain:
        words = rewritten(condition, about)
        given_on = run.hand_off(condition, f"{text}\n{words}" if keeps else words)
        assert given_on.accepted
        text = given_on.artifact
    last = run.receive(text)
    expected = carrier_of(run.view, contract_of(one), NOW)
    assert compare(last.artifact, "text", expected, run.view).preserved is True
    for action in one.removed:
        assert not run.call(action, {}).ran
    assert done == []


def test_without_the_gate_each_transformer_passes_on_no_block_at_all() -> None:
    for condition in ARMS:
        for about in range(0, 32, 5):
            one = tasks()[about]
            run = started(one)
            expected = carrier_of(run.view, contract_of(one), NOW)
            found = compare(rewritten(condition, about), "text", expected, run.view)
            assert (found.state, found.preserved) == ("absent", None)
            assert {loss.field for loss in found.losses} == {"status", "prerequisite", "authority", "fallback"}
