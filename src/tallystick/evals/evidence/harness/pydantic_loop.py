"""Pydantic AI's agent loop before a case: the same tools, another framework's loop. Needs the `pydantic-ai` extra."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from tallystick.errors import InputError
from tallystick.evals.evidence.client import InfrastructureError
from tallystick.evals.evidence.harness.chat import ChatModel, parsed
from tallystick.evals.evidence.harness.loop import MAX_TURNS
from tallystick.evals.evidence.harness.opened import CASE_SECONDS, SYSTEM, OpenCase, prompt
from tallystick.models.endpoint import ContextFullError

try:
    from pydantic_ai import Agent, Tool
    from pydantic_ai.exceptions import ModelAPIError, UsageLimitExceeded, UserError
    from pydantic_ai.messages import (
        ModelMessage,
        ModelRequest,
        ModelResponse,
        RetryPromptPart,
        SystemPromptPart,
        TextPart,
        ToolCallPart,
        ToolReturnPart,
        UserPromptPart,
    )
    from pydantic_ai.models import Model, infer_model
    from pydantic_ai.models.function import AgentInfo, FunctionModel
    from pydantic_ai.settings import ModelSettings
    from pydantic_ai.usage import RequestUsage, UsageLimits
except ImportError as bad:
    raise InputError(
        "the Pydantic AI harness needs `pydantic-ai-slim`", where="--harness",
        fix="pip install 'tallystick[pydantic-ai]'",
    ) from bad  # fmt: skip


@dataclass(frozen=True, kw_only=True)
class PydanticLoop:
    """An agent: a model in Pydantic AI's loop. A text without a call ends the loop, as it does there.

    Attributes:
        model: one of ours, or one of Pydantic AI's own (`named`).
        max_turns: most requests to it in one case.
        temperature, max_tokens: for a model of Pydantic AI's own; one of ours has its own.
    """

    model: ChatModel | Model
    max_turns: int = MAX_TURNS
    temperature: float = 0.0
    max_tokens: int | None = None

    def __call__(self, case: OpenCase) -> None:
        """Work on an open case.

        Raises:
            InfrastructureError: the model cannot be used.
        """
        asyncio.run(self._work(case))

    async def _work(self, case: OpenCase) -> None:
        settings = ModelSettings(temperature=self.temperature)
        if self.max_tokens is not None:
            settings["max_tokens"] = self.max_tokens
        model = _over(self.model) if isinstance(self.model, ChatModel) else self.model
        try:
            agent = Agent(
                model,
                system_prompt=SYSTEM,
                tools=[_tool(case, t) for t in case.task["tools"]],
                model_settings=settings,
            )
            async with (
                asyncio.timeout(CASE_SECONDS),
                agent.iter(prompt(case.task), usage_limits=UsageLimits(request_limit=self.max_turns)) as steps,
            ):
                async for _ in steps:
                    if case.over:
                        return
        except (UsageLimitExceeded, ContextFullError, TimeoutError):
            return  # the case is left as it stands
        except ModelAPIError as bad:
            raise InfrastructureError(str(bad)) from bad


def named(name: str) -> Model:
    """Return the model that Pydantic AI knows by a name such as `openai:gpt-5`.

    Raises:
        InputError: it knows none, or its provider's package or key is missing.
    """
    try:
        return infer_model(name)
    except (UserError, ImportError, ValueError) as bad:
        first = str(bad).strip().split("\n")[0]
        raise InputError(f"Pydantic AI has no usable model `{name}`: {first}", where="--model") from bad


def _tool(case: OpenCase, schema: dict[str, Any]) -> Tool[None]:
    name = str(schema["name"])

    async def call(**args: Any) -> Any:
        return await asyncio.to_thread(case.call, name, args)

    return Tool.from_schema(call, name, str(schema["description"]), schema["parameters"], sequential=True)


def _over(chat: ChatModel) -> FunctionModel:
    """Return one of our models as one of Pydantic AI's, without the provider packages it would want for one."""

    async def respond(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        tools = [
            {"name": t.name, "description": t.description or "", "parameters": t.parameters_json_schema}
            for t in info.function_tools
        ]
        turn = await asyncio.to_thread(partial(chat.turn, _plain(messages), tools))
        parts: list[TextPart | ToolCallPart] = [TextPart(turn.text)] if turn.text else []
        parts += [ToolCallPart(c.name, c.raw, tool_call_id=c.id) for c in turn.calls]
        usage = RequestUsage(input_tokens=turn.tokens_in, output_tokens=turn.tokens_out)
        return ModelResponse(parts=parts or [TextPart("")], usage=usage)

    return FunctionModel(respond, model_name=chat.name)


def _plain(messages: Sequence[ModelMessage]) -> list[dict[str, Any]]:
    """Return messages in OpenAI's form."""
    found: list[dict[str, Any]] = []
    for message in messages:
        if isinstance(message, ModelResponse):
            said = "".join(p.content for p in message.parts if isinstance(p, TextPart))
            calls = [
                {"id": p.tool_call_id, "type": "function", "function": {"name": p.tool_name, "arguments": _raw(p)}}
                for p in message.parts
                if isinstance(p, ToolCallPart)
            ]
            found.append({"role": "assistant", "content": said or None, **({"tool_calls": calls} if calls else {})})
            continue
        assert isinstance(message, ModelRequest)
        for part in message.parts:
            if isinstance(part, SystemPromptPart):
                found.append({"role": "system", "content": part.content})
            elif isinstance(part, UserPromptPart):
                found.append({"role": "user", "content": part.content})
            elif isinstance(part, ToolReturnPart):
                text = part.model_response_str()
                found.append({"role": "tool", "tool_call_id": part.tool_call_id, "content": text})
            elif isinstance(part, RetryPromptPart):
                text = part.model_response()
                if part.tool_name is None:
                    found.append({"role": "user", "content": text})
                else:
                    found.append({"role": "tool", "tool_call_id": part.tool_call_id, "content": text})
    return found


def _raw(part: ToolCallPart) -> str:
    """A call's arguments as they go back in the history; see `ToolCall.echo`."""
    raw = part.args if isinstance(part.args, str) else json.dumps(part.args or {})
    return raw if parsed(raw) is not None else "{}"
