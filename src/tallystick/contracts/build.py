"""From a read text to a compiled contract: structure first, then names, then every expression; all problems at once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path as FilePath
from typing import Any, Final

from tallystick.contracts import standing, tools
from tallystick.contracts.expr.syntax import KEYWORDS, RESERVED
from tallystick.contracts.names import ROOTS, Names
from tallystick.contracts.problems import Report
from tallystick.contracts.shapes import shown
from tallystick.contracts.structure import CONTRACT
from tallystick.contracts.types import Contract, EntityType
from tallystick.contracts.yamltext import MAX_BYTES, Path, Text, decode, places, read
from tallystick.errors import ContractError, InputError, Problem
from tallystick.model import jsontext
from tallystick.model.canonical import digest

EMPTY: Final = Contract(name="empty", version="0", text="", sha256=digest(b""))
"""No contract: nothing is declared, so every tool that may change something is refused."""


def load(path: str | FilePath) -> Contract:
    """Return the contract in a YAML or JSON file.

    Raises:
        InputError: the file cannot be read.
        ContractError: it is not a valid contract; carries every problem found.
    """
    raw = file_bytes(path)
    if not raw.strip():
        problem = Problem(
            line=1, column=1, pointer="", message="the file is empty", fix="begin with `contract: name/1`"
        )
        raise ContractError((problem,), source=str(path))
    return parse(raw, str(path))


def file_bytes(path: str | FilePath) -> bytes:
    """Return the bytes of a contract or task file.

    Raises:
        InputError: there is no such file, it is a folder, or it cannot be read.
    """
    where = FilePath(path)
    try:
        with where.open("rb") as file:
            return file.read(MAX_BYTES + 1)
    except FileNotFoundError:
        raise InputError("there is no such file", where=str(path), fix="check the path") from None
    except IsADirectoryError:
        raise InputError("this is a folder", where=str(path), fix="name a file") from None
    except (OSError, ValueError) as bad:
        raise InputError(f"cannot be read: {getattr(bad, 'strerror', None) or bad}", where=str(path)) from None


def parse(text: str | bytes, source: str | None = None) -> Contract:
    """Return the contract a YAML or JSON text states. The empty text, which a run without one stores, is `EMPTY`.

    Raises:
        ContractError: it is not a valid contract; carries every problem found.
    """
    plain = decode(text, source)
    if plain == "":
        return EMPTY
    return compile_text(read(plain, source), plain, source)


def build(contract: Mapping[str, Any]) -> Contract:
    """Return the contract that Python values state, with the same keys as in YAML.

    The contract's text is the JSON of these values, so that a run can store and reload it.

    Raises:
        ContractError: not a valid contract; carries every problem found, by JSON Pointer.
    """
    values: object = contract
    if not isinstance(values, Mapping):
        problem = Problem(line=0, column=0, pointer="", message=f"expected a mapping, got {shown(values)}")
        raise ContractError((problem,))
    try:
        text = jsontext.dumps(dict(values))
    except InputError as bad:
        problem = Problem(line=0, column=0, pointer="", message=bad.message, fix="use what JSON can say")
        raise ContractError((problem,)) from None
    return compile_text(read(text), text, None)


def check(path: str | FilePath) -> list[Problem]:
    """Return every problem of a contract file; empty where it is valid.

    Raises:
        InputError: the file cannot be read.
    """
    try:
        load(path)
    except ContractError as bad:
        return list(bad.problems)
    return []


def compile_text(text: Text, plain: str, source: str | None) -> Contract:
    """Return the contract that `text`, read from `plain`, states.

    Raises:
        ContractError: not a valid contract.
    """
    report = Report(text, source)
    try:
        contract = _compile(text.value, plain, report)
        report.close()
    except ContractError:
        if text.marks or source is None:
            raise
        # A JSON file was read without places; find them now that they are needed.
        marked = places(plain)
        if marked is None:
            raise
        again = Report(marked, source)
        _compile(text.value, plain, again)
        again.close()
        raise
    return contract


def _compile(value: Any, plain: str, report: Report) -> Contract:
    CONTRACT.check(value, (), report)
    if not isinstance(value, Mapping):
        report.close()
    names = Names(report, bad=frozenset(p.pointer for p in report.problems if p.pointer))
    _declare(value, names)
    made = {}
    scopes = {}
    stated = dict(_tools(value))
    for name, (entry, path) in stated.items():
        made[name], scopes[name] = tools.tool(name, entry, path, names)
    for name, (entry, path) in stated.items():
        made[name] = replace(
            made[name],
            settle=tools.settle(entry, path, names, made[name], scopes[name], made),
            requires=tools.requirements(entry, path, names, made[name], scopes[name]),
        )
    conditions = [standing.condition(v, at, names) for v, at in names.items(value, "conditions", ()) if _is(v)]
    exclusive = [standing.exclusion(v, at, names) for v, at in names.items(value, "exclusive", ()) if _is(v)]
    duties = [standing.duty(v, at, names, made) for v, at in names.items(value, "duties", ()) if _is(v)]
    task = value.get("task") if isinstance(value.get("task"), Mapping) else {}
    owes = [standing.obligation(v, at, names, made) for v, at in names.items(task, "owes", ("task",)) if _is(v)]
    answer = [standing.slot(v, at, names) for v, at in names.items(task, "answer", ("task",)) if _is(v)]
    for what, found in (("conditions", conditions), ("exclusive", exclusive), ("duties", duties)):
        _unique(what, [c.id if c else "" for c in found], (), report)
    _unique("owes", [o.id if o else "" for o in owes], ("task",), report)
    _unique("answer", [s.name if s else "" for s in answer], ("task",), report)
    title = value.get("contract")
    name, _, version = title.partition("/") if isinstance(title, str) else ("", "", "")
    return Contract(
        name=name,
        version=version,
        text=plain,
        sha256=digest(plain.encode("utf-8")),
        entities=names.entities,
        tools=made,
        conditions=tuple(c for c in conditions if c is not None),
        exclusive=tuple(e for e in exclusive if e is not None),
        duties=tuple(d for d in duties if d is not None),
        inputs=names.inputs,
        owes=tuple(o for o in owes if o is not None),
        answer=tuple(s for s in answer if s is not None),
        closed=value.get("closed", True) is not False,
    )


def _is(value: Any) -> bool:
    return isinstance(value, Mapping)


def _tools(value: Mapping[str, Any]) -> Iterator[tuple[str, tuple[Mapping[str, Any], Path]]]:
    stated = value.get("tools")
    for name, entry in (stated if isinstance(stated, Mapping) else {}).items():
        if isinstance(entry, Mapping) and isinstance(name, str):
            yield name, (entry, ("tools", name))


def _declare(value: Mapping[str, Any], names: Names) -> None:
    """Read what everything else refers to: entities, task inputs, tools and their arguments."""
    stated = value.get("entities")
    for kind, fields in (stated if isinstance(stated, Mapping) else {}).items():
        path = ("entities", kind)
        if kind in ROOTS or kind in KEYWORDS or kind in RESERVED:
            names.report.add(path, f"`{kind}` already means something in expressions", "choose another name", key=True)
        types = {}
        for field in fields if isinstance(fields, Mapping) else ():
            if field == "at":
                names.report.add((*path, field), "`at` is reserved in `yields`", "name the field otherwise", key=True)
            if isinstance(fields[field], str) and names.clean((*path, field)):
                types[field] = names.type_(fields[field], (*path, field))
        names.entities[kind] = EntityType(kind=kind, fields=types)
    task = value.get("task")
    for name, text, where in names.members(task if isinstance(task, Mapping) else {}, "inputs", ("task",)):
        if isinstance(text, str):
            names.inputs[name] = names.type_(text, where)
    entries = dict(_tools(value))
    names.tools = tuple(entries)
    for name, (entry, at) in entries.items():
        tools.declare(name, entry, at, names)


def _unique(what: str, ids: list[str], path: tuple[str, ...], report: Report) -> None:
    for i, one in enumerate(ids):
        if one and one in ids[:i]:
            report.add((*path, what, i), f"`{one}` is used twice", "give each its own name")
