"""Streamed chat completions: fragments put together by choice and call index, exactly as the stream says.

Fragments are only joined, never repaired: two calls streamed on one index give glued arguments, which do not parse.
"""

from __future__ import annotations

from typing import Any


def is_chunk(value: Any) -> bool:
    """Return whether a JSON value is one `chat.completion.chunk`."""
    return isinstance(value, dict) and value.get("object") == "chat.completion.chunk"


def assembled(chunks: list[Any]) -> dict[str, Any]:
    """Return the assistant message that the chunks of one stream (its first choice) spell out."""
    text: list[str] = []
    refusal: list[str] = []
    calls: dict[int, dict[str, Any]] = {}
    reason = None
    for chunk in chunks:
        for choice in _listed(chunk, "choices") if is_chunk(chunk) else []:
            if not isinstance(choice, dict) or choice.get("index", 0) != 0:
                continue
            reason = choice.get("finish_reason") or reason
            delta = choice.get("delta")
            if not isinstance(delta, dict):
                continue
            text += [delta["content"]] if isinstance(delta.get("content"), str) else []
            refusal += [delta["refusal"]] if isinstance(delta.get("refusal"), str) else []
            for part in _listed(delta, "tool_calls"):
                if isinstance(part, dict) and isinstance(part.get("index"), int):
                    _join(calls.setdefault(part["index"], {"function": {"name": "", "arguments": ""}}), part)
    message: dict[str, Any] = {"role": "assistant", "content": "".join(text)}
    if refusal:
        message["refusal"] = "".join(refusal)
    if calls:
        message["tool_calls"] = [calls[i] for i in sorted(calls)]
    if reason is not None:
        message["finish_reason"] = reason
    return message


def _listed(holder: dict[str, Any], name: str) -> list[Any]:
    value = holder.get(name)
    return value if isinstance(value, list) else []


def _join(call: dict[str, Any], part: dict[str, Any]) -> None:
    if isinstance(part.get("id"), str) and "id" not in call:
        call["id"] = part["id"]
    inner = part.get("function")
    if isinstance(inner, dict):
        for key in ("name", "arguments"):
            if isinstance(inner.get(key), str):
                call["function"][key] += inner[key]
