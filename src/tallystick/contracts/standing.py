"""Compiling what stands beside the tools: conditions, exclusions, and the task's template."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Literal

from tallystick.contracts.derive import derivation
from tallystick.contracts.expr import JSON, OPEN_RECORD, ExpressionProblem, kind_of, parse, refs_of
from tallystick.contracts.expr.clock import zone_of
from tallystick.contracts.names import ROOTS, TALK, Names, Scope, tokens
from tallystick.contracts.terms import operands
from tallystick.contracts.types import (
    Apply,
    ConditionRule,
    Duty,
    EntityExpr,
    Exclusion,
    Expr,
    Facts,
    ObligationRule,
    Period,
    Slot,
    Term,
    Tool,
)
from tallystick.contracts.yamltext import Path
from tallystick.model.values import Type


def condition(value: Mapping[str, Any], path: Path, names: Names) -> ConditionRule | None:
    """Return a compiled standing condition, or `None` after reporting what is wrong with it."""
    stated = names.get(value, "for", path)
    kind = stated or _only_kind(value, names)
    if stated is not None and stated not in names.entities:
        names.report.unknown((*path, "for"), "entity", stated, names.entities)
        return None
    scope: Scope = names.base()
    if kind is not None:
        scope[kind] = names.entity_kind(kind)
    elif stated is None:
        # Without a kind the expressions may read no facts, so name every kind to get a useful message.
        mentioned = [k for k in names.entities if f"{k}." in f"{value.get('when', '')} {value.get('until', '')}"]
        if len(mentioned) > 1:
            names.report.add(path, f"it reads {' and '.join(mentioned)}", "say which it is about: `for: …`")
            return None
    removes = tuple(t for text, at in names.items(value, "removes", path) if (t := names.tool(text, at)) is not None)
    fallback_tools = tuple(
        t for text, at in names.items(value, "fallback_tools", path) if (t := names.tool(text, at)) is not None
    )
    if any(not names.clean((*path, name)) for name in value):
        return None
    return ConditionRule(
        id=value.get("id", ""),
        kind=kind,
        when=names.expr(value.get("when"), (*path, "when"), scope),
        removes=removes,
        status=value.get("status", ""),
        prerequisite=value.get("prerequisite", ""),
        authority=value.get("authority", ""),
        fallback=value.get("fallback", ""),
        until=names.expr(value.get("until"), (*path, "until"), scope),
        fallback_tools=fallback_tools,
    )


def _only_kind(value: Mapping[str, Any], names: Names) -> str | None:
    kinds = set()
    for name in ("when", "until"):
        text = value.get(name)
        if isinstance(text, str):
            try:
                kinds |= {ref[0] for ref in refs_of(parse(text)) if ref[0] not in ROOTS}
            except ExpressionProblem:
                continue  # reported when it is compiled
    known = kinds & names.entities.keys()
    return known.pop() if len(known) == 1 else None


def exclusion(value: Mapping[str, Any], path: Path, names: Names) -> Exclusion | None:
    """Return a compiled exclusion, or `None` after reporting what is wrong with it."""
    if any(not names.clean((*path, name)) for name in value) or not {"id", "tools", "per"} <= value.keys():
        return None
    tools = tuple(t for text, at in names.items(value, "tools", path) if (t := names.tool(text, at)) is not None)
    per: dict[str, Expr] = {}
    stated = value["per"]
    for tool in tools:
        if isinstance(stated, Mapping) and tool not in stated:
            names.report.add((*path, "per"), f"it does not say the value for {tool}", f"add `{tool}: args.…`")
            continue
        text, where = (stated, (*path, "per")) if isinstance(stated, str) else (stated[tool], (*path, "per", tool))
        expr = names.expr(text, where, {"args": names.args_kind(tool)}, boolean=False)
        if expr is not None:
            per[tool] = expr
    if isinstance(stated, Mapping):
        for tool in stated:
            if tool not in tools:
                names.report.unknown((*path, "per", tool), "tool of this exclusion", tool, tools)
    return Exclusion(id=value["id"], tools=tools, per=per, message=value.get("message", ""))


def duty(value: Mapping[str, Any], path: Path, names: Names, tools: Mapping[str, Tool]) -> Duty | None:
    """Return a compiled standing duty, or `None` after reporting what is wrong with it."""
    if any(not names.clean((*path, name)) for name in value) or not {"id", "after", "owes"} <= value.keys():
        return None
    after = names.tool(value["after"], (*path, "after"))
    owes = tuple(t for text, at in names.items(value, "owes", path) if (t := names.tool(text, at)) is not None)
    if after is None or not owes:
        return None
    bound = (*tools[after].target, *tools[after].bind)
    facts = {entity.alias: names.entity_kind(entity.kind) for entity in bound}
    scope: Scope = {**names.base(), **facts, "args": names.args_kind(after), "result": JSON, "talk": TALK}
    # Several tools may discharge it, with arguments of their own; declared types apply where all agree on the tool.
    later = names.args_kind(owes[0]) if len(owes) == 1 else OPEN_RECORD
    inner: Scope = {**names.base(), "args": later, "result": JSON, "call": names.args_kind(after), "talk": TALK}
    return Duty(
        id=value["id"],
        after=after,
        owes=owes,
        when=names.expr(value.get("when"), (*path, "when"), scope),
        expr=names.expr(value.get("with"), (*path, "with"), inner),
        ever=bool(value.get("ever")),
        message=value.get("message", ""),
    )


def _input_for(kind: str, names: Names) -> str | None:
    """Return the expression that `scope: invoice` stands for: the task input of that name."""
    for name in (kind, f"{kind}_id"):
        if name in names.inputs:
            return f"task.{name}"
    return None


def _entity(text: str | None, path: Path, names: Names, scope: Scope) -> EntityExpr | None:
    if text is None:
        return None
    kind = text.strip()
    short = _input_for(kind, names)
    if kind in names.entities and short is None:
        names.report.add(path, f"no task input says which {kind}", f"declare `inputs: {{{kind}: id}}`")
        return None
    return names.entity(text, path, scope, short)


def obligation(value: Mapping[str, Any], path: Path, names: Names, tools: Mapping[str, Tool]) -> ObligationRule | None:
    """Return a compiled obligation template, or `None` after reporting what is wrong with it."""
    if any(not names.clean((*path, name)) for name in value) or "id" not in value:
        return None
    kind: Literal["event", "state"] = "state" if "fact" in value and "by" not in value else "event"
    kind = value.get("kind", kind)
    if kind == "event" and "by" not in value:
        names.report.add(path, "an event obligation needs `by`", "name the tool whose effect discharges it")
    if kind == "state" and "fact" not in value:
        names.report.add(path, "a state obligation needs `fact`", "say what must hold now")
    by = names.tool(value.get("by"), (*path, "by"))
    scope = names.frozen()
    each = value.get("each")
    if each is not None:
        listed = names.inputs.get(each)
        if listed is None:
            names.report.unknown((*path, "each"), "task input", each, names.inputs)
        elif listed.item is None:
            names.report.add((*path, "each"), f"`{each}` is a {listed}, not a list", "declare it `list(…)`")
        scope["item"] = kind_of(listed.item) if listed is not None and listed.item is not None else JSON
    entity = _entity(value.get("for"), (*path, "for"), names, scope)
    if entity is None and "for" not in value and by is not None and each is None:
        entity = _default_entity(by, names, tools, scope)
    facts = {**scope, entity.alias: names.entity_kind(entity.kind)} if entity is not None else scope
    args: dict[str, Expr] = {}
    for arg, text in (value.get("args") or {}).items():
        if by is not None:
            names.argument(by, arg, (*path, "args", arg))
        expr = names.expr(text, (*path, "args", arg), scope, boolean=False)
        if expr is not None:
            args[arg] = expr
    return ObligationRule(
        id=value["id"],
        kind=kind,
        by=by,
        entity=entity,
        args=args,
        fact=names.expr(value.get("fact"), (*path, "fact"), facts),
        when=names.expr(value.get("when"), (*path, "when"), facts),
        each=each,
        text=value.get("text", ""),
    )


def _default_entity(by: str, names: Names, tools: Mapping[str, Tool], scope: Scope) -> EntityExpr | None:
    """Without `for`, what is owed is about the task's own entity of the kind that the tool addresses, if any."""
    for target in tools[by].target:
        short = _input_for(target.kind, names)
        if short is not None:
            return names.entity(target.kind, (), scope, short)
    return None


def slot(value: Mapping[str, Any], path: Path, names: Names) -> Slot | None:
    """Return a compiled answer slot, or `None` after reporting what is wrong with it."""
    if any(not names.clean((*path, name)) for name in value) or not {"slot", "type", "derive"} <= value.keys():
        return None
    type_ = names.type_(value["type"], (*path, "type"))
    entity = _entity(value.get("scope"), (*path, "scope"), names, names.frozen())
    facts = names.frozen()
    if entity is not None:
        facts[entity.alias] = names.entity_kind(entity.kind)
    dates = _period(value["dates"], (*path, "dates"), names) if "dates" in value else None
    derive = derivation(value["derive"], (*path, "derive"), names, facts)
    if derive is None or ("dates" in value and dates is None):
        return None
    _fits(derive.term, type_, (*path, "derive"), names)
    quantifier = value.get("quantifier", "one")
    if type_.name not in _QUANTIFIED.get(quantifier, (type_.name,)):
        names.report.add(
            (*path, "quantifier"), f"`{quantifier}` is not said of a {type_}",
            f"declare the slot {' or '.join(_QUANTIFIED[quantifier])}",
        )  # fmt: skip
    return Slot(
        name=value["slot"],
        type=type_,
        derive=derive,
        entity=entity,
        dates=dates,
        quantifier=quantifier,
        required=value.get("required", True),
    )


_QUANTIFIED: Final = {"count": ("integer",), "none": ("integer", "list", "set", "boolean")}
"""What a slot under a quantifier can be: "how many" is a number, and of a text nobody can say "none"."""


def _period(value: Mapping[str, Any], path: Path, names: Names) -> Period | None:
    """Return a compiled period, or `None` after reporting what is wrong with it."""
    at: str = value["at"]
    arg = at.removeprefix("args.") if at.startswith("args.") else None
    bounds = [names.expr(value[name], (*path, name), names.frozen(), boolean=False) for name in ("from", "to")]
    for name, expr in zip(("from", "to"), bounds, strict=True):
        if expr is not None and expr.kind.name not in ("date", "json"):
            names.report.add(
                (*path, name), f"a period has civil dates, not {expr.kind}",
                'declare the input a `date`, or write `date("2026-03-01")`',
            )  # fmt: skip
            return None
    zone = value.get("zone")
    if zone is not None:
        try:
            zone_of(zone, 0)
        except ExpressionProblem as bad:
            names.report.add((*path, "zone"), bad.message, bad.fix)
            return None
    first, last = bounds
    if first is None or last is None:
        return None
    return Period(at=() if arg is not None else tokens(at), arg=arg, first=first, last=last, zone=zone)


def _fits(term: Term, type_: Type, path: Path, names: Names) -> None:
    """Report a derivation that cannot give a value of the slot's type."""
    if isinstance(term, Facts):
        given, wanted = term.expr.kind, kind_of(type_)  # type: ignore[attr-defined]  # compiled here, so it has a kind
        if "json" in (given.name, wanted.name):
            return
        if given.name != wanted.name or (given.unit and wanted.unit and given.unit != wanted.unit):
            names.report.add(path, f"the slot is {type_}, the derivation gives {given.required}")
    elif isinstance(term, Apply):
        try:
            inner = operands(term, type_)
        except ValueError as bad:
            names.report.add(path, str(bad))
            return
        for arg, wanted_type in zip(term.args, inner, strict=True):
            _fits(arg, wanted_type, path, names)
