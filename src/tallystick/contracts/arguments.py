"""Checking a call's arguments: by the tool's own JSON Schema, then by the contract's exact types."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import jsonschema_rs

from tallystick.contracts.exact import exact, like
from tallystick.contracts.types import Tool
from tallystick.errors import InputError, Problem
from tallystick.model import jsontext
from tallystick.model.pointer import join
from tallystick.model.values import Type

MAX_PROBLEMS: Final = 20
"""Most problems of one call that are listed."""
_MAX_CACHED: Final = 4_096
_FROM_SCHEMA: Final = {"string": "string", "integer": "integer", "boolean": "boolean"}


@dataclass(frozen=True, slots=True)
class _Checks:
    """What a tool's arguments are checked with; `tool` is kept so that its `id` stays its own."""

    tool: Tool
    validator: Any
    needed: frozenset[str]  # declared arguments that must be there
    typed: tuple[tuple[str, Type], ...]  # declared types that say more than the schema does


_CHECKS: dict[int, _Checks] = {}
_NOTHING: Final[set[str]] = set()


def _no_fetch(uri: str) -> Any:
    raise ValueError(f"the schema refers to `{uri[:100]}`, and nothing is fetched; write the definition in")


def compile_schema(schema: Mapping[str, Any]) -> Any:
    """Return the validator of a JSON Schema. Messages do not repeat values, which may be secret.

    Raises:
        ValueError: not a valid JSON Schema (draft 2020-12 unless it says otherwise), or it refers to other documents.
    """
    try:
        return jsonschema_rs.validator_for(jsontext.dumps(schema), retriever=_no_fetch, mask="the value")
    except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError) as bad:
        raise ValueError(str(getattr(bad, "message", bad)).splitlines()[0][:300]) from None
    except InputError as bad:
        raise ValueError(bad.message) from None


def schema_types(schema: Mapping[str, Any]) -> dict[str, Type]:
    """Return the types a JSON Schema of arguments states.

    A JSON Schema knows no currency and no scale, so its `number` stays untyped until a contract declares it.
    """
    types: dict[str, Type] = {}
    properties, required = schema.get("properties"), schema.get("required")
    wanted = set(required) if isinstance(required, list) else set()
    for arg, prop in (properties if isinstance(properties, Mapping) else {}).items():
        stated = prop.get("type") if isinstance(prop, Mapping) else None
        name = _FROM_SCHEMA.get(stated, "json") if isinstance(stated, str) else "json"
        types[arg] = Type(name=name, optional=arg not in wanted)
    return types


def _checks(tool: Tool) -> _Checks:
    found = _CHECKS.get(id(tool))
    if found is not None:
        return found
    schema = tool.args_schema
    stated = schema_types(schema) if schema is not None else {}
    found = _Checks(
        tool=tool,
        validator=compile_schema(schema) if schema is not None else None,
        needed=frozenset(name for name, type_ in tool.args.items() if not type_.optional),
        typed=tuple((n, t) for n, t in tool.args.items() if t.name != "json" and stated.get(n) != t),
    )
    if len(_CHECKS) >= _MAX_CACHED:
        _CHECKS.clear()
    _CHECKS[id(tool)] = found
    return found


_NO_ARGS: Final[Mapping[str, Any]] = {}


def validate_args(tool: Tool, args: Mapping[str, Any], exact_already: Mapping[str, Any] = _NO_ARGS) -> list[Problem]:
    """Return how `args` do not fit `tool`; empty where they do.

    `exact_already` are exact values of arguments that a caller has parsed; they are not parsed a second time.

    Each problem's `pointer` is the JSON Pointer of the argument; `line` and `column` are 0, as there is no text.
    A declared argument that is not optional (`?`) must be there.
    """
    problems: list[Problem] = []
    try:
        checks = _checks(tool)
        if checks.validator is not None and not checks.validator.is_valid(args):
            for error in checks.validator.iter_errors(args):
                problems.append(_problem(join(tuple(error.instance_path)), str(error.message)))
                if len(problems) >= MAX_PROBLEMS:
                    break
    except ValueError as bad:
        return [_problem("", f"the arguments cannot be checked: {str(bad)[:200]}")]
    if problems:
        missing = tool.args_schema.get("required", ()) if tool.args_schema is not None else ()
        wrong = {p.pointer for p in problems} | {join((name,)) for name in missing if name not in args}
    else:
        wrong = _NOTHING
    if not args.keys() >= checks.needed:
        problems.extend(
            _problem(join((name,)), f"argument `{name}` is missing", f"give it, as {like(tool.args[name])}")
            for name in tool.args
            if name in checks.needed and name not in args and join((name,)) not in wrong
        )
    for name, type_ in checks.typed:
        if name in exact_already or name not in args or (wrong and join((name,)) in wrong):
            continue
        try:
            exact(type_, args[name], args)
        except ValueError as bad:
            secret = any(pointer[:2] == ("args", name) for pointer in tool.secrets)
            what = "does not fit" if secret else str(bad)
            problems.append(_problem(join((name,)), f"argument `{name}`: {what}", f"give it as {like(type_)}"))
    return problems


def _problem(pointer: str, message: str, fix: str | None = None) -> Problem:
    return Problem(line=0, column=0, pointer=pointer, message=message, fix=fix)
