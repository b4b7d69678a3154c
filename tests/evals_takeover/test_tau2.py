"""τ² retail and airline as frontiers: cut after the author's writes, nothing copied, gold kept apart."""

from __future__ import annotations

import json
from collections import Counter
from functools import cache
from typing import Any

import pytest

from tallystick.contracts import build
from tallystick.errors import InputError
from tallystick.evals.takeover.obligations import FromGold
from tallystick.evals.takeover.stages import contract_for
from tallystick.evals.takeover.successors import Mode, mistaken
from tallystick.evals.takeover.tau2 import Tau2, contracts
from tallystick.evals.takeover.tau2.audit import continues, grounding, values
from tallystick.evals.takeover.tau2.contracts import DOMAINS, Domain, contract_of, public_schemas, reading
from tallystick.evals.takeover.tau2.cuts import cuts, cuts_of, is_write, look_ups, main_cuts
from tallystick.evals.takeover.tau2.gold import known_of
from tallystick.evals.takeover.tau2.recall import recall
from tallystick.evals.takeover.tau2.surface import Tau2Frontier
from tallystick.evals.takeover.tau2.values import place_in, said
from tallystick.evals.tau2 import world
from tallystick.evals.tau2.tasks import task_named
from tallystick.evals.tau2.world import ReplayError, call_of, opened
from tallystick.gates.residual import construct
from tallystick.model import jsontext
from tallystick.runtime.extraction import extracted_problems, extraction_prompt
from tallystick.runtime.guard import Guard

SAMPLE = ("retail-87-1", "retail-98-1", "airline-7-3")
"""An address written thrice; items that must be looked up; a write followed by the cancellation of what it is about."""


@pytest.fixture(autouse=True, scope="module")
def benchmark_package() -> None:
    pytest.importorskip("inspect_evals", reason="the `tau2` extra is not installed")


@cache
def frontier(name: str, *, looked: bool = True) -> Tau2Frontier:
    domain: Any = name.split("-", maxsplit=1)[0]
    task = task_named(domain, name.split("-")[1])
    return next(Tau2Frontier(cut=cut) for cut in cuts_of(domain, task, looked=looked) if cut.id == name)


sampled = pytest.mark.parametrize("name", SAMPLE)


# ---------------------------------------------------------------------- contracts


@pytest.mark.parametrize("domain", DOMAINS)
def test_the_contract_names_every_tool_with_the_arguments_of_its_public_schema(domain: Domain) -> None:
    contract = contract_of(domain)
    assert set(contract.tools) == set(public_schemas(domain))
    for name, schema in public_schemas(domain).items():
        assert set(contract.tools[name].args) == set(schema["properties"])
        stated = (contract.tools[name].args_schema or {})["properties"]
        assert {arg: _shape(part) for arg, part in stated.items()} == {
            arg: _shape(part) for arg, part in schema["properties"].items()
        }


def _shape(schema: dict[str, Any]) -> Any:
    return {k: v for k, v in schema.items() if k != "enum"}


@pytest.mark.parametrize("domain", DOMAINS)
def test_no_text_of_the_benchmark_is_in_a_contract(domain: Domain) -> None:
    from inspect_ai.tool import ToolDef

    from tallystick.evals.tau2.package import of

    text = contract_of(domain).text
    for make in getattr(of(f"{domain}.tools"), f"all_{domain}_tools"):
        tool = ToolDef(make())
        sentences = [tool.description, *(p.description or "" for p in tool.parameters.properties.values())]
        assert [s for part in sentences for s in part.split(".") if len(s.strip()) > 20 and s.strip() in text] == []


def test_other_tools_than_the_contract_was_written_for_are_one_clear_error(monkeypatch: pytest.MonkeyPatch) -> None:
    contract_of.cache_clear()
    monkeypatch.setattr(contracts, "public_schemas", lambda _: {"fly": {}})
    with pytest.raises(InputError, match="other ones"):
        contract_of("airline")


def test_the_reading_is_a_whole_contract_without_the_package() -> None:
    for domain in DOMAINS:
        assert set(build(reading(domain)).tools) == set(contract_of(domain).tools)


# ---------------------------------------------------------------------- worlds


@pytest.mark.parametrize(("domain", "task"), [("retail", "13"), ("retail", "35"), ("airline", "7")])
def test_a_call_is_answered_alike_with_and_without_the_evaluations_machinery(domain: Domain, task: str) -> None:
    """Also a refusal, and the state afterwards."""
    chosen = task_named(domain, task)
    with opened(chosen) as slow, opened(chosen) as fast:
        for call in chosen.gold:
            told = slow.call(call.by, [call_of(call, "")])[0]
            asked = fast.ask(call.tool, json.loads(json.dumps(dict(call.args))))
            assert (told.text, told.error) == (asked.text, asked.error)
        assert slow.fingerprint() == fast.fingerprint()


def test_a_fork_begins_where_its_world_is_and_neither_changes_the_other() -> None:
    it = frontier("retail-4-12")
    with it.open() as live, it.open() as other:
        write = it.gold.owed[0]
        args = known_of(it.cut).writes[0].args
        assert live.fork is not None
        with live.fork() as tools:
            assert "Error" not in str(tools[write.tool](**args))
            assert "Error" in str(tools[write.tool](**args))  # done already: the tool itself says so
        assert not live.correct()
        assert "Error" not in str(live.meter.tools[write.tool](**args))
        assert live.correct()
        assert not other.correct()


def test_a_world_that_shares_records_is_answered_and_changed_like_one_of_its_own() -> None:
    chosen = task_named("retail", "87")
    with opened(chosen) as plain, opened(chosen, shared=True) as shared, opened(chosen, shared=True) as untouched:
        start = untouched.fingerprint()
        with shared.fork() as before:
            for call in chosen.gold:
                args = json.loads(json.dumps(dict(call.args)))
                assert plain.ask(call.tool, args) == shared.ask(call.tool, args)
            assert plain.fingerprint() == shared.fingerprint() != start
            assert shared.at_goal()
            assert before.fingerprint() == untouched.fingerprint() == start
        with shared.fork() as after:
            assert after.fingerprint() == plain.fingerprint()


def test_a_tool_that_changes_a_shared_record_is_found_out() -> None:
    chosen = task_named("retail", "87")
    start = world._start("retail")
    order = next(iter(start.orders.values()))
    status = order.status
    try:
        with pytest.raises(ReplayError, match="did not ask for"), opened(chosen, shared=True):
            order.status = "cancelled"
    finally:
        order.status = status


# ---------------------------------------------------------------------- cuts


@pytest.mark.parametrize(
    ("domain", "kinds"), [("retail", {"first": 43, "refused": 2, "later": 28}), ("airline", {"first": 14, "later": 11})]
)
def test_every_task_with_two_gold_writes_is_cut_after_each_write_but_the_last(
    domain: Domain, kinds: dict[str, int]
) -> None:
    assert Counter(cut.kind for cut in cuts(domain)) == kinds
    assert len(main_cuts(domain)) == {"retail": 45, "airline": 14}[domain]
    assert len({cut.id for looked in (True, False) for cut in cuts(domain, looked=looked)}) == 2 * len(cuts(domain))
    for cut in cuts(domain):
        assert is_write(domain, cut.prefix[-1][0])
        assert is_write(domain, cut.rest[-1].tool)


def test_a_bare_prefix_is_the_authors_calls_and_a_looked_one_adds_reads_of_the_customers_own_record() -> None:
    for domain in DOMAINS:
        for bare, looked in zip(main_cuts(domain, looked=False), main_cuts(domain), strict=True):
            assert list(bare.prefix) == [(c.tool, c.args) for c in bare.task.gold[: bare.length]]
            added = look_ups(domain, looked.task)
            assert {tool for tool, _ in added} <= {"get_user_details", "get_order_details", "get_reservation_details"}
            assert [c for c in looked.prefix if c not in added] == list(bare.prefix)


def test_drawn_frontiers_are_the_same_for_the_same_seed() -> None:
    some = Tau2("airline").frontiers(5, "a")
    assert [f.id for f in some] == [f.id for f in Tau2("airline").frontiers(5, "a")]
    assert len(some) == 5
    assert [f.id for f in some] != [f.id for f in Tau2("airline").frontiers(5, "b")]


# ---------------------------------------------------------------------- what is fixed, what is owed


@sampled
def test_what_the_author_wrote_is_kept_and_nothing_else(name: str) -> None:
    for looked in (True, False):
        found = grounding([frontier(name if looked else f"{name}-bare", looked=looked)])
        assert found["prefix_calls_refused_by_the_gate"] == 0
        for part in ("effects", "bindings"):
            assert found[part]["right"] == found[part]["found"] == found[part]["gold"] > 0


def test_a_write_the_tool_refused_is_not_kept() -> None:
    found = grounding([frontier("retail-13-5")])
    assert found["effects"] == {"right": 0, "found": 0, "gold": 0}
    assert found["bindings"]["right"] == 1


@sampled
def test_the_continuation_leads_to_the_goal_and_the_prefix_does_not(name: str) -> None:
    chosen = frontier(name)
    with chosen.open() as it:
        assert not it.correct()
    assert continues(chosen)


@sampled
def test_what_is_owed_by_gold_could_have_been_found_in_the_record(name: str) -> None:
    """The upper bound names no value that nobody had said by then: it has support like any extractor's."""
    chosen = frontier(name)
    with chosen.open() as it:
        found = FromGold(frontier=chosen)(it.run.view, chosen.contract)
        assert len(found) == len(chosen.gold.owed)
        assert extracted_problems(it.run.view, chosen.contract, found) == ()


def test_no_item_that_must_be_looked_up_is_owed_by_name() -> None:
    known = known_of(frontier("retail-98-1").cut)
    looked_up = {str(leaf.value) for leaf in known.leaves if leaf.origin == "read"}
    assert looked_up
    assert not [v for v in looked_up for w in known.gold.owed if v in jsontext.dumps(dict(w.args))]
    counted = values([frontier("retail-98-1").cut])
    assert counted["writes"] == counted["named"] > counted["whole"]


def test_what_was_chosen_for_one_order_does_not_replace_the_order_that_is_owed() -> None:
    contract = build(
        {
            "contract": "orders/1",
            "entities": {"order": {"id": "id", "status": "string"}},
            "tools": {
                "get": {"effect": "read", "args": {"id": "id"}, "target": "order(args.id)",
                        "yields": {"order": {"id": "/id", "status": "/status"}}},
                "close": {"effect": "write", "args": {"id": "id"}, "target": "order(args.id)"},
            },
        }
    )  # fmt: skip
    with Guard(contract, tools={"get": lambda **args: {**args, "status": "open"}}) as guard, guard.run({}) as run:
        run.call("get", {"id": "A"})
        run.call("get", {"id": "B"})
        run.confirm("order", "A")
        run.oblige("the other", tool="close", args={"id": "B"})
        residual, _ = construct(run.view, contract, tenure="t")
        run.suspend()
    assert residual is not None
    assert [entry.entity for entry in residual.effects] == [["order", "B"]]


# ---------------------------------------------------------------------- successors


def taken(name: str, mode: Mode) -> tuple[bool, tuple[str, ...], int, bool]:
    """Let a script that never mends take over; return complete, the rejection's codes, live calls, correct."""
    chosen = frontier(name)
    with chosen.open() as it:
        took = it.run.take_over(
            lambda brief: mistaken(mode, chosen.gold, [one.id for one in brief.residual.owed]),
            replica=it.fork, attempts=1, free={tool: list(names) for tool, names in chosen.free.items()},
            extract=FromGold(frontier=chosen),
        )  # fmt: skip
        assert took.error is None
        codes = took.decisions[0].codes if took.decisions and not took.decisions[0].positive else ()
        return took.complete, codes, len(it.meter.dispatched), it.correct()


@sampled
def test_the_right_continuation_is_admitted_and_ends_at_the_goal(name: str) -> None:
    complete, codes, dispatched, correct = taken(name, "perfect")
    assert (complete, codes, correct) == (True, (), True)
    assert dispatched == len(frontier(name).gold.proposal["calls"])


@pytest.mark.parametrize(
    ("name", "mode", "code"),
    [
        ("retail-98-1", "false_claim", "residual.coverage"),
        ("retail-98-1", "repeating", "residual.duplicate"),
        ("retail-4-12", "wrong_entity", "residual.effect"),
        ("airline-7-3", "wrong_entity", "residual.effect"),
    ],
)
def test_a_mistake_is_rejected_before_anything_is_dispatched(name: str, mode: Mode, code: str) -> None:
    complete, found, dispatched, correct = taken(name, mode)
    assert (complete, dispatched, correct) == (False, 0, False)
    assert code in found


def test_an_author_who_takes_an_own_effect_back_leaves_nothing_that_can_be_taken_over() -> None:
    """What is owed would undo what is kept, so no contract is frozen, though the benchmark wants just that."""
    chosen = frontier("retail-22-2")
    with chosen.open() as it:
        residual, decision = contract_for(it, chosen, FromGold(frontier=chosen))
    assert residual is None
    assert decision.codes == ("residual.blocked",)


# ---------------------------------------------------------------------- a model's recall


def test_a_model_that_reads_minds_has_full_recall_and_one_that_rambles_none() -> None:
    some = [frontier("retail-4-12"), frontier("airline-7-3")]
    prompts = []
    answers = iter(
        jsontext.dumps([{"tool": w.tool, "args": dict(w.args)} for w in known_of(f.cut).writes]) for f in some
    )

    def mind(prompt: str) -> str:
        prompts.append(prompt)
        return next(answers)

    told = recall(mind, some)
    assert told["entity"] == told["args"] == told["owed"] == told["found"] == 3
    assert told["unusable"] == 0
    rambled = recall(lambda _: "I would rather not say", some)
    assert (rambled["entity"], rambled["found"], rambled["unusable"]) == (0, 0, 2)
    wrong = recall(lambda _: '[{"tool": "cancel_reservation", "args": {"reservation_id": "XEHM4B"}}]', some[1:])
    assert (wrong["owed"], wrong["found"], wrong["args"]) == (2, 1, 1)
    assert len(prompts) == 2


def test_an_extractor_is_shown_the_record_and_nothing_of_gold() -> None:
    chosen = frontier("retail-98-1")
    looked_up = {str(leaf.value) for leaf in known_of(chosen.cut).leaves if leaf.origin == "read"}
    with chosen.open() as it:
        prompt = extraction_prompt(it.run.view, chosen.contract)
    assert looked_up
    assert not [value for value in looked_up if value in prompt]


# ---------------------------------------------------------------------- values


@pytest.mark.parametrize(
    ("words", "value", "found"),
    [
        ("my order #W1, please", "#W1", True), ("my order #W12", "#W1", False), ("3 bags", 3, True),
        ("1.3 bags", 3, False),
        ("HAT0012", "HAT001", False), ("anything", "", False), ("true", True, False),
    ],
)  # fmt: skip
def test_words_say_a_value_only_as_a_word_of_its_own(words: str, value: Any, found: bool) -> None:
    assert said(words, value) is found


def test_a_value_is_placed_where_it_first_stands() -> None:
    result = {"a": [{"id": "x"}, {"id": "y"}], "n": jsontext.loads("500.0"), "t": True}
    assert place_in(result, "y") == "/a/1/id"
    assert place_in(result, 500) == "/n"
    assert place_in(result, 1) is None
