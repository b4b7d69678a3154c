"""One tool as its own declaration tells it, whatever the format it was declared in."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, kw_only=True)
class ToolSpec:
    """A declared tool.

    Attributes:
        schema: JSON Schema of its arguments; local references are resolved against it.
        output: JSON Schema of its result, or None where nothing is said.
        writes: whether it changes something, or None where nothing says so; `because` is what says so.
        targets: arguments that name the resource addressed (path parameters of HTTP), outermost first.
        idempotent: its own declaration says that repeating it changes nothing more.
        destructive: its own declaration says that it destroys.
        noun: what it is about, where its declaration says so apart from its name (a path of HTTP).
    """

    name: str
    description: str = ""
    schema: Mapping[str, Any] = field(default_factory=dict)
    output: Mapping[str, Any] | None = None
    writes: bool | None = None
    because: str = ""
    targets: tuple[str, ...] = ()
    idempotent: bool = False
    destructive: bool = False
    noun: str = ""
