"""What a takeover says to whoever reads it: wrong settings, unreadable proposals, the printed answer, the prompt."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tallystick import deepcopy_replica, sqlite_replica
from tallystick.errors import InputError
from tallystick.gates.residual import Supported
from tallystick.runtime.extraction import ModelExtractor
from tests.runtime.takeover_desk import frontier


@pytest.mark.parametrize("trigger", ["now", Supported, [Supported], 3, []])
def test_a_trigger_that_is_none_is_refused_and_says_what_would_be_one(tmp_path: Path, trigger: Any) -> None:
    with frontier(tmp_path) as (run, _, _), pytest.raises(InputError) as bad:
        run.take_over(lambda _: None, trigger=trigger)
    assert "`Supported()`" in str(bad.value.fix)


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ([], "text or a mapping"),
        (7, "text or a mapping"),
        ("", "text or a mapping"),
        ("sure, I will", "not JSON"),
        ('```json\n{"calls": []}\n```', "not JSON"),
    ],
)
def test_what_is_no_proposal_says_what_one_is(tmp_path: Path, given: Any, says: str) -> None:
    with frontier(tmp_path) as (run, _, _):
        taken = run.take_over(lambda _: given, attempts=1)
    (reason,) = taken.reasons
    assert reason.code == "residual.malformed"
    assert says in reason.message
    assert "fix" not in reason.message
    assert "no code fence" in reason.reverses
    assert reason.reverses in str(taken)


def test_the_printed_answer_says_what_would_help_and_how_many_changes(tmp_path: Path) -> None:
    with frontier(tmp_path) as (run, _, _):
        taken = run.take_over(lambda _: {"calls": [{"id": "x", "tool": "mail", "args": {}}]}, attempts=1)
    assert str(taken).splitlines()[0] == "bottom (takeover.attempts), changes dispatched: 0"
    assert "`x`: `mail` is none of the tools" in str(taken)
    assert all(f"what would help: {reason.reverses}" in str(taken) for reason in taken.reasons)


def test_what_a_host_function_raised_is_at_hand_and_not_in_the_words(tmp_path: Path) -> None:
    def failing(_: object) -> None:
        raise ValueError("secret-7")

    with frontier(tmp_path) as (run, _, _):
        taken = run.take_over(failing)
    assert "Takeover.error" in str(taken)
    assert "secret-7" not in str(taken)
    assert str(taken.error) == "secret-7"


def test_a_model_extractor_without_an_answer_is_bottom_with_the_kind_of_it(tmp_path: Path) -> None:
    with frontier(tmp_path) as (run, _, _):
        taken = run.take_over(lambda _: None, extract=ModelExtractor(lambda _: None))  # type: ignore[arg-type,return-value]
    assert taken.reason == "takeover.extraction"
    assert "NoneType" in str(taken.error)


def test_the_prompt_says_which_values_may_be_worded_and_shows_choices_as_values(tmp_path: Path) -> None:
    seen: list[str] = []
    with frontier(tmp_path) as (run, _, _):
        run.take_over(lambda brief: seen.append(brief.prompt()), free={"send_receipt": "file"})
        run.take_over(lambda brief: seen.append(brief.prompt()))
    assert "Only these are yours to word: `file` of send_receipt." in seen[0]
    assert "yours to word" not in seen[1]
    assert all('\\"' not in line for line in seen[0].split("Fixed choices")[1].split("\n\n")[0].splitlines())


@pytest.mark.parametrize("made", [deepcopy_replica, sqlite_replica])
def test_tools_of_the_live_world_make_no_replica(made: Any) -> None:
    with pytest.raises(InputError, match="live world"):
        made("shop.db", {"pay": print})
