"""LangChain: one middleware that puts an agent's tools, last word, handoffs and history under a guard's run.

    with guard.run(task) as run:
        agent = create_agent(model, tools, middleware=[…, guarded(run)])      # last: innermost
        with framework_loop(run):
            result = agent.invoke({"messages": […]})

Where it holds on (langchain 1.5): the wrapper of each tool call; the wrapper of each model call, which holds the last
word until the stop gate's verdict, before it is in the state or in a stream; the end of the agent, for what ends it
without the model (tools that return directly); and the step before the model, where messages that were cut or
summarised get the block of the open blockers back. Outside it: tools a provider runs itself, what other middleware
does to an accepted text, and callbacks (traces, `astream_events`), which see what the model says before any verdict.
"""

from __future__ import annotations

import uuid
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

from tallystick.adapters.ended import RunEndedError
from tallystick.adapters.langgraph import afinished, checked, finished, framework_loop, message_of, told
from tallystick.adapters.outputs import Claims
from tallystick.errors import InputError
from tallystick.handoff import repair
from tallystick.runtime.finish_tool import NAME
from tallystick.runtime.outcome import Finish
from tallystick.runtime.run import Run

try:
    from langchain.agents.middleware import AgentMiddleware, hook_config
    from langchain.agents.middleware.types import ModelRequest, ModelResponse
    from langchain.agents.structured_output import ToolStrategy
    from langchain_core.messages import AIMessage, BaseMessage, ToolMessage
    from langchain_core.runnables.config import ensure_config, var_child_runnable_config
    from langgraph.constants import TAG_NOSTREAM
    from langgraph.prebuilt.tool_node import ToolCallRequest

    from tallystick.adapters.lc_calls import AsyncHandler, Handler, ToolGate
    from tallystick.adapters.lc_handoff import Result
    from tallystick.adapters.lc_messages import (
        Role,
        lacks_block,
        last_ai,
        passed_on,
        rows_of,
        was_cut,
        whole,
        with_rows,
    )
except ImportError as bad:
    raise InputError(
        "the adapter for LangChain needs `langchain` and `langgraph`", fix="pip install 'tallystick[langchain]'"
    ) from bad

__all__ = ["FinishOutput", "GuardedAgent", "RunEndedError", "finish_output", "framework_loop", "guarded"]

Change = dict[str, Any] | None
_ALONE: Final = "not accepted, and nothing was run: make the other calls first, and give the answer alone after them"
COMPACTION: Final = "compaction"
"""Who messages go to where a history was summarised or cut."""


def guarded(
    run: Run,
    *,
    claims: Claims | None = None,
    hold_text: bool = True,
    agent: str = "agent",
    block_role: Role = "system",
) -> GuardedAgent:
    """Return the middleware that guards one agent; put it last in `create_agent(..., middleware=[…])`.

    Several agents of one graph can share a run: give each its own, with its name.

    Args:
        run: the guard's run. Its context manager ends it; `framework_loop` ends it at once where the loop fails.
        claims: what an output states, by answer slot. Return None for an output that is only a turn in a conversation:
            it is then passed on without a verdict. A slot that the contract does not have is the host's mistake, and no
            model can mend it: `InputError` out of the agent. Without it, a text states what is found in it beside the
            record (`prose.propose`), and a structured output its members that are named like slots. Not asked about
            `finish_output`.
        hold_text: keep the model's words back from the graph's streams until they are accepted, and refused ones out of
            the state. False streams tokens as they come, and then nobody may show streamed text as a result.
        agent: the agent's name, for handoffs.
        block_role: role of the message that carries the block of open blockers: `system`, or `user` for models that
            take system messages only at the start.
    """
    return GuardedAgent(run, claims=claims, hold_text=hold_text, agent=agent, block_role=block_role)


class FinishOutput(ToolStrategy[Any]):
    """The output of an agent that finishes by the contract's own tool. Make it with `finish_output`."""


def finish_output(run: Run, *, name: str = NAME, strict: bool = False) -> FinishOutput:
    """Return a response format for the agent: the `finish` tool, with a place for each of the contract's answer slots.

        agent = create_agent(model, tools, response_format=finish_output(run), middleware=[guarded(run)])
        agent.invoke(…)["structured_response"]       # {"text": …, "claims": {…}, "outcome": …}

    What the model gives is judged by `guarded`, which must be among the middleware; without it nothing is judged.

    Args:
        run: the guard's run.
        name: the tool's name.
        strict: with a schema in the subset that strict function calling takes.
    """
    definition = run.finish_tool(name=name, strict=strict).definition
    return FinishOutput({"title": name, "description": definition["description"], **definition["inputSchema"]})


class GuardedAgent(AgentMiddleware[Any, Any, Any]):
    """The middleware. Make it with `guarded`."""

    def __init__(self, run: Run, *, claims: Claims | None, hold_text: bool, agent: str, block_role: Role) -> None:
        super().__init__()
        self.run = run
        self.claims = claims
        self.hold_text = hold_text
        self.agent = agent
        self.block_role = block_role
        self._gate = ToolGate(run=run, agent=agent, block_role=block_role)
        self._passed: set[str] = set()
        self._refused: dict[str, list[BaseMessage]] = {}

    # ------------------------------------------------------------------ calls

    def wrap_tool_call(self, request: ToolCallRequest, handler: Handler) -> Result:
        """Propose the call; run the tool only if it is admitted."""
        return self._gate.wrap_tool_call(request, handler)

    async def awrap_tool_call(self, request: ToolCallRequest, handler: AsyncHandler) -> Result:
        """As `wrap_tool_call`, without blocking the event loop."""
        return await self._gate.awrap_tool_call(request, handler)

    # ------------------------------------------------------------------ the last word

    def wrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], ModelResponse[Any]]
    ) -> ModelResponse[Any]:
        """Hold the model's last word until the stop gate's verdict."""
        self._gate.register(request.tools)
        with self._held():
            response = handler(self._prepared(request))
        word = _last_word(response)
        if word is None:
            return response
        if _calls_beside(response, word):
            return self._refused_with(response, word, message_of(_ALONE))
        if isinstance(request.response_format, FinishOutput):
            finish: Finish | None = checked(
                self.run.finish_tool()(response.structured_response, truncated=was_cut(word))
            )
        else:
            finish = finished(self.run, word, self.claims, output=response.structured_response)
        return self._after(response, word, finish)

    async def awrap_model_call(
        self, request: ModelRequest[Any], handler: Callable[[ModelRequest[Any]], Awaitable[ModelResponse[Any]]]
    ) -> ModelResponse[Any]:
        """As `wrap_model_call`, without blocking the event loop."""
        self._gate.register(request.tools, asynchronous=True)
        with self._held():
            response = await handler(self._prepared(request))
        word = _last_word(response)
        if word is None:
            return response
        if _calls_beside(response, word):
            return self._refused_with(response, word, message_of(_ALONE))
        if isinstance(request.response_format, FinishOutput):
            tool = self.run.finish_tool()
            finish: Finish | None = checked(await tool.acall(response.structured_response, truncated=was_cut(word)))
        else:
            finish = await afinished(self.run, word, self.claims, output=response.structured_response)
        return self._after(response, word, finish)

    def _prepared(self, request: ModelRequest[Any]) -> ModelRequest[Any]:
        """Return the request with what this agent was refused, which is not in the state."""
        left: list[BaseMessage] = list(request.messages)
        rows = rows_of(left)
        if lacks_block(self.run, rows):
            # Another middleware cut the messages for this one call; the state, and the record of it, have them still.
            left = with_rows(
                left, repair(self.run.view, self.run.contract, rows, now=self.run.now(), role=self.block_role)
            )
        messages: list[Any] = []
        for message in left:
            messages.extend(self._refused.get(message.id or "", []))
            messages.append(message)
        return request.override(messages=messages)

    @contextmanager
    def _held(self) -> Iterator[None]:
        """Keep the tokens of one model call out of the graph's streams; the message itself comes with the state."""
        config = ensure_config()
        if self.hold_text:
            config["tags"] = [*(config.get("tags") or []), TAG_NOSTREAM]
        before = var_child_runnable_config.set(config)
        try:
            yield
        finally:
            var_child_runnable_config.reset(before)

    def _after(self, response: ModelResponse[Any], word: AIMessage, finish: Finish | None) -> ModelResponse[Any]:
        if finish is None or finish.accepted:
            word.id = word.id or str(uuid.uuid4())
            self._passed.add(word.id)
            return response
        return self._refused_with(response, word, told(finish))

    def _refused_with(self, response: ModelResponse[Any], word: AIMessage, missing: BaseMessage) -> ModelResponse[Any]:
        assert missing.id is not None
        if not self.hold_text:
            self._refused[missing.id] = []
            return ModelResponse(result=[*response.result, missing])
        said: list[BaseMessage] = [word]
        said += [
            ToolMessage("not accepted", tool_call_id=call["id"] or "", name=call["name"], status="error")
            for call in word.tool_calls
        ]
        self._refused[missing.id] = said
        return ModelResponse(result=[missing])

    @hook_config(can_jump_to=["model"])
    def after_model(self, state: Any, runtime: Any) -> Change:
        """Ask the model again where its last word was refused."""
        del runtime
        messages = state["messages"]
        return {"jump_to": "model"} if messages and messages[-1].id in self._refused else None

    @hook_config(can_jump_to=["model"])
    def after_agent(self, state: Any, runtime: Any) -> Change:
        """Judge an end that no model's last word brought about: a tool that returns directly, another middleware."""
        del runtime
        if self._is_over(state):
            return None
        return _asked_again(finished(self.run, *self._ending(state)))

    async def aafter_agent(self, state: Any, runtime: Any) -> Change:
        """As `after_agent`, without blocking the event loop."""
        del runtime
        if self._is_over(state):
            return None
        return _asked_again(await afinished(self.run, *self._ending(state)))

    def _is_over(self, state: Any) -> bool:
        word, _ = last_ai(state["messages"])
        if word is not None and word.id in self._passed:
            return True
        if self.run.status is not None:
            raise RunEndedError(self.run.status)
        return False

    def _ending(self, state: Any) -> tuple[BaseMessage | None, Claims | None]:
        messages = state["messages"]
        return messages[-1] if messages else None, self.claims

    # ------------------------------------------------------------------ handoffs and history

    def before_agent(self, state: Any, runtime: Any) -> Change:
        """Compare what this agent was handed with the record, and repair it."""
        del runtime
        messages, rows = state["messages"], rows_of(state["messages"])
        if not lacks_block(self.run, rows):
            return None
        return self._repaired(messages, self.run.receive(rows, to=self.agent, role=self.block_role))

    async def abefore_agent(self, state: Any, runtime: Any) -> Change:
        """As `before_agent`, without blocking the event loop."""
        del runtime
        messages, rows = state["messages"], rows_of(state["messages"])
        if not lacks_block(self.run, rows):
            return None
        return self._repaired(messages, await self.run.areceive(rows, to=self.agent, role=self.block_role))

    def before_model(self, state: Any, runtime: Any) -> Change:
        """Put the block of the open blockers back where a summary or a cut lost it."""
        del runtime
        messages, rows = state["messages"], rows_of(state["messages"])
        if not lacks_block(self.run, rows):
            return None
        return self._repaired(messages, self.run.hand_off(COMPACTION, rows, sender=self.agent, role=self.block_role))

    async def abefore_model(self, state: Any, runtime: Any) -> Change:
        """As `before_model`, without blocking the event loop."""
        del runtime
        messages, rows = state["messages"], rows_of(state["messages"])
        if not lacks_block(self.run, rows):
            return None
        return self._repaired(
            messages, await self.run.ahand_off(COMPACTION, rows, sender=self.agent, role=self.block_role)
        )

    def _repaired(self, messages: list[BaseMessage], transfer: Any) -> Change:
        return {"messages": whole(passed_on(messages, transfer))}


def _last_word(response: ModelResponse[Any]) -> AIMessage | None:
    """Return the message by which the model ends the loop, if this is one.

    One whose calls could not be read is none: it goes into the state, where the framework answers those calls.
    """
    word, _ = last_ai(response.result)
    if word is None or word.invalid_tool_calls:
        return None
    return word if response.structured_response is not None or not word.tool_calls else None


def _calls_beside(response: ModelResponse[Any], word: AIMessage) -> bool:
    """Return whether the turn of a structured output makes other calls too, which would run after the end."""
    answered = {m.tool_call_id for m in response.result if isinstance(m, ToolMessage)}
    return any(call["id"] not in answered for call in word.tool_calls)


def _asked_again(finish: Finish | None) -> Change:
    if finish is None or finish.accepted:
        return None
    return {"messages": [told(finish)], "jump_to": "model"}
