"""Checking a call's arguments: by the tool's own JSON Schema, then by the contract's exact types."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import jsonschema_rs

from tallystick.contracts.exact import exact
from tallystick.contracts.types import Tool
from tallystick.errors import InputError, Problem
from tallystick.model import jsontext
from tallystick.model.pointer import join

MAX_PROBLEMS: Final = 20
"""Most problems of one call that are listed."""
_MAX_CACHED: Final = 4_096
_VALIDATORS: dict[int, tuple[Mapping[str, Any], Any]] = {}
"""id of a schema → (the schema, kept alive so that the id stays its own, and its validator)."""


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


def _validator(schema: Mapping[str, Any]) -> Any:
    found = _VALIDATORS.get(id(schema))
    if found is not None:
        return found[1]
    validator = compile_schema(schema)
    if len(_VALIDATORS) >= _MAX_CACHED:
        _VALIDATORS.clear()
    _VALIDATORS[id(schema)] = (schema, validator)
    return validator


def validate_args(tool: Tool, args: Mapping[str, Any]) -> list[Problem]:
    """Return how `args` do not fit `tool`; empty where they do.

    Each problem's `pointer` is the JSON Pointer of the argument; `line` and `column` are 0, as there is no text.
    A declared argument that is not optional (`?`) must be there.
    """
    problems: list[Problem] = []
    if tool.args_schema is not None:
        try:
            validator = _validator(tool.args_schema)
            if not validator.is_valid(args):
                for error in validator.iter_errors(args):
                    problems.append(_problem(join(tuple(error.instance_path)), str(error.message)))
                    if len(problems) >= MAX_PROBLEMS:
                        break
        except ValueError as bad:
            problems.append(_problem("", f"the arguments cannot be checked: {str(bad)[:200]}"))
    said = tool.args_schema.get("required", ()) if tool.args_schema is not None and problems else ()
    wrong = {p.pointer for p in problems}
    for name, type_ in tool.args.items():
        if name not in args:
            if not type_.optional and name not in said:
                problems.append(_problem(f"/{name}", f"argument `{name}` is missing", f"give it, as {type_}"))
            continue
        if type_.name == "json" or join((name,)) in wrong:
            continue
        try:
            exact(type_, args[name], args)
        except ValueError as bad:
            secret = any(pointer[:2] == ("args", name) for pointer in tool.secrets)
            what = "does not fit" if secret else str(bad)
            problems.append(_problem(join((name,)), f"argument `{name}`: {what}", f"give it as {type_}"))
    return problems


def _problem(pointer: str, message: str, fix: str | None = None) -> Problem:
    return Problem(line=0, column=0, pointer=pointer, message=message, fix=fix)
