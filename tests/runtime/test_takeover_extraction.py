"""What is owed beyond the task: extracted, minus what is done, checked before anything is frozen."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tallystick import EntityRef, Guard, Run
from tallystick.contracts import parse
from tallystick.errors import InputError
from tallystick.model import jsontext
from tallystick.model.events import Obliged
from tallystick.runtime.extraction import ModelExtractor, extracted_problems, extraction_prompt, owed_by, structured
from tallystick.runtime.extraction import _intended as intended
from tests.runtime.takeover_desk import INVOICE

CONTRACT = parse("""
contract: orders/1
entities:
  order: {id: id, status: string}
tools:
  get_order:
    effect: read
    args: {order: id}
    target: order(args.order)
    yields: {order: {id: /id, status: /status}}
  cancel:
    effect: write
    args: {order: id, reason: string}
    target: order(args.order)
    once_per: args.order
    ok: result.ok == true
  note:
    effect: write
    args: {order: id, text: string, urgent: optional boolean}
    target: order(args.order)
    ok: result.ok == true
""")
TOOLS = {
    "get_order": lambda order: {"id": order, "status": "open"},
    "cancel": lambda order, reason: {"ok": True},
    "note": lambda order, text, urgent=False: {"ok": True},
}


@pytest.fixture
def run() -> Run:
    """A run in which O-1 was read and cancelled, O-2 was read, and the user asked for both and a note."""
    run = Guard(CONTRACT, tools=TOOLS).run({"request": "Cancel O-1 and O-2 as too late, and note 'called back'."})
    run.says("user", "Cancel O-1 and O-2 as too late, and note 'called back' on O-2.")
    for order in ("O-1", "O-2"):
        run.call("get_order", {"order": order})
    run.call("cancel", {"order": "O-1", "reason": "too late"})
    return run


CANCEL = [
    {"tool": "cancel", "args": {"order": "O-1", "reason": "too late"}},
    {"tool": "cancel", "args": {"order": "O-2", "reason": "too late"}},
]


def test_an_intent_that_a_realised_effect_meets_is_not_owed(run: Run) -> None:
    (left,) = structured(CANCEL)(run.view, CONTRACT)
    assert (left.tool, dict(left.args)["order"]) == ("cancel", '"O-2"')


def test_two_equal_intents_are_two_and_one_done_leaves_one(run: Run) -> None:
    assert len(structured([CANCEL[0], CANCEL[0]])(run.view, CONTRACT)) == 1
    assert len({body.id for body in structured([CANCEL[1], CANCEL[1]])(run.view, CONTRACT)}) == 2


def test_an_intent_that_is_owed_already_is_not_owed_twice(run: Run) -> None:
    run.oblige("second", tool="cancel", args={"order": "O-2"}, entity=EntityRef("order", "O-2"))
    assert not structured(CANCEL)(run.view, CONTRACT)


def test_what_was_extracted_is_recorded_by_the_host_before_the_contract_is_frozen(run: Run) -> None:
    def rest(brief: Any) -> Mapping[str, Any]:
        (owed,) = brief.residual.owed
        assert owed.origin == "extracted"
        return {"calls": [{"id": "c", "tool": "cancel", "args": {"order": "O-2", "reason": "too late"}}]}

    taken = run.take_over(rest, extract=structured(CANCEL))
    assert str(taken).startswith("complete")
    kinds = [s.event.kind for s in run._journal.store.events(run.id)]
    added = kinds.index("obligation.added")
    assert added < kinds.index("takeover.frozen")
    events = list(run._journal.store.events(run.id))
    assert events[added].event.actor.role == "host"
    assert run.status == "CERTIFIED"


@pytest.mark.parametrize(
    "body",
    [
        Obliged(id="x", tool="no_such_tool"),
        Obliged(id="x", tool=None, text="something"),
        Obliged(id="x", tool="get_order"),
        Obliged(id="x", tool="cancel", entity=["order", "O-9"]),
        Obliged(id="x", tool="cancel", entity=["invoice", "O-2"]),
        Obliged(id="x", tool="cancel", args=[["order", '"O-9"']]),
        Obliged(id="x", tool="cancel", args=[["reason", '"because I say so"']]),
        Obliged(id="x", tool="cancel", args=[["colour", '"red"']]),
        Obliged(id="x", tool="cancel", args=[["order", "7"]]),
        Obliged(id="x", tool="cancel", args=[["order", "not json"]]),
        Obliged(id="", tool="cancel"),
        "cancel O-2",
    ],
)
def test_an_obligation_that_nothing_in_the_record_supports_is_a_problem(run: Run, body: Any) -> None:
    assert extracted_problems(run.view, CONTRACT, [body])


def test_ids_are_opaque_and_a_value_is_not_found_within_another_word(run: Run) -> None:
    run.says("user", "The number is 12.")
    assert extracted_problems(run.view, CONTRACT, [Obliged(id="x", tool="cancel", args=[["reason", '"1"']])])
    assert not extracted_problems(run.view, CONTRACT, [Obliged(id="x", tool="cancel", args=[["reason", '"12"']])])
    assert extracted_problems(run.view, CONTRACT, [Obliged(id="x", tool="cancel", args=[["reason", '"012"']])])


def test_one_unsupported_obligation_means_no_contract_and_nothing_recorded(run: Run) -> None:
    bad = [*CANCEL, {"tool": "cancel", "args": {"order": "O-9"}}]
    taken = run.take_over(lambda brief: None, extract=structured(bad))
    assert (taken.status, taken.reason, taken.tenure) == ("bottom", "takeover.extraction", "")
    assert "obligation.added" not in {s.event.kind for s in run._journal.store.events(run.id)}


@pytest.mark.parametrize(
    "answer", ["no idea", '{"tool": "cancel"}', '[{"tool": 7}]', '[{"gold": true, "tool": "cancel"}]']
)
def test_a_model_that_answers_something_else_means_no_contract(run: Run, answer: str) -> None:
    taken = run.take_over(lambda brief: None, extract=ModelExtractor(lambda prompt: answer))
    assert (taken.status, taken.reason) == ("bottom", "takeover.extraction")
    assert isinstance(taken.error, InputError)


def test_a_model_extractor_sees_the_record_and_nothing_else(run: Run) -> None:
    said = jsontext.dumps([{**CANCEL[1], "entity": ["order", "O-2"], "text": "asked for"}, CANCEL[0]])
    model = ModelExtractor(lambda prompt: f"Here you are:\n{said}\n")
    (left,) = model(run.view, CONTRACT)
    assert (left.tool, left.entity) == ("cancel", ["order", "O-2"])
    (prompt,) = model.prompts
    assert prompt == extraction_prompt(run.view, CONTRACT)
    assert "- order O-2" in prompt
    assert "get_order" not in prompt.split("Tools, with")[1].split("Entities")[0]


def test_an_extractor_cannot_change_the_run_through_the_view_it_gets(run: Run) -> None:
    def meddling(view: Any, contract: Any) -> list[Obliged]:
        view.obligations.clear()
        view.calls.clear()
        return []

    run.oblige("second", tool="cancel", entity=EntityRef("order", "O-2"))
    run.take_over(lambda brief: None, extract=meddling)
    assert set(run.view.obligations) == {"second"}
    assert run.view.calls


@pytest.mark.parametrize("given", [7, {"args": {}}, {"tool": "cancel", "args": []}, {"tool": "x", "entity": "O-2"}])
def test_an_intent_of_another_form_is_misuse(given: Any) -> None:
    with pytest.raises(InputError):
        structured([given])


def test_intents_are_met_one_by_one(run: Run, tmp_path: Path) -> None:
    asked = [intended(given, "x") for given in (*CANCEL, *CANCEL)]
    assert [dict(o.args)["order"] for o in owed_by(run.view, CONTRACT, asked)] == ['"O-2"', '"O-1"', '"O-2"']
    assert INVOICE not in extraction_prompt(run.view, CONTRACT)


@pytest.mark.parametrize("name", ["x\ud800", 5])
def test_an_obligation_that_cannot_be_recorded_means_that_none_is(run: Run, name: Any) -> None:
    good = Obliged(id="left", text="", tool="cancel", args=[["order", '"O-2"']], entity=["order", "O-2"])
    bad = Obliged(id=name, text="", tool="note", args=[], entity=["order", "O-2"])
    taken = run.take_over(lambda brief: None, extract=lambda view, contract: [good, bad])
    assert (taken.reason, dict(run.view.obligations)) == ("takeover.extraction", {})
