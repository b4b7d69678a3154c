"""What is particular to LangChain: its leak, direct returns, limits, streams, structured output, status queries."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pytest

pytest.importorskip("langchain", reason="the extra `langchain` is not installed")

from langchain.agents import create_agent
from langchain.agents.middleware import (
    AgentMiddleware,
    HumanInTheLoopMiddleware,
    ModelCallLimitMiddleware,
    ToolRetryMiddleware,
    hook_config,
)
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.errors import GraphRecursionError
from langgraph.types import Command, interrupt

from tallystick import Guard, Run
from tallystick.adapters.ended import RunEndedError
from tallystick.adapters.langchain import finish_output, framework_loop, guarded
from tallystick.contracts import parse
from tallystick.errors import InputError
from tallystick.testing.conformance import CONTRACT, TASK, World
from tests.adapters.langchain_harness import ScriptedChat
from tests.gateway.bench import CONTRACT as SHOP
from tests.gateway.bench import OPEN, PAY


@dataclass
class Loan:
    """A structured answer."""

    book: str
    days: int


def call(name: str, ident: str, **args: Any) -> AIMessage:
    return AIMessage("", tool_calls=[{"name": name, "args": args, "id": ident, "type": "tool_call"}])


LOOK = call("look", "a1", book="A")
LEND = call("lend", "a2", book="A", days=7)
ASKED = {"messages": [HumanMessage("lend book A")]}


def says(*found: str | AIMessage, seen: list[Sequence[BaseMessage]] | None = None) -> ScriptedChat:
    """A model that says these things in order, and the last one for ever."""
    left = [AIMessage(f) if isinstance(f, str) else f for f in found]

    def answer(messages: Sequence[BaseMessage]) -> AIMessage:
        if seen is not None:
            seen.append(list(messages))
        here = left.pop(0) if len(left) > 1 else left[0]
        return here.model_copy(update={"id": None})

    return ScriptedChat(answer=answer, fragments=True)


@pytest.fixture
def world() -> World:
    """A lending desk."""
    return World()


@pytest.fixture
def run() -> Run:
    """A run at the lending desk."""
    return Guard(CONTRACT).run(dict(TASK))


def agent_of(world: World, model: Any, *middleware: Any, **options: Any) -> Any:
    return create_agent(model, list(world.tools().values()), middleware=middleware, **options)


# ---------------------------------------------------------------------- the leak, and who stands where


class JumpsToTheTools(AgentMiddleware):
    """Another middleware that uses the documented jump."""

    @hook_config(can_jump_to=["tools"])
    def after_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:
        return {"jump_to": "tools"} if isinstance(state["messages"][-1], ToolMessage) else None


def rejected(middleware: list[Any], world: World) -> Any:
    asks = HumanInTheLoopMiddleware(interrupt_on={"look": True})
    # Hooks after the model run last to first, so the jump comes after the person's answer.
    agent = create_agent(
        says(LOOK, "Not looked up."),
        list(world.tools().values()),
        middleware=[JumpsToTheTools(), asks, *middleware],
        checkpointer=InMemorySaver(),
    )
    config: Any = {"configurable": {"thread_id": "1"}}
    agent.invoke(ASKED, config)
    return agent.invoke(Command(resume={"decisions": [{"type": "reject", "message": "no"}]}), config)


def test_the_framework_alone_runs_a_call_a_person_rejected(world: World) -> None:
    rejected([], world)
    assert world.ran == [("look", {"book": "A"})]  # langchain#40492; when this fails, the check below may go


def test_a_call_a_person_rejected_does_not_run_whatever_jumps_to_the_tools(world: World, run: Run) -> None:
    result = rejected([guarded(run, claims=lambda _: None)], world)
    assert world.ran == []
    answers = [m for m in result["messages"] if isinstance(m, ToolMessage)]
    assert [m.status for m in answers] == ["error"]  # the person's, and no second one


def test_a_call_a_person_approved_runs_once_after_the_interrupt(world: World, run: Run) -> None:
    asks = HumanInTheLoopMiddleware(interrupt_on={"lend": True})
    agent = agent_of(world, says(LOOK, LEND, "Book A is lent for 7 days."), asks, guarded(run),
                     checkpointer=InMemorySaver())  # fmt: skip
    config: Any = {"configurable": {"thread_id": "1"}}
    with framework_loop(run):
        assert "__interrupt__" in agent.invoke(ASKED, config)
        assert run.status is None
        agent.invoke(Command(resume={"decisions": [{"type": "approve"}]}), config)
    assert world.count("lend") == 1
    assert run.status == "CERTIFIED"


@pytest.mark.parametrize("later", [False, True])
def test_a_middleware_between_the_guard_and_the_tools_is_the_hosts_mistake(world: World, run: Run, later: bool) -> None:
    agent = agent_of(world, says(LOOK, "x"), guarded(run), ToolRetryMiddleware())
    with pytest.raises(InputError, match="stands between") as told:
        asyncio.run(agent.ainvoke(ASKED)) if later else agent.invoke(ASKED)
    assert told.value.fix == "put `guarded(run)` last in the list"
    assert world.ran == []


def test_a_retry_outside_the_guard_does_not_repeat_a_write(world: World, run: Run) -> None:
    world.broken = True
    agent = agent_of(world, says(LOOK, LEND, "done"), ToolRetryMiddleware(max_retries=3), guarded(run))
    with pytest.raises(RunEndedError):
        agent.invoke(ASKED)
    assert world.count("lend") == 1
    assert run.status == "IN_DOUBT"


# ---------------------------------------------------------------------- ends


@tool(return_direct=True)
def look_only(book: str) -> str:
    """Look a book up, and that is the answer."""
    return f"Book {book} is free."


DIRECT = parse("""
contract: direct/1
tools:
  look_only: {effect: read, args: {book: id}}
  lend: {effect: write, args: {book: id, days: integer}}
task:
  owes: [{id: lent, by: lend}]
""")


@pytest.mark.parametrize("later", [False, True])
def test_a_tool_that_returns_directly_does_not_end_the_run_unjudged(world: World, later: bool) -> None:
    run = Guard(DIRECT).run()
    seen: list[Any] = []
    agent = create_agent(says(call("look_only", "d", book="A"), LEND, "Lent.", seen=seen), [look_only, world.lend],
                         middleware=[guarded(run)])  # fmt: skip
    result = asyncio.run(agent.ainvoke(ASKED)) if later else agent.invoke(ASKED)
    assert run.status == "CERTIFIED"
    assert result["messages"][-1].text == "Lent."
    assert "obligation.open" in seen[1][-1].text
    assert [json.loads(body.decision)["verdict"] for _, body in run.view.stops] == ["reject", "accept"]


def test_the_step_limit_ends_the_run_uncertified(world: World, run: Run) -> None:
    agent = agent_of(world, says(*(call("look", f"b{n}", book=f"X{n}") for n in range(40))), guarded(run))
    with pytest.raises(GraphRecursionError), framework_loop(run):
        agent.invoke(ASKED, {"recursion_limit": 12})
    assert run.view.ended is not None
    assert (run.status, run.view.ended.reason) == ("UNCERTIFIED", "framework.step_limit")


def test_a_limit_of_another_middleware_ends_the_run_uncertified(world: World, run: Run) -> None:
    limit = ModelCallLimitMiddleware(run_limit=2, exit_behavior="end")
    agent = agent_of(world, says(LOOK, LOOK, LOOK), limit, guarded(run))
    with pytest.raises(RunEndedError), framework_loop(run):
        agent.invoke(ASKED)
    assert run.status == "UNCERTIFIED"


def test_a_bound_of_the_guard_ends_the_frameworks_loop(world: World, run: Run) -> None:
    with pytest.raises(RunEndedError) as bad:
        agent_of(world, says("Done."), guarded(run)).invoke(ASKED)
    assert bad.value.status == "UNCERTIFIED"


def test_a_cancelled_run_is_ended_and_its_write_is_in_doubt(run: Run) -> None:
    started = asyncio.Event()

    async def lend(book: str, days: int) -> dict[str, Any]:
        """Lend."""
        started.set()
        await asyncio.sleep(60)
        return {"state": "lent"}

    async def look(book: str) -> dict[str, Any]:
        """Look."""
        return {"id": book, "state": "free"}

    agent = create_agent(says(LOOK, LEND), [look, lend], middleware=[guarded(run)])

    async def go() -> None:
        async def inside() -> None:
            with framework_loop(run):
                await agent.ainvoke(ASKED)

        task = asyncio.ensure_future(inside())
        await started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(go())
    assert run.status == "IN_DOUBT"


def test_a_turn_of_a_conversation_is_passed_on_and_the_run_stays_open(world: World, run: Run) -> None:
    agent = agent_of(world, says("For how many days?"), guarded(run, claims=lambda _: None))
    assert agent.invoke(ASKED)["messages"][-1].text == "For how many days?"
    assert run.status is None
    assert run.view.stops == []


def test_a_refused_text_is_neither_in_the_state_nor_forgotten_by_the_model(world: World, run: Run) -> None:
    seen: list[Any] = []
    agent = agent_of(world, says("All done!", LOOK, LEND, "Book A is lent for 7 days.", seen=seen), guarded(run))
    result = agent.invoke(ASKED)
    assert run.status == "CERTIFIED"
    assert "All done!" not in [m.text for m in result["messages"]]
    assert [m.text for m in seen[1][1:]] == ["All done!", seen[1][-1].text]
    assert "obligation.open" in seen[1][-1].text
    assert [m.text for m in seen[3]].count("All done!") == 1


# ---------------------------------------------------------------------- streams


def tokens(agent: Any) -> Iterator[str]:
    for message, _ in agent.stream(ASKED, stream_mode="messages"):
        if isinstance(message, AIMessage) and message.text:
            yield str(message.text)


def test_a_stream_of_tokens_begins_only_when_the_text_is_accepted(world: World, run: Run) -> None:
    agent = agent_of(world, says("No way.", LOOK, LEND, "Book A is lent for 7 days."), guarded(run))
    shown = []
    for text in tokens(agent):
        shown.append(text)
        assert run.status == "CERTIFIED"
    assert "".join(shown) == "Book A is lent for 7 days."


def test_without_holding_tokens_come_as_the_model_says_them(world: World, run: Run) -> None:
    agent = agent_of(world, says("No.", LOOK, LEND, "Book A is lent for 7 days."), guarded(run, hold_text=False))
    shown = list(tokens(agent))
    assert shown[0] == "No."
    assert len(shown) > 5
    assert run.status == "CERTIFIED"


# ---------------------------------------------------------------------- structured output


def test_a_structured_output_states_its_members_that_are_named_like_slots(world: World, run: Run) -> None:
    final, wrong = call("Loan", "f", book="A", days=7), call("Loan", "w", book="A", days=8)
    seen: list[Any] = []
    agent = agent_of(world, says(LOOK, LEND, wrong, final, seen=seen), guarded(run), response_format=Loan)
    assert agent.invoke(ASKED)["structured_response"] == Loan(book="A", days=7)
    assert run.status == "CERTIFIED"
    assert [json.loads(body.decision)["verdict"] for _, body in run.view.stops] == ["reject", "accept"]
    refused, answer, missing = seen[3][-3:]
    assert refused.tool_calls[0]["id"] == answer.tool_call_id == "w"  # a provider takes no call without its answer
    assert "claim.mismatch" in missing.text


def test_an_answer_beside_other_calls_ends_nothing_and_the_calls_do_not_run_after_the_end(
    world: World, run: Run
) -> None:
    both = AIMessage("", tool_calls=[*call("Loan", "f", book="A", days=7).tool_calls, *LEND.tool_calls])
    agent = agent_of(world, says(LOOK, both, LEND, call("Loan", "g", book="A", days=7)), guarded(run),
                     response_format=Loan)  # fmt: skip
    agent.invoke(ASKED)
    assert run.status == "CERTIFIED"
    assert world.count("lend") == 1
    assert len(run.view.stops) == 1


def test_a_misspelt_slot_in_the_hosts_claims_is_told_to_the_host_and_never_to_the_model(world: World, run: Run) -> None:
    seen: list[Any] = []
    agent = agent_of(world, says("Lent for 7 days.", seen=seen), guarded(run, claims=lambda _: {"dayz": 7}))
    with pytest.raises(InputError, match="`dayz`") as told, framework_loop(run):
        agent.invoke(ASKED)
    assert told.value.fix == "one of: days"
    assert len(seen) == 1
    assert run.status == "UNCERTIFIED"


@pytest.mark.parametrize("strict", [False, True])
def test_the_finish_tool_the_model_is_offered_is_made_from_the_contract(run: Run, strict: bool) -> None:
    spec = finish_output(run, strict=strict).schema_specs[0]
    wanted = run.finish_tool(strict=strict).definition
    assert (spec.name, spec.description) == ("finish", wanted["description"])
    schema = {k: v for k, v in spec.json_schema.items() if k not in ("title", "description")}
    assert schema == wanted["inputSchema"]


# ---------------------------------------------------------------------- calls


def test_a_receipt_keeps_what_the_tool_returned_and_not_the_frameworks_text_of_it() -> None:
    contract = parse("contract: p/1\ntools:\n  price: {effect: read, args: {book: id}}\n")

    def price(book: str) -> dict[str, Any]:
        """Price of a book."""
        return {"price": Decimal("10.50")}

    run = Guard(contract).run()
    agent = create_agent(says(call("price", "p", book="A"), "x"), [price],
                         middleware=[guarded(run, claims=lambda _: None)])  # fmt: skip
    agent.invoke(ASKED)
    (receipt,) = run.view.receipts
    assert receipt.body.result is not None
    assert receipt.body.result.raw == b'{"price":10.50}'


def test_arguments_the_tool_would_not_take_are_answered_and_not_proposed(world: World, run: Run) -> None:
    bad = call("lend", "x", book="A", days="seven")
    agent = agent_of(world, says(bad, "x"), guarded(run, claims=lambda _: None))
    result = agent.invoke(ASKED)
    answer = next(m for m in result["messages"] if isinstance(m, ToolMessage))
    assert answer.status == "error"
    assert "days" in answer.text
    assert not run.view.calls
    assert not run.view.doubts


def test_a_tool_the_contract_does_not_mention_is_refused(run: Run) -> None:
    ran: list[str] = []

    def wipe() -> str:
        """Wipe."""
        ran.append("wiped")
        return "wiped"

    agent = create_agent(says(call("wipe", "w"), "x"), [wipe], middleware=[guarded(run, claims=lambda _: None)])
    agent.invoke(ASKED)
    assert ran == []


def test_a_tool_that_does_not_exist_is_the_frameworks_answer(world: World, run: Run) -> None:
    agent = agent_of(world, says(call("loook", "w"), "x"), guarded(run, claims=lambda _: None))
    answer = next(m for m in agent.invoke(ASKED)["messages"] if isinstance(m, ToolMessage))
    assert "not a valid tool" in answer.text


def test_the_guards_key_reaches_the_tool() -> None:
    contract = parse(
        "contract: o/1\ntools:\n  order:\n    effect: write\n    args: {book: id, key: optional string}\n"
        "    idempotency_arg: key\n    dedupes_by_key: true\n    ok: result.done == true\n"
    )
    got: list[Any] = []

    def order(book: str, key: str | None = None) -> dict[str, Any]:
        """Order a book."""
        got.append(key)
        return {"done": True}

    run = Guard(contract).run()
    agent = create_agent(says(call("order", "o", book="A"), "x"), [order],
                         middleware=[guarded(run, claims=lambda _: None)])  # fmt: skip
    agent.invoke(ASKED)
    assert len(got[0]) == 32
    (recorded,) = run.view.calls.values()
    assert recorded.args == {"book": "A", "key": got[0]}


@pytest.mark.parametrize("later", [False, True])
def test_doubt_is_settled_by_the_contracts_query_through_the_agents_own_tools(later: bool) -> None:
    asked: list[str] = []

    def get_invoice(invoice_id: str) -> dict[str, Any]:
        """Get."""
        return OPEN

    def payments(invoice_id: str) -> dict[str, Any]:
        """Count."""
        asked.append(invoice_id)
        return {"count": 1}

    def pay(invoice_id: str, amount: str) -> dict[str, Any]:
        """Pay."""
        raise TimeoutError("lost")

    run = Guard(SHOP).run({"bindings": {"invoice": "I-7"}})
    model = says(call("get_invoice", "g", invoice_id="I-7"), call("pay", "p1", **PAY), call("pay", "p2", **PAY), "over")
    agent = create_agent(model, [get_invoice, payments, pay], middleware=[guarded(run, claims=lambda _: None)])
    result = asyncio.run(agent.ainvoke(ASKED)) if later else agent.invoke(ASKED)
    assert asked == ["I-7"]
    assert not run.view.doubts
    shown = [m.text for m in result["messages"] if isinstance(m, ToolMessage)]
    assert "not known" in shown[1]


def test_an_interrupt_inside_a_tool_reaches_the_framework() -> None:
    contract = parse("contract: i/1\ntools:\n  ask: {effect: read, args: {what: string}}\n")

    def ask(what: str) -> str:
        """Ask a person."""
        return str(interrupt(what))

    run = Guard(contract).run()
    agent = create_agent(says(call("ask", "a", what="may I?"), "x"), [ask], checkpointer=InMemorySaver(),
                         middleware=[guarded(run, claims=lambda _: None)])  # fmt: skip
    config: Any = {"configurable": {"thread_id": "1"}}
    assert agent.invoke(ASKED, config)["__interrupt__"][0].value == "may I?"
    result = agent.invoke(Command(resume="yes"), config)
    assert "yes" in [m.text for m in result["messages"]]


def test_without_the_package_the_extra_is_named() -> None:
    for module in ("langchain", "langgraph"):
        code = f"import sys; sys.modules['{module}'] = None\nimport tallystick.adapters.{module}"
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
        assert "InputError" in done.stderr
        assert "pip install 'tallystick[langchain]'" in done.stderr
