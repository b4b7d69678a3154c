"""LangGraph: a graph's tools, its handoffs, its last word and its compactions under a guard's run.

    tools = tool_node(run, [look, lend])                      # in the place of `ToolNode([look, lend])`
    graph.add_node("last_word", last_word(run, back_to="model"))   # in the place of the edge to END
    graph.add_node("compact", lambda s: {"messages": compacted(run, shortened(s["messages"]))})

Where it holds on (langgraph 1.2): the tool node's call wrapper. What the gate judges is what the tool gets, and a tool
that hands over (`Command(goto=…)`, `Send`) passes the handoff gate before the graph moves. Outside it: nodes that do
things without a tool, tools a provider runs itself, and edges the author draws straight to END.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from tallystick.adapters.ended import RunEndedError
from tallystick.adapters.outputs import Claims, stated_by
from tallystick.errors import InputError
from tallystick.runtime.outcome import Finish
from tallystick.runtime.run import Run

try:
    from langchain_core.messages import BaseMessage, HumanMessage, ToolMessage
    from langchain_core.runnables import Runnable, RunnableLambda
    from langchain_core.tools import BaseTool
    from langgraph.errors import GraphRecursionError
    from langgraph.graph import END
    from langgraph.prebuilt import ToolNode
    from langgraph.types import Command

    from tallystick.adapters.lc_calls import ToolGate
    from tallystick.adapters.lc_messages import SOURCE, Role, lacks_block, messages_in, passed_on, rows_of, was_cut
except ImportError as bad:
    raise InputError(
        "the adapter for LangChain and LangGraph needs `langchain` and `langgraph`",
        fix="pip install 'tallystick[langchain]'",
    ) from bad


def tool_node(
    run: Run,
    tools: Sequence[BaseTool | Callable[..., Any]],
    *,
    agent: str = "agent",
    block_role: Role = "system",
    messages_key: str = "messages",
    **options: Any,
) -> ToolNode:
    """Return a `ToolNode` whose calls run only where the record supports it.

    Args:
        run: the guard's run.
        tools: the tools, as for `ToolNode`.
        agent: name of the agent whose tools they are, for handoffs.
        block_role: role of the message that carries the block in a handoff.
        messages_key: the state's key of the messages.
        options: other options of `ToolNode`.
    """
    gate = ToolGate(run=run, agent=agent, block_role=block_role, messages_key=messages_key)
    node = ToolNode(
        tools,
        wrap_tool_call=gate.wrap_tool_call,
        awrap_tool_call=gate.awrap_tool_call,
        messages_key=messages_key,
        **options,
    )
    gate.register(node.tools_by_name.values())
    return node


def last_word(
    run: Run, *, back_to: str, claims: Claims | None = None, messages_key: str = "messages"
) -> Runnable[Any, Command[Any]]:
    """Return a node to put before END: the graph ends where the stop gate accepts its last message.

    Refused, what is missing goes into the messages and the graph goes on at `back_to`, the node that asks the model.
    Draw no edge from it: it says itself where to go. It raises `RunEndedError` where a bound of the guard is reached.

    Args:
        run: the guard's run.
        back_to: name of the node that asks the model.
        claims: from the last message's text to the values it states; None for a turn of a conversation, which ends the
            graph without a verdict. Without it they are read from the text.
        messages_key: the state's key of the messages.
    """

    def node(state: Any) -> Command[Any]:
        messages = messages_in(state, messages_key)
        finish = finished(run, messages[-1] if messages else None, claims)
        return _after(finish, back_to, messages_key)

    async def anode(state: Any) -> Command[Any]:
        messages = messages_in(state, messages_key)
        finish = await afinished(run, messages[-1] if messages else None, claims)
        return _after(finish, back_to, messages_key)

    return RunnableLambda(node, anode, name="last_word")


def _after(finish: Finish | None, back_to: str, key: str) -> Command[Any]:
    if finish is None or finish.accepted:
        return Command(goto=END)
    return Command(goto=back_to, update={key: [told(finish)]})


def compacted(
    run: Run, messages: Sequence[BaseMessage], *, block_role: Role = "system", agent: str = "compaction"
) -> list[BaseMessage]:
    """Return messages that are left of a history (summarised, trimmed) with the block of the open blockers among them.

    Messages that carry it come back as they are. No word of an author is changed.

    Raises:
        NotPassedOnError: the handoff gate rejects them and cannot repair them.
    """
    left = list(messages)
    rows = rows_of(left)
    return passed_on(left, run.compact(rows, to=agent, role=block_role)) if lacks_block(run, rows) else left


@contextmanager
def framework_loop(run: Run) -> Iterator[None]:
    """End the run at once, and honestly, where the framework's loop ends by itself (step limit, exception).

    with framework_loop(run):
        agent.invoke(…)

    Leaving the run's own block does that too; this names the reason. Nothing happens where the loop ends as it should,
    or was interrupted to be resumed.
    """
    try:
        yield
    except BaseException as bad:
        if run.status is None:
            run.close(_reason(bad))
        raise


def _reason(bad: BaseException) -> str:
    if isinstance(bad, GraphRecursionError):
        return "framework.step_limit"
    return "framework.exception" if isinstance(bad, Exception) else "framework.cancelled"


# ---------------------------------------------------------------------- the last word


def finished(run: Run, message: BaseMessage | None, claims: Claims | None, *, output: Any = None) -> Finish | None:
    """Put a last message to the stop gate; None for a turn of a conversation.

    Args:
        run: the guard's run.
        message: the message.
        claims: as in `last_word`.
        output: the structured output, where there is one.

    Raises:
        RunEndedError: it is refused, and with it the run has ended.
    """
    text = str(message.text) if message is not None else ""
    done, stated = stated_by(run, output if output is not None else text, claims)
    if not done:
        run.hear(text, truncated=was_cut(message))
        return None
    by = "framework" if isinstance(message, ToolMessage) else "agent"
    return checked(run.finish(text, stated, declared_by=by, truncated=was_cut(message)))


async def afinished(
    run: Run, message: BaseMessage | None, claims: Claims | None, *, output: Any = None
) -> Finish | None:
    """As `finished`, without blocking the event loop."""
    text = str(message.text) if message is not None else ""
    done, stated = stated_by(run, output if output is not None else text, claims)
    if not done:
        await run.ahear(text, truncated=was_cut(message))
        return None
    by = "framework" if isinstance(message, ToolMessage) else "agent"
    return checked(await run.afinish(text, stated, declared_by=by, truncated=was_cut(message)))


def checked(finish: Finish) -> Finish:
    """Return the answer to a last word where the run goes on or was accepted.

    Raises:
        RunEndedError: the run has ended without.
    """
    if not finish.accepted and finish.status is not None:
        raise RunEndedError(finish.status, finish.decision)
    return finish


def told(finish: Finish) -> HumanMessage:
    """Return the message that says what is missing."""
    return message_of(str(finish))


def message_of(text: str) -> HumanMessage:
    """Return a message of the guard to the model."""
    return HumanMessage(content=text, id=str(uuid.uuid4()), additional_kwargs=dict(SOURCE))
