"""Names the host gives, checked against what is declared: a misspelt one would otherwise block, ask or owe nothing.

A condition that names no tool of the contract removes none, a wish for an unknown tool asks for nothing, and a list
given as one string is a list of letters. All of that would fail open, in silence, so it is misuse and is raised.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from tallystick.contracts.problems import did_you_mean
from tallystick.contracts.types import Contract, Tool
from tallystick.errors import InputError
from tallystick.model.values import EntityRef


def one_of(what: str, name: object, known: Iterable[str], where: str) -> str:
    """Return `name` if it is one of `known`.

    Raises:
        InputError: it is not; the fix says which one may have been meant.
    """
    names = tuple(known)
    if isinstance(name, str) and name in names:
        return name
    if not isinstance(name, str):
        raise InputError(f"a {type(name).__name__} is no {what}", where=where, fix="its name, as text")
    raise InputError(f"unknown {what} `{name[:60]}`", where=where, fix=did_you_mean(name, names))


def text_of(what: str, given: object, where: str) -> str:
    """Return `given` if it is a text that says something.

    Raises:
        InputError: it is none. Ids are opaque texts: `101` and `"101"` are two ids.
    """
    if isinstance(given, str) and given.strip():
        return given
    said = "an empty text" if isinstance(given, str) else f"a {type(given).__name__}"
    raise InputError(f"{said} is no {what}", where=where, fix=f'give it as text, e.g. "{given or "a"}"')


def names_in(what: str, given: object, where: str) -> tuple[str, ...]:
    """Return a list of names; one name alone is a list of one.

    Raises:
        InputError: it is empty, or holds something that is no name.
    """
    if isinstance(given, str):
        given = (given,)
    if isinstance(given, (bytes, Mapping)) or not isinstance(given, Iterable):
        raise InputError(f"a {type(given).__name__} is no list of {what}s", where=where, fix=f'e.g. ("{what}",)')
    found = tuple(text_of(what, name, where) for name in given)
    if not found:
        raise InputError(f"no {what} is named", where=where, fix=f"name at least one {what}")
    return found


def tool_named(contract: Contract, name: object, where: str, more: Iterable[str] = ()) -> str:
    """Return `name` if a tool of the contract has it, or, under an open contract, one in `more`.

    Raises:
        InputError: it names no tool.
    """
    known = (*contract.tools, *(() if contract.closed else more))
    return one_of("tool", name, known, where)


def args_named(tools: Iterable[Tool], args: object, where: str) -> Mapping[str, Any]:
    """Return argument values by name, if every tool takes an argument of each name.

    Raises:
        InputError: they are no mapping, or a tool that says what it takes does not take one.
    """
    if not isinstance(args, Mapping):
        raise InputError(
            f"a {type(args).__name__} is no mapping of arguments", where=where, fix="argument name → value"
        )
    for tool in tools:
        takes = _takes(tool)
        for name in args if takes else ():
            one_of(f"argument of {tool.name}", name, takes, where)
    return args


def _takes(tool: Tool) -> tuple[str, ...]:
    """Return the arguments a tool is known to take; none where it may take others."""
    schema = tool.args_schema
    if schema is None:
        return tuple(tool.args)
    properties = schema.get("properties")
    if not isinstance(properties, Mapping):
        return ()
    return tuple(dict.fromkeys([*properties, *tool.args]))


def kind_named(contract: Contract, kind: object, where: str) -> str:
    """Return `kind` if the contract declares it.

    Raises:
        InputError: it does not.
    """
    return one_of("kind of entity", kind, contract.entities, where)


def entity_named(contract: Contract, ref: object, where: str = "entity") -> EntityRef | None:
    """Return an entity of a kind the contract declares, or None for none.

    Raises:
        InputError: it is no `EntityRef`, or its kind is not declared.
    """
    if ref is None:
        return None
    if not isinstance(ref, EntityRef):
        raise InputError(f"a {type(ref).__name__} is no entity", where=where, fix="`EntityRef(kind, id)`")
    kind_named(contract, ref.kind, where)
    text_of("id", ref.id, where)
    return ref


def tools_in(contract: Contract, given: object) -> dict[str, Callable[..., Any]]:
    """Return callables by tool name, if each is a tool of the contract.

    Raises:
        InputError: no mapping, a value that cannot be called, or a tool a closed contract does not mention: it would
            be refused whenever it is called, and the tool that was meant has no callable.
    """
    if not isinstance(given, Mapping):
        raise InputError(f"a {type(given).__name__} is no mapping of tools", where="tools", fix='{"tool": callable}')
    for name, fn in given.items():
        callable_named(name, fn)
        if contract.closed:
            tool_named(contract, name, "tools")
    return dict(given)


def callable_named(name: str, fn: object) -> Callable[..., Any]:
    """Return `fn` if it can be called.

    Raises:
        InputError: it cannot.
    """
    if not callable(fn):
        raise InputError(f"a {type(fn).__name__} cannot be called", where=f"tool `{name}`", fix="a function")
    return fn


def seconds_in(name: str, given: object, *, zero: bool = False, or_none: str = "") -> float:
    """Return a number of seconds.

    Raises:
        InputError: it is no number, not finite, or negative (or zero, where that has no meaning).
    """
    fix = ("0 or more" if zero else "more than 0") + (f", or None to {or_none}" if or_none else "")
    if isinstance(given, bool) or not isinstance(given, (int, float)) or not math.isfinite(given):
        raise InputError(f"`{given}` is no number of seconds", where=name, fix=f"seconds, {fix}")
    if given < 0 or (given == 0 and not zero):
        raise InputError(f"`{given}` seconds", where=name, fix=fix)
    return given


def count_in(name: str, given: object) -> int:
    """Return a whole number above 0.

    Raises:
        InputError: it is none.
    """
    if isinstance(given, bool) or not isinstance(given, int) or given < 1:
        raise InputError(f"`{given}` is no count", where=name, fix="a whole number, 1 or more")
    return given


def typed(name: str, given: object, kind: type, *, none: bool = False) -> None:
    """Refuse a value of another type than its parameter has.

    Raises:
        InputError: it is of another type.
    """
    if isinstance(given, kind) or (none and given is None):
        return
    what = {str: "text", bool: "True or False"}[kind]
    raise InputError(
        f"a {type(given).__name__} is not {what}", where=name, fix=f"give {what}" + (", or None" if none else "")
    )


def turn_in(given: object) -> int:
    """Return the number of a turn.

    Raises:
        InputError: it is none, or more than 64 bits long.
    """
    if isinstance(given, bool) or not isinstance(given, int) or not -(2**63) <= given < 2**63:
        raise InputError(f"a {type(given).__name__} that is no turn", where="turn", fix="a whole number of 64 bits")
    return given
