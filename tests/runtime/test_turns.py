"""Stop policies in a guard: the runtime owns the end, and a run ended on a model's signal is never CERTIFIED."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tallystick import Guard, InputError
from tallystick.gates.stop_policies import COMPARED
from tallystick.runtime.run import Run
from tallystick.runtime.turns import MATCHED, UNMATCHED, Turn
from tests.runtime.test_progress_reports import CONTRACT, TASK, marked, pay, read

Step = Callable[[Run], str]


def says(text: str) -> Step:
    return lambda _: text


def does(*calls: Callable[[Run], None]) -> Step:
    def step(run: Run) -> str:
        for call in calls:
            call(run)
        return ""

    return step


WORK: Sequence[Step] = (
    does(lambda r: read(r, "B-1"), lambda r: read(r, "B-2")),
    says(marked("May I pay both?", "ready_for_action")),
    does(lambda r: pay(r, "B-1")),
    says(marked("One is paid.", "post_observation_continue")),
    does(lambda r: pay(r, "B-2")),
    says(marked("Both are paid.", "completed")),
)


def play(policy: str, steps: Sequence[Step], *, user: int = 2) -> tuple[Run, list[Turn]]:
    """Play an agent of fixed steps under a policy; the user has something to add so many times."""
    run = Guard(CONTRACT, stop_policy=policy).run(TASK)
    turns = []
    for step in steps:
        turn = run.turn(step(run), user_has_more=user > 0)
        user -= turn.ruling == "hand_over"
        turns.append(turn)
        if turn.ended:
            break
    return run, turns


@pytest.mark.parametrize("policy", ["A", "A-matched"])
def test_the_runtime_owned_policy_stops_when_the_record_says_so_and_the_gate_accepts(policy: str) -> None:
    run, turns = play(policy, WORK)
    assert [t.ruling for t in turns] == ["go_on", "re_prompt", "go_on", "re_prompt", "stop"]
    assert run.status == "CERTIFIED"
    assert turns[-1].finish is not None
    assert turns[-1].finish.accepted


def test_the_two_re_prompts_differ_in_the_authorisation_and_say_what_is_open() -> None:
    (plain, matched) = (play(p, WORK[:2])[1][-1].prompt.splitlines() for p in ("A", "A-matched"))
    assert plain[0] == UNMATCHED
    assert matched[0] == MATCHED
    assert plain[1:] == matched[1:] == ["- open: paid[B-1]", "- open: paid[B-2]"]


def test_claims_of_completion_change_nothing_under_the_runtime_owned_policy() -> None:
    steps = [WORK[0], *[says(marked("All is done.", "completed"))] * 9]
    run, turns = play("A", steps)
    assert [t.ruling for t in turns] == ["go_on", "re_prompt", "re_prompt", "give_up"]
    assert run.status == "UNCERTIFIED"
    assert run.view.ended is not None
    assert run.view.ended.reason == "policy.gave_up"


def test_what_only_the_user_can_supply_goes_to_the_user_if_there_is_one() -> None:
    steps = [does(lambda r: read(r, "B-1")), says("Which other bill?")]
    assert play("A", steps)[1][-1].ruling == "hand_over"
    assert play("A", steps, user=0)[1][-1].ruling == "re_prompt"


def test_a_marker_ends_a_run_and_a_missing_one_does_too_and_neither_certifies() -> None:
    run, turns = play("B1", WORK)
    assert [t.ruling for t in turns] == ["go_on", "hand_over", "go_on", "hand_over", "go_on", "stop"]
    assert turns[-1].standing.stage == "completed"
    assert (run.status, run.view.ended and run.view.ended.reason) == ("UNCERTIFIED", "policy.stopped")

    run, turns = play("B1", [WORK[0], says("May I?")])
    assert turns[-1].ruling == "dead_end"
    assert (run.status, run.view.ended and run.view.ended.reason) == ("UNCERTIFIED", "policy.no_report")

    run, turns = play("B1", [WORK[0], says(marked("All done!", "completed"))])
    assert turns[-1].ruling == "stop"
    assert turns[-1].standing.open == ("paid[B-1]", "paid[B-2]")
    assert run.status == "UNCERTIFIED"


def test_a_turn_without_a_call_goes_to_the_user_and_ends_the_run_where_nobody_answers() -> None:
    run, turns = play("B2", WORK, user=1)
    assert [t.ruling for t in turns] == ["go_on", "hand_over", "go_on", "hand_over"]
    assert turns[-1].status == "UNCERTIFIED"
    assert run.view.ended is not None
    assert run.view.ended.reason == "policy.user_silent"


def test_a_finish_under_a_models_signal_ends_the_run_and_says_that_nothing_is_certified() -> None:
    for policy in ("B1", "B2"):
        run = Guard(CONTRACT, stop_policy=policy).run(TASK)
        for step in WORK[:-1]:
            step(run)
        answer = run.finish(marked("Both are paid.", "completed"))
        assert not answer.accepted
        assert answer.decision.codes == ("policy.signal",)
        assert run.status == answer.status == "UNCERTIFIED"


STEPS: Sequence[Step] = (
    *WORK,
    says("Nothing to see."),
    says(marked("Done.", "completed")),
    says("\n".join(marked("", s) for s in ("ready_for_action", "completed"))),
)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.sampled_from(range(len(STEPS))), max_size=12), st.sampled_from(COMPARED), st.integers(0, 2))
def test_only_an_owned_end_over_a_whole_record_is_certified(picks: list[int], policy: str, user: int) -> None:
    run, turns = play(policy, [STEPS[i] for i in picks], user=user)
    if run.status == "CERTIFIED":
        assert policy.startswith("A")
        assert turns[-1].standing.stage == "completed"
    if policy.startswith("A") and turns and turns[-1].ruling == "stop":
        assert run.status == "CERTIFIED"


def test_the_asynchronous_twin_does_the_same() -> None:
    async def go() -> Iterator[str]:
        run = Guard(CONTRACT).run(TASK)
        return iter([(await run.aturn(step(run))).ruling for step in WORK[:5]])

    assert list(asyncio.run(go())) == [t.ruling for t in play("A", WORK)[1]]


def test_an_unknown_policy_is_refused_by_name() -> None:
    with pytest.raises(InputError, match="unknown stop policy `C`"):
        Guard(CONTRACT, stop_policy="C")
