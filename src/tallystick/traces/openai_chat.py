"""OpenAI chat completions: message lists, request and response records, old function calls, streams.

The format has no error bit, and its ids may repeat, be constant or be missing (`pairing`). Arguments are the model's
raw text: what does not parse as one JSON object is kept as text and recorded as damage, never repaired.
"""

from __future__ import annotations

from typing import Any, Final, Literal

from tallystick.errors import InputError
from tallystick.model.trace import Trace, TraceDamage, TraceMessage, TraceResult
from tallystick.traces import foreign
from tallystick.traces.chunks import assembled, is_chunk
from tallystick.traces.content import body_of, text_of
from tallystick.traces.exact import loads
from tallystick.traces.pairing import Draft, Pairing

FORMAT: Final = "openai-chat"
_CUT: Final = frozenset({"length", "content_filter", "max_tokens", "refusal", "pause_turn"})
_ROLES: Final = frozenset({"system", "developer", "user", "assistant", "tool", "function"})


def is_message(value: Any) -> bool:
    """Return whether a JSON value is one chat message."""
    role = value.get("role") if isinstance(value, dict) else None
    return isinstance(role, str) and role in _ROLES


def is_record(value: Any) -> bool:
    """Return whether a JSON value holds a chat: a message list, a record of a request or response, stream chunks."""
    if isinstance(value, list):
        return bool(value) and (is_message(value[0]) or is_chunk(value[0]))
    if not isinstance(value, dict) or is_message(value):
        return False
    return _request(value) is not None or _response(value) is not None


def _request(record: dict[str, Any]) -> list[Any] | None:
    """Return the messages a record sent, from the places where loggers put them."""
    for holder in (record, record.get("request"), record.get("body"), record.get("kwargs")):
        if isinstance(holder, dict) and isinstance(holder.get("messages"), list):
            return list(holder["messages"])
    return None


def _response(record: dict[str, Any]) -> list[Any] | None:
    """Return the choices a record received."""
    for holder in (record, record.get("response"), record.get("completion")):
        if isinstance(holder, dict):
            inner = holder.get("body")
            for place in (holder, inner if isinstance(inner, dict) else {}):
                if isinstance(place.get("choices"), list):
                    return list(place["choices"])
    return None


def messages_of(value: Any) -> tuple[list[Any], list[TraceDamage]]:
    """Return the raw messages of one record, the response's last, and what could not be used.

    A response with several choices is not followed: which of them was acted on is not in the record.
    """
    damage: list[TraceDamage] = []
    if isinstance(value, list):
        if value and is_chunk(value[0]):
            return [assembled(value)], damage
        return value, damage
    messages = _request(value) or []
    choices = [c for c in _response(value) or [] if isinstance(c, dict)]
    if len(choices) > 1:
        note = f"the response has {len(choices)} choices and does not say which was used"
        damage.append(TraceDamage(code="choices.ambiguous", message=note, where=f"m{len(messages)}"))
    elif choices and isinstance(choices[0].get("message"), dict):
        message = dict(choices[0]["message"])
        message.setdefault("role", "assistant")
        if choices[0].get("finish_reason") is not None:
            message["finish_reason"] = choices[0]["finish_reason"]
        messages.append(message)
    elif not choices:
        answered = next((r for r in (value.get("response"), value.get("completion")) if is_message(r)), None)
        if answered is not None:
            messages.append(answered)  # the answer of another API; its parts are looked at like any message's
    return messages, damage


def trace_of(
    messages: list[Any],
    *,
    name: str,
    source: str,
    sha256: str,
    damage: list[TraceDamage] | None = None,
    now: str | None = None,
) -> Trace:
    """Return the trace of raw chat messages in order.

    Raises:
        InputError: a message carries, or may carry, calls or results in a way that is not read here.
    """
    pairing = Pairing()
    lost = pairing.damage
    lost.extend(damage or [])
    kept: list[tuple[int, str, str, list[Draft], bool]] = []
    for index, message in enumerate(messages):
        if not is_message(message):
            other = foreign.name_of(message)
            if other:
                raise foreign.refused(other, f"m{index}", source)
            lost.append(TraceDamage(code="message.unreadable", message="not a chat message", where=f"m{index}"))
            continue
        unread = foreign.in_message(message)
        if unread:
            raise foreign.refused(unread, f"m{index}", source)
        role = message["role"]
        text = text_of(message.get("content"))
        if text is None:
            note = "the content is neither text nor parts"
            lost.append(TraceDamage(code="message.unreadable", message=note, where=f"m{index}"))
            text = ""
        if role in ("tool", "function"):
            tool = message.get("name")
            pairing.result(_result(message, text, index), tool if isinstance(tool, str) else None)
            continue
        drafts: list[Draft] = []
        if role == "assistant":
            drafts = _drafts(message, index, lost)
            pairing.turn(drafts)
            refusal = message.get("refusal")
            if isinstance(refusal, str) and refusal:
                text = f"{text}\n{refusal}" if text else refusal
        if not drafts and (text or role != "assistant"):
            pairing.words()
        kept.append((index, "system" if role == "developer" else role, text, drafts, _is_cut(message)))
    return Trace(
        id=name,
        source=source,
        format=FORMAT,
        messages=tuple(
            TraceMessage(
                index=index, role=role, text=text, calls=tuple(d.finished() for d in drafts), truncated=truncated
            )
            for index, role, text, drafts, truncated in kept
        ),
        damage=tuple(pairing.damage),
        orphans=tuple(pairing.orphans),
        now=now,
        sha256=sha256,
    )


def _is_cut(message: dict[str, Any]) -> bool:
    reason = message.get("finish_reason", message.get("stop_reason"))
    return (isinstance(reason, str) and reason in _CUT) or bool(message.get("refusal"))


def _result(message: dict[str, Any], text: str, index: int) -> TraceResult:
    native = message.get("tool_call_id")
    said = message.get("is_error", message.get("isError"))
    flag: Literal["ok", "error", "unset"] = "error" if said is True else "ok" if said is False else "unset"
    return TraceResult(
        body=body_of(text),
        flag=flag,
        text=text,
        native_id=str(native) if isinstance(native, (str, int)) else None,
        index=index,
        truncated=message.get("truncated") is True,
    )


def _drafts(message: dict[str, Any], index: int, damage: list[TraceDamage]) -> list[Draft]:
    listed = message.get("tool_calls") or []
    if not isinstance(listed, list):
        damage.append(TraceDamage(code="call.unreadable", message="`tool_calls` is not a list", where=f"m{index}"))
        listed = []
    old = message.get("function_call")
    if isinstance(old, dict):
        listed = [*listed, {"function": old}]
    drafts = []
    for at, call in enumerate(listed):
        where = f"m{index}.c{at}"
        inner = call.get("function", call.get("custom", call)) if isinstance(call, dict) else None
        if not isinstance(inner, dict) or not isinstance(inner.get("name"), str):
            damage.append(TraceDamage(code="call.unreadable", message="the call has no name", where=where))
            continue
        native = call.get("id")
        if "custom" in call:
            raw = inner.get("input")
            args: Any = {"input": raw}
        else:
            raw = (
                inner["args"]
                if "arguments" not in inner and isinstance(inner.get("args"), dict)
                else inner.get("arguments")
            )
            args = _arguments(raw, where, damage)
        drafts.append(
            Draft(
                message=index,
                index=at,
                tool=inner["name"],
                args=args,
                args_text=raw if isinstance(raw, str) else None,
                native_id=str(native) if isinstance(native, (str, int)) and native != "" else None,
            )
        )
    return drafts


def _arguments(raw: Any, where: str, damage: list[TraceDamage]) -> Any:
    if isinstance(raw, dict):
        return raw  # some loggers store them decoded
    why = "the arguments are missing"
    if isinstance(raw, str):
        try:
            value = loads(raw.encode("utf-8"))
        except UnicodeEncodeError:
            why = "a lone surrogate"
        except InputError as bad:
            why = bad.message
        else:
            if isinstance(value, dict):
                return value
            why = "they are not an object"
    damage.append(TraceDamage(code="args.unparseable", message=f"unusable arguments: {why}", where=where))
    return None
