"""What other formats look like, so that one that is not read is refused by its name instead of being half read.

A conversation whose calls stand where this importer does not look would come out as words without calls, and an audit
would then accuse the agent. So whatever may carry a call or a result and is not understood is an error, never skipped.
"""

from __future__ import annotations

import re
from typing import Any, Final

from tallystick.errors import InputError

PLAIN_PARTS: Final = frozenset(
    {"text", "input_text", "output_text", "refusal", "image", "image_url", "input_image", "input_audio", "audio",
     "file", "input_file", "document", "video", "video_url", "thinking", "redacted_thinking", "reasoning",
     "summary_text", "reasoning_text", "reasoning_content"}
)  # fmt: skip
"""Types of content parts that carry neither a call nor a result."""
_ITEMS: Final = re.compile(r"(?:^|_)(?:call|call_output|call_result|tool_use|tool_result|approval_request|list_tools)$")
_PART_KEYS: Final = {
    "toolUse": "Bedrock Converse",
    "toolResult": "Bedrock Converse",
    "functionCall": "Gemini",
    "functionResponse": "Gemini",
    "function_response": "Gemini",
    "toolCallId": "Vercel AI SDK",
    "tool_use_id": "Anthropic messages",
}
_LISTS: Final = (
    ("contents", "parts", "Gemini"),
    ("candidates", "content", "Gemini"),
    ("resourceSpans", "scopeSpans", "OpenTelemetry spans"),
)
_FIX: Final = "write calls as `tool_calls` of an assistant message, and results as messages of the role `tool`"


def part_of(content: Any) -> str:
    """Return what is not read in a `content` field, as words for an error, or ""."""
    if not isinstance(content, list):
        return ""
    for part in content:
        if not isinstance(part, dict):
            continue
        kind = part.get("type")
        if isinstance(kind, str):
            if kind not in PLAIN_PARTS:
                return f"a content part of the type `{kind[:40]}`"
        else:
            key = next((k for k in _PART_KEYS if k in part), None)
            if key is not None:
                return f"a `{key}` content part ({_PART_KEYS[key]})"
    return ""


def in_message(message: dict[str, Any]) -> str:
    """Return what is not read in one message, as words for an error, or ""."""
    content = message.get("content")
    if isinstance(content, list):
        found = part_of(content)
        if found:
            return found
    for key in ("parts", "toolInvocations", "tool_invocations"):
        if isinstance(message.get(key), list) and message[key]:
            return f"a message with `{key}`"
    return ""


def name_of(value: Any) -> str:
    """Return the name of the format that a JSON value is in, where that is one known not to be read, or ""."""
    if isinstance(value, list):
        return next((name for name in map(name_of, value[:20]) if name), "") if value else ""
    if not isinstance(value, dict):
        return ""
    kind = value.get("type")
    if isinstance(kind, str):
        if _ITEMS.search(kind) and "role" not in value:
            return "OpenAI Responses items"
        if kind in ("human", "ai", "system", "tool", "function") and ("data" in value or "content" in value):
            return "LangChain messages"
        if kind in ("user", "assistant") and isinstance(value.get("message"), dict):
            return "a Claude Code session"
        if kind == "constructor" and "lc" in value:
            return "LangChain messages"
    for key, inner, name in _LISTS:
        items = value.get(key)
        if isinstance(items, list) and items and isinstance(items[0], dict) and inner in items[0]:
            return name
    if value.get("jsonrpc") == "2.0":
        return "an MCP log"
    for holder in (value, value.get("response"), value.get("body")):
        if isinstance(holder, dict) and isinstance(holder.get("output"), list) and "choices" not in holder:
            items = [i for i in holder["output"] if isinstance(i, dict)]
            if items and all(isinstance(i.get("type"), str) for i in items):
                return "OpenAI Responses"
    return ""


def refused(what: str, where: str, source: str) -> InputError:
    """Return the error for something that is not read: a part, a message or a whole format."""
    place = ", ".join(p for p in (source, where) if p)
    return InputError(f"{what} is not read here", where=place or None, fix=_FIX)
