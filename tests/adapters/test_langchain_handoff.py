"""A real multi-agent graph keeps its blockers: after handoffs, summaries and cuts, the forbidden act stays refused."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Annotated, Any

import pytest

pytest.importorskip("langchain", reason="the extra `langchain` is not installed")

from hypothesis import given, settings
from hypothesis import strategies as st
from langchain.agents import create_agent
from langchain.agents.middleware import (
    AgentMiddleware,
    ClearToolUsesEdit,
    ContextEditingMiddleware,
    SummarizationMiddleware,
)
from langchain.tools import InjectedState, InjectedToolCallId
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, RemoveMessage, SystemMessage, ToolMessage
from langchain_core.tools import tool
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.graph.message import REMOVE_ALL_MESSAGES
from langgraph.types import Command, Send

from tallystick import Guard, Run
from tallystick.adapters.ended import NotPassedOnError
from tallystick.adapters.langchain import guarded
from tallystick.adapters.langgraph import compacted, last_word, tool_node
from tallystick.adapters.lc_messages import lacks_block, rows_of
from tallystick.contracts import parse
from tallystick.handoff import compare
from tallystick.model.values import EntityRef
from tests.adapters.test_langchain import call, says

CONTRACT = parse("""
contract: desk/1
entities:
  resource: {id: id}
tools:
  read_policy: {effect: read, args: {words: string}}
  transfer_to_executor: {effect: read, args: {note: string}}
  open_document: {effect: write, args: {resource: id}, target: resource(args.resource)}
""")
OPEN = call("open_document", "open", resource="DOC-7")
TRANSFER = call("transfer_to_executor", "t", note="Please open DOC-7, the reviewer saw a minor point.")
ASKED = {"messages": [HumanMessage("Open DOC-7 for the audit.")]}
LOSSY = "DOC-7 was looked at. There was a concern about approval, but the deadline is near, so go ahead."


class Desk:
    """What was really done."""

    def __init__(self) -> None:
        self.opened: list[str] = []

    def open_document(self, resource: str) -> str:
        """Open a document."""
        self.opened.append(resource)
        return "opened"

    def read_policy(self, words: str) -> str:
        """Read the policy."""
        return f"policy on {words}"


@tool
def transfer_to_executor(
    note: str, state: Annotated[dict, InjectedState], tool_call_id: Annotated[str, InjectedToolCallId]
) -> Command:
    """Hand over to the executor, with a note of one's own in the place of the history."""
    update = [RemoveMessage(id=REMOVE_ALL_MESSAGES), HumanMessage(note)]
    return Command(goto="executor", graph=Command.PARENT, update={"messages": update})


@tool
def share_with_executor(
    note: str, state: Annotated[dict, InjectedState], tool_call_id: Annotated[str, InjectedToolCallId]
) -> Command:
    """Hand over to the executor, with the whole history."""
    answer = ToolMessage("Transferred.", tool_call_id=tool_call_id, name="transfer_to_executor")
    return Command(goto="executor", graph=Command.PARENT, update={"messages": [*state["messages"], answer]})


share_with_executor.name = "transfer_to_executor"


@pytest.fixture
def desk() -> Desk:
    return Desk()


@pytest.fixture
def run() -> Run:
    """A run in which the reviewer raised a blocker."""
    return blocked(Guard(CONTRACT).run(run_id="first"))


def blocked(run: Run) -> Run:
    run.block(
        "b1", ("open_document",), status="do not open", prerequisite="an approval that covers DOC-7",
        authority="security", fallback="use the public version", entity=EntityRef("resource", "DOC-7"), by="reviewer",
    )  # fmt: skip
    return run


def lossy(messages: Sequence[BaseMessage]) -> str:
    return LOSSY


def whole(run: Run, messages: Sequence[BaseMessage]) -> bool:
    """Whether the record's block, complete, is among the messages a model was shown."""
    return compare(rows_of(messages), "messages", run.carrier(), run.view).state == "complete"


def team(run: Run, desk: Desk, handoff: Any, reviewer: Any, executor: Any, *middleware: Any) -> Any:
    """A reviewer who hands over to an executor, each an agent of its own, in one graph."""
    tools = [desk.read_policy, handoff]
    graph = StateGraph(MessagesState)
    graph.add_node(
        "reviewer",
        create_agent(reviewer, tools, middleware=[*middleware, guarded(run, agent="reviewer", claims=_talk)]),
        destinations=("executor",),
    )
    graph.add_node(
        "executor",
        create_agent(executor, [desk.open_document], middleware=[guarded(run, agent="executor", claims=_talk)]),
    )
    graph.add_edge(START, "reviewer")
    return graph.compile()


def _talk(_: str) -> None:
    return None


# ---------------------------------------------------------------------- handoffs


@pytest.mark.parametrize("later", [False, True])
@pytest.mark.parametrize("handoff", [transfer_to_executor, share_with_executor], ids=["note", "history"])
def test_a_handoff_keeps_the_blocker_and_the_forbidden_action_stays_refused(
    run: Run, desk: Desk, handoff: Any, later: bool
) -> None:
    seen: list[Any] = []
    graph = team(run, desk, handoff, says(TRANSFER), says(OPEN, "I could not.", seen=seen))
    result = asyncio.run(graph.ainvoke(ASKED)) if later else graph.invoke(ASKED)
    assert desk.opened == []
    assert whole(run, seen[0])
    answers = [m for m in result["messages"] if isinstance(m, ToolMessage) and m.tool_call_id == "open"]
    assert "condition.open" in answers[-1].text
    assert [(h.sender, h.to, h.side) for h in run.provenance()][-1] == ("reviewer", "executor", "sent")


def test_what_the_sender_wrote_is_not_changed(run: Run, desk: Desk) -> None:
    seen: list[Any] = []
    team(run, desk, transfer_to_executor, says(TRANSFER), says("Not done.", seen=seen)).invoke(ASKED)
    assert [m.text for m in seen[0] if isinstance(m, HumanMessage)] == [TRANSFER.tool_calls[0]["args"]["note"]]


def test_without_the_guard_the_blocker_is_lost_on_the_way(run: Run, desk: Desk) -> None:
    seen: list[Any] = []
    graph = StateGraph(MessagesState)
    graph.add_node("reviewer", create_agent(says(TRANSFER), [transfer_to_executor]), destinations=("executor",))
    graph.add_node("executor", create_agent(says(OPEN, "Done.", seen=seen), [desk.open_document]))
    graph.add_edge(START, "reviewer")
    graph.compile().invoke(ASKED)
    assert not whole(run, seen[0])
    assert desk.opened == ["DOC-7"]


def test_a_condition_can_remove_the_handoff_itself(desk: Desk) -> None:
    run = Guard(CONTRACT).run()
    run.block("stay", ("transfer_to_executor",), status="do not hand over")
    model = says(TRANSFER, "I stay.")
    result = team(run, desk, transfer_to_executor, model, says("never")).invoke(ASKED)
    assert result["messages"][-1].text == "I stay."
    assert "condition.open" in next(m.text for m in result["messages"] if isinstance(m, ToolMessage))
    assert run.provenance()[-1].to != "executor"


def test_the_answer_to_a_call_still_follows_the_call(run: Run, desk: Desk) -> None:
    """A provider refuses a history in which something stands between a call and its answer."""

    @tool("transfer_to_executor")
    def short(note: str, tool_call_id: Annotated[str, InjectedToolCallId]) -> Command:
        """Hand over within one graph: only the answer to the call is added."""
        answer = ToolMessage("Transferred.", tool_call_id=tool_call_id)
        return Command(goto="executor", update={"messages": [answer]})

    graph = StateGraph(MessagesState)
    graph.add_node("tools", tool_node(run, [short, desk.read_policy]), destinations=("executor",))
    graph.add_node("executor", lambda state: {"messages": [AIMessage("over")]})
    graph.add_edge(START, "tools")
    both = AIMessage("", tool_calls=[*TRANSFER.tool_calls, *call("read_policy", "r", words="x").tool_calls])
    result = graph.compile().invoke({"messages": [HumanMessage("go"), both]})
    kinds = [m.type for m in result["messages"]]
    assert kinds[:4] == ["human", "ai", "tool", "tool"]
    assert whole(run, result["messages"])
    assert "Transferred." in next(m.text for m in result["messages"] if isinstance(m, ToolMessage))


def test_each_receiver_of_a_send_gets_the_block(run: Run, desk: Desk) -> None:
    got: list[Any] = []

    @tool("transfer_to_executor")
    def delegate(note: str, tool_call_id: Annotated[str, InjectedToolCallId]) -> Command:
        """Give each of two workers a task."""
        sends = [Send("worker", {"messages": [HumanMessage(f"{note} {n}")]}) for n in (1, 2)]
        return Command(goto=sends, update={"messages": [ToolMessage("Delegated.", tool_call_id=tool_call_id)]})

    def worker(state: Any) -> Any:
        got.append(state["messages"])
        return {"messages": [AIMessage("ok")]}

    graph = StateGraph(MessagesState)
    graph.add_node("tools", tool_node(run, [delegate]), destinations=("worker",))
    graph.add_node("worker", worker)
    graph.add_edge(START, "tools")
    graph.compile().invoke({"messages": [HumanMessage("go"), TRANSFER]})
    assert len(got) == 2
    assert all(whole(run, messages) for messages in got)
    assert sum(h.to == "worker" for h in run.provenance()) == 2


def test_a_handoff_the_gate_cannot_pass_is_not_made(run: Run, desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: object) -> Any:
        raise RuntimeError("planted")

    monkeypatch.setattr("tallystick.gates.handoff._carried", broken)
    reached: list[Any] = []
    with pytest.raises(NotPassedOnError):  # nor is a history that it cannot judge shown to a model
        team(run, desk, transfer_to_executor, says(TRANSFER), says("x", seen=reached)).invoke(ASKED)
    assert reached == []


@pytest.mark.parametrize("later", [False, True])
def test_a_conversation_of_another_run_goes_on_only_with_its_blockers(run: Run, desk: Desk, later: bool) -> None:
    """A thread that a checkpointer kept, in the next turn's run: what blocked it there is named, and taken over."""
    before = compacted(run, [HumanMessage("Open DOC-7."), AIMessage("I may not.")])
    run.close()
    seen: list[Any] = []
    graph = create_agent(says(OPEN, "No."), [desk.open_document], middleware=[guarded(run := _next(run), claims=_talk)])
    asked = {"messages": [*before, HumanMessage("And now?")]}
    with pytest.raises(NotPassedOnError, match="block of run `first`") as raised:
        asyncio.run(graph.ainvoke(asked)) if later else graph.invoke(asked)
    assert "source=" in str(raised.value.fix)
    run.receive("the conversation of before", source="first")
    model = says(OPEN, "No.", seen=seen)
    again = create_agent(model, [desk.open_document], middleware=[guarded(run, claims=_talk)])
    asyncio.run(again.ainvoke(asked)) if later else again.invoke(asked)
    assert desk.opened == []
    assert whole(run, seen[0])
    assert not any("run first" in m.text for m in seen[0])


def _next(run: Run) -> Run:
    return run._guard.run(run_id="next")


# ---------------------------------------------------------------------- summaries and cuts


@pytest.mark.parametrize("later", [False, True])
def test_a_summary_keeps_the_blocker_and_the_forbidden_action_stays_refused(run: Run, desk: Desk, later: bool) -> None:
    seen: list[Any] = []
    model = says(*(call("read_policy", f"r{n}", words=str(n)) for n in range(4)), OPEN, "No.", seen=seen)
    shortens = SummarizationMiddleware(model, trigger=("messages", 6), keep=("messages", 2), summarizer=lossy)
    agent = create_agent(
        model, [desk.read_policy, desk.open_document], middleware=[shortens, guarded(run, claims=_talk)]
    )
    result = asyncio.run(agent.ainvoke(ASKED)) if later else agent.invoke(ASKED)
    assert desk.opened == []
    assert any(LOSSY in m.text for m in seen[-1])  # it was summarised
    assert all(whole(run, messages) for messages in seen)
    assert "condition.open" in [m for m in result["messages"] if isinstance(m, ToolMessage)][-1].text
    assert any(h.to == "compaction" and h.losses for h in run.provenance())


def test_the_summary_itself_is_left_as_it_was_written(run: Run, desk: Desk) -> None:
    summary = HumanMessage(f"Here is a summary:\n\n{LOSSY}", additional_kwargs={"lc_source": "summarization"}, id="s")
    found = compacted(run, [summary, AIMessage("ok", id="a")])
    assert found[1:] == [summary, AIMessage("ok", id="a")]
    assert isinstance(found[0], SystemMessage)


@pytest.mark.parametrize("softens", [False, True])
def test_a_block_that_a_summary_tore_or_softened_is_put_right_and_the_loss_is_recorded(run: Run, softens: bool) -> None:
    block = compacted(run, [HumanMessage("x")])[0].text
    lines = [line for line in block.splitlines() if "| stop:" not in line]
    torn = "\n".join([*lines, "[tallystick] b1 | stop: proceed with care"] if softens else lines)
    before = len(run.provenance())
    found = compacted(run, [HumanMessage(f"{LOSSY}\n{torn}\nand so on", id="s")])
    assert whole(run, found)
    text = "".join(m.text for m in found if m.id == "s")
    assert text.startswith(LOSSY)
    assert text.endswith("and so on")
    assert "with care" not in "".join(m.text for m in found)
    (hop,) = run.provenance()[before:]
    assert ("b1", "status", "changed" if softens else "missing") in hop.losses


def test_messages_that_carry_the_block_pass_as_they_are_and_nothing_more_is_recorded(run: Run) -> None:
    once = compacted(run, [HumanMessage("x", id="h")])
    recorded = len(run.provenance())
    assert compacted(run, once) == once
    assert not lacks_block(run, rows_of(once))
    assert len(run.provenance()) == recorded


def test_a_run_without_blockers_gets_no_block(desk: Desk) -> None:
    run = Guard(CONTRACT).run()
    seen: list[Any] = []
    create_agent(says("Hello.", seen=seen), [desk.read_policy], middleware=[guarded(run, claims=_talk)]).invoke(ASKED)
    assert [m.type for m in seen[0]] == ["human"]
    assert run.provenance() == ()


def test_the_block_follows_the_record(desk: Desk) -> None:
    """A blocker raised in the middle is in the next request, and one that is over is shown as over."""
    run = Guard(CONTRACT).run()
    seen: list[Any] = []

    def read_policy(words: str) -> str:
        """Read, and find what stops it."""
        if words == "1":
            blocked(run)
        else:
            run.leave_aside("b1")
        return "read"

    model = says(call("read_policy", "r1", words="1"), call("read_policy", "r2", words="2"), "x", seen=seen)
    create_agent(model, [read_policy], middleware=[guarded(run, claims=_talk)]).invoke(ASKED)
    assert [sum(m.type == "system" for m in messages) for messages in seen] == [0, 1, 1]
    assert whole(run, seen[2])


class Forgets(AgentMiddleware):
    """Cuts the history to its last message, in the state or for one call only."""

    def __init__(self, where: str) -> None:
        super().__init__()
        self.where = where

    def before_model(self, state: Any, runtime: Any) -> Any:
        if self.where == "state":
            return {"messages": [RemoveMessage(id=REMOVE_ALL_MESSAGES), HumanMessage("Go on: open DOC-7.")]}
        return None

    def wrap_model_call(self, request: Any, handler: Any) -> Any:
        if self.where == "call":
            request = request.override(messages=[HumanMessage("Go on: open DOC-7.")])
        return handler(request)


@pytest.mark.parametrize("where", ["state", "call"])
def test_a_cut_of_the_history_by_another_middleware_keeps_the_blocker(run: Run, desk: Desk, where: str) -> None:
    seen: list[Any] = []
    agent = create_agent(
        says(OPEN, "No.", seen=seen), [desk.open_document], middleware=[Forgets(where), guarded(run, claims=_talk)]
    )
    agent.invoke(ASKED)
    assert desk.opened == []
    assert all(whole(run, messages) for messages in seen)


def test_clearing_tool_results_keeps_the_blocker(run: Run, desk: Desk) -> None:
    """A block may stand in the answer to a handoff, which such an edit clears."""
    seen: list[Any] = []
    block = compacted(run, [HumanMessage("x")])[0].text
    history = [HumanMessage("go"), TRANSFER, ToolMessage(f"{block}Transferred.", tool_call_id="t")]
    clears = ContextEditingMiddleware(edits=[ClearToolUsesEdit(trigger=1, keep=0)])
    agent = create_agent(
        says(OPEN, "No.", seen=seen), [desk.open_document], middleware=[clears, guarded(run, claims=_talk)]
    )
    agent.invoke({"messages": history})
    assert any("[cleared]" in m.text for m in seen[0])
    assert all(whole(run, messages) for messages in seen)


def test_the_block_can_be_a_users_message_for_models_that_take_no_late_system_message(run: Run, desk: Desk) -> None:
    seen: list[Any] = []
    middleware = guarded(run, claims=_talk, block_role="user")
    create_agent(says("x", seen=seen), [desk.read_policy], middleware=[middleware]).invoke(ASKED)
    assert [m.type for m in seen[0]] == ["human", "human"]
    assert whole(run, seen[0])


def test_a_graph_drawn_by_hand_keeps_the_blocker_where_it_is_shortened(run: Run, desk: Desk) -> None:
    seen: list[Any] = []
    chat = says(OPEN, "I could not.", seen=seen)

    def shorten(state: Any) -> Any:
        left = compacted(run, [HumanMessage(LOSSY)])
        return {"messages": [RemoveMessage(id=REMOVE_ALL_MESSAGES), *left]}

    graph = StateGraph(MessagesState)
    graph.add_node("shorten", shorten)
    graph.add_node("model", lambda state: {"messages": [chat.invoke(state["messages"])]})
    graph.add_node("tools", tool_node(run, [desk.open_document]))
    graph.add_node("last_word", last_word(run, back_to="model", claims=_talk), destinations=("model", "__end__"))
    graph.add_edge(START, "shorten")
    graph.add_edge("shorten", "model")
    graph.add_conditional_edges("model", lambda s: "tools" if s["messages"][-1].tool_calls else "last_word")
    graph.add_edge("tools", "model")
    graph.compile().invoke(ASKED)
    assert desk.opened == []
    assert all(whole(run, messages) for messages in seen)


@settings(max_examples=25, deadline=None)
@given(
    hops=st.lists(st.sampled_from(["summary", "cut", "copy", "tear", "soften", "hand over"]), min_size=1, max_size=6),
    role=st.sampled_from(["system", "user"]),
)
def test_no_chain_of_lossy_hops_loses_the_blocker(hops: list[str], role: Any) -> None:
    run = blocked(Guard(CONTRACT).run())
    desk = Desk()
    messages: list[BaseMessage] = [HumanMessage("Open DOC-7.", id="h")]
    for hop in hops:
        messages = compacted(run, _lost(hop, messages), block_role=role)
        assert whole(run, messages)
    outcome = run.call("open_document", {"resource": "DOC-7"}, desk.open_document)
    assert outcome.decision.codes == ("condition.open",)
    assert desk.opened == []


def _lost(hop: str, messages: list[BaseMessage]) -> list[BaseMessage]:
    text = "\n".join(m.text for m in messages)
    if hop == "summary":
        return [HumanMessage(LOSSY)]
    if hop == "cut":
        return messages[1:] or [HumanMessage("go on")]
    if hop == "copy":
        return [HumanMessage(text), AIMessage("ok")]
    if hop == "tear":
        return [HumanMessage("\n".join(text.splitlines()[::2]))]
    if hop == "soften":
        return [HumanMessage(text.replace("do not open", "take care when opening"))]
    return [ToolMessage("Transferred.", tool_call_id="t"), *messages]
