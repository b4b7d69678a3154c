"""What is particular to Pydantic AI: streams, structured output, its limits and exceptions, status queries."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from collections.abc import AsyncIterator
from typing import Any

import pytest

pytest.importorskip("pydantic_ai", reason="the extra `pydantic-ai` is not installed")

from pydantic import BaseModel
from pydantic_ai import Agent, ModelMessage, ModelResponse, ModelRetry, ToolReturnPart
from pydantic_ai.exceptions import UnexpectedModelBehavior, UsageLimitExceeded
from pydantic_ai.messages import TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, FunctionModel
from pydantic_ai.models.test import TestModel
from pydantic_ai.usage import UsageLimits

from tallystick import Guard, Run
from tallystick.adapters.ended import RunEndedError
from tallystick.adapters.pydantic_ai import Answer, finish_output, guarded
from tallystick.contracts import parse
from tallystick.errors import InputError
from tallystick.testing.conformance import CONTRACT, TASK, World
from tests.gateway.bench import CONTRACT as SHOP
from tests.gateway.bench import OPEN, PAID, PAY


class Loan(BaseModel):
    """A structured answer."""

    book: str
    days: int


def turns(*found: Any) -> FunctionModel:
    """A model that says these things in order, whole or in pieces: text, or a part of its own."""
    left = list(found)

    def whole(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        here = left.pop(0) if len(left) > 1 else left[0]
        return ModelResponse(parts=[TextPart(here) if isinstance(here, str) else here])

    async def streamed(messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[Any]:
        here = left.pop(0) if len(left) > 1 else left[0]
        if isinstance(here, str):
            for at in range(0, len(here), 4):
                yield here[at : at + 4]
        else:
            text = here.args_as_json_str()
            yield {0: DeltaToolCall(name=here.tool_name, json_args=text[:5], tool_call_id=here.tool_call_id)}
            yield {0: DeltaToolCall(json_args=text[5:])}

    return FunctionModel(whole, stream_function=streamed)


def agent_of(world: World, model: Any, **options: Any) -> Agent[None, Any]:
    return Agent(model, tools=list(world.tools().values()), retries={"tools": 2, "output": 5}, **options)


LOOK = ToolCallPart("look", {"book": "A"}, "a1")
LEND = ToolCallPart("lend", {"book": "A", "days": 7}, "a2")


@pytest.fixture
def world() -> World:
    """A lending desk."""
    return World()


@pytest.fixture
def run() -> Run:
    """A run at the lending desk."""
    return Guard(CONTRACT).run(dict(TASK))


def days(text: str) -> dict[str, Any]:
    return {"days": 7} if "7" in text else {}


def test_a_stream_of_text_begins_only_when_the_text_is_accepted(world: World, run: Run) -> None:
    """`run_stream` too: it goes on with the model until a text is accepted, and hands out nothing before."""
    agent = agent_of(world, turns("Done already.", LOOK, LEND, "Lent for 7 days."))
    shown: list[str] = []

    async def go() -> None:
        async with agent.run_stream("lend it", capabilities=[guarded(run, claims=days)]) as stream:
            shown.extend([text async for text in stream.stream_text(delta=True)])
            assert await stream.get_output() == "Lent for 7 days."

    asyncio.run(go())
    assert "".join(shown) == "Lent for 7 days."
    assert run.status == "CERTIFIED"


def test_events_of_calls_pass_and_text_beside_calls_is_talk_on_the_way(world: World, run: Run) -> None:
    kinds: list[str] = []

    async def listen(_: Any, events: Any) -> None:
        kinds.extend([type(event).__name__ async for event in events])

    agent = agent_of(world, turns(LOOK, LEND, "Lent for 7 days."))
    agent.run_sync("lend it", capabilities=[guarded(run, claims=days)], event_stream_handler=listen)
    assert kinds.count("FunctionToolCallEvent") == 2
    assert kinds.count("FinalResultEvent") == 1
    assert kinds.index("FinalResultEvent") > kinds.index("FunctionToolResultEvent")


@pytest.mark.parametrize("streamed", [False, True])
def test_a_structured_output_is_held_until_the_verdict(world: World, run: Run, streamed: bool) -> None:
    final = ToolCallPart("final_result", {"book": "A", "days": 7}, "f")
    early = ToolCallPart("final_result", {"book": "A", "days": 7}, "e")
    agent = agent_of(world, turns(early, LOOK, LEND, final), output_type=Loan)
    seen: list[str] = []

    async def listen(_: Any, events: Any) -> None:
        async for event in events:
            part = getattr(event, "part", None)
            seen.append(getattr(part, "tool_call_id", "") if type(event).__name__ == "PartStartEvent" else "")

    result = agent.run_sync(
        "lend it",
        capabilities=[guarded(run, claims=lambda loan: {"days": loan.days}, hold_text=streamed)],
        event_stream_handler=listen if streamed else None,
    )
    assert result.output == Loan(book="A", days=7)
    assert run.status == "CERTIFIED"
    assert "e" not in seen
    assert ("f" in seen) is streamed


def test_a_turn_of_a_conversation_is_passed_on_and_the_run_stays_open(world: World, run: Run) -> None:
    agent = agent_of(world, turns("For how many days?"))
    result = agent.run_sync("lend it", capabilities=[guarded(run, claims=lambda _: None)])
    assert result.output == "For how many days?"
    assert run.status is None
    assert run.close() == "UNCERTIFIED"


def test_a_turn_of_a_conversation_and_the_last_word_are_read_for_reports(world: World) -> None:
    with Guard(CONTRACT, report="xml").run(TASK) as run:
        run.call("look", {"book": "A"}, lambda **_: {"id": "A", "state": "free"})
        agent = agent_of(world, turns("For how many days?\n<stage>completed</stage>"))
        agent.run_sync("lend it", capabilities=[guarded(run, claims=lambda _: None)])
        assert run.progress().agreement == "premature"
        agent = agent_of(world, turns("Lent.\n<stage>ready_for_action</stage>"))
        with pytest.raises((RunEndedError, UnexpectedModelBehavior)):
            agent.run_sync("lend it", capabilities=[guarded(run)])
        assert run.progress().counts == {"premature": 1, "match": 2}  # told what is missing, it said so again


def test_a_usage_limit_ends_the_run_uncertified(world: World, run: Run) -> None:
    agent = agent_of(world, turns(LOOK))
    with pytest.raises(UsageLimitExceeded):
        agent.run_sync("look", capabilities=[guarded(run)], usage_limits=UsageLimits(request_limit=3))
    assert run.status == "UNCERTIFIED"
    assert run.view.ended is not None
    assert run.view.ended.reason == "framework.usage_limit"


def test_the_frameworks_own_output_budget_ends_the_run_uncertified(world: World, run: Run) -> None:
    numbers = iter(range(100))

    def says(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        return ModelResponse(parts=[TextPart(f"Done {next(numbers)}.")])

    agent = Agent(FunctionModel(says), tools=[world.look], retries={"output": 0})
    with pytest.raises(UnexpectedModelBehavior):
        agent.run_sync("x", capabilities=[guarded(run, hold_text=False)])
    assert run.view.ended is not None
    assert (run.status, run.view.ended.reason) == ("UNCERTIFIED", "framework.retries")


def test_a_bound_of_the_guard_ends_the_frameworks_loop(world: World, run: Run) -> None:
    agent = agent_of(world, turns("Done."))
    with pytest.raises(RunEndedError) as bad:
        agent.run_sync("lend it", capabilities=[guarded(run)])
    assert bad.value.status == "UNCERTIFIED"


def test_a_cancelled_run_is_ended_and_its_write_is_in_doubt(run: Run) -> None:
    started = asyncio.Event()

    async def lend(book: str, days: int) -> dict[str, Any]:
        started.set()
        await asyncio.sleep(60)
        return {"state": "lent"}

    async def look(book: str) -> dict[str, Any]:
        return {"id": book, "state": "free"}

    agent = Agent(turns(LOOK, LEND), tools=[look, lend])

    async def go() -> None:
        task = asyncio.ensure_future(agent.run("x", capabilities=[guarded(run)]))
        await started.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(go())
    assert run.status == "IN_DOUBT"


def test_a_read_that_asks_to_be_called_differently_is_the_frameworks_retry(world: World, run: Run) -> None:
    def look(book: str) -> str:
        raise ModelRetry("use the long name")

    agent = Agent(turns(LOOK, "x"), tools=[look, world.lend], retries={"tools": 2, "output": 0})
    with pytest.raises(UnexpectedModelBehavior):
        agent.run_sync("x", capabilities=[guarded(run)])
    (receipt,) = [r for r in run.view.receipts if r.call is not None]
    assert receipt.outcome == "no_effect"


def test_doubt_is_settled_by_the_contracts_query_through_the_agents_own_tools() -> None:
    asked: list[str] = []

    def get_invoice(invoice_id: str) -> dict[str, Any]:
        return OPEN

    def payments(invoice_id: str) -> dict[str, Any]:
        asked.append(invoice_id)
        return {"count": 1}

    def pay(invoice_id: str, amount: str) -> dict[str, Any]:
        raise TimeoutError("lost")

    pay_part = ToolCallPart("pay", PAY, "p1")
    again = ToolCallPart("pay", PAY, "p2")
    agent = Agent(
        turns(ToolCallPart("get_invoice", {"invoice_id": "I-7"}, "g"), pay_part, again, "over"),
        tools=[get_invoice, payments, pay],
    )
    run = Guard(SHOP).run({"bindings": {"invoice": "I-7"}})
    result = agent.run_sync("pay", capabilities=[guarded(run, claims=lambda _: None)])
    assert asked == ["I-7"]
    assert not run.view.doubts
    shown = [p for m in result.all_messages() for p in m.parts if isinstance(p, ToolReturnPart)]
    assert "not known" in str(shown[1].content)
    assert PAID["status"] == "paid"


def test_tools_get_the_frameworks_own_values_and_the_guards_key() -> None:
    contract = parse(
        "contract: o/1\ntools:\n  order:\n    effect: write\n    args: {loan: json, key: optional string}\n"
        "    idempotency_arg: key\n    dedupes_by_key: true\n    ok: result.done == true\n"
    )
    got: list[Any] = []

    def order(loan: Loan, key: str | None = None) -> dict[str, Any]:
        got.extend([loan, key])
        return {"done": True}

    agent = Agent(turns(ToolCallPart("order", {"loan": {"book": "A", "days": 7}}, "o"), "x"), tools=[order])
    run = Guard(contract).run()
    agent.run_sync("order", capabilities=[guarded(run, claims=lambda _: None)])
    assert got[0] == Loan(book="A", days=7)
    assert len(got[1]) == 32
    (call,) = run.view.calls.values()
    assert call.args == {"loan": {"book": "A", "days": 7}, "key": got[1]}


def test_a_tool_the_contract_does_not_mention_is_refused(run: Run) -> None:
    ran: list[str] = []

    def wipe() -> str:
        ran.append("wiped")
        return "wiped"

    agent = Agent(TestModel(call_tools=["wipe"]), tools=[wipe], retries={"output": 0})
    with pytest.raises(UnexpectedModelBehavior):
        agent.run_sync("x", capabilities=[guarded(run)])
    assert ran == []
    assert run.status == "UNCERTIFIED"


def test_a_capability_that_changes_arguments_does_so_before_the_gate(world: World, run: Run) -> None:
    from pydantic_ai.capabilities import AbstractCapability

    class Renames(AbstractCapability[Any]):
        async def before_tool_execute(
            self, ctx: Any, *, call: Any, tool_def: Any, args: dict[str, Any]
        ) -> dict[str, Any]:
            return {**args, "book": "B"}

    agent = agent_of(world, turns(LOOK, "x"))
    agent.run_sync("x", capabilities=[guarded(run, claims=lambda _: None), Renames()])
    assert world.ran == [("look", {"book": "B"})]
    (call,) = run.view.calls.values()
    assert call.args == {"book": "B"}


def test_a_misspelt_slot_in_the_hosts_claims_is_told_to_the_host_and_never_to_the_model(world: World, run: Run) -> None:
    asked: list[int] = []

    def model(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        asked.append(len(messages))
        return ModelResponse(parts=[TextPart("Lent for 7 days.")])

    agent = agent_of(world, FunctionModel(model))
    capability = guarded(run, claims=lambda _: {"dayz": 7}, hold_text=False)
    with pytest.raises(InputError, match="`dayz`") as told:
        agent.run_sync("lend it", capabilities=[capability])
    assert told.value.fix == "one of: days"
    assert len(asked) == 1
    assert run.status == "UNCERTIFIED"


def test_a_structured_output_states_its_members_that_are_named_like_slots(world: World, run: Run) -> None:
    final = ToolCallPart("final_result", {"book": "A", "days": 7}, "f")
    wrong = ToolCallPart("final_result", {"book": "A", "days": 8}, "w")
    agent = agent_of(world, turns(LOOK, LEND, wrong, final), output_type=Loan)
    result = agent.run_sync("lend it", capabilities=[guarded(run, hold_text=False)])
    assert result.output == Loan(book="A", days=7)
    assert run.status == "CERTIFIED"
    assert [json.loads(body.decision)["verdict"] for _, body in run.view.stops] == ["reject", "accept"]


@pytest.mark.parametrize("strict", [False, True])
def test_the_finish_tool_the_model_is_offered_is_made_from_the_contract(world: World, run: Run, strict: bool) -> None:
    offered: list[Any] = []

    def model(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        offered.extend(info.output_tools)
        part = [LOOK, LEND, finish][min(len(offered) - 1, 2)]
        return ModelResponse(parts=[part])

    finish = ToolCallPart("finish", {"text": "ok", "claims": {"days": 7}, "cites": None, "outcome": "acted"}, "f")
    agent = agent_of(world, FunctionModel(model), output_type=finish_output(run, strict=strict))
    answer = agent.run_sync("lend it", capabilities=[guarded(run, hold_text=False)]).output
    assert isinstance(answer, Answer)
    assert (str(answer), answer.claims, answer.outcome) == ("ok", {"days": 7}, "acted")
    tool = offered[0]
    wanted = run.finish_tool(strict=strict).definition
    assert (tool.name, tool.description) == ("finish", wanted["description"])
    schema = {k: v for k, v in tool.parameters_json_schema.items() if k not in ("title", "description")}
    assert schema == wanted["inputSchema"]
    assert tool.strict is (True if strict else None)


def test_a_decline_through_the_finish_tool_needs_no_values(world: World) -> None:
    run = Guard(CONTRACT).run({"bindings": {"book": "A"}})
    with pytest.raises(RunEndedError):
        agent_of(
            world,
            turns(ToolCallPart("finish", {"text": "no", "outcome": "declined"}, "f")),
            output_type=finish_output(run),
        ).run_sync("lend it", capabilities=[guarded(run, hold_text=False)])
    (_, body), *_ = run.view.stops
    assert body.outcome == "declined"
    assert "coverage.open" not in body.decision


def test_without_the_package_the_extra_is_named() -> None:
    code = "import sys; sys.modules['pydantic_ai'] = None\nimport tallystick.adapters.pydantic_ai"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "InputError" in done.stderr
    assert "pip install 'tallystick[pydantic-ai]'" in done.stderr
