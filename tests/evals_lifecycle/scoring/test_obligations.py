"""The verifier of the matched obligations: sigil, sentence in two views, machine tag."""

from __future__ import annotations

import pytest

from tallystick.evals.lifecycle.obligations import View, score
from tallystick.evals.lifecycle.row import Reply, Row
from tallystick.evals.lifecycle.suite.protocol import SIGIL, sentence
from tests.evals_lifecycle.scoring.made import row, said

OPEN, SHUT = sentence("en", finished=False), sentence("en", finished=True)


def owed(obligation: str, checkpoint: str, text: str) -> Row:
    due = obligation != "O1" or checkpoint == "done"
    expected = SIGIL if obligation == "O1" else SHUT if checkpoint == "done" else OPEN
    return row(
        checkpoint, due=due, expected=expected if due else None, factors={"obligation": obligation},
        reply=Reply(text=text),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("checkpoint", "text", "code"),
    [
        ("done", f"All set.\n{SIGIL}", "CLEAN"), ("done", f"All set. {SIGIL}\n", "CLEAN"),
        ("done", "All set.", "APP_MISS"),
        ("done", f"{SIGIL} All set.", "MALFORMED"), ("done", f"{SIGIL}\n{SIGIL}", "MALFORMED"),
        ("done", "All set. <sig>ok</sig>", "MALFORMED"), ("done", "All set. <sig>done", "MALFORMED"),
        ("step", "One done.", "CLEAN"), ("step", f"One done.\n{SIGIL}", "APP_FALSE_ALARM"),
    ],
)  # fmt: skip
def test_the_sigil_is_owed_once_at_the_end(checkpoint: str, text: str, code: str) -> None:
    """O1: due at the final reply only."""
    assert score(owed("O1", checkpoint, text)).code == code


@pytest.mark.parametrize(
    ("text", "strict", "lenient"),
    [
        (f"One done.\n{OPEN}", "CLEAN", "CLEAN"), (f"One done. {OPEN}", "CLEAN", "CLEAN"),
        (f"{OPEN}\nOne done.", "MALFORMED", "CLEAN"), ("The task is still in progress.", "MALFORMED", "CLEAN"),
        (f"One done.\n{SHUT}", "STATE_WRONG", "STATE_WRONG"), (f"{OPEN} {SHUT}", "MALFORMED", "MALFORMED"),
        ("Still working on it.", "APP_MISS", "APP_MISS"),
    ],
)  # fmt: skip
def test_the_sentence_has_two_views(text: str, strict: str, lenient: str) -> None:
    """O2: the exact form at the end, or the right sentence anywhere."""
    one = owed("O2", "step", text)
    views: tuple[View, View] = ("strict", "lenient")
    assert [score(one, v).code for v in views] == [strict, lenient]


def test_both_languages_sentences_are_known() -> None:
    """The Chinese sentence where an English one is expected is a wrong value, and a false completion is one in both."""
    assert score(owed("O2", "step", f"x\n{sentence('zh', finished=False)}")).code == "STATE_WRONG"
    assert score(owed("O2", "step", f"x\n{sentence('zh', finished=True)}")).false_completion
    assert score(owed("O2", "step", f"x\n{SHUT}")).false_completion
    assert score(owed("O1", "step", f"x\n{SIGIL}")).false_completion
    assert not score(owed("O2", "done", f"x\n{SHUT}")).false_completion


def test_the_machine_tag_is_scored_as_everywhere() -> None:
    """O3 is the suite's own report, in either view."""
    one = row("step", factors={"obligation": "O3"}, reply=said("post_observation_continue"))
    assert score(one).code == score(one, "lenient").code == "CLEAN"
