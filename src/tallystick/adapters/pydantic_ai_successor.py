"""Pydantic AI: a model that finishes the rest of a run, and hands in its proposal as structured output.

    successor = PydanticSuccessor("openai:gpt-5.5")
    taken = run.take_over(successor, replica=sqlite_replica(path, tools))

The output type is the published JSON Schema of proposals. Where there is a replica the model gets its tools, to try
calls while it writes; the live tools are never given to it. What counts is the raw JSON the model wrote, so that no
amount passes through a float.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from tallystick.errors import InputError
from tallystick.model import jsontext
from tallystick.runtime.replicas import Replica
from tallystick.runtime.successors import Brief

try:
    from pydantic_ai import Agent, ModelResponse, Tool, UsageLimits
    from pydantic_ai.messages import ToolCallPart
    from pydantic_ai.models import Model
    from pydantic_ai.output import StructuredDict, ToolOutput
    from pydantic_ai.run import AgentRunResult
    from pydantic_ai.settings import ModelSettings
    from pydantic_ai.toolsets import FunctionToolset
    from pydantic_ai.usage import RunUsage
except ImportError as bad:
    raise InputError(
        "the adapter for Pydantic AI needs `pydantic-ai-slim`", fix="pip install 'tallystick[pydantic-ai]'"
    ) from bad

PROPOSE: Final = "propose_remainder"
"""Name of the output tool."""
_ABOUT: Final = "Hand in everything you will do to finish the rest, and the answer. Nothing runs before all is checked."


class PydanticSuccessor:
    """A successor that asks a Pydantic AI model, once for each attempt.

    Call it from `take_over`; pass its `ask` to `atake_over` where the model should be awaited on the loop.

    Args:
        model: a model, or its name as Pydantic AI writes it.
        instructions: added to the system prompt; the brief itself is the user prompt.
        settings: model settings.
        limits: the framework's usage limits, per attempt.
        retries: times an output that does not fit the schema is sent back to the model by the framework.
    """

    def __init__(
        self,
        model: Model | str,
        *,
        instructions: str | None = None,
        settings: ModelSettings | None = None,
        limits: UsageLimits | None = None,
        retries: int = 2,
    ) -> None:
        self._model = model
        self._instructions = instructions
        self._settings = settings
        self._limits = limits
        self._retries = retries

    def __call__(self, brief: Brief) -> str:
        """Return the model's proposal, as the JSON text it wrote. What the framework raises ends the tenure."""
        usage = RunUsage()
        try:
            result = self._agent(brief).run_sync(brief.prompt(), usage=usage, **self._options(brief))
        finally:
            _count(brief, usage)
        return _proposal(result)

    async def ask(self, brief: Brief) -> str:
        """As calling it, on the event loop."""
        usage = RunUsage()
        try:
            result = await self._agent(brief).run(brief.prompt(), usage=usage, **self._options(brief))
        finally:
            _count(brief, usage)
        return _proposal(result)

    def _options(self, brief: Brief) -> dict[str, Any]:
        return {"model_settings": self._settings, "usage_limits": self._limits, "toolsets": _toolsets(brief)}

    def _agent(self, brief: Brief) -> Agent[None, Any]:
        output = ToolOutput(StructuredDict(output_schema(brief.proposal_schema)), name=PROPOSE, description=_ABOUT)
        return Agent(self._model, output_type=output, instructions=self._instructions, retries=self._retries)


def output_schema(published: Mapping[str, Any]) -> dict[str, Any]:
    """Return the schema of proposals in the form that function calling takes: without definitions and recursion.

    Where the published one defines values by themselves, any value is taken here: what it may be is in words beside it,
    and the gate reads the strict form whatever a framework let through.
    """
    defs = published.get("$defs", {})
    flat: dict[str, Any] = _flat({n: p for n, p in published.items() if n not in ("$schema", "$id", "$defs")}, defs, ())
    return flat


def _flat(part: Any, defs: Mapping[str, Any], seen: tuple[str, ...]) -> Any:
    if isinstance(part, list):
        return [_flat(item, defs, seen) for item in part]
    if not isinstance(part, Mapping):
        return part
    name = str(part.get("$ref", "")).removeprefix("#/$defs/")
    if name in defs:
        if name in seen or _recursive(name, defs):
            about = defs[name].get("description")
            return {"description": about} if about else {}
        return _flat(defs[name], defs, (*seen, name))
    return {key: _flat(item, defs, seen) for key, item in part.items() if key != "propertyNames"}


def _recursive(name: str, defs: Mapping[str, Any]) -> bool:
    """Return whether a definition leads back to itself."""
    reached: set[str] = set()
    left = [defs[name]]
    while left:
        part = left.pop()
        if isinstance(part, Mapping):
            ref = str(part.get("$ref", "")).removeprefix("#/$defs/")
            if ref in defs and ref not in reached:
                reached.add(ref)
                left.append(defs[ref])
            left.extend(part.values())
        elif isinstance(part, list):
            left.extend(part)
    return name in reached


def _toolsets(brief: Brief) -> list[FunctionToolset[None]]:
    replica = brief.replica
    if replica is None:
        return []
    tools = [
        Tool.from_schema(_tried(replica, name), name=name, description=_about(brief, name), json_schema=dict(schema))
        for name, schema in brief.schemas.items()
        if name in replica.tools
    ]
    return [FunctionToolset(tools)] if tools else []


def _about(brief: Brief, name: str) -> str:
    about = brief.descriptions.get(name, name)
    return f"{about}. On a replica: nothing here is live, and nothing of it counts; try the calls you will propose."


def _tried(replica: Replica, name: str) -> Any:
    async def tool(**args: Any) -> Any:
        return await replica.acall(name, args)

    return tool


def _count(brief: Brief, usage: RunUsage) -> None:
    """Count what asking cost, also where it came to nothing."""
    brief.tokens += usage.input_tokens + usage.output_tokens


def _proposal(result: AgentRunResult[Any]) -> str:
    for message in reversed(result.all_messages()):
        if isinstance(message, ModelResponse):
            for part in reversed(message.parts):
                if isinstance(part, ToolCallPart) and part.tool_name == PROPOSE:
                    return _text(part.args, result.output)
    return _text(None, result.output)


def _text(args: str | Mapping[str, Any] | None, output: Any) -> str:
    """Return the raw text of the output call; a framework that parsed it already has only the values."""
    if isinstance(args, str):
        return args
    return jsontext.dumps(jsontext.exact(dict(args if args is not None else output))[0])
