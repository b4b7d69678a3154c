"""A Pydantic AI successor: structured output by the published schema, tools of the replica only, tokens counted."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("pydantic_ai", reason="the extra `pydantic-ai` is not installed")

from pydantic_ai import ModelMessage, ModelResponse
from pydantic_ai.messages import TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.models.test import TestModel

from tallystick import Guard
from tallystick.adapters.pydantic_ai_successor import PROPOSE, PydanticSuccessor
from tallystick.demo.desk import Desk
from tallystick.model.events import ResidualJudged
from tests.runtime.takeover_desk import CONTRACT, INVOICE, TASK, answer, check, forked, frontier, pay, rest, send


def proposing(*parts: Any, seen: list[AgentInfo] | None = None, said: list[Any] | None = None) -> FunctionModel:
    """A model that answers with these parts, in order."""
    left = list(parts)

    def model(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        if seen is not None:
            seen.append(info)
        if said is not None:
            said.extend(p for m in messages for p in m.parts if isinstance(p, ToolReturnPart))
        return ModelResponse(parts=[left.pop(0)])

    return FunctionModel(model)


def test_a_model_that_hands_in_a_valid_remainder_ends_certified(tmp_path: Path) -> None:
    with frontier(tmp_path) as (run, desk, receipt):
        model = TestModel(custom_output_args=rest(receipt))
        taken = run.take_over(PydanticSuccessor(model), name="strong")
        assert str(taken).startswith("complete")
        assert run.status == "CERTIFIED"
        assert taken.tokens > 0
        assert desk.truth(INVOICE).deliveries == 1


def test_a_model_tries_its_calls_on_the_replica_and_never_sees_a_live_tool(tmp_path: Path) -> None:
    seen: list[AgentInfo] = []
    said: list[Any] = []
    with frontier(tmp_path) as (run, desk, _):
        model = proposing(
            ToolCallPart("payments", {"invoice_id": INVOICE}),
            ToolCallPart("send_receipt", {"invoice_id": INVOICE, "file": "receipt-P-3.pdf"}),
            ToolCallPart(
                PROPOSE, json.dumps({"calls": [send("receipt-P-3.pdf"), check(after=["send"])], "answer": answer()})
            ),
            seen=seen,
            said=said,
        )
        before = len(desk.accesses())
        taken = run.take_over(PydanticSuccessor(model), replica=forked(desk), attempts=1)
        assert str(taken).startswith("complete")
        # The live desk was asked for the two calls of the graph, and for nothing the model tried.
        assert [tool for tool, _, _ in desk.accesses()[before:]] == ["send_receipt", "payments"]
        judged = [s.event.body for s in run._journal.store.events(run.id) if isinstance(s.event.body, ResidualJudged)]
        assert [call.tool for call in judged[0].replica] == ["payments", "send_receipt"]
    tools = {tool.name for tool in seen[0].function_tools}
    assert {"payments", "send_receipt"} <= tools
    assert any("receipt-P-" in str(part.content) for part in said)


def test_the_raw_text_of_the_model_is_what_is_judged(tmp_path: Path) -> None:
    """An amount written as a JSON number stays the digits the model wrote."""
    with frontier(tmp_path) as (run, _, receipt):
        proposal = rest(receipt)
        raw = json.dumps({**proposal, "answer": {**proposal["answer"], "text": "paid 420.10"}})
        model = proposing(ToolCallPart(PROPOSE, raw))
        run.take_over(PydanticSuccessor(model), attempts=1)
        judged = [s.event.body for s in run._journal.store.events(run.id) if isinstance(s.event.body, ResidualJudged)]
        assert judged[0].proposal.text == raw


def test_it_is_told_why_its_first_proposal_was_rejected(tmp_path: Path) -> None:
    prompts: list[str] = []

    with frontier(tmp_path) as (run, _, receipt):
        left = [json.dumps({"calls": [check()], "answer": answer()}), json.dumps(rest(receipt))]

        def model(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
            prompts.append(str(messages[0].parts[-1].content))
            return ModelResponse(parts=[ToolCallPart(PROPOSE, left.pop(0))])

        assert run.take_over(PydanticSuccessor(FunctionModel(model))).complete
    assert "residual.coverage" not in prompts[0]
    assert "residual.coverage" in prompts[1]


def test_a_model_that_never_fits_the_schema_ends_the_tenure_and_nothing_ran(tmp_path: Path) -> None:
    with frontier(tmp_path) as (run, desk, _):
        model = proposing(*[TextPart("I would rather talk.")] * 9)
        taken = run.take_over(PydanticSuccessor(model, retries=1))
        assert (taken.status, taken.reason, taken.writes) == ("bottom", "takeover.failed", 0)
        assert taken.error is not None
        assert taken.tokens > 0  # what came to nothing was paid for as well
        assert desk.truth(INVOICE).deliveries == 0


def test_it_is_awaited_on_a_real_event_loop(tmp_path: Path) -> None:
    async def main() -> None:
        desk = Desk.create(tmp_path / "desk.db")
        async with Guard(CONTRACT, tools=desk.tools()).run(TASK) as run:
            receipt = await asyncio.to_thread(pay, run)
            model = proposing(
                ToolCallPart("payments", {"invoice_id": INVOICE}), ToolCallPart(PROPOSE, json.dumps(rest(receipt)))
            )
            taken = await run.atake_over(PydanticSuccessor(model).ask, replica=forked(desk))
            assert (taken.complete, run.status) == (True, "CERTIFIED")

    asyncio.run(main())


def test_it_is_called_from_the_asynchronous_path_as_any_plain_callable(tmp_path: Path) -> None:
    async def main() -> None:
        desk = Desk.create(tmp_path / "desk.db")
        async with Guard(CONTRACT, tools=desk.tools()).run(TASK) as run:
            receipt = await asyncio.to_thread(pay, run)
            model = proposing(ToolCallPart(PROPOSE, json.dumps(rest(receipt))))
            assert (await run.atake_over(PydanticSuccessor(model))).complete

    asyncio.run(main())
