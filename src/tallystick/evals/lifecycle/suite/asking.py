"""Asking: one stimulus in, one raw reply out. A deployment is a model, an endpoint and a generation configuration."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

import msgspec

from tallystick.errors import InputError
from tallystick.evals.lifecycle.admission import Check
from tallystick.evals.lifecycle.suite.item import Item
from tallystick.evals.lifecycle.suite.kept import Called, Raw
from tallystick.model import jsontext
from tallystick.models.endpoint import ChatEndpoint, ContextFullError

ATTEMPTS: Final = 2
"""Requests for one reply before its failure is kept."""
CONTEXT_FULL: Final = "the conversation no longer fits the model's context"
THINKING: Final[Mapping[str, Mapping[str, Any]]] = {
    "on": {"chat_template_kwargs": {"enable_thinking": True}},
    "off": {"chat_template_kwargs": {"enable_thinking": False}},
}
"""Request fields that switch thinking, as vLLM, SGLang and llama.cpp read them; *ours*. Other endpoints need others."""
_INLINE: Final = re.compile(r"<\s*/?\s*think(ing)?\s*>", re.IGNORECASE)


class Answerer(Protocol):
    """Whoever answers stimuli."""

    @property
    def name(self) -> str:
        """What it is called; scripted ones say so."""

    def answer(self, item: Item, repetition: int) -> Raw:
        """Return the reply to a stimulus."""


@dataclass(frozen=True, kw_only=True)
class Deployment:
    """A model behind an OpenAI-compatible endpoint.

    Attributes:
        name: what it is called in rows.
        asked: what the endpoint calls the model.
        endpoint: where it answers.
        max_tokens: longest reply.
        temperature: of sampling; None leaves the endpoint's own.
        thinking: request fields for thinking on and off.
    """

    name: str
    asked: str
    endpoint: ChatEndpoint
    max_tokens: int
    temperature: float | None = None
    thinking: Mapping[str, Mapping[str, Any]] = field(default_factory=lambda: THINKING)

    def answer(self, item: Item, repetition: int) -> Raw:
        """Return the reply to a stimulus; a failure after `ATTEMPTS` requests is kept as one.

        The seed is the repetition, so repetitions differ and a run can be repeated where the endpoint honours seeds.
        """
        extra = self.thinking[item.arm.thinking] if item.arm.thinking else {}
        asked = self.ask(item.messages, item.tools, repetition, extra)
        return msgspec.structs.replace(asked, stimulus=item.id, digest=item.digest)

    def ask(
        self,
        messages: Sequence[Mapping[str, Any]],
        tools: Sequence[Mapping[str, Any]],
        seed: int,
        extra: Mapping[str, Any] | None = None,
    ) -> Raw:
        """Return the reply to some messages, of a stimulus without a name."""
        body: dict[str, Any] = {
            "model": self.asked, "messages": list(messages), "max_tokens": self.max_tokens, "seed": seed,
            "stream": False, **(extra or {}),
        }  # fmt: skip
        if tools:
            body["tools"] = [{"type": "function", "function": dict(t)} for t in tools]
        if self.temperature is not None:
            body["temperature"] = self.temperature
        failure = ""
        for attempt in range(1, ATTEMPTS + 1):
            try:
                return _read(self.endpoint.complete(body), self.name, seed, attempt)
            except ContextFullError:
                failure = CONTEXT_FULL
                break  # it would be no shorter the second time
            except InputError as bad:
                failure = bad.message
        return Raw(
            stimulus="", digest="", repetition=seed, deployment=self.name, failure=failure[:300], attempts=attempt
        )


def _read(reply: Any, name: str, repetition: int, attempts: int) -> Raw:
    try:
        choice = reply["choices"][0]
        heard = choice["message"]
        calls = tuple(_called(c["function"]) for c in heard.get("tool_calls") or ())
        usage = reply.get("usage") or {}
        text, thought = heard.get("content") or "", heard.get("reasoning_content") or heard.get("reasoning") or ""
        told_in, told_out = int(usage.get("prompt_tokens") or 0), int(usage.get("completion_tokens") or 0)
        finish, served = str(choice.get("finish_reason") or ""), str(reply.get("model") or "")
    except (KeyError, IndexError, TypeError, AttributeError, ValueError):
        raise InputError("the reply is not a chat completion") from None
    if not isinstance(text, str):
        raise InputError("the reply is not a chat completion")
    return Raw(
        stimulus="",
        digest="",
        repetition=repetition,
        deployment=name,
        text=text,
        calls=calls,
        reasoning=len(str(thought)),
        inline_reasoning=_INLINE.search(text) is not None,
        served=served,
        cut=finish == "length",
        tokens_in=told_in,
        tokens_out=told_out,
        attempts=attempts,
    )


def _called(function: Mapping[str, Any]) -> Called:
    given = function.get("arguments")
    raw = given if isinstance(given, str) else jsontext.dumps(given or {})  # some servers send the object itself
    return Called(tool=str(function["name"]), raw=raw or "{}")


# ---------------------------------------------------------------- admission


BAR: Final = (18, 20)
"""Probes that must be answered; 18 of 20 is the source's bar for rollouts, ours for every study."""


def precheck(deployment: Deployment, probes: int = 20) -> Check:
    """Probe transport and identity with short requests. An excluded deployment consumes no denominator."""
    told = [deployment.ask([{"role": "user", "content": "Reply with one word: ready"}], (), n) for n in range(probes)]
    answered = [r for r in told if not r.failure]
    return Check(
        deployment=deployment.name, probes=probes, answered=len(answered), needed=-(-probes * BAR[0] // BAR[1]),
        asked=deployment.asked, served=tuple(dict.fromkeys(r.served for r in answered if r.served)),
    )  # fmt: skip
