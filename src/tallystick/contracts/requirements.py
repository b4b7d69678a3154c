"""Compiling requirements: the pieces of evidence a consequential call needs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from tallystick.contracts.expr import JSON
from tallystick.contracts.names import Names, Scope, seconds
from tallystick.contracts.structure import KINDS, ROLE_ANY
from tallystick.contracts.types import EntityExpr, Requirement
from tallystick.contracts.yamltext import Path


def role_of(text: str) -> str:
    """Return the role a text names; `any` stands for every principal and is the empty role."""
    return "" if text == ROLE_ANY else text


def requirement(
    value: Mapping[str, Any], path: Path, names: Names, tool: str, scope: Scope, bound: tuple[EntityExpr, ...], id_: str
) -> Requirement | None:
    """Return one compiled requirement, or `None` after reporting what is wrong with it.

    Args:
        value: the entry.
        path: where it stands.
        names: what is declared.
        tool: the tool that requires it.
        scope: what its expressions may read: args, the entities bound, task, now.
        bound: the entities bound by the tool's target and bind.
        id_: its name, for an option without one of its own.
    """
    kind = next((k for k in KINDS if k in value), None)
    if kind is None or not all(names.clean((*path, k)) for k in value):
        return None
    common: dict[str, Any] = {
        "id": value.get("id", id_),
        "when": names.expr(value.get("when"), (*path, "when"), scope),
        "fresh": _fresh(value.get("fresh")),
        "message": value.get("message", ""),
    }
    if kind == "fact":
        expr = names.expr(value["fact"], (*path, "fact"), scope)
        return None if expr is None else Requirement(kind="fact", expr=expr, **common)
    if kind in ("known", "confirmed"):
        entity = _entity(value[kind], (*path, kind), names, scope, bound)
        return None if entity is None else Requirement(kind=kind, entity=entity, **common)  # type: ignore[arg-type]  # one of the two
    if kind == "arg":
        names.argument(tool, value["arg"], (*path, "arg"))
        source = names.source(value["equals"], (*path, "equals"))
        if source is None:
            return None
        return Requirement(kind="argument", arg=value["arg"], tool=source[0], pointer=source[1], **common)
    if kind == "read":
        read = names.tool(value["read"], (*path, "read"))
        if read is None:
            return None
        inner = {**scope, "args": names.args_kind(read), "result": JSON, "call": names.args_kind(tool)}
        return Requirement(kind="read", tool=read, expr=names.expr(value.get("with"), (*path, "with"), inner), **common)
    if kind == "previewed":
        for i, arg in enumerate(value["previewed"]):
            names.argument(tool, arg, (*path, "previewed", i))
        expr = names.expr(value.get("with"), (*path, "with"), {**scope, "preview": JSON})
        return Requirement(kind="previewed", tool=tool, args_equal=tuple(value["previewed"]), expr=expr, **common)
    if kind == "approval":
        return Requirement(kind="approval", role=role_of(value["approval"]), **common)
    options = []
    for i, option in enumerate(value["any"]):
        found = requirement(option, (*path, "any", i), names, tool, scope, bound, f"{common['id']}.{i + 1}")
        if found is not None:
            options.append(found)
    return Requirement(kind="any", options=tuple(options), **common)


def _fresh(text: str | None) -> Literal["write"] | int | None:
    if text is None:
        return None
    return "write" if text == "since last write" else seconds(text)


def _entity(text: str, path: Path, names: Names, scope: Scope, bound: tuple[EntityExpr, ...]) -> EntityExpr | None:
    # `known: invoice` is the invoice this call addresses; `known: order(item.order_id)` says which.
    for entity in bound:
        if text.strip() == entity.alias:
            return entity
    if text.strip() in names.entities:
        near = ", ".join(f"`{e.alias}`" for e in bound) or "no entity"
        names.report.add(
            path, f"this call binds {near}, not `{text.strip()}`", f"say which: `{text.strip()}(args.…)`, or bind it"
        )
        return None
    return names.entity(text, path, scope)
