"""Pydantic AI: one capability that puts an agent's tools and its last word under a guard's run.

    with guard.run(task) as run:
        result = agent.run_sync("Pay invoice I-7.", capabilities=[guarded(run)])

Where it holds on (pydantic-ai-slim 2.68): the toolset the agent assembled is wrapped innermost, so what the gate judges
is what the tool gets; the output hook holds the final output until the stop gate's verdict, and tells the model what is
missing; the event stream keeps back the final text until then. Outside it: tools a provider runs itself, and output
functions, which are part of the answer and not calls.
"""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from tallystick.adapters.ended import RunEndedError
from tallystick.adapters.outputs import Claims, stated_by
from tallystick.errors import InputError
from tallystick.runtime.finish_tool import NAME
from tallystick.runtime.outcome import Outcome
from tallystick.runtime.results import plain_json
from tallystick.runtime.run import Run

try:
    from pydantic_ai.capabilities import AbstractCapability, CapabilityOrdering
    from pydantic_ai.exceptions import (
        ApprovalRequired,
        CallDeferred,
        ModelRetry,
        ToolFailed,
        UnexpectedModelBehavior,
        UsageLimitExceeded,
    )
    from pydantic_ai.messages import (
        AgentStreamEvent,
        FinalResultEvent,
        ModelResponse,
        PartDeltaEvent,
        PartEndEvent,
        PartStartEvent,
        TextPart,
        ToolCallPart,
    )
    from pydantic_ai.output import StructuredDict, ToolOutput
    from pydantic_ai.run import AgentRunResult
    from pydantic_ai.tools import DeferredToolRequests, RunContext
    from pydantic_ai.toolsets import AbstractToolset, WrapperToolset
    from pydantic_ai.toolsets.abstract import ToolsetTool
except ImportError as bad:
    raise InputError(
        "the adapter for Pydantic AI needs `pydantic-ai-slim`", fix="pip install 'tallystick[pydantic-ai]'"
    ) from bad


@dataclass(frozen=True, kw_only=True, slots=True)
class Answer:
    """What an agent says through the `finish` tool: the output of a run with `finish_output`.

    Attributes:
        text: what to tell the requester.
        claims: the values it states, by answer slot.
        outcome: acted, declined or withdrawn.
        given: everything as the model gave it.
    """

    text: str
    claims: Mapping[str, Any]
    outcome: str
    given: Mapping[str, Any] = field(repr=False)

    def __str__(self) -> str:
        return self.text


def finish_output(run: Run, *, name: str = NAME, strict: bool = False) -> ToolOutput[Answer]:
    """Return an output type for the agent: the `finish` tool, with a place for each of the contract's answer slots.

        agent = Agent(model, output_type=finish_output(run), …)
        answer = agent.run_sync(…, capabilities=[guarded(run)]).output       # an `Answer`

    What the model gives is judged by `guarded`, which must be among the capabilities; without it nothing is judged. An
    `Answer` from a run that has ended CERTIFIED is what the stop gate accepted.

    Args:
        run: the guard's run.
        name: the tool's name.
        strict: ask for strict function calling, with a schema in the subset it takes.
    """
    definition = run.finish_tool(name=name, strict=strict).definition
    given_type = StructuredDict(definition["inputSchema"], name=name)

    def finish(given: Any) -> Answer:
        claims = given.get("claims")
        text, outcome = given.get("text"), given.get("outcome")
        return Answer(
            text=text if isinstance(text, str) else "",
            claims=claims if isinstance(claims, Mapping) else {},
            outcome=outcome if isinstance(outcome, str) else "acted",
            given=given,
        )

    # The framework reads the argument's type, which is only known now, from the annotation.
    finish.__annotations__ = {"given": given_type, "return": Answer}
    return ToolOutput(finish, name=name, description=definition["description"], strict=strict or None)


def guarded(run: Run, *, claims: Claims | None = None, hold_text: bool = True) -> GuardedRun:
    """Return the capability that guards one agent run; give it to `agent.run(..., capabilities=[…])` or to the agent.

    Args:
        run: the guard's run. Its context manager ends it; a framework's own exit (limits, errors) ends it at once.
        claims: what an output states, by answer slot. Return None for an output that is only a turn in a conversation:
            it is then passed on without a verdict. A slot that the contract does not have is the host's mistake, and no
            model can mend it: `InputError` out of the agent's run, which ends UNCERTIFIED, BLOCKED or IN_DOUBT. Without
            it, a text states what is found in it beside the record (`prose.propose`), and a structured output states
            its members that are named like slots. Not asked about an `Answer` of `finish_output`.
        hold_text: keep final text back from event streams until it is accepted. This makes the framework stream from
            the model; False is only for models that cannot, and then nobody may show streamed text as a result.
    """
    return GuardedRun(run=run, claims=claims, hold_text=hold_text)


@dataclass(kw_only=True)
class GuardedRun(AbstractCapability[Any]):
    """The capability. Make it with `guarded`."""

    run: Run
    claims: Claims | None
    hold_text: bool
    _held: list[AgentStreamEvent] = field(default_factory=list, init=False, repr=False)
    _accepted: bool = field(default=False, init=False, repr=False)

    def __post_init__(self) -> None:
        self.id = None
        self.description = None
        self.defer_loading = False

    def get_ordering(self) -> CapabilityOrdering:
        """Innermost: nothing may change a call between the gate and the tool."""
        return CapabilityOrdering(position="innermost")

    # ------------------------------------------------------------------ calls

    def get_wrapper_toolset(self, toolset: AbstractToolset[Any]) -> AbstractToolset[Any]:
        """Wrap the assembled tools."""
        return _GuardedTools(toolset, self.run)

    # ------------------------------------------------------------------ the last word

    async def after_output_process(self, ctx: RunContext[Any], *, output_context: Any, output: Any) -> Any:
        """Hold the output until the stop gate's verdict; refused, the model is told what is missing."""
        del output_context
        if ctx.partial_output or isinstance(output, DeferredToolRequests):
            return output
        cut = _cut(ctx)
        if isinstance(output, Answer):
            finish = await self.run.finish_tool().acall(output.given, truncated=cut)
        else:
            says_done, stated = stated_by(self.run, output, self.claims)
            if not says_done:
                self._accepted = True  # a turn of a conversation; nobody says "done", but it may report
                await self.run.ahear(str(output), truncated=cut)
                return output
            finish = await self.run.afinish(str(output), stated, truncated=cut)
        if finish.accepted:
            self._accepted = True
            return output
        self._held.clear()
        if finish.status is not None:
            raise RunEndedError(finish.status, finish.decision)
        raise ModelRetry(str(finish))

    # ------------------------------------------------------------------ the framework's own exit

    async def wrap_run(self, ctx: RunContext[Any], *, handler: Callable[[], Any]) -> AgentRunResult[Any]:
        """End the run honestly where the framework's loop ends without an accepted output."""
        del ctx
        try:
            result: AgentRunResult[Any] = await handler()
        except BaseException as bad:
            if self.run.status is None:
                self.run.close(_reason(bad))  # not awaited: a cancelled run cannot wait any more
            raise
        return result

    # ------------------------------------------------------------------ the stream

    @property
    def has_wrap_run_event_stream(self) -> bool:
        """Whether the event stream passes through here."""
        return self.hold_text

    async def wrap_run_event_stream(
        self, ctx: RunContext[Any], *, stream: AsyncIterable[AgentStreamEvent]
    ) -> AsyncIterator[AgentStreamEvent]:
        """Pass events on, but keep back what may be the final output until it is accepted."""
        del ctx
        response: list[AgentStreamEvent] = []
        async for event in stream:
            if isinstance(event, PartStartEvent | PartDeltaEvent | PartEndEvent | FinalResultEvent):
                response.append(event)
            else:
                yield event
        for event in self._sorted(response):
            yield event
        if self._accepted:
            held, self._held, self._accepted = self._held, [], False
            for event in held:
                yield event

    def _sorted(self, response: list[AgentStreamEvent]) -> list[AgentStreamEvent]:
        """Return the events of one response that are no final output, and keep the others."""
        if not response:
            return []
        final = next((e for e in response if isinstance(e, FinalResultEvent)), None)
        parts = {e.index: e.part for e in response if isinstance(e, PartStartEvent)}
        output = {i for i, p in parts.items() if isinstance(p, ToolCallPart) and _is(final, p)}
        calls = any(isinstance(p, ToolCallPart) and i not in output for i, p in parts.items())
        # Text beside calls is talk on the way. Text alone, or beside the output, may be the last word.
        if not calls or output:
            output |= {i for i, p in parts.items() if isinstance(p, TextPart)}
        passed: list[AgentStreamEvent] = []
        self._held = []
        for event in response:
            if isinstance(event, FinalResultEvent):
                if not calls or output:
                    self._held.append(event)
            elif isinstance(event, PartStartEvent | PartDeltaEvent | PartEndEvent) and event.index in output:
                self._held.append(event)
            else:
                passed.append(event)
        return passed


def _is(final: FinalResultEvent | None, part: ToolCallPart) -> bool:
    return final is not None and final.tool_call_id is not None and final.tool_call_id == part.tool_call_id


def _cut(ctx: RunContext[Any]) -> bool:
    """Whether the model's last turn was cut by length."""
    last = next((m for m in reversed(ctx.messages) if isinstance(m, ModelResponse)), None)
    return last is not None and last.finish_reason == "length"


def _reason(bad: BaseException) -> str:
    if isinstance(bad, UsageLimitExceeded):
        return "framework.usage_limit"
    if isinstance(bad, UnexpectedModelBehavior):
        return "framework.retries"
    return "framework.exception" if isinstance(bad, Exception) else "framework.cancelled"


# ---------------------------------------------------------------------- tools


@dataclass
class _GuardedTools(WrapperToolset[Any]):
    """The agent's tools behind the gate."""

    run: Run
    _latest: tuple[RunContext[Any], dict[str, ToolsetTool[Any]]] | None = field(default=None, init=False, repr=False)

    async def get_tools(self, ctx: RunContext[Any]) -> dict[str, ToolsetTool[Any]]:
        """Return the tools, and register them for the contract's status queries."""
        tools = await self.wrapped.get_tools(ctx)
        self._latest = (ctx, tools)
        for name in tools.keys() & self.run.contract.tools.keys():
            self.run.register(name, partial(self._query, name))
        return tools

    async def _query(self, _tool: str, /, **args: Any) -> Any:
        """Run a read the runtime wants, as if the model had asked for it."""
        assert self._latest is not None
        ctx, tools = self._latest
        tool = tools[_tool]
        given = tool.args_validator.validate_python(args)
        return await self.wrapped.call_tool(_tool, given, replace(ctx, tool_name=_tool, tool_call_id=None), tool)

    async def call_tool(
        self, name: str, tool_args: dict[str, Any], ctx: RunContext[Any], tool: ToolsetTool[Any]
    ) -> Any:
        """Propose the call; run the tool only if it is admitted."""

        async def execute(**given: Any) -> Any:
            # The tool gets the framework's own values; of the guard's only what it added, an idempotency key. The
            # framework fills in defaults, so an argument nobody gave is here with the value None.
            added = {k: v for k, v in given.items() if tool_args.get(k) is None}
            return await self.wrapped.call_tool(name, {**tool_args, **added}, ctx, tool)

        outcome = await self.run.acall(
            name,
            _json(tool_args),
            execute,
            native_id=ctx.tool_call_id,
            turn=ctx.run_step,
            complete=not _cut(ctx),
        )
        return _result(outcome)


def _json(args: Mapping[str, Any]) -> Mapping[str, Any]:
    try:
        plain: Mapping[str, Any] = plain_json(args)
    except TypeError as bad:
        raise ToolFailed(f"the arguments cannot be recorded: {bad}") from None
    return plain


def _result(outcome: Outcome) -> Any:
    if outcome.refused:
        if outcome.ended is not None:
            raise RunEndedError(outcome.ended, outcome.decision)
        # Not a retry: the framework's retry budget is for malformed calls, the guard bounds refusals itself.
        raise ToolFailed(str(outcome.refusal()))
    if isinstance(outcome.error, ApprovalRequired | CallDeferred):
        raise outcome.error
    if outcome.error is not None:
        if outcome.in_doubt:
            raise ToolFailed(outcome.text()) from outcome.error
        raise outcome.error
    return outcome.result
