"""Odd artifacts: handed over whole, or refused in one sentence; nothing of them is lost or raised through."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tallystick import InputError, Run
from tallystick.handoff import prose
from tests.handoff.desk import Desk, blocked, guarded

CIRCLE: dict[str, Any] = {}
CIRCLE["again"] = CIRCLE
DEEP: dict[str, Any] = {}
for _ in range(3000):
    DEEP = {"in": DEEP}


@pytest.fixture
def run() -> Run:
    made = guarded(Desk()).run()
    blocked(made)
    return made


@pytest.mark.parametrize(
    "artifact",
    [
        [], {}, "", "\n", "\r\n", "[tallystick", "[tallystick]\n\n", "---\n---\n", [{}], [{"content": None}],
        [{"role": 5, "content": 5}], [{"role": "user", "content": []}],
        [{"role": "user", "content": ["a", {"text": 5}, None]}], {"tallystick": None}, {"tallystick": 5},
        {"tallystick": {"carrier": {}, "text": [1, 2]}},
        {"tallystick": {"carrier": {"carrier": "carrier/1", "run": 1}}}, [{"role": None, "content": {"text": "x"}}],
        {"Tallystick": {"carrier": {"carrier": "carrier/1"}}}, "[tallystick] run " * 3, "[tallystick json] {",
    ],
    ids=repr,
)  # fmt: skip
def test_an_odd_artifact_gets_its_block_and_keeps_the_rest(run: Run, artifact: Any) -> None:
    sent = run.hand_off("executor", artifact)
    assert sent.repaired
    assert prose(sent.artifact, sent.form) == prose(artifact, sent.form)
    assert run.receive(sent.artifact, repair=False).state == "complete"


@pytest.mark.parametrize(
    "text",
    ["{}", '{"tallystick":1}', '{"a":1,"tallystick":{"x":[1,{"b":2}]},"c":3}', "  {\n}\n", '{"a":1e400}',
     '{ "tallystick" : "]}" , "z": "\\"tallystick\\"" }'],
)  # fmt: skip
def test_an_odd_ticket_text_keeps_every_byte_outside_its_block(run: Run, text: str) -> None:
    sent = run.hand_off("executor", text, form="ticket-text")
    assert prose(sent.artifact, "ticket-text") == prose(text, "ticket-text")
    assert run.receive(sent.artifact, form="ticket-text", repair=False).state == "complete"


@pytest.mark.parametrize("text", ['{"title": "pay"}', ' {"a": 1}\n', "{}"])
def test_the_text_of_a_ticket_stays_json_where_no_form_is_named(run: Run, text: str) -> None:
    sent = run.hand_off("executor", text)
    assert sent.form == "ticket-text"
    assert json.loads(sent.artifact).keys() == {"tallystick", *json.loads(text)}
    assert run.receive(sent.artifact, repair=False).state == "complete"


@pytest.mark.parametrize(
    "text", ["{x}", "[1]", '{"a": 1} and more', '{"a": 1, "a": 2}', '{"a":"\\ud800"}', '{"a":NaN}']
)
def test_a_text_that_is_no_json_object_is_plain_text(run: Run, text: str) -> None:
    sent = run.hand_off("executor", text)
    assert sent.form == "text"
    assert sent.artifact.endswith(text)


@pytest.mark.parametrize(
    ("artifact", "form"),
    [
        ({"a": float("nan")}, None), ({"a": object()}, None), ({"a": b"x"}, None),
        ([{"role": "user", "content": "x", "fn": object()}], None), ('{"tallystick":1,"tallystick":2}', "ticket-text"),
        ([{"role": "user", "content": b"x"}], None), ({5: "x"}, None), (CIRCLE, None), (DEEP, None),
        ({"tallystick": DEEP}, None), ({"tallystick": {"carrier": DEEP, "text": [DEEP]}}, None), ("\ud800", None),
        ('{"a":"\\ud800"}', "ticket-text"), ("[]", "ticket-text"), ('{"a":NaN}', "ticket-text"),
    ],
)  # fmt: skip
def test_what_no_record_could_keep_is_refused_in_one_sentence(run: Run, artifact: Any, form: str | None) -> None:
    before = run.view.upto
    with pytest.raises(InputError):
        run.hand_off("executor", artifact, form=form)
    assert run.view.upto == before
