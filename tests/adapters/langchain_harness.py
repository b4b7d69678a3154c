"""LangChain and LangGraph under the conformance suite: the scripted model is LangChain's own fake chat model."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    HumanMessage,
    SystemMessage,
    ToolMessage,
)
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langgraph.graph import START, MessagesState, StateGraph

from tallystick import Run
from tallystick.adapters.langchain import finish_output, framework_loop, guarded
from tallystick.adapters.langgraph import last_word, tool_node
from tallystick.testing.conformance import Ask, Model, Seen, Transcript, Turn


class ScriptOverError(Exception):
    """The scripted model has nothing more to say."""


class ScriptedChat(GenericFakeChatModel):
    """LangChain's fake chat model, which answers what `answer` says, whole or in pieces."""

    answer: Any = None
    messages: Iterator[Any] = iter(())
    fragments: bool = False

    def bind_tools(self, tools: Any, **_: Any) -> Any:
        return self

    def _generate(self, messages: list[BaseMessage], *_: Any, **__: Any) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=self.answer(messages))])

    def _stream(self, messages: list[BaseMessage], *_: Any, run_manager: Any = None, **__: Any) -> Iterator[Any]:
        for piece in pieces(self.answer(messages), whole=not self.fragments):
            chunk = ChatGenerationChunk(message=piece)
            if run_manager is not None:
                run_manager.on_llm_new_token(str(piece.content), chunk=chunk)
            yield chunk

    async def _astream(self, messages: list[BaseMessage], *_: Any, run_manager: Any = None, **__: Any) -> AsyncIterator:
        for piece in pieces(self.answer(messages), whole=not self.fragments):
            chunk = ChatGenerationChunk(message=piece)
            if run_manager is not None:
                await run_manager.on_llm_new_token(str(piece.content), chunk=chunk)
            yield chunk


class LangChainHarness:
    """Runs a scripted model in an agent made by `create_agent`."""

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

        def answer(messages: Sequence[BaseMessage]) -> AIMessage:
            told.seen = list(seen_in(messages))
            told.turns += 1
            found = model(told.seen)
            if found is None:
                raise ScriptOverError
            if found.final is not None:
                finals[found.final.text] = found.final.claims
            return message_of(self.turn(found))

        chat = ScriptedChat(answer=answer, fragments=fragments)
        graph = self.graph(run, chat, list(tools.values()), lambda text: finals.get(text, {}))
        asked = {"messages": [HumanMessage("Lend book A for 7 days.")]}
        # Every node is a step of the graph, so a turn of the model is several.
        config: Any = {"recursion_limit": self.steps * max_turns}
        try:
            with framework_loop(run):
                self.go(graph, asked, config, told, fragments=fragments)
        except Exception as bad:
            told.raised = bad
        return told

    def go(self, graph: Any, asked: Any, config: Any, told: Transcript, *, fragments: bool) -> None:
        if not fragments:
            result = graph.invoke(asked, config)
            told.shown.append(self.output(result))
            told.seen = list(seen_in(result["messages"]))
            return
        for mode, part in graph.stream(asked, config, stream_mode=["messages", "updates", "values", "custom"]):
            if mode == "messages" and isinstance(part[0], AIMessage):
                told.shown.extend(self.words(part[0]))
            elif mode != "messages":
                assert_unshown(part, told)

    # ------------------------------------------------------------------ what the other ways to finish do otherwise

    steps = 4

    def graph(self, run: Run, chat: Any, tools: list[Any], claims: Any) -> Any:
        return create_agent(chat, tools, middleware=[guarded(run, claims=claims)])

    def turn(self, turn: Turn) -> Turn:
        """How the model takes a turn of the script."""
        return turn

    def output(self, result: Any) -> str:
        return str(result["messages"][-1].text)

    def words(self, message: AIMessage) -> list[str]:
        return [str(message.text)] if message.text else []


class LangChainAsyncHarness(LangChainHarness):
    """The same agent in asynchronous code."""

    def go(self, graph: Any, asked: Any, config: Any, told: Transcript, *, fragments: bool) -> None:
        async def all_of_it() -> None:
            if not fragments:
                result = await graph.ainvoke(asked, config)
                told.shown.append(self.output(result))
                told.seen = list(seen_in(result["messages"]))
                return
            async for mode, part in graph.astream(asked, config, stream_mode=["messages", "updates"]):
                if mode == "messages" and isinstance(part[0], AIMessage):
                    told.shown.extend(self.words(part[0]))

        asyncio.run(all_of_it())


class LangChainTextHarness(LangChainHarness):
    """An agent as it was before the guard: nobody says what its texts state."""

    def graph(self, run: Run, chat: Any, tools: list[Any], claims: Any) -> Any:
        return create_agent(chat, tools, middleware=[guarded(run)])


class LangChainFinishHarness(LangChainHarness):
    """An agent whose output is the finish tool made from the contract."""

    def graph(self, run: Run, chat: Any, tools: list[Any], claims: Any) -> Any:
        return create_agent(chat, tools, middleware=[guarded(run)], response_format=finish_output(run))

    def turn(self, turn: Turn) -> Turn:
        if turn.final is None:
            return turn
        args = {"text": turn.final.text, "claims": dict(turn.final.claims)}
        return Turn(calls=(Ask(id=f"f{id(turn)}", tool="finish", args=args),))

    def output(self, result: Any) -> str:
        return str(result["structured_response"]["text"])

    def words(self, message: AIMessage) -> list[str]:
        return [c["args"]["text"] for c in message.tool_calls if c["name"] == "finish"]


class LangGraphHarness(LangChainHarness):
    """A graph drawn by hand: model, tools, and the node before END."""

    features = frozenset({"parallel", "cut"})
    steps = 2

    def graph(self, run: Run, chat: Any, tools: list[Any], claims: Any) -> Any:
        graph = StateGraph(MessagesState)
        graph.add_node("model", lambda state: {"messages": [chat.invoke(state["messages"])]})
        graph.add_node("tools", tool_node(run, tools))
        graph.add_node("last_word", last_word(run, back_to="model", claims=claims), destinations=("model", "__end__"))
        graph.add_edge(START, "model")
        graph.add_conditional_edges("model", lambda s: "tools" if s["messages"][-1].tool_calls else "last_word")
        graph.add_edge("tools", "model")
        return graph.compile()


class LangGraphAsyncHarness(LangChainAsyncHarness, LangGraphHarness):
    """The same graph in asynchronous code."""

    features = LangGraphHarness.features
    steps = 2
    graph = LangGraphHarness.graph


def assert_unshown(part: Any, told: Transcript) -> None:
    """States and updates show what the stream of messages shows, and nothing before it."""
    told_by_state = [m for m in _messages(part) if isinstance(m, AIMessage) and m.text and not m.tool_calls]
    told.shown.extend(str(m.text) for m in told_by_state if str(m.text) not in told.shown)


def _messages(part: Any) -> Iterator[BaseMessage]:
    for value in part.values() if isinstance(part, Mapping) else part if isinstance(part, list) else ():
        if isinstance(value, BaseMessage):
            yield value
        else:
            yield from _messages(value)


def seen_in(messages: Sequence[BaseMessage]) -> Iterator[Seen]:
    """What the model was shown: tool results, and what it was asked to do again."""
    for message in messages:
        if isinstance(message, ToolMessage):
            yield Seen(id=message.tool_call_id, text=str(message.text))
        elif isinstance(message, HumanMessage | SystemMessage) and message.additional_kwargs.get("lc_source"):
            yield Seen(id="", text=str(message.text))


def message_of(turn: Turn) -> AIMessage:
    """The turn as one whole message."""
    if turn.final is not None:
        return AIMessage(turn.final.text)
    cut = any(ask.cut for ask in turn.calls)
    calls = [{"name": a.tool, "args": dict(a.args), "id": a.id, "type": "tool_call"} for a in turn.calls]
    return AIMessage("", tool_calls=calls, response_metadata={"finish_reason": "length" if cut else "tool_calls"})


def pieces(message: AIMessage, *, whole: bool) -> Iterator[AIMessageChunk]:
    """The message as a provider streams it: text by the word, arguments by a few characters."""
    if message.text:
        words = [str(message.text)] if whole else str(message.text).split(" ")
        for at, word in enumerate(words):
            yield AIMessageChunk(content=word if at == 0 else f" {word}")
    for index, call in enumerate(message.tool_calls):
        text = json.dumps(call["args"])
        size = len(text) if whole else 5
        for at in range(0, len(text), size):
            first = at == 0
            piece = {"name": call["name"] if first else None, "id": call["id"] if first else None}
            yield AIMessageChunk(content="", tool_call_chunks=[{**piece, "args": text[at : at + size], "index": index}])
    yield AIMessageChunk(content="", response_metadata=message.response_metadata, chunk_position="last")
