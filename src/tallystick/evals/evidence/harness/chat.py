"""One turn of a model behind an OpenAI-compatible endpoint, as every harness here needs it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from tallystick.errors import InputError
from tallystick.evals.evidence.client import InfrastructureError
from tallystick.model import jsontext
from tallystick.models.endpoint import ChatEndpoint, ContextFullError

MAX_TOKENS: Final = 1024
"""Longest reply, in tokens, unless another limit is given."""


@dataclass(frozen=True, kw_only=True, slots=True)
class ToolCall:
    """A call the model asked for. `args` is None where `raw` is no JSON object."""

    id: str
    name: str
    raw: str
    args: dict[str, Any] | None

    @property
    def echo(self) -> str:
        """The arguments as they go back in the history: some servers fail on a history with broken ones."""
        return "{}" if self.args is None else self.raw


@dataclass(frozen=True, kw_only=True, slots=True)
class Turn:
    """One reply: its text, its calls, and the message as it is sent back to the endpoint."""

    text: str
    calls: tuple[ToolCall, ...]
    message: dict[str, Any] = field(repr=False)
    cut: bool = False
    tokens_in: int = 0
    tokens_out: int = 0


@dataclass(frozen=True, kw_only=True)
class ChatModel:
    """A model, where it answers and how it is asked.

    Attributes:
        name: what the endpoint calls it.
        endpoint: where it answers.
        max_tokens: longest reply.
        temperature: 0 asks for the likeliest words.
        parameters: further fields of each request, such as `{"seed": 1}`.
    """

    name: str
    endpoint: ChatEndpoint
    max_tokens: int = MAX_TOKENS
    temperature: float = 0.0
    parameters: Mapping[str, Any] = field(default_factory=dict)

    def turn(self, messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]]) -> Turn:
        """Ask for the next turn.

        Args:
            messages: in OpenAI's form.
            tools: `{"name", "description", "parameters"}`, parameters as JSON Schema.

        Raises:
            ContextFullError: the conversation no longer fits the model.
            InfrastructureError: the endpoint cannot be used, or what it answers is no chat completion.
        """
        body = {
            "model": self.name,
            "messages": list(messages),
            "tools": [{"type": "function", "function": dict(t)} for t in tools],
            "temperature": self.temperature,
            "max_tokens": self.max_tokens,
            "stream": False,
            **self.parameters,
        }
        try:
            reply = self.endpoint.complete(body)
        except ContextFullError:
            raise
        except InputError as bad:
            raise InfrastructureError(bad.message) from bad
        try:
            choice = reply["choices"][0]
            heard = choice["message"]
            calls = tuple(_call(c, n) for n, c in enumerate(heard.get("tool_calls") or [], len(messages)))
            text = str(heard.get("content") or "")
            usage = reply.get("usage") or {}
        except (KeyError, IndexError, TypeError, AttributeError):
            raise InfrastructureError("the reply is not a chat completion") from None
        message: dict[str, Any] = {"role": "assistant", "content": text or None}
        if calls:
            message["tool_calls"] = [
                {"id": c.id, "type": "function", "function": {"name": c.name, "arguments": c.echo}} for c in calls
            ]
        return Turn(
            text=text,
            calls=calls,
            message=message,
            cut=choice.get("finish_reason") == "length",
            tokens_in=int(usage.get("prompt_tokens") or 0),
            tokens_out=int(usage.get("completion_tokens") or 0),
        )


def _call(call: Mapping[str, Any], number: int) -> ToolCall:
    function = call["function"]
    given = function.get("arguments")
    raw = given if isinstance(given, str) else jsontext.dumps(given or {})  # some servers send the object itself
    args = parsed(raw or "{}")
    return ToolCall(
        id=str(call.get("id") or f"call-{number}"),
        name=str(function["name"]),
        raw=raw or "{}",
        args=args,
    )


def parsed(raw: str) -> dict[str, Any] | None:
    """Return arguments as the wire to the environment takes them, or None where they are no JSON object.

    A fraction becomes a float for the length of that wire only: amounts are text in every tool's schema, so a number in
    their place is of the wrong type there, whatever its value.
    """
    try:
        args = json.loads(raw, parse_constant=_refused)
    except ValueError:
        return None
    return args if isinstance(args, dict) else None


def _refused(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")
