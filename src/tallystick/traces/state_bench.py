"""STATE-Bench conversations: `{"conversation": [{role, content, tool_calls: [{name, arguments, result}]}]}`.

Each call carries its own result, so pairing is given; ids and times are absent, so ids are minted per occurrence. The
calls of an assistant message come before its text. `now` is not in the file: it stands in the task beside it, of which
only that one field is ever read (the rest is the answer key).
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import msgspec

from tallystick.model.trace import Trace, TraceCall, TraceDamage, TraceMessage, TraceResult
from tallystick.traces import foreign
from tallystick.traces.content import text_of

FORMAT: Final = "state-bench"


class _Clock(msgspec.Struct):
    """The only field of a task file that is looked at; every other field is skipped while decoding."""

    now: str | None = None


def is_state_bench(value: Any) -> bool:
    """Return whether a JSON document is a STATE-Bench conversation."""
    return isinstance(value, dict) and isinstance(value.get("conversation"), list)


def now_beside(path: Path) -> str | None:
    """Return `now` from the task file of `.../trajectories/DOMAIN/ID.json`, or None where there is none."""
    if path.parent.parent.name != "trajectories":
        return None
    task = path.parent.parent.parent / "tasks" / path.parent.name / path.name
    try:
        return msgspec.json.decode(task.read_bytes(), type=_Clock).now
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return None


def trace_of(value: Any, *, name: str, source: str, sha256: str, now: str | None = None) -> Trace:
    """Return the trace of one document that `is_state_bench`.

    Raises:
        InputError: a content part may carry a call or a result.
    """
    damage: list[TraceDamage] = []
    messages = []
    for index, message in enumerate(value["conversation"]):
        if not isinstance(message, dict) or not isinstance(message.get("role"), str):
            damage.append(_unreadable(index, "the message has no role"))
            continue
        content = message.get("content")
        unread = foreign.part_of(content) if type(content) is list else ""
        if unread:
            raise foreign.refused(unread, f"m{index}", source)
        text = content if type(content) is str else text_of(content)
        if text is None:
            damage.append(_unreadable(index, "the content is neither text nor parts"))
            text = ""
        listed = message.get("tool_calls")
        if not listed:
            messages.append(TraceMessage(index=index, role=message["role"], text=text))
            continue
        calls = _calls(listed, index, damage)
        messages.append(TraceMessage(index=index, role=message["role"], text=text, calls=calls))
    return Trace(
        id=name,
        source=source,
        format=FORMAT,
        messages=tuple(messages),
        damage=tuple(damage),
        now=now,
        sha256=sha256,
    )


def _calls(listed: Any, index: int, damage: list[TraceDamage]) -> tuple[TraceCall, ...]:
    if not isinstance(listed, list):
        damage.append(_unreadable(index, "`tool_calls` is not a list"))
        return ()
    calls = []
    for at, call in enumerate(listed):
        if not isinstance(call, dict) or not isinstance(call.get("name"), str):
            damage.append(TraceDamage(code="call.unreadable", message="the call has no name", where=f"m{index}.c{at}"))
            continue
        result = TraceResult(body=call["result"], index=index) if "result" in call else None
        args = call.get("arguments")
        if type(args) is not dict:
            damage.append(
                TraceDamage(code="args.unparseable", message="the arguments are not an object", where=f"m{index}.c{at}")
            )
        calls.append(
            TraceCall(
                id=f"m{index}.c{at}",
                message=index,
                index=at,
                tool=call["name"],
                args=args if type(args) is dict else None,
                args_text=args if type(args) is str else None,
                result=result,
                turn=index,
            )
        )
    return tuple(calls)


def _unreadable(index: int, why: str) -> TraceDamage:
    return TraceDamage(code="message.unreadable", message=why, where=f"m{index}")
