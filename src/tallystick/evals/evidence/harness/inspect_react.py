"""Inspect's ReAct agent before a case: one agent of `run`, and the tools and provider that the Inspect task shares.

Needs `inspect-ai`, which comes with the `evals` extra. The agent's prompt and loop are Inspect's own; the tools are the
case's.
"""

from __future__ import annotations

import json
import tempfile
from dataclasses import dataclass
from functools import partial
from typing import Any

from tallystick.errors import InputError
from tallystick.evals.evidence.client import InfrastructureError
from tallystick.evals.evidence.harness.chat import ChatModel
from tallystick.evals.evidence.harness.loop import MAX_TURNS
from tallystick.evals.evidence.harness.opened import CASE_SECONDS, MAX_NUDGES, NUDGE, OpenCase, prompt

try:
    from anyio import to_thread
    from inspect_ai import Task
    from inspect_ai import eval as inspect_eval
    from inspect_ai.agent import Agent, AgentState, AgentSubmit, react
    from inspect_ai.agent import run as run_agent
    from inspect_ai.dataset import Sample
    from inspect_ai.model import (
        ChatMessage,
        ChatMessageAssistant,
        ChatMessageTool,
        ChatMessageUser,
        GenerateConfig,
        Model,
        ModelAPI,
        ModelOutput,
        ModelUsage,
        get_model,
        modelapi,
    )
    from inspect_ai.solver import Generate, Solver, TaskState, solver
    from inspect_ai.tool import ToolCall, ToolChoice, ToolDef, ToolError, ToolInfo, ToolParams
    from inspect_ai.util import message_limit
except ImportError as bad:
    raise InputError(
        "the Inspect harness needs `inspect-ai`", where="--harness", fix="pip install 'tallystick[evals]'"
    ) from bad


@dataclass(frozen=True, kw_only=True)
class InspectReact:
    """An agent: a model in Inspect's ReAct loop.

    Attributes:
        model: one of ours, or one of Inspect's own (`named`).
        max_turns: most requests to it in one case.
    """

    model: ChatModel | Model
    max_turns: int = MAX_TURNS

    def __call__(self, case: OpenCase) -> None:
        """Work on an open case.

        Raises:
            InfrastructureError: the model cannot be used.
        """
        trouble: list[str] = []

        @solver
        def over_case() -> Solver:
            async def solve(state: TaskState, generate: Generate) -> TaskState:
                del generate
                await work(case, prompt(case.task), max_turns=self.max_turns)
                return state

            return solve

        with tempfile.TemporaryDirectory() as folder:
            logs = inspect_eval(
                Task(dataset=[Sample(input=prompt(case.task))], solver=over_case(), time_limit=CASE_SECONDS),
                model=self._model(trouble),
                display="none",
                log_dir=folder,
                log_level="warning",
                retry_on_error=0,
            )
        if trouble:
            raise InfrastructureError(trouble[0])
        failed = next((log.error.message for log in logs if log.error is not None), None)
        if failed is not None and isinstance(self.model, Model):
            raise InfrastructureError(failed)  # the provider's: what a tool says to a call is never an error here
        if failed is not None:
            raise RuntimeError(failed)

    def _model(self, trouble: list[str]) -> Model:
        if isinstance(self.model, Model):
            return self.model
        return get_model(f"tallystick-chat/{self.model.name}", memoize=False, chat=self.model, trouble=trouble)


def named(name: str, *, temperature: float, max_tokens: int | None) -> Model:
    """Return the model that Inspect knows by a name such as `openai/gpt-5`.

    Raises:
        InputError: it knows none, or its provider's package or key is missing.
    """
    try:
        return get_model(name, config=GenerateConfig(temperature=temperature, max_tokens=max_tokens))
    except Exception as bad:
        first = str(bad).strip().split("\n")[0]
        raise InputError(f"Inspect has no usable model `{name}`: {first}", where="--model") from bad


async def work(case: OpenCase, text: str, *, max_turns: int = MAX_TURNS) -> AgentState:
    """Run Inspect's ReAct agent over an open case, inside a sample of an Inspect evaluation."""
    silent = 0

    async def go_on(state: AgentState) -> bool | str:
        nonlocal silent
        if case.over:
            return False
        silent = 0 if state.output.message.tool_calls else silent + 1
        return False if silent > MAX_NUDGES else NUDGE if silent else True

    agent: Agent = react(
        tools=[tool_of(case, t) for t in case.task["tools"] if t["name"] != "submit"],
        submit=AgentSubmit(tool=_submit_of(case), keep_in_messages=True),
        on_continue=go_on,
    )
    # A request and its results are two messages or more; the system prompt and the task are two.
    limited: Any = await run_agent(agent, text, limits=[message_limit(2 + 2 * max_turns)])
    state: AgentState = limited[0] if isinstance(limited, tuple) else limited
    return state


def tool_of(case: OpenCase, schema: dict[str, Any]) -> ToolDef:
    """Return a tool of the case as one of Inspect's; what is wrong with a call is told as the case tells it."""
    name = str(schema["name"])

    async def execute(**args: Any) -> str:
        return json.dumps(await _call(case, name, args))

    return ToolDef(
        execute, name=name, description=str(schema["description"]),
        parameters=_params(schema), parallel=False,
    )  # fmt: skip


def _submit_of(case: OpenCase) -> ToolDef:
    schema = next(t for t in case.task["tools"] if t["name"] == "submit")

    async def execute(**args: Any) -> str:
        result = await _call(case, "submit", args)
        if not case.over:
            raise ToolError(json.dumps(result))
        return str(args.get("label", ""))

    return ToolDef(
        execute, name="submit", description=str(schema["description"]),
        parameters=_params(schema), parallel=False,
    )  # fmt: skip


def _params(schema: dict[str, Any]) -> ToolParams:
    """Return a tool's parameters. Inspect wants each described; one that is not is, by its name in words."""
    params = ToolParams.model_validate(schema["parameters"])
    for name, found in params.properties.items():
        found.description = found.description or name.replace("_", " ")
    return params


async def _call(case: OpenCase, name: str, args: dict[str, Any]) -> Any:
    # An optional argument that the model left out arrives as None; the environment knows only what was given.
    given = {k: v for k, v in args.items() if v is not None}
    return await to_thread.run_sync(partial(case.call, name, given))


# ---------------------------------------------------------------------- a provider over our endpoint


@modelapi(name="tallystick-chat")
def _provider() -> type[ModelAPI]:
    return ChatApi


class ChatApi(ModelAPI):
    """Inspect's provider for an OpenAI-compatible endpoint, without the provider packages it would want for one."""

    def __init__(
        self,
        model_name: str,
        base_url: str | None = None,
        api_key: str | None = None,
        config: GenerateConfig | None = None,
        *,
        chat: ChatModel,
        trouble: list[str],
    ) -> None:
        super().__init__(model_name, base_url, api_key, [], config or GenerateConfig())
        self._chat = chat
        self._trouble = trouble

    async def generate(
        self,
        input: list[ChatMessage],  # noqa: A002 - Inspect passes it by this name
        tools: list[ToolInfo],
        tool_choice: ToolChoice,
        config: GenerateConfig,
    ) -> ModelOutput:
        """Return the model's next turn."""
        del tool_choice, config
        schemas = [
            {"name": t.name, "description": t.description, "parameters": t.parameters.model_dump(exclude_none=True)}
            for t in tools
        ]
        try:
            turn = await to_thread.run_sync(partial(self._chat.turn, [_plain(m) for m in input], schemas))
        except InfrastructureError as bad:
            self._trouble.append(str(bad))
            raise
        calls = [
            ToolCall(
                id=c.id, function=c.name, arguments=c.args or {},
                parse_error=None if c.args is not None else "the arguments are not a JSON object",
            )
            for c in turn.calls
        ]  # fmt: skip
        message = ChatMessageAssistant(content=turn.text, tool_calls=calls or None, source="generate")
        output = ModelOutput.from_message(message, stop_reason="max_tokens" if turn.cut else "stop")
        output.model = self.model_name
        output.usage = ModelUsage(
            input_tokens=turn.tokens_in, output_tokens=turn.tokens_out, total_tokens=turn.tokens_in + turn.tokens_out
        )
        return output


def _plain(message: ChatMessage) -> dict[str, Any]:
    """Return a message in OpenAI's form."""
    if isinstance(message, ChatMessageTool):
        text = f"error: {message.error.message}" if message.error is not None else message.text
        return {"role": "tool", "tool_call_id": message.tool_call_id or "", "content": text}
    if isinstance(message, ChatMessageAssistant):
        plain: dict[str, Any] = {"role": "assistant", "content": message.text or None}
        if message.tool_calls:
            plain["tool_calls"] = [
                {"id": c.id, "type": "function",
                 "function": {"name": c.function, "arguments": json.dumps(c.arguments)}}
                for c in message.tool_calls
            ]  # fmt: skip
        return plain
    role = "user" if isinstance(message, ChatMessageUser) else "system"
    return {"role": role, "content": message.text}
