"""The roles of an episode as agents in a LangGraph graph, each handing over by a tool that returns a `Command`."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import Runnable, RunnableLambda
from langchain_core.tools import StructuredTool
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode
from langgraph.types import Command, Send

from tallystick.evals.handoff.substrates import Hop

_EXECUTOR: Final = "executor"
_TOOL: Final = "hand_over"


class LangGraph:
    """Each hop is an agent whose model is the hop; a `Send` gives the next one the text, and nothing of the history."""

    name: Final = "langgraph"

    def carry(self, text: str, hops: Sequence[Hop]) -> bytes:
        """Return the bytes that the executor's model was given."""
        seen: list[list[BaseMessage]] = []
        graph = StateGraph(MessagesState)
        names = [*(f"role_{n}" for n in range(len(hops))), _EXECUTOR]
        for name, hop, to in zip(names, hops, names[1:], strict=False):
            graph.add_node(name, _asking(_Works(work=_passing(hop, name))))
            graph.add_node(f"{name}_tools", ToolNode([_handing_to(to)]), destinations=(to,))
            graph.add_edge(name, f"{name}_tools")
        graph.add_node(_EXECUTOR, _asking(_Works(work=lambda messages: _noted(seen, messages))))
        graph.add_edge(START, names[0])
        limit: Any = {"recursion_limit": 2 * len(hops) + 2}
        graph.compile().invoke({"messages": [HumanMessage(text)]}, limit)
        ((given,),) = seen  # one call of its model, one message: it was shown nothing else
        assert isinstance(given.content, str)
        return given.content.encode("utf-8")


class _Works(BaseChatModel):
    """A chat model that answers what a function of this suite answers."""

    work: Callable[[list[BaseMessage]], AIMessage]

    @property
    def _llm_type(self) -> str:
        return "tallystick-role"

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: CallbackManagerForLLMRun | None = None,
        **kwargs: Any,
    ) -> ChatResult:
        del stop, run_manager, kwargs
        return ChatResult(generations=[ChatGeneration(message=self.work(messages))])


def _asking(model: BaseChatModel) -> Runnable[MessagesState, Any]:
    def node(state: MessagesState) -> dict[str, Any]:
        return {"messages": [model.invoke(state["messages"])]}

    return RunnableLambda(node)


def _passing(hop: Hop, name: str) -> Callable[[list[BaseMessage]], AIMessage]:
    def work(messages: list[BaseMessage]) -> AIMessage:
        args = {"artifact": hop(str(messages[-1].content))}
        return AIMessage("", tool_calls=[{"name": _TOOL, "args": args, "id": name, "type": "tool_call"}])

    return work


def _noted(seen: list[list[BaseMessage]], messages: list[BaseMessage]) -> AIMessage:
    seen.append(messages)
    return AIMessage("received")


def _handing_to(to: str) -> StructuredTool:
    def hand_over(artifact: str) -> Command[Any]:
        """Hand the work over, with this text and nothing else."""
        return Command(graph=None, goto=[Send(to, {"messages": [HumanMessage(artifact)]})])

    return StructuredTool.from_function(hand_over, name=_TOOL)
