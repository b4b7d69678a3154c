"""Logs in which every request resends the conversation so far: each conversation comes out once, at its full length.

A history that continues another one (same messages, then more) replaces it; one that repeats another, or part of it
from the start, adds nothing. Messages are compared by what they say, not by what a server added to its answer.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from tallystick.model.trace import TraceDamage
from tallystick.traces.content import text_of

WINDOW: Final = 256
"""Conversations of one file that may still be continued; the one longest without news is finished first."""
_ENCODER: Final = msgspec.json.Encoder(order="sorted")


@dataclass(slots=True)
class History:
    """One conversation: where it first appeared (1-based line or item), its raw messages, and damage met on the way."""

    at: int
    messages: list[Any]
    damage: list[TraceDamage] = field(default_factory=list)


def _essence(message: Any) -> Any:
    """Return what makes a message the same message when it is sent again."""
    if not isinstance(message, dict):
        return message
    content = message.get("content")
    kept: dict[str, Any] = {"role": message.get("role"), "text": text_of(content) if content is not None else ""}
    for key in ("tool_call_id", "name", "function_call", "tool_calls"):
        if message.get(key):
            kept[key] = message[key]
    return kept


def _chain(messages: list[Any]) -> list[bytes]:
    """Return, for each message, a digest of the history up to and including it."""
    digests = []
    head = b""
    for message in messages:
        head = hashlib.sha256(head + _ENCODER.encode(_essence(message))).digest()
        digests.append(head)
    return digests


def merged(histories: Iterator[History]) -> Iterator[History]:
    """Yield each conversation once, longest form, in the order in which they were finished."""
    open_: OrderedDict[bytes, History] = OrderedDict()  # digest of the full history -> history
    inside: dict[bytes, bytes] = {}  # digest of a prefix -> digest of the full history it belongs to
    chains: dict[bytes, list[bytes]] = {}

    def finish(head: bytes) -> History:
        for digest in chains.pop(head):
            if inside.get(digest) == head:
                del inside[digest]
        return open_.pop(head)

    for new in histories:
        if not new.messages:
            yield new
            continue
        chain = _chain(new.messages)
        head = chain[-1]
        if head in inside:
            known = open_[inside[head]]
            known.damage.extend(d for d in new.damage if d not in known.damage)
            open_.move_to_end(inside[head])
            continue
        earlier = next((d for d in reversed(chain) if d in open_), None)
        if earlier is not None:
            known = finish(earlier)
            new = History(known.at, new.messages, [*known.damage, *(d for d in new.damage if d not in known.damage)])  # noqa: PLW2901 - the longer form takes its place
        open_[head] = new
        chains[head] = chain
        for digest in chain:
            inside[digest] = head
        if len(open_) > WINDOW:
            yield finish(next(iter(open_)))
    yield from sorted(open_.values(), key=lambda h: h.at)
