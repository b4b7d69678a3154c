"""LangChain messages as an artifact, and back: the place of the carrier block in a history, and nothing else changed.

A message is known again by its place, so whatever it holds besides its words (calls, ids, usage) comes back untouched.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, Literal

from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
    convert_to_messages,
)
from langgraph.graph.message import REMOVE_ALL_MESSAGES

from tallystick.adapters.ended import NotPassedOnError
from tallystick.handoff import Transfer, blocks, compare, prose_text
from tallystick.runtime.run import Run

Role = Literal["system", "user"]
"""Role of the message that holds the block, where it is a message of its own."""
Pass = Callable[[list[dict[str, Any]]], Transfer]
_ROLES: Final = {"human": "user", "ai": "assistant"}
_AT: Final = "at"
_CUT: Final = frozenset({"length", "max_tokens", "max_output_tokens"})
SOURCE: Final = {"lc_source": "tallystick"}
"""Says of a message that the guard wrote it, where LangChain's own middleware says so too."""


def rows_of(messages: Sequence[BaseMessage]) -> list[dict[str, Any]]:
    """Return messages as an artifact of the form `messages`."""
    rows: list[dict[str, Any]] = []
    for at, message in enumerate(messages):
        if isinstance(message, RemoveMessage):
            continue
        row = {"role": _ROLES.get(message.type, message.type), "content": message.content}
        rows.append(row if _only_block(message, row) else {**row, _AT: at})
    return rows


def _only_block(message: BaseMessage, row: dict[str, Any]) -> bool:
    return (
        isinstance(message, SystemMessage | HumanMessage)
        and isinstance(message.content, str)
        and bool(blocks([row], "messages"))
        and not prose_text([row], "messages").strip()
    )


def with_rows(messages: Sequence[BaseMessage], rows: Sequence[Mapping[str, Any]]) -> list[BaseMessage]:
    """Return the messages as the artifact `rows`, made from `rows_of` these messages, came back."""
    out: list[BaseMessage] = [m for m in messages if isinstance(m, RemoveMessage)]
    block: str | None = None
    for row in rows:
        if _AT not in row:
            block = row["content"]
            out.append(_block_message(row["role"], block or ""))
            continue
        message = messages[row[_AT]]
        if row["content"] != message.content:
            message = message.model_copy(update={"content": row["content"]})
        if block is not None and isinstance(message, ToolMessage) and out and out[-1].additional_kwargs == SOURCE:
            # The answer to a call must follow the call; a message of its own would come between.
            out.pop()
            message = message.model_copy(update={"content": _headed(block, message.content)})
        block = None
        out.append(message)
    return out


def _block_message(role: str, text: str) -> BaseMessage:
    kind = SystemMessage if role == "system" else HumanMessage
    return kind(content=text, id=str(uuid.uuid4()), additional_kwargs=dict(SOURCE))


def _headed(block: str, content: Any) -> Any:
    return block + content if isinstance(content, str) else [{"type": "text", "text": block}, *content]


def lacks_block(run: Run, rows: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether messages do not carry what the record says has to travel. Nothing is written.

    Where no blocker is open and no block is there, nothing has to.
    """
    if run.status is not None:
        return False
    carrier = run.carrier()
    found = compare(rows, "messages", carrier, run.view)
    return found.state != "complete" and (found.state != "absent" or bool(carrier.blockers))


def passed_on(messages: Sequence[BaseMessage], transfer: Transfer) -> list[BaseMessage]:
    """Return the messages as the handoff gate passes them on.

    Raises:
        NotPassedOnError: it rejects them.
    """
    if not transfer.accepted:
        raise NotPassedOnError(transfer.decision)
    return with_rows(messages, transfer.artifact)


def listed(given: Any) -> list[BaseMessage]:
    """Return what a state update has for messages as a list of messages."""
    if given is None:
        return []
    return convert_to_messages(given if isinstance(given, list | tuple) else [given])


def last_ai(messages: Sequence[BaseMessage]) -> tuple[AIMessage | None, Sequence[BaseMessage]]:
    """Return the model's last message, and what follows it."""
    for at in range(len(messages) - 1, -1, -1):
        message = messages[at]
        if isinstance(message, AIMessage):
            return message, messages[at + 1 :]
    return None, ()


def was_cut(message: BaseMessage | None) -> bool:
    """Return whether the model's turn was cut by length."""
    if message is None:
        return False
    told = message.response_metadata
    incomplete = told.get("incomplete_details")
    why = incomplete.get("reason") if isinstance(incomplete, Mapping) else None
    return any(str(reason).lower() in _CUT for reason in (told.get("finish_reason"), told.get("stop_reason"), why))


def messages_in(state: Any, key: str) -> list[BaseMessage]:
    """Return the messages of a graph's state, whatever it is."""
    if isinstance(state, list):
        return state
    found = state.get(key) if isinstance(state, Mapping) else getattr(state, key, None)
    return list(found or [])


def whole(messages: list[BaseMessage]) -> list[BaseMessage]:
    """Return an update that puts these messages in the place of all there were."""
    return [RemoveMessage(id=REMOVE_ALL_MESSAGES), *messages]
