"""Compiling tools: effects, targets, what results establish, and how doubt is settled."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from tallystick.contracts.arguments import compile_schema, schema_types
from tallystick.contracts.expr import JSON
from tallystick.contracts.names import TALK, Names, Scope, seconds, tokens
from tallystick.contracts.requirements import requirement, role_of
from tallystick.contracts.types import (
    Batch,
    Completeness,
    Effect,
    EntityExpr,
    Expr,
    Requirement,
    Settle,
    Tool,
    Yield,
)
from tallystick.contracts.yamltext import Path
from tallystick.model.canonical import canonical, digest
from tallystick.model.exact import tagged
from tallystick.model.values import Type


def declare(name: str, value: Mapping[str, Any], path: Path, names: Names) -> None:
    """Record in `names` the argument types of a tool: what its JSON Schema says, and what the contract declares."""
    types: dict[str, Type] = {}
    schema = names.get(value, "schema", path)
    if isinstance(schema, Mapping):
        try:
            compile_schema(schema)
        except ValueError as bad:
            names.report.add((*path, "schema"), f"not a usable JSON Schema: {bad}")
        types = schema_types(schema)
        if types and schema.get("additionalProperties") is False:
            names.strict.add(name)
    for arg, text, where in names.members(value, "args", path):
        if name in names.strict and arg not in types:
            names.argument(name, arg, where)
        if isinstance(text, str):
            types[arg] = names.type_(text, where)
    names.args[name] = types


def tool(name: str, value: Mapping[str, Any], path: Path, names: Names) -> tuple[Tool, Scope]:
    """Return a compiled tool without settling and requirements, and what its expressions may read."""
    call: Scope = {"args": names.args_kind(name)}
    outcome: Scope = {**call, "result": JSON}
    effect, cases = _effect(value, path, names, call)
    scope: Scope = {**names.base(), **call}
    target = _entities(value, "target", path, names, call, scope)
    bind = _entities(value, "bind", path, names, scope, scope)
    schema = value.get("schema") if isinstance(value.get("schema"), Mapping) else None
    idempotency = names.get(value, "idempotency_arg", path)
    if idempotency is not None:
        names.argument(name, idempotency, (*path, "idempotency_arg"))
    elif names.get(value, "dedupes_by_key", path):
        names.report.add(
            (*path, "dedupes_by_key"), "no argument carries a key", "say `idempotency_arg: NAME`", key=True
        )
    echoes = []
    for arg, pointer, where in names.members(value, "echoes", path):
        names.argument(name, arg, where)
        echoes.append((arg, tokens(pointer)))
    status_at, terminal = names.get(value, "status_at", path), names.get(value, "terminal", path)
    if (status_at is None) != (terminal is None):
        one, other = ("status_at", "terminal") if terminal is None else ("terminal", "status_at")
        names.report.add((*path, one), f"`{one}` needs `{other}`", key=True)
    if "undone_by" in value and "batch" in value:
        names.report.add((*path, "undone_by"), "a batch is undone item by item, which cannot be told", key=True)
    if "undone_by" in value and effect == "read" and not cases:
        names.report.add((*path, "undone_by"), "a read has no effect that could be undone", key=True)
    approval = names.get(value, "needs_approval", path)
    lag = names.get(value, "lag", path)
    return Tool(
        name=name,
        effect=effect,
        effect_cases=cases,
        args=names.args[name],
        args_schema=schema,
        target=target,
        bind=bind,
        yields=_yields(value, path, names, name),
        once_per=tuple(
            e for text, at in names.items(value, "once_per", path)
            if (e := names.expr(text, at, call, boolean=False)) is not None
        ),
        idempotency_arg=idempotency,
        dedupes_by_key=bool(names.get(value, "dedupes_by_key", path)),
        needs_approval=None if approval is None else role_of(approval),
        ok=names.expr(names.get(value, "ok", path), (*path, "ok"), outcome),
        no_effect=names.expr(names.get(value, "no_effect", path), (*path, "no_effect"), outcome),
        pending=names.expr(names.get(value, "pending", path), (*path, "pending"), outcome),
        status_at=tokens(status_at) if status_at is not None else (),
        terminal=tuple(terminal or ()),
        echoes=tuple(echoes),
        undone_by=tuple(
            t for text, at in names.items(value, "undone_by", path) if (t := names.tool(text, at)) is not None
        ),
        batch=_batch(value, path, names, name),
        complete=_complete(value, path, names, name),
        volatile=bool(names.get(value, "volatile", path)),
        lag_seconds=seconds(lag) if lag is not None else 0,
        secrets=tuple(tokens(text) for text, _ in names.items(value, "secrets", path)),
        schema_sha256=names.get(value, "schema_sha256", path)
        or (digest(canonical(tagged(schema))) if schema is not None else None),
        description=names.get(value, "description", path) or "",
    ), scope  # fmt: skip


def _effect(
    value: Mapping[str, Any], path: Path, names: Names, scope: Scope
) -> tuple[Effect, tuple[tuple[Expr, Effect], ...]]:
    stated, annotations = names.get(value, "effect", path), names.get(value, "annotations", path)
    hints = annotations if isinstance(annotations, Mapping) else {}
    if stated is None:
        if annotations is None and names.clean((*path, "effect")):
            names.report.add(path, "`effect` is missing", "write `effect: read`, or give the tool's `annotations`")
        # MCP: a tool that does not say it only reads may change something.
        return ("read" if hints.get("readOnlyHint") is True else "write"), ()
    if isinstance(stated, Mapping):
        cases = []
        for effect, text in stated.items():
            if effect != "otherwise":
                expr = names.expr(text, (*path, "effect", effect), scope)
                if expr is not None:
                    cases.append((expr, effect))
        return stated["otherwise"], tuple(cases)
    base, _, condition = stated.partition(" unless ")
    if (
        base == "read"
        and not condition
        and (hints.get("destructiveHint") is True or hints.get("readOnlyHint") is False)
    ):
        names.report.add(
            (*path, "effect"), "the contract says read, the tool's own annotations say it changes something",
            "make it a write, or leave the annotations out after review",
        )  # fmt: skip
    if not condition:
        return base, ()
    if base == "write":
        names.report.add(
            (*path, "effect"), "`write unless` does not say what it is then", "use a mapping of conditions"
        )
        return "write", ()
    start = stated.index(" unless ") + len(" unless ")
    expr = names.part(condition, (*path, "effect"), scope, start)
    return base, () if expr is None else ((expr, "write"),)


def _entities(
    value: Mapping[str, Any], name: str, path: Path, names: Names, readable: Scope, scope: Scope
) -> tuple[EntityExpr, ...]:
    """Compile `target` or `bind` over `readable`; each alias is added to `scope`, for what comes after it."""
    found = []
    for text, where in names.items(value, name, path):
        entity = names.entity(text, where, readable)
        if entity is None:
            continue
        if entity.alias in scope and entity.alias not in ("args", "now", "task"):
            names.report.add(where, f"`{entity.alias}` is bound twice", f"name one of them: `{text} as other`")
        found.append(entity)
        scope[entity.alias] = names.entity_kind(entity.kind)
    return tuple(found)


def _yields(value: Mapping[str, Any], path: Path, names: Names, tool_name: str) -> tuple[Yield, ...]:
    found = []
    for kind, entry, where in names.members(value, "yields", path):
        if kind not in names.entities:
            names.report.unknown(where, "entity", kind, names.entities)
            continue
        entries = [(entry, where)] if isinstance(entry, Mapping) else [(e, (*where, i)) for i, e in enumerate(entry)]
        declared = names.entities[kind].fields
        for item, at in entries:
            fields = {}
            for name, pointer in item.items():
                if name not in ("at", "id"):
                    if name not in declared:
                        names.report.unknown((*at, name), f"field of {kind}", name, declared)
                    fields[name] = tokens(pointer)
            id_text = item["id"]
            by_arg = id_text.startswith("args.")
            if by_arg:
                names.argument(tool_name, id_text[5:], (*at, "id"))
            elif "id" in declared:
                fields = {"id": tokens(id_text), **fields}
            found.append(
                Yield(
                    kind=kind,
                    at=tokens(item.get("at", "")),
                    fields=fields,
                    id=None if by_arg else tokens(id_text),
                    id_arg=id_text[5:] if by_arg else None,
                )
            )
    return tuple(found)


def _batch(value: Mapping[str, Any], path: Path, names: Names, name: str) -> Batch | None:
    batch = names.get(value, "batch", path)
    if batch is None:
        return None
    here = (*path, "batch")
    names.argument(name, batch["arg"], (*here, "arg"))
    return Batch(
        arg=batch["arg"],
        key=tokens(batch.get("key", "")),
        results=tokens(batch.get("results", "")),
        result_key=tokens(batch.get("result_key", "")),
        ok=names.expr(batch.get("ok"), (*here, "ok"), {"args": names.args_kind(name), "item": JSON}),
    )


def _complete(value: Mapping[str, Any], path: Path, names: Names, name: str) -> Completeness | None:
    complete = names.get(value, "complete", path)
    if complete is None:
        return None
    if complete == "always":
        return Completeness(declared=True)
    if "page_arg" in complete:
        names.argument(name, complete["page_arg"], (*path, "complete", "page_arg"))
    if not any(k in complete for k in ("flag", "next", "page_size")):
        names.report.add(
            (*path, "complete"), "nothing here says when an answer is complete", "give `flag`, `next` or `page_size`"
        )
    if "page_size" in complete and "items" not in complete:
        names.report.add((*path, "complete", "page_size"), "`page_size` needs `items`", key=True)
    return Completeness(
        flag=tokens(complete["flag"]) if "flag" in complete else None,
        next=tokens(complete["next"]) if "next" in complete else None,
        page_arg=complete.get("page_arg"),
        page_size=int(complete["page_size"]) if "page_size" in complete else None,
        items=tokens(complete.get("items", "")),
        degraded=tuple(tokens(p) for p in complete.get("degraded", ())),
    )


def settle(
    value: Mapping[str, Any], path: Path, names: Names, me: Tool, scope: Scope, tools: Mapping[str, Tool]
) -> Settle | None:
    """Return how doubt about `me` is resolved, or `None` (after reporting what is wrong, if anything was said)."""
    stated = names.get(value, "settle", path)
    if stated is None:
        return None
    read_name = stated.partition(" shows ")[0].strip() if isinstance(stated, str) else stated["tool"]
    kinds = {rule.kind for rule in tools[read_name].yields} if read_name in tools else set()
    # What it shows is read from that very answer: its result, and the facts it yields.
    shown: Scope = {"args": scope["args"], "result": JSON, **{kind: names.entity_kind(kind) for kind in kinds}}
    here: Path = (*path, "settle")
    if isinstance(stated, str):
        name, _, shows = stated.partition(" shows ")
        read = names.tool(name.strip(), here)
        start = stated.index(" shows ") + len(" shows ")
        expr = names.part(shows, here, shown, start)
        stated_args: Mapping[str, Any] = {}
        lag = 0
    else:
        read = names.tool(stated["tool"], (*here, "tool"))
        expr = names.expr(stated["shows"], (*here, "shows"), shown)
        stated_args = stated.get("args") or {}
        lag = seconds(stated["lag"]) if "lag" in stated else 0
    if read is None or expr is None:
        return None
    if tools[read].effect != "read":
        names.report.add(here, f"{read} is not a read, so it cannot settle doubt", "name a status query")
    args: dict[str, Expr] = {}
    for arg, text in stated_args.items():
        names.argument(read, arg, (*here, "args", arg))
        found = names.expr(text, (*here, "args", arg), {"args": scope["args"]}, boolean=False)
        if found is not None:
            args[arg] = found
    if not stated_args:
        args = _settle_args(me, tools[read], names)
        if not args and names.args[me.name]:
            names.report.add(
                here, f"it is not clear which arguments {read} takes", "write `{tool: …, shows: …, args: {…}}`"
            )
    return Settle(tool=read, shows=expr, args=args, lag_seconds=lag or tools[read].lag_seconds)


def _settle_args(me: Tool, read: Tool, names: Names) -> dict[str, Expr]:
    """The status query asks about the entity the doubtful call addressed."""
    args: dict[str, Expr] = {}
    for entity in me.target:
        for other in read.target:
            # The read's own target says which of its arguments names such an entity: `invoice(args.invoice_id)`.
            if other.kind == entity.kind and len(other.id.refs) == 1 and other.id.source == ".".join(other.id.refs[0]):
                args.setdefault(other.id.refs[0][1], entity.id)
        for rule in read.yields:
            if rule.kind == entity.kind and rule.id_arg is not None:
                args.setdefault(rule.id_arg, entity.id)
    if not args:
        for entity in me.target:
            path = entity.id.refs[0] if len(entity.id.refs) == 1 else ()
            plain = len(path) == 2 and re.fullmatch(r"args\.\w+", entity.id.source)
            if plain and (path[1] in names.args[read.name] or not names.args[read.name]):
                args[path[1]] = entity.id
    return args


def requirements(value: Mapping[str, Any], path: Path, names: Names, me: Tool, scope: Scope) -> tuple[Requirement, ...]:
    """Return the compiled requirements of a tool."""
    found, seen = [], set()
    scope = {**scope, "talk": TALK}
    for item, where in names.items(value, "requires", path):
        if item["id"] in seen:
            names.report.add((*where, "id"), f"`{item['id']}` names two requirements", "give each its own id")
        seen.add(item["id"])
        one = requirement(item, where, names, me.name, scope, (*me.target, *me.bind), item["id"])
        if one is not None:
            found.append(one)
    return tuple(found)
