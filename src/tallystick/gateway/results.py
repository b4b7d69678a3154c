"""Between a `CallToolResult` on the wire and what a receipt keeps; and the results the gateway itself gives.

Both channels of a result are kept: the text as it was sent, and the structured content as its raw JSON. They may
differ, and which of them facts are read from is the view's business.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from tallystick.gateway.frames import Id, line_of
from tallystick.model import jsontext
from tallystick.runtime.outcome import Outcome
from tallystick.runtime.results import ToolResult
from tallystick.view import ReceiptRecord

META: Final = "tallystick/decision"
"""Key in a result's `_meta` for what the gateway says as JSON, also where an output schema forbids it elsewhere."""


class _Result(msgspec.Struct):
    content: list[msgspec.Raw] | None = None
    structured: msgspec.Raw = msgspec.field(default=msgspec.Raw(b""), name="structuredContent")
    is_error: bool = msgspec.field(default=False, name="isError")
    kind: str = msgspec.field(default="complete", name="resultType")
    request_state: str | None = msgspec.field(default=None, name="requestState")
    task: _Task | None = None


class _Task(msgspec.Struct):
    id: str = msgspec.field(name="taskId")


class _Text(msgspec.Struct):
    type: str
    text: str = ""


_RESULT: Final = msgspec.json.Decoder(_Result)
_TEXT: Final = msgspec.json.Decoder(_Text)


class Answer(msgspec.Struct, frozen=True, kw_only=True):
    """What came back for a `tools/call`.

    Attributes:
        result: what the receipt keeps.
        wants_input: it is no result yet: the server asks something first, under `request_state`.
        task: it is no result yet: the server works on, under this task id.
    """

    result: ToolResult
    wants_input: bool = False
    request_state: str | None = None
    task: str | None = None


def answer_of(result: bytes, error: bytes) -> Answer:
    """Return what a response says; `result` and `error` are the raw JSON of those members, one of them b"".

    A protocol error is kept whole as an error result: whether the call had an effect is for the contract to tell.
    """
    if not result:
        return Answer(result=ToolResult(value=error, flag="error"))
    try:
        read = _RESULT.decode(result)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return Answer(result=ToolResult(value=result))  # no CallToolResult; kept whole, judged by what is in it
    structured = bytes(read.structured)
    kept = ToolResult(
        value=_text_of(read.content, result),
        structured=structured if structured and structured != b"null" else None,
        flag="error" if read.is_error else "unset",
    )
    if read.kind == "input_required":
        return Answer(result=kept, wants_input=True, request_state=read.request_state)
    if read.task is not None and read.content is None:
        return Answer(result=kept, task=read.task.id)
    return Answer(result=kept)


def _text_of(content: list[msgspec.Raw] | None, whole: bytes) -> str | bytes:
    """Return the text where the content is one text block; else the whole result, so that nothing is lost."""
    if content is not None and len(content) == 1:
        try:
            block = _TEXT.decode(content[0])
        except (msgspec.DecodeError, RecursionError):
            return whole
        if block.type == "text":
            return block.text
    return whole


# ------------------------------------------------------------------ what the gateway says itself


def result_line(
    id_: Id | None, text: str, told: Mapping[str, Any], *, is_error: bool, structured: bool, modern: bool
) -> bytes:
    """Return a `CallToolResult` of the gateway's own as a line.

    Args:
        id_: the request it answers.
        text: for the model.
        told: the same as JSON values.
        is_error: the result's error bit.
        structured: whether `told` may be the structured content; clients check that against a tool's output schema.
        modern: whether the client speaks a version that needs `resultType` (2026-07-28).
    """
    result: dict[str, Any] = {"content": [{"type": "text", "text": text}], "isError": is_error}
    if structured:
        result["structuredContent"] = dict(told)
    result["_meta"] = {META: dict(told)}
    if modern:
        result["resultType"] = "complete"
    return line_of({"jsonrpc": "2.0", "id": id_, "result": result})


def recorded_line(id_: Id | None, outcome: Outcome, receipt: ReceiptRecord, *, modern: bool) -> bytes:
    """Return the result of an earlier call of the same effect, from its receipt; the tool was not run again."""
    told = {k: v for k, v in outcome.to_json().items() if k != "result"}
    text = receipt.text if receipt.text is not None else ""
    result: dict[str, Any] = {"content": [{"type": "text", "text": text}], "isError": False, "_meta": {META: told}}
    if receipt.body.structured is not None:
        result["structuredContent"] = jsontext.loads(receipt.body.structured.raw)
    if modern:
        result["resultType"] = "complete"
    return line_of({"jsonrpc": "2.0", "id": id_, "result": result})
