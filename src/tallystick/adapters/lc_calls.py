"""The wrapper of a LangGraph tool node's calls: each is proposed to the guard, and runs only if it is admitted."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from functools import partial, wraps
from typing import Any, Final

from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool, StructuredTool, Tool
from langgraph.errors import GraphBubbleUp
from langgraph.prebuilt.tool_node import ToolCallRequest
from pydantic import BaseModel, ValidationError

from tallystick.adapters.ended import RunEndedError
from tallystick.adapters.lc_handoff import Part, Result, parts_of, told_of, with_part
from tallystick.adapters.lc_messages import Role, last_ai, messages_in, passed_on, rows_of, was_cut
from tallystick.errors import InputError
from tallystick.handoff import Transfer
from tallystick.runtime.outcome import Outcome
from tallystick.runtime.results import NotJsonError, ToolResult, json_of, plain_json
from tallystick.runtime.run import Run

Handler = Callable[[ToolCallRequest], Result]
AsyncHandler = Callable[[ToolCallRequest], Awaitable[Result]]
_INNER: Final = "call_inner"
"""Name of LangChain's own closure around a wrapper that stands further in."""


@dataclass
class _Kept:
    """What a tool really returned, and what the framework made of it."""

    raw: Any = None
    seen: bool = False
    message: Result = None


@dataclass(frozen=True, kw_only=True)
class _Asked:
    """A call the model made, ready to be proposed."""

    request: ToolCallRequest
    args: Mapping[str, Any]
    turn: int
    cut: bool
    kept: _Kept = field(default_factory=_Kept)

    def admitted(self, given: Mapping[str, Any]) -> ToolCallRequest:
        """Return the request with what the guard added (an idempotency key), and a tool whose result is seen."""
        call = self.request.tool_call
        added = {k: v for k, v in given.items() if call["args"].get(k) is None}
        tool = _seen(self.request.tool, self.kept)
        return self.request.override(tool_call={**call, "args": {**call["args"], **added}}, tool=tool)

    def receipt(self, message: Result) -> Any:
        """Return what the receipt keeps: what the tool returned, else what the model is told."""
        self.kept.message = message
        if isinstance(message, ToolMessage):
            failed = message.status == "error"
            if self.kept.seen and not failed:
                raw = self.kept.raw
                if getattr(self.request.tool, "response_format", "") == "content_and_artifact":
                    raw = raw[0]
                if not isinstance(raw, ToolMessage):
                    try:
                        json_of(raw)
                    except NotJsonError:
                        return str(message.text)  # the framework tells the model its text
                    return raw
            return ToolResult(value=str(message.text), flag="error" if failed else "unset")
        return told_of(message)


def _seen(tool: BaseTool | None, kept: _Kept) -> Any:
    """Return the tool with an eye on what its function returns, before the framework makes text of it."""
    if not isinstance(tool, StructuredTool | Tool):
        return tool
    update: dict[str, Any] = {}
    if tool.func is not None:
        func = tool.func

        @wraps(func)
        def sync(*args: Any, **given: Any) -> Any:
            kept.raw, kept.seen = func(*args, **given), True
            return kept.raw

        update["func"] = sync
    if tool.coroutine is not None:
        coroutine = tool.coroutine

        @wraps(coroutine)
        async def later(*args: Any, **given: Any) -> Any:
            kept.raw, kept.seen = await coroutine(*args, **given), True
            return kept.raw

        update["coroutine"] = later
    return tool.model_copy(update=update)


@dataclass(frozen=True, kw_only=True)
class ToolGate:
    """The wrapper of a tool node's calls.

    Attributes:
        run: the guard's run.
        agent: name of the agent, for handoffs.
        block_role: role of the message that carries the block in a handoff.
        messages_key: the state's key of the messages.
    """

    run: Run
    agent: str = "agent"
    block_role: Role = "system"
    messages_key: str = "messages"

    def wrap_tool_call(self, request: ToolCallRequest, handler: Handler) -> Result:
        """Propose the call; run the tool only if it is admitted."""
        asked = self._asked(request, handler)
        if not isinstance(asked, _Asked):
            return asked

        def execute(**given: Any) -> Any:
            return asked.receipt(handler(asked.admitted(given)))

        name = request.tool_call["name"]
        outcome = self.run.call(
            name, asked.args, execute, native_id=request.tool_call["id"], turn=asked.turn, complete=not asked.cut
        )
        return self._answer(asked, outcome, self._handed)

    async def awrap_tool_call(self, request: ToolCallRequest, handler: AsyncHandler) -> Result:
        """As `wrap_tool_call`, without blocking the event loop."""
        asked = self._asked(request, handler)
        if not isinstance(asked, _Asked):
            return await asked if isinstance(asked, Awaitable) else asked

        async def execute(**given: Any) -> Any:
            return asked.receipt(await handler(asked.admitted(given)))

        name = request.tool_call["name"]
        outcome = await self.run.acall(
            name, asked.args, execute, native_id=request.tool_call["id"], turn=asked.turn, complete=not asked.cut
        )
        return await self._answer(asked, outcome, self._ahanded)

    def register(self, tools: Any, *, asynchronous: bool = False) -> None:
        """Register tools for the contract's status queries."""
        for tool in tools:
            if isinstance(tool, BaseTool) and tool.name in self.run.contract.tools:
                query = partial(_aquery, tool) if asynchronous else partial(_query, tool)
                self.run.register(tool.name, query)

    # ------------------------------------------------------------------ inside

    def _asked(self, request: ToolCallRequest, handler: Any) -> Any:
        """Return the call to propose, or what to answer instead."""
        if getattr(handler, "__name__", "") == _INNER:
            raise InputError(
                "another middleware stands between the guard and the tools, and could change what was judged",
                where="middleware",
                fix="put `guarded(run)` last in the list",
            )
        messages = messages_in(request.state, self.messages_key)
        message, later = last_ai(messages)
        call = request.tool_call
        for answer in later:
            # It has its answer already, a person's "no" for example; a jump to the tools would run it all the same.
            if isinstance(answer, ToolMessage) and call["id"] is not None and answer.tool_call_id == call["id"]:
                return answer
        if request.tool is None:
            return handler(request)  # nothing to run: the framework says so
        try:
            _validate(request.tool, call["args"])
            args = plain_json(call["args"])
        except (ValidationError, TypeError) as bad:
            return _failed(call, f"the arguments are not the tool's: {bad}")
        return _Asked(
            request=request,
            args=args,
            turn=sum(m.type == "ai" for m in messages),
            cut=was_cut(message),
        )

    def _answer(self, asked: _Asked, outcome: Outcome, handed: Callable[[ToolCallRequest, Result], Any]) -> Any:
        call = asked.request.tool_call
        if outcome.refused:
            if outcome.ended is not None:
                raise RunEndedError(outcome.ended, outcome.decision)
            message: Result = _failed(call, str(outcome.refusal()))
        elif isinstance(outcome.error, GraphBubbleUp) or (outcome.error is not None and not outcome.in_doubt):
            raise outcome.error
        elif outcome.error is not None or outcome.in_doubt:
            message = _failed(call, outcome.text())
        elif outcome.recorded:
            message = ToolMessage(outcome.text(), tool_call_id=call["id"] or "", name=call["name"])
        else:
            message = asked.kept.message
        return handed(asked.request, message)

    def _handed(self, request: ToolCallRequest, message: Result) -> Result:
        parts = parts_of(message, self.messages_key)
        found = [self.run.hand_off(p.to, rows_of(p.messages), **self._options()) for p in parts]
        return self._moved(request, message, parts, found)

    async def _ahanded(self, request: ToolCallRequest, message: Result) -> Result:
        parts = parts_of(message, self.messages_key)
        found = [await self.run.ahand_off(p.to, rows_of(p.messages), **self._options()) for p in parts]
        return self._moved(request, message, parts, found)

    def _options(self) -> dict[str, Any]:
        return {"sender": self.agent, "role": self.block_role}

    def _moved(self, request: ToolCallRequest, message: Result, parts: list[Part], found: list[Transfer]) -> Result:
        rejected = next((t for t in found if not t.accepted), None)
        if rejected is not None:
            lines = "\n".join(f"- {r.code}: {r.message}" for r in rejected.decision.reasons)
            return _failed(request.tool_call, f"the handoff was not made.\n{lines}")
        for part, transfer in zip(parts, found, strict=True):
            message = with_part(message, part, passed_on(part.messages, transfer), self.messages_key)
        return message


def _failed(call: Mapping[str, Any], text: str) -> ToolMessage:
    return ToolMessage(text, tool_call_id=call["id"] or "", name=call["name"], status="error")


def _validate(tool: BaseTool, args: Mapping[str, Any]) -> None:
    """Judge no call the framework would not make: it checks arguments only after the wrapper."""
    schema = tool.tool_call_schema
    if isinstance(schema, type) and issubclass(schema, BaseModel):
        schema.model_validate(args)


def _query(_tool: BaseTool, /, **args: Any) -> Any:
    return _tool.invoke(args)


async def _aquery(_tool: BaseTool, /, **args: Any) -> Any:
    return await _tool.ainvoke(args)
