"""What a tool hands over in LangGraph: who gets which messages by a `Command`, and the `Command` with others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from langchain_core.messages import BaseMessage, ToolMessage
from langgraph.graph import END
from langgraph.types import Command, Send

from tallystick.adapters.lc_messages import listed, messages_in
from tallystick.errors import InputError

Result = Any
"""What a tool call comes to: a `ToolMessage`, a `Command`, or a list of them."""


@dataclass(frozen=True, kw_only=True)
class Part:
    """What one receiver gets of a `Command`: `command` is its place in the result, `send` in the targets (or -1)."""

    to: str
    messages: list[BaseMessage]
    command: int
    send: int = -1


def targets_of(command: Command[Any]) -> list[Any]:
    """Return where a `Command` goes: names of nodes, and `Send`s."""
    goto = command.goto
    return [goto] if isinstance(goto, str | Send) else list(goto)


def node_of(target: Any) -> str:
    """Return the name of the node a target is."""
    return target.node if isinstance(target, Send) else str(target)


def parts_of(message: Result, key: str) -> list[Part]:
    """Return what a tool's result hands over, and to whom; nothing for a plain message."""
    found: list[Part] = []
    for at, command in enumerate(message if isinstance(message, list) else [message]):
        if not isinstance(command, Command):
            continue
        names = [t for t in targets_of(command) if isinstance(t, str) and t != END]
        if names:
            found.append(Part(to=", ".join(names), messages=_in_update(command.update, key), command=at))
        for where, target in enumerate(targets_of(command)):
            if isinstance(target, Send):
                found.append(Part(to=target.node, messages=messages_in(target.arg, key), command=at, send=where))
    return found


def _in_update(update: Any, key: str) -> list[BaseMessage]:
    if update is None or isinstance(update, Mapping):
        return listed((update or {}).get(key))
    if isinstance(update, list) and not any(isinstance(item, tuple) for item in update):
        return listed(update)
    raise InputError(f"a handoff's update is a {type(update).__name__}", where="Command", fix=f"a mapping with `{key}`")


def with_part(message: Result, part: Part, messages: list[BaseMessage], key: str) -> Result:
    """Return the result with other messages for one of its receivers."""
    commands = list(message) if isinstance(message, list) else [message]
    command = commands[part.command]
    if part.send >= 0:
        targets = targets_of(command)
        target = targets[part.send]
        arg = messages if isinstance(target.arg, list) else {**target.arg, key: messages}
        targets[part.send] = Send(target.node, arg)
        commands[part.command] = replace(command, goto=targets)
    elif isinstance(command.update, list):
        commands[part.command] = replace(command, update=messages)
    else:
        commands[part.command] = replace(command, update={**(command.update or {}), key: messages})
    return commands if isinstance(message, list) else commands[0]


def told_of(message: Result) -> Any:
    """Return what a receipt keeps of a `Command`: where it goes, and what it says."""
    found: list[dict[str, Any]] = []
    for part in message if isinstance(message, list) else [message]:
        if isinstance(part, ToolMessage):
            found.append({"said": str(part.text)})
        else:
            update = part.update.get("messages") if isinstance(part.update, dict) else None
            said = [str(m.text) for m in listed(update) if isinstance(m, ToolMessage)]
            found.append({"goto": [node_of(to) for to in targets_of(part)], "said": "\n".join(said)})
    return found[0] if len(found) == 1 else found
