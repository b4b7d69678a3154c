"""Pydantic AI under the conformance suite: the scripted model is a `FunctionModel`, streamed or not."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

from pydantic_ai import Agent, ModelMessage, ModelResponse
from pydantic_ai.messages import (
    ModelRequest,
    PartDeltaEvent,
    PartEndEvent,
    PartStartEvent,
    RetryFeedbackPart,
    TextPart,
    TextPartDelta,
    ToolCallPart,
    ToolReturnPart,
)
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, FunctionModel
from pydantic_ai.usage import UsageLimits

from tallystick import Run
from tallystick.adapters.pydantic_ai import finish_output, guarded
from tallystick.testing.conformance import Ask, Model, Seen, Transcript, Turn


class ScriptOverError(Exception):
    """The scripted model has nothing more to say."""


class PydanticHarness:
    """Runs a scripted model in a Pydantic AI agent."""

    features = frozenset({"parallel", "fragments", "cut", "holds_text"})

    def drive(
        self,
        run: Run,
        tools: Mapping[str, Callable[..., Any]],
        model: Model,
        *,
        max_turns: int,
        fragments: bool = False,
    ) -> Transcript:
        told = Transcript()
        finals: dict[str, Mapping[str, Any]] = {}

        def turn(messages: list[ModelMessage]) -> Turn:
            told.seen = list(seen_in(messages))
            told.turns += 1
            found = model(told.seen)
            if found is None:
                raise ScriptOverError
            if found.final is not None:
                finals[found.final.text] = found.final.claims
            return found

        def whole(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
            return response(self.turn(turn(messages)))

        async def streamed(messages: list[ModelMessage], _: AgentInfo) -> AsyncIterator[Any]:
            for piece in pieces(self.turn(turn(messages))):
                yield piece

        agent = self.agent(run, FunctionModel(whole, stream_function=streamed), list(tools.values()))
        capability = self.capability(run, finals, hold_text=fragments)

        async def listen(_: Any, events: Any) -> None:
            async for event in events:
                if isinstance(event, PartStartEvent) and isinstance(event.part, TextPart):
                    told.shown.append(event.part.content)
                elif isinstance(event, PartDeltaEvent) and isinstance(event.delta, TextPartDelta):
                    told.shown.append(event.delta.content_delta)
                else:
                    told.shown.extend(self.shown(event))

        async def go() -> None:
            result = await agent.run(
                "Lend book A for 7 days.",
                capabilities=[capability],
                usage_limits=UsageLimits(request_limit=max_turns),
                event_stream_handler=listen if fragments else None,
            )
            if not fragments:
                told.shown.append(str(result.output))
            told.seen = list(seen_in(result.all_messages()))

        try:
            asyncio.run(go())
        except Exception as bad:
            told.raised = bad
        return told

    # ------------------------------------------------------------------ what the other ways to finish do otherwise

    def agent(self, run: Run, model: FunctionModel, tools: list[Any]) -> Agent[None, Any]:
        """The agent, as its author wrote it."""
        return Agent(model, tools=tools, retries={"tools": 3, "output": 20})

    def capability(self, run: Run, finals: Mapping[str, Mapping[str, Any]], *, hold_text: bool) -> Any:
        """The guard's capability."""
        return guarded(run, claims=lambda text: finals.get(text, {}), hold_text=hold_text)

    def turn(self, turn: Turn) -> Turn:
        """How the model takes a turn of the script."""
        return turn

    def shown(self, event: Any) -> list[str]:
        """Text of the last word in an event that is none of a text part."""
        return []


class PydanticTextHarness(PydanticHarness):
    """An agent as it was before the guard: nobody says what its texts state."""

    def capability(self, run: Run, finals: Mapping[str, Mapping[str, Any]], *, hold_text: bool) -> Any:
        return guarded(run, hold_text=hold_text)


class PydanticFinishHarness(PydanticHarness):
    """An agent whose output is the finish tool made from the contract."""

    def agent(self, run: Run, model: FunctionModel, tools: list[Any]) -> Agent[None, Any]:
        return Agent(model, tools=tools, output_type=finish_output(run), retries={"tools": 3, "output": 20})

    def capability(self, run: Run, finals: Mapping[str, Mapping[str, Any]], *, hold_text: bool) -> Any:
        return guarded(run, hold_text=hold_text)

    def turn(self, turn: Turn) -> Turn:
        if turn.final is None:
            return turn
        args = {"text": turn.final.text, "claims": dict(turn.final.claims)}
        return Turn(calls=(Ask(id=f"f{id(turn)}", tool="finish", args=args),))

    def shown(self, event: Any) -> list[str]:
        """The words inside the output tool's arguments, once they stream out."""
        if (
            isinstance(event, PartEndEvent)
            and isinstance(event.part, ToolCallPart)
            and event.part.tool_name == "finish"
        ):
            return [str(event.part.args_as_dict()["text"])]
        return []


def seen_in(messages: list[ModelMessage]) -> list[Seen]:
    """What the model was shown: tool returns, and what it was asked to do again."""
    found = []
    for message in messages:
        for part in message.parts if isinstance(message, ModelRequest) else ():
            if isinstance(part, ToolReturnPart):
                found.append(
                    Seen(id="" if part.tool_name == "finish" else part.tool_call_id, text=part.model_response_str())
                )
            elif isinstance(part, RetryFeedbackPart):
                found.append(Seen(id="", text=str(part.content)))
    return found


def response(turn: Turn) -> ModelResponse:
    """The turn as one whole response."""
    if turn.final is not None:
        return ModelResponse(parts=[TextPart(turn.final.text)])
    parts = [ToolCallPart(ask.tool, dict(ask.args), ask.id) for ask in turn.calls]
    return ModelResponse(parts=parts, finish_reason="length" if any(ask.cut for ask in turn.calls) else "tool_call")


def pieces(turn: Turn) -> list[Any]:
    """The turn in pieces of three characters; parallel calls interleaved."""
    if turn.final is not None:
        return _cut(turn.final.text)
    rows = [
        [{i: DeltaToolCall(name=ask.tool, json_args="", tool_call_id=ask.id)}]
        + [{i: DeltaToolCall(json_args=piece)} for piece in _cut(json.dumps(dict(ask.args)))]
        for i, ask in enumerate(turn.calls)
    ]
    longest = max(map(len, rows))
    return [row[at] for at in range(longest) for row in rows if at < len(row)]


def _cut(text: str) -> list[str]:
    return [text[at : at + 3] for at in range(0, len(text), 3)]
