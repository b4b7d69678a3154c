"""One checkpoint, exactly one code, by priority; and the oracle it is scored against."""

from __future__ import annotations

import itertools
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tallystick.evals.lifecycle.oracle import State, oracle
from tallystick.evals.lifecycle.row import Reply
from tallystick.evals.lifecycle.score import CODES, Score, judge, score
from tallystick.gates.stage import Stage
from tallystick.progress import Report
from tests.evals_lifecycle.scoring.made import row, said

RIGHT = "post_observation_continue"


@pytest.mark.parametrize(
    ("checkpoint", "reply", "code", "flags"),
    [
        ("step", Reply(valid=False, text="<stage>completed</stage>"), "TRANSPORT", "....."),
        ("act", said("completed"), "APP_FALSE_ALARM", "SME.F"),
        ("act", said(text="<stage", mode="act"), "APP_FALSE_ALARM", "S.E.."),
        ("act", said(), "CLEAN", "SM..."),
        ("act", Reply(mode="act"), "CLEAN", "S...."),
        ("step", said(RIGHT, mode="act"), "APP_DIVERGENCE", "S.EVF"),
        ("step", Reply(mode="act"), "APP_DIVERGENCE", "S...."),
        ("step", said(), "APP_MISS", "SM..."),
        ("step", Reply(), "APP_MISS", "SM..."),
        ("step", said(text=f"<stage>{RIGHT}</stage>\nBye."), "MALFORMED", "SME.."),
        ("step", said("completed"), "STATE_WRONG", "SME.F"),
        ("step", said("in_progress"), "STATE_WRONG", "SME.F"),
        ("step", said(RIGHT), "CLEAN", "SMEVF"),
    ],
)
def test_each_reply_gets_the_code_of_the_priority(checkpoint: str, reply: Reply, code: str, flags: str) -> None:
    """Codes and flags of algorithm 1, one row for each way through it."""
    found = score(row(checkpoint, reply=reply))
    shown = "".join(
        c if v else "." for c, v in zip("SMEVF", (found.s, found.m, found.e, found.v, found.f), strict=True)
    )
    assert (found.code, shown) == (code, flags)


@given(
    st.booleans(), st.sampled_from(["speak", "act"]), st.booleans(), st.booleans(), st.sampled_from(["a", "b"]),
    st.sampled_from([*Stage, None]),
)  # fmt: skip
def test_a_response_is_clean_exactly_where_the_paper_says(
    due: bool, mode: str, present: bool, formed: bool, value: str, stage: Stage | None
) -> None:
    """Due: M and E and V and F. Not due: not E. And E = 0 implies V = F = 0."""
    formed = formed and present
    report = Report(present=present, well_formed=formed, value=value if formed else None)
    found = judge(due, ("a",), mode, report, stage)  # type: ignore[arg-type]
    assert found.code in CODES[1:]
    clean = found.m and found.e and found.v and found.f if due else not found.e
    assert (found.code == "CLEAN") == clean
    assert found.e or not (found.v or found.f)


def test_a_false_completion_is_a_completion_of_what_is_not_complete() -> None:
    """W needs a well-formed report, and a true stage that is another; it does not ask whether the turn spoke."""
    assert score(row("step", reply=said("completed"))).false_completion
    assert score(row("step", reply=said("completed", mode="act"))).false_completion
    assert not score(row("done", reply=said("completed"))).false_completion
    assert not score(row("post_done", reply=said("completed"))).false_completion
    assert score(row("act", reply=said("completed"))).false_completion
    assert not score(row("step", reply=said(text="<stage>completed"))).false_completion
    assert not score(row("step", stage=None, reply=said("completed"))).false_completion


def test_the_constant_of_an_arm_is_what_is_expected_there() -> None:
    """In the static arm the constant is clean and a stage wrong; in the baseline the constant is no stage."""
    static = row("step", arm="static", expected="active", reply=said("active"))
    assert score(static) == Score(code="CLEAN", s=True, m=True, e=True, v=True, f=True, value="active")
    assert score(row("step", arm="static", expected="active", reply=said(RIGHT))).code == "STATE_WRONG"
    told = score(row("step", reply=said("active")))
    assert (told.code, told.out_of_vocabulary) == ("STATE_WRONG", True)


def test_the_stripped_reading_unwraps_and_the_strict_one_does_not() -> None:
    """A right report under an envelope is malformed strictly; other JSON is an omission when stripped."""
    wrapped = row("step", reply=Reply(text=json.dumps({"message": said(RIGHT).text})))
    assert score(wrapped).code == "MALFORMED"
    assert score(wrapped, "envelope_stripped").code == "CLEAN"
    assert score(row("step", reply=Reply(text='{"stage": "completed"}')), "envelope_stripped").code == "APP_MISS"


def test_whether_a_report_is_due_is_read_from_state_alone() -> None:
    """A tool event, a turn that speaks, completion not yet reported: all three, whatever else."""
    for tool, speaks, reported in itertools.product((False, True), repeat=3):
        state = State(tool_event=tool, next="speak" if speaks else "act", completion_reported=reported, remaining=1)
        assert oracle(state).due == (tool and speaks and not reported)


@pytest.mark.parametrize(
    ("missing", "effects", "remaining", "stage"),
    [
        ((), 2, 0, Stage.COMPLETED), (("when",), 2, 0, Stage.COMPLETED), (("when",), 0, 2, Stage.NEEDS_INFO),
        (("when",), 1, 1, Stage.NEEDS_INFO), ((), 1, 1, Stage.POST_OBS), ((), 0, 2, Stage.READY),
    ],
)  # fmt: skip
def test_stages_have_a_priority(missing: tuple[str, ...], effects: int, remaining: int, stage: Stage) -> None:
    """Completed, then needs information (also after an effect), then post-observation, then ready."""
    state = State(tool_event=True, next="speak", missing=missing, effects=effects, remaining=remaining)
    assert oracle(state).stage is stage
