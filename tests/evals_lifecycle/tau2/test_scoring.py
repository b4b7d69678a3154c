"""Messages to the customer, scored: which of them, against what, and what they add up to."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from tallystick.evals.lifecycle.score import READINGS
from tallystick.evals.lifecycle.tau2.checkpoints import BINS, Read, customer_facing, read_episode, score
from tallystick.evals.lifecycle.tau2.report import analyse, trajectories
from tallystick.evals.lifecycle.tau2.scripted import WAYS, script
from tallystick.evals.tau2.replay import Step
from tallystick.evals.tau2.tasks import Tau2Task, tasks
from tallystick.evals.tau2.world import Result, call_of
from tests.evals_lifecycle.tau2.made import does, episode, first, says, scripted


def codes(read: Read) -> list[str]:
    return [f"{r.checkpoint} {score(r).code}" for r in read.rows]


def analysed(way: str, task: Tau2Task) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.to_builtins(analyse(read_episode(scripted(task, way)).rows))
    return found["deployments"][f"scripted:{way}"]  # type: ignore[no-any-return]


@pytest.fixture(scope="module")
def long() -> Tau2Task:
    """A telecom task of six calls or more, all of which change something."""
    return first("telecom", calls=6)


def test_a_premature_completed_is_flagged_at_every_message_before_completion_and_at_none_after(long: Tau2Task) -> None:
    read = read_episode(scripted(long, "premature"))
    flagged = [score(r).false_completion for r in read.rows]
    done = [r.checkpoint == "completed" for r in read.rows]
    assert flagged == [not d for d in done]
    assert [score(r).code for r in read.rows] == ["CLEAN" if d else "STATE_WRONG" for d in done]
    assert done == sorted(done)
    assert done.count(True) == 2  # after the author's last call: the closing message and the goodbye


def test_one_premature_completed_is_flagged_at_its_message_alone(long: Tau2Task) -> None:
    steps = list(script(long, "truthful"))
    at = [n for n in customer_facing(steps) if "POST_OBS" in steps[n].text][1]
    steps[at] = says("agent", "All done.\n<stage>COMPLETED</stage>")
    read = read_episode(episode(long, steps))
    assert [r.stimulus for r in read.rows if score(r).code != "CLEAN"] == [f"{long.id}#{at}"]
    (wrong,) = [score(r) for r in read.rows if score(r).code != "CLEAN"]
    assert wrong.false_completion


def test_before_acting_both_values_are_right_and_nothing_else_is() -> None:
    task = first("telecom", calls=1)
    for value, code in (("NEEDS_INFO", "CLEAN"), ("READY", "CLEAN"), ("POST_OBS", "STATE_WRONG"),
                        ("COMPLETED", "STATE_WRONG"), ("ready_for_action", "STATE_WRONG")):  # fmt: skip
        steps = [says("user", "hello"), says("agent", f"Hm.\n<stage>{value}</stage>")]
        assert codes(read_episode(episode(task, steps))) == [f"pre {code}"]


def test_the_greeting_and_text_beside_calls_are_not_scored() -> None:
    task = first("telecom", calls=1)
    beside = msgspec.structs.replace(does("user", "check_status_bar"), text="looking")
    act = msgspec.structs.replace(
        does("agent", "get_customer_by_phone", '{"phone_number": "555-123-2002"}'), text="One moment."
    )
    steps = [says("agent", "Hi! How can I help you today?"), says("user", "hello"), act, beside, says("agent", "So.")]
    assert list(customer_facing(steps)) == [4]
    assert codes(read_episode(episode(task, steps))) == ["pre APP_MISS"]


@pytest.mark.parametrize("way", [w for w in WAYS if w != "breaks"])
def test_scripted_ways_are_measured_back(way: str, long: Tau2Task) -> None:
    found = analysed(way, long)
    followed = {r: found["followed"][r] for r in READINGS}
    shares = {r: {p: c["hits"] / c["of"] for p, c in found["stages"][r].items()} for r in READINGS}
    every, none = dict.fromkeys(("pre", "mid", "completed"), 1.0), dict.fromkeys(("pre", "mid", "completed"), 0.0)
    strict = {
        "truthful": every, "silent": none, "wrapped": none, "garbled": none,
        "stale": {"pre": 1.0, "mid": 0.0, "completed": 1.0}, "premature": {"pre": 0.0, "mid": 0.0, "completed": 1.0},
    }[way]  # fmt: skip
    assert shares["strict"] == strict
    assert shares["envelope_stripped"] == (every if way == "wrapped" else strict)
    assert all(f["hits"] == (0 if way == "silent" else f["of"]) for f in followed.values())
    said = found["wrong_values"]["mid"]
    assert said["stale"]["hits"] == (said["stale"]["of"] if way == "stale" else 0)
    assert said["premature"]["hits"] == (said["premature"]["of"] if way == "premature" else 0)
    kinds = found["trajectories"]["strict"]
    assert kinds == {
        "of": 1,
        "all_wrong": int(way != "truthful"),
        "mixed": 0,
        "all_right": int(way == "truthful"),
    }


def test_bins_are_equal_widths_of_min_max_normalised_position(long: Tau2Task) -> None:
    rows = [r for r in read_episode(scripted(long, "truthful")).rows if r.checkpoint == "mid"]
    bins = [int(r.factors["bin"]) for r in rows]
    last = len(rows) - 1  # mid-task messages follow one another here, so positions are 0 to last
    assert bins == [min(BINS, 1 + BINS * n // last) for n in range(len(rows))]
    assert (bins[0], bins[-1]) == (1, BINS)


def test_a_single_mid_task_message_has_no_position_and_makes_no_trajectory() -> None:
    task = next(t for t in tasks("telecom") if len(t.gold) == 2 and not t.action)
    rows = read_episode(scripted(task, "truthful")).rows
    assert [r.checkpoint for r in rows].count("mid") == 1
    assert not any("bin" in r.factors for r in rows)
    assert trajectories(rows)["of"] == 0


def played(task: Tau2Task, heard: list[str]) -> list[Step]:
    """The author's calls, then after each of the customer's sentences a message of the agent's."""
    steps = [says("user", "hello"), says("agent", "Let us begin."), says("user", "thanks, it works like that?")]
    steps += [does(g.by, g.tool, call_of(g, "x").args, n) for n, g in enumerate(task.gold)]
    for text in heard:
        steps += [says("user", text), says("agent", "Noted.")]
    return steps


@pytest.mark.parametrize(
    ("heard", "kinds"),
    [
        (["Done.", "It works, thanks!", "Bye."], ["unconfirmed", "confirmed", "confirmed"]),
        (["It still is not working."], ["unconfirmed"]),
        (["Not fixed, unable to connect", "fixed now"], ["unconfirmed", "confirmed"]),
    ],
)
def test_a_completion_is_confirmed_by_a_cue_without_a_negation(heard: list[str], kinds: list[str]) -> None:
    """The window opens at the last message that was not complete, so the first customer's message is in it."""
    task = next(t for t in tasks("telecom") if not t.action)
    steps = played(task, heard)
    steps[2] = says("user", "go ahead")
    rows = [r for r in read_episode(episode(task, steps)).rows if r.checkpoint == "completed"]
    assert [r.factors["completion"] for r in rows] == kinds


def test_a_completion_by_transfer_is_a_hand_off_whatever_the_customer_says() -> None:
    task = next(t for t in tasks("telecom") if t.action)
    rows = read_episode(episode(task, played(task, ["Thanks, it works."]))).rows
    assert [r.factors.get("completion") for r in rows if r.checkpoint == "completed"] == ["hand-off"]


def test_messages_that_nothing_recorded_can_judge_are_counted_and_not_scored() -> None:
    task = next(t for t in tasks("retail") if not t.gold)
    read = read_episode(episode(task, [says("user", "hello"), says("agent", "No.\n<stage>COMPLETED</stage>")]))
    assert (read.rows, read.undetermined, read.lost) == ((), 1, "")


def test_an_episode_that_replays_to_other_results_is_lost_and_in_no_other_denominator(long: Tau2Task) -> None:
    steps = list(script(long, "truthful"))
    at = next(n for n, s in enumerate(steps) if s.calls)
    forged = Result(id=steps[at].calls[0].id, text="something else came back then")
    steps[at] = msgspec.structs.replace(steps[at], results=(forged,))
    read = read_episode(episode(long, steps))
    assert f"from message {at} on" in read.lost
    assert {score(r).code for r in read.rows} == {"TRANSPORT"}
    found = analyse(read.rows)["deployments"]["made"]
    assert found["denominators"]["transport"] == len(read.rows) == found["denominators"]["rows"]
    assert found["followed"]["strict"].of == found["stages"]["strict"]["pre"].of == 0


def test_an_episode_that_cannot_be_replayed_is_lost() -> None:
    task = first("telecom", calls=1)
    steps = [says("user", "hello"), does("user", "set_apn_settings", '{"apn_settings": {"apn_name": 7}}')]
    steps.append(says("agent", "So.\n<stage>READY</stage>"))
    read = read_episode(episode(task, steps))
    assert read.lost.startswith("not replayable: ")
    assert codes(read) == ["lost TRANSPORT"]
