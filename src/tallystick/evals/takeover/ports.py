"""What a successor that acts step by step sees of the world, whichever stage stands behind it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol


@dataclass(frozen=True, kw_only=True, slots=True)
class Seen:
    """What came back for one call, or for "done".

    Attributes:
        result: what the tool returned; None where it did not run or raised.
        error: what it raised, or what was said instead of running it; "" where all went well.
        refused: nothing was run, or "done" was not accepted.
        codes: why, where it was refused.
        over: nothing more will be heard.
    """

    result: Any = None
    error: str = ""
    refused: bool = False
    codes: tuple[str, ...] = ()
    over: bool = False

    @property
    def failed(self) -> bool:
        """Whether whoever reads this is told that it did not work: the call, or what the tool says of itself."""
        return bool(self.error) or self.refused or troubled(self.result)


class Port(Protocol):
    """A successor's side of a world."""

    def call(self, tool: str, args: Mapping[str, Any]) -> Seen:
        """Propose one call. Never raises for what a tool does."""

    def finish(self, text: str, claims: Mapping[str, Any]) -> Seen:
        """Say that the task is finished."""


def troubled(result: Any) -> bool:
    """Whether a result says at its top level that it is an error, as a reader of it would take it."""
    if isinstance(result, Mapping):
        return bool(result.get("error"))
    return isinstance(result, str) and result.lstrip()[:5].lower() == "error"
