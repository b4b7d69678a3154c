"""Conversations of other systems are refused by name, never read as words without calls."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tallystick.audit.report import run_audit
from tallystick.audit.summary import BAD_INPUT
from tallystick.errors import InputError
from tallystick.traces import parse
from tallystick.traces.formats import NotATrace

USER = {"role": "user", "content": "Please cancel O-1."}
DONE = {"role": "assistant", "content": "I've cancelled it."}
ANTHROPIC_CALL = {
    "role": "assistant",
    "content": [
        {"type": "text", "text": "Let me."},
        {"type": "tool_use", "id": "t1", "name": "cancel_order", "input": {"id": "O-1"}},
    ],
}
ANTHROPIC_RESULT = {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "ok"}]}
RESPONSES_CALL = {"type": "function_call", "call_id": "c1", "name": "cancel_order", "arguments": "{}"}

DOCUMENTS: dict[str, tuple[Any, str]] = {
    "anthropic": ({"messages": [USER, ANTHROPIC_CALL, ANTHROPIC_RESULT, DONE]}, "`tool_use`"),
    "anthropic, only the result": ([USER, ANTHROPIC_RESULT, DONE], "`tool_result`"),
    "anthropic response": ({"request": {"messages": [USER]}, "response": ANTHROPIC_CALL}, "`tool_use`"),
    "anthropic in state-bench": ({"conversation": [USER, ANTHROPIC_CALL]}, "`tool_use`"),
    "an unknown part": ([USER, {"role": "assistant", "content": [{"type": "mcp_tool_use"}]}], "`mcp_tool_use`"),
    "responses items": ([USER, RESPONSES_CALL, DONE], "OpenAI Responses"),
    "responses items first": ([RESPONSES_CALL, DONE], "OpenAI Responses"),
    "responses record": ({"input": "x", "output": [RESPONSES_CALL]}, "OpenAI Responses"),
    "responses beside a chat": ({"messages": [USER], "response": {"output": [RESPONSES_CALL]}}, "OpenAI Responses"),
    "langchain": ({"messages": [{"type": "human", "content": "x"}, {"type": "ai", "content": ""}]}, "LangChain"),
    "langchain list": ([{"type": "ai", "data": {"content": "", "tool_calls": []}}], "LangChain"),
    "langchain after chat": ([USER, {"type": "ai", "content": ""}], "LangChain"),
    "mcp": ({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "x"}}, "MCP"),
    "bedrock": ({"messages": [USER, {"role": "assistant", "content": [{"toolUse": {"name": "x"}}]}]}, "Bedrock"),
    "gemini": ({"contents": [{"role": "user", "parts": [{"text": "x"}]}]}, "Gemini"),
    "ui messages": ([USER, {"role": "assistant", "parts": [{"type": "tool-invocation"}]}], "`parts`"),
    "claude code": ({"type": "assistant", "message": {"role": "assistant", "content": []}}, "Claude Code"),
}


@pytest.mark.parametrize(("value", "name"), DOCUMENTS.values(), ids=DOCUMENTS.keys())
def test_what_may_carry_a_call_and_is_not_read_is_refused_by_name(value: Any, name: str) -> None:
    with pytest.raises(InputError, match="is not read here") as raised:
        list(parse(json.dumps(value).encode(), name="t", source="t.json"))
    assert name in raised.value.message
    assert not isinstance(raised.value, NotATrace)
    assert (raised.value.where or "").startswith("t.json")


@pytest.mark.parametrize(("value", "name"), DOCUMENTS.values(), ids=DOCUMENTS.keys())
def test_a_line_of_a_log_is_refused_as_a_document_is(value: Any, name: str) -> None:
    lines = "\n".join(json.dumps(v) for v in ({"messages": [USER, DONE]}, value)).encode()
    if "conversation" in value:
        lines = "\n".join(json.dumps(v) for v in ({"conversation": [USER, DONE]}, value)).encode()
    with pytest.raises(InputError) as raised:
        list(parse(lines, name="t", source="t.jsonl"))
    assert name in raised.value.message


def test_parts_that_carry_words_and_pictures_are_read() -> None:
    parts = [{"type": "text", "text": "Hi"}, {"type": "thinking", "thinking": "hm"}, {"type": "image_url"}, "there"]
    (trace,) = parse(json.dumps([USER, {"role": "assistant", "content": parts}]).encode(), name="t")
    assert trace.messages[1].text == "Hi\n[thinking]\n[image_url]\nthere"
    assert trace.damage == ()


def test_decoded_arguments_under_the_name_args_are_read() -> None:
    call = {"type": "tool_call", "id": "1", "name": "cancel_order", "args": {"id": "O-1"}}
    (trace,) = parse(json.dumps([USER, {"role": "assistant", "content": "", "tool_calls": [call]}]).encode(), name="t")
    assert trace.messages[1].calls[0].args == {"id": "O-1"}


def test_an_audit_accuses_nobody_over_a_conversation_it_cannot_read(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    file.write_text(json.dumps(DOCUMENTS["anthropic"][0]), encoding="utf-8")
    with (tmp_path / "out").open("w") as out, (tmp_path / "err").open("w") as err:
        code = run_audit([file], None, "auto", True, None, None, 1, out, err)
    assert code == BAD_INPUT
    assert "claim." not in (tmp_path / "out").read_text("utf-8")
