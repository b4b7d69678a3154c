"""What carries an artifact from role to role: nothing at all, or a framework's own messages.

An episode's text is made by hops: each takes what came and returns what it passes on. A substrate runs hops as roles of
its own and hands the last text to an executor of its own; what is measured is the bytes that executor was given.
Tasks, action labels, permission and coding stay the same, so only the transport differs.
Source: constraint weakening, appendix G (framework-transfer checks).
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import Final, Protocol, runtime_checkable

from tallystick.errors import InputError

Hop = Callable[[str], str]
"""One role's work: the text it was given → the text it passes on."""


@runtime_checkable
class Substrate(Protocol):
    """What carries text from role to role."""

    @property
    def name(self) -> str:
        """What it is called in rows: `plain`, `langgraph`, `autogen`."""

    def carry(self, text: str, hops: Sequence[Hop]) -> bytes:
        """Return the very bytes (UTF-8) that the executor role was given.

        Args:
            text: what the first role is given.
            hops: roles in order, each called exactly once; with none, the text goes straight to the executor.

        Raises:
            InputError: the framework is not installed. What a hop raises comes through as it is.
        """


class Plain:
    """No framework: each hop is a function call."""

    name: Final = "plain"

    def carry(self, text: str, hops: Sequence[Hop]) -> bytes:
        """Return the bytes after the last hop."""
        for hop in hops:
            text = hop(text)
        return text.encode("utf-8")


PLACES: Final = {
    "plain": "tallystick.evals.handoff.substrates:Plain",
    "langgraph": "tallystick.evals.handoff.substrates.langgraph:LangGraph",
    "autogen": "tallystick.evals.handoff.substrates.autogen:AutoGen",
}
"""Name → module and class, without arguments. A framework is imported only when it is asked for."""


def substrate(name: str) -> Substrate:
    """Return the substrate of that name.

    Raises:
        InputError: there is none, or its framework is not installed.
    """
    if name not in PLACES:
        raise InputError(
            f"there is no substrate `{name[:80]}`", where="--substrate", fix=f"one of: {', '.join(PLACES)}"
        )
    module, _, cls = PLACES[name].partition(":")
    try:
        made = getattr(importlib.import_module(module), cls)()
    except ImportError as bad:
        raise InputError(f"`{name}` cannot be used: {bad}", where="--substrate", fix=f"install {name}") from None
    assert isinstance(made, Substrate)
    return made
