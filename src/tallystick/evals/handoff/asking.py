"""Asking a model, once for each question: what was answered before is read from the folder."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, Protocol

from tallystick.errors import InputError
from tallystick.evals.handoff import kept
from tallystick.evals.handoff.kept import Reply
from tallystick.evals.lifecycle.suite.asking import Deployment
from tallystick.model import jsontext

MAX_FAILURES: Final = 5
"""Failures one after another, after which a run stops: the endpoint is down."""
SEED: Final = 0


class UnaskedError(InputError):
    """A kept run does not hold this reply: it was interrupted, or the suite has changed since."""


class Asker(Protocol):
    """Who answers a prompt."""

    @property
    def name(self) -> str:
        """The model, and where it is served."""

    def ask(self, role: str, prompt: str, schema: Mapping[str, Any] | None, max_tokens: int) -> Reply:
        """Return the reply to a prompt, under a JSON schema where one is given."""


class Kept:
    """Replies of a folder, and no others.

    Raises:
        UnaskedError: by `ask`, where there is none.
    """

    def __init__(self, folder: Path, name: str) -> None:
        self.name = name
        self._found = kept.read(folder)

    def ask(self, role: str, prompt: str, schema: Mapping[str, Any] | None, max_tokens: int) -> Reply:  # noqa: ARG002
        """Return the kept reply."""
        found = self._found.get(kept.key_of(role, prompt, schema))
        if found is None or found.failure:
            raise UnaskedError("there is no reply to this prompt", where=role, fix="run it again with the same --out")
        return found


class Asked:
    """A model behind an endpoint, whose replies are kept in a folder as they come.

    Attributes:
        failure: why the newest question that failed got no reply; "" where none failed.
    """

    def __init__(self, deployment: Deployment, folder: Path, told: Callable[[int], None] | None = None) -> None:
        self.name = deployment.name
        self.failure = ""
        self._deployment = deployment
        self._folder = folder
        self._found = kept.read(folder)
        self._failures = 0
        self._asked = 0
        self._told = told

    def ask(self, role: str, prompt: str, schema: Mapping[str, Any] | None, max_tokens: int) -> Reply:
        """Return the reply, asking only where none is kept.

        Raises:
            InputError: too many failures one after another.
            UnaskedError: nothing came.
        """
        key = kept.key_of(role, prompt, schema)
        found = self._found.get(key)
        if found is None or found.failure:
            found = self._new(key, role, prompt, schema, max_tokens)
        if found.failure:
            raise UnaskedError(f"no reply: {found.failure}", where=role)
        return found

    def _new(self, key: str, role: str, prompt: str, schema: Mapping[str, Any] | None, max_tokens: int) -> Reply:
        extra: dict[str, Any] = {"max_tokens": max_tokens}
        if schema is not None:
            extra["response_format"] = {
                "type": "json_schema", "json_schema": {"name": "answer", "strict": True, "schema": dict(schema)},
            }  # fmt: skip
        raw = self._deployment.ask([{"role": "user", "content": prompt}], (), SEED, extra)
        reply = Reply(
            key=key, role=role, prompt=prompt, text=raw.text, cut=raw.cut, served=raw.served, tokens_in=raw.tokens_in,
            tokens_out=raw.tokens_out, failure=raw.failure,
        )  # fmt: skip
        kept.append(self._folder, reply)
        self._found[key] = reply
        self._failures = self._failures + 1 if reply.failure else 0
        self.failure = reply.failure or self.failure
        if self._failures >= MAX_FAILURES:
            raise InputError(
                f"{self._failures} failures one after another: {reply.failure}", where=self.name,
                fix="start it again when the endpoint answers; it goes on from here",
            )  # fmt: skip
        self._asked += 1
        if self._told is not None:
            self._told(self._asked)
        return reply


def answer_of(text: str) -> Mapping[str, Any]:
    """Return the JSON object a reply consists of or holds; an empty one where it holds none."""
    start, end = text.find("{"), text.rfind("}")
    if start < 0 or end < start:
        return {}
    try:
        found = jsontext.loads(text[start : end + 1])
    except InputError:
        return {}
    return found if isinstance(found, dict) else {}
