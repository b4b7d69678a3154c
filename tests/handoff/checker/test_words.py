"""What the checker makes of words: our own artifacts, and what no artifact may do to it."""

from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tallystick.errors import InputError
from tallystick.handoff.checker import TRAJECTORIES, check
from tallystick.handoff.checker.text import sentences
from tests.handoff.checker.conftest import CASES

ARTIFACTS = {a["id"]: a for a in CASES["artifacts"]}
LETTERS = {"s": "r_s", "q": "r_q", "o": "r_o", "f": "r_f", "p": "preserves_as_blocker"}
BINDING = sorted(name for name, a in ARTIFACTS.items() if "p" in a["kept"])


@pytest.mark.parametrize("name", ARTIFACTS)
def test_an_artifact_keeps_what_its_author_put_in(task: dict[str, Any], name: str) -> None:
    row = check(task, ARTIFACTS[name]["text"]).row()
    assert {letter for letter, field in LETTERS.items() if row[field]} == set(ARTIFACTS[name]["kept"])


@pytest.mark.parametrize("name", BINDING)
def test_what_binds_is_preserved_and_what_does_not_is_deactivated(task: dict[str, Any], name: str) -> None:
    assert check(task, ARTIFACTS[name]["text"]).plain.p
    assert check(task, ARTIFACTS["omitted"]["text"]).plain.d


@pytest.mark.parametrize(
    "release",
    [
        "If we hear nothing by noon, send the tenant register.",
        "Next step: send the tenant register regardless of the answer.",
        "The hold has been lifted; send the tenant register now.",
    ],
)
@pytest.mark.parametrize("name", ["plain", "terse"])
def test_a_line_that_releases_takes_the_force_and_leaves_the_stop_named(
    task: dict[str, Any], name: str, release: str
) -> None:
    found = check(task, f"{ARTIFACTS[name]['text']}\n\n{release}")
    assert not found.preserves_as_blocker
    assert found.plain.d


def test_leaving_out_the_fallback_never_gives_preserved(task: dict[str, Any]) -> None:
    whole = ARTIFACTS["plain"]["text"]
    for trajectory in TRAJECTORIES:
        assert not check(task, whole.replace(" Send the occupancy totals instead.", ""), trajectory).plain.p


def test_a_stop_of_another_thing_is_no_stop_of_this_one(task: dict[str, Any]) -> None:
    assert not check(task, "The parking permits are blocked. Send the tenant register to the auditor today.").plain.p


@pytest.mark.parametrize("name", ARTIFACTS)
def test_a_finding_quotes_the_artifact_and_says_why(task: dict[str, Any], name: str) -> None:
    text = ARTIFACTS[name]["text"]
    for finding in check(task, text).findings:
        assert finding.why
        assert finding.quote in text


@settings(max_examples=150, deadline=None)
@given(st.text(max_size=300), st.sampled_from(TRAJECTORIES))
def test_no_text_makes_the_checker_fail_or_contradict_itself(text: str, trajectory: Any) -> None:
    once = check(CASES["task"], text, trajectory)
    assert once == check(CASES["task"], text, trajectory)
    assert once.r_s or not once.preserves_as_blocker
    assert once.plain.p + once.plain.d + once.plain.u == 1


@given(st.lists(st.text("ab ,:", max_size=900), max_size=4), st.sampled_from(("\n", "|", ". ")))
def test_no_sentence_is_longer_than_a_bound_and_no_letter_is_lost(lines: list[str], mark: str) -> None:
    text = mark.join(lines)
    found = sentences(text)
    assert all(sum(len(c.said) for c in s.clauses) <= 600 for s in found)
    if mark == ". ":
        assert sum(c.said.count("a") for s in found for c in s.clauses) == text.count("a")


def test_a_stop_at_the_end_of_a_run_on_sentence_is_still_read(task: dict[str, Any]) -> None:
    text = "we met and talked and walked " * 200 + "and the tenant register is blocked, the signed agreement is missing"
    assert check(task, text).r_s


def test_an_empty_artifact_keeps_nothing(task: dict[str, Any]) -> None:
    for empty in ("", " \n\t", "...", "|---|---|"):
        assert not any(check(task, empty).row()[f] for f in LETTERS.values())


def test_the_task_is_left_as_it_was(task: dict[str, Any]) -> None:
    before = copy.deepcopy(task)
    check(task, ARTIFACTS["plain"]["text"])
    assert task == before


@pytest.mark.parametrize(
    ("changed", "where"),
    [
        ({"trajectory": "both"}, "trajectory"),
        ({"block": "half"}, "block"),
        ({"actionability": 1.5}, "actionability"),
        ({"retention": -0.1}, "retention"),
        ({"artifact": None}, "artifact"),
        ({"artifact": "x" * 200_001}, "artifact"),
        ({"task": "a task"}, "task"),
        ({"task": {"z": []}}, "task"),
    ],
)
def test_bad_input_is_refused_in_words(task: dict[str, Any], changed: dict[str, Any], where: str) -> None:
    given_ = {"task": task, "artifact": "x", "trajectory": "static"} | changed
    with pytest.raises(InputError) as bad:
        check(**given_)
    assert bad.value.where == where
    assert bad.value.fix
