"""A world's tools as plain functions, with what a model reads for an answer: JSON where it is, text, or `Error: …`."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Final

from tallystick.errors import InputError
from tallystick.evals.takeover.surface import Fork, Tools
from tallystick.evals.tau2.world import World
from tallystick.model import jsontext

REFUSED: Final = "Error: "
"""How a tool's own refusal begins, as the benchmark's authors put it before a model."""


def tools_of(world: World, names: Mapping[str, Any]) -> Tools:
    """Return name → function of the named tools, in this world."""
    return {name: _tool(world, name) for name in names}


def fork_of(world: World, names: Mapping[str, Any]) -> Fork:
    """Return what makes a replica of the world as it is when it is asked for."""

    @contextmanager
    def fork() -> Iterator[Tools]:
        with world.fork() as replica:
            yield tools_of(replica, names)

    return fork


def answered(world: World, tool: str, args: Mapping[str, Any]) -> Any:
    """Return what a tool answers: exact JSON values for an object or array, its text for anything else."""
    came = world.ask(tool, json.loads(jsontext.dumps(dict(args))))  # the benchmark's tools take its own numbers
    if came.error:
        return REFUSED + came.error
    if came.text[:1] in ("{", "["):
        try:
            return jsontext.loads(came.text)
        except InputError:
            pass
    return came.text


def refused(result: Any) -> bool:
    """Whether an answer of `answered` is a tool's own refusal."""
    return isinstance(result, str) and result.startswith(REFUSED)


def _tool(world: World, name: str) -> Callable[..., Any]:
    def call(**args: Any) -> Any:
        return answered(world, name, args)

    call.__name__ = name
    return call
