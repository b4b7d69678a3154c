"""`draft`: a first contract from what tools declare about themselves. Every guess is marked as one."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tallystick.audit.tools import CONFIRMS, REHEARSALS, Tools, words_of
from tallystick.contracts import parse
from tallystick.drafting.refs import Resolver
from tallystick.drafting.shape import Record, id_base, is_amount, nullable, own_id, records, type_text
from tallystick.drafting.sheet import (
    Line,
    RuleSheet,
    Sheet,
    ToolSheet,
    YieldSheet,
    contract_name,
    field_name,
    is_identifier,
    is_sayable,
    is_tool_name,
    kind_name,
    singular,
)
from tallystick.drafting.spec import ToolSpec
from tallystick.drafting.specs import read_sources
from tallystick.drafting.yaml import write
from tallystick.errors import InputError
from tallystick.model.pointer import join

INTRO: Final = (
    "A first contract, drafted from what the tools declare about themselves. Nothing here was seen to happen: every "
    "`guess` and every `decide` is for a person who knows the tools. Delete a remark once it is settled."
)
OWES_NOTHING: Final = (
    "It owes nothing yet, so a run under it is certified for what it claims, even where it did nothing. `task: owes:` "
    "says what must have happened at the end, `task: answer:` what must be answered."
)
MORE: Final = (
    'Still to be said for each write: `ok`, what a good result says, such as `result.status == "done"`; `no_effect`, '
    "what a rejection says; and `once_per`, what makes two calls the same effect (without it, all arguments)."
)
_KEYS: Final = frozenset({"idempotency_key", "idempotencykey", "idempotency-key", "client_token", "request_id"})
_NEXT: Final = ("next_page", "nextPage", "next_cursor", "nextCursor", "next_page_token", "nextPageToken", "next")
_PAGE: Final = ("page", "cursor", "page_token", "pageToken", "after", "offset", "starting_after")
_VERBS: Final = frozenset({"get", "list", "search", "find", "fetch", "read", "lookup", "check", "show", "query"})
_BEFORE: Final = re.compile(r"prior|before|first|requires?|must", re.IGNORECASE)
_MENTION: Final = r"(?<![\w.])%s(?:\s*\(\s*(\w+)\s*=\s*['\"]([^'\"\\]{1,60})['\"]\s*\))?(?!\w)"


@dataclass(frozen=True, kw_only=True)
class Drafted:
    """A drafted contract's text, and what its reader should be told besides."""

    text: str
    notes: tuple[str, ...] = ()


def draft(paths: Sequence[str | Path]) -> Drafted:
    """Return a first contract for the tools that some files declare.

    Args:
        paths: MCP `tools/list` results, lists of tool definitions, OpenAPI 3 documents or JSON Schemas.

    Raises:
        InputError: a file cannot be used.
    """
    title, specs, notes = read_sources([Path(p) for p in paths])
    sheet, more = sheet_of(specs, title)
    text = write(sheet)
    parse(text)
    return Drafted(text=text, notes=(*notes, *more))


def sheet_of(specs: Mapping[str, ToolSpec], title: str) -> tuple[Sheet, list[str]]:
    """Return the sheet of some tools, and a note for each that no contract can mention."""
    notes = [f"`{name}` is left out: no contract can mention a tool of that name" for name in specs if
             not is_tool_name(name)]  # fmt: skip
    usable = {name: spec for name, spec in specs.items() if is_tool_name(name)}
    if not usable:
        raise InputError("no tool here has a name that a contract can mention", fix="letters, digits and `_ . : / -`")
    known = Tools()
    effects = {name: _effect(spec, known) for name, spec in usable.items()}
    sheet = Sheet(
        name=contract_name(title), intro=[INTRO, OWES_NOTHING, *([MORE] if any(e[0] for e in effects.values()) else [])]
    )
    found = {name: list(records(_output(spec), noun_of(spec))) for name, spec in usable.items() if not effects[name][0]}
    kinds = {record.kind for listed in found.values() for record in listed}
    for name, spec in usable.items():
        writes, because = effects[name]
        tool = ToolSheet(name=name, writes=writes, intro=sentence(spec.description))
        _say_effect(tool, spec, because)
        args = args_of(spec)
        tool.put("args", {arg: text for arg, (text, _) in args.items()}, args_remark(args) if writes else "")
        if writes:
            tool.remarks += _choices(spec)
        addressed = _entities(spec, args, writes)
        _address(tool, sheet, addressed, guess=not spec.targets)
        _pages(tool, spec)
        for record in found.get(name, ()):
            tool.yields.append(_yield(record, sheet, kinds))
        if writes:
            _demands(tool, spec, addressed, usable, effects, args, {r.kind for rs in found.values() for r in rs})
        sheet.tools[name] = tool
    return sheet, notes


def _output(spec: ToolSpec) -> Mapping[str, Any]:
    return Resolver(spec.output).schema(spec.output) if spec.output is not None else {}


def _effect(spec: ToolSpec, known: Tools) -> tuple[bool, str]:
    if spec.writes is not None:
        return spec.writes, spec.because
    use = known.use(spec.name, properties_of(spec))
    if use.effect == "unknown":
        return True, "guess: nothing says whether it writes, so it counts as a write"
    return use.effect == "write", f"guess: {use.because}; nothing declares it"


def properties_of(spec: ToolSpec) -> dict[str, Mapping[str, Any]]:
    """Return the arguments a tool's schema names, each with its schema, references written in."""
    found = Resolver(spec.schema).schema(spec.schema).get("properties")
    listed = found.items() if isinstance(found, Mapping) else ()
    return {n: s for n, s in listed if isinstance(s, Mapping) and is_sayable(n)}


def args_of(spec: ToolSpec) -> dict[str, tuple[str, bool]]:
    """Return each declared argument's (type text, whether it may be left out)."""
    required = spec.schema.get("required")
    wanted = required if isinstance(required, list) else []
    found = {}
    for name, schema in properties_of(spec).items():
        free = name not in wanted
        found[name] = (("optional " if free or nullable(schema) else "") + type_text(name, schema), free)
    return found


def args_remark(args: Mapping[str, tuple[str, bool]]) -> str:
    """Return the remark about amounts: a JSON Schema knows no currency."""
    amounts = [a for a, (text, _) in args.items() if is_amount(a) and text.split()[-1] in ("decimal", "integer")]
    return f"decide: is {', '.join(f'`{a}`' for a in amounts)} money? write `money(EUR)`" if amounts else ""


def _choices(spec: ToolSpec) -> list[str]:
    """Return a remark for each argument that is declared to be one of a few texts, which no type of a contract says."""
    found = []
    for arg, schema in properties_of(spec).items():
        texts = schema.get("enum")
        if is_identifier(arg) and isinstance(texts, list) and texts and all(isinstance(t, str) for t in texts):
            listed = ", ".join(json.dumps(t, ensure_ascii=False) for t in texts)
            found.append(f"decide: `{arg}` is declared as one of a few; `fact: args.{arg} in [{listed}]` demands that")
    return found


def noun_of(spec: ToolSpec) -> str:
    """Return what a tool is about: the last word of its path, or its name without the verb."""
    if spec.noun:
        return singular("_".join(words_of(spec.noun)))
    words = words_of(spec.name)
    rest = words[1:] if len(words) > 1 and (words[0] in _VERBS or len(words) == 2) else words
    return singular("_".join(rest))


def sentence(text: str) -> str:
    """Return the first sentence of a description, shortened."""
    first = re.split(r"(?<=[.!?])\s", " ".join(text.split()), maxsplit=1)[0]
    return first if len(first) <= 160 else first[:159].rstrip() + "…"


def switch_of(args: Sequence[str], properties: Mapping[str, Mapping[str, Any]]) -> str | None:
    """Return the boolean argument that tells a preview from the real thing, if there is one."""
    for name in args:
        switches = (name.lower() in CONFIRMS or name.lower() in REHEARSALS) and is_identifier(name)
        if switches and (name not in properties or type_text(name, properties[name]) == "boolean"):
            return name
    return None


def default_is_preview(switch: str, spec: ToolSpec) -> bool:
    """Return whether the declaration says that a call without the switch is only a preview."""
    schema = properties_of(spec).get(switch, {})
    wanted = switch.lower() in REHEARSALS
    if schema.get("default") is wanted:
        return True
    stated = schema.get("description")
    text = f"{spec.description} {stated if isinstance(stated, str) else ''}"
    return re.search(rf"(?:without `?{re.escape(switch)}|omit (?:it )?or set (?:to )?false)\b.{{0,40}}preview", text,
                     re.IGNORECASE) is not None  # fmt: skip


def effect_with(switch: str, *, default_preview: bool) -> Any:
    """Return the effect of a tool whose `switch` tells a preview from the real thing."""
    if switch.lower() in REHEARSALS:
        return (
            {"write": f"args.{switch} == false", "otherwise": "preview"}
            if default_preview
            else {"preview": f"args.{switch}", "otherwise": "write"}
        )
    if default_preview:
        return f"preview unless args.{switch}"
    return {"preview": f"args.{switch} == false", "otherwise": "write"}


def _say_effect(tool: ToolSheet, spec: ToolSpec, because: str) -> None:
    if not tool.writes:
        tool.put("effect", "read", because)
        return
    switch = switch_of(list(properties_of(spec)), properties_of(spec))
    if switch is None:
        tool.put("effect", "write", because)
        return
    omitted = default_is_preview(switch, spec)
    tool.put("effect", effect_with(switch, default_preview=omitted), f"guess: `{switch}` tells a preview from a commit")
    if not omitted:
        tool.remarks.append(f"decide: without `{switch}` a call counts as the real thing; is it?")


def _entities(spec: ToolSpec, args: Mapping[str, tuple[str, bool]], writes: bool) -> list[tuple[str, str]]:
    """Return (argument, kind) for the entities a call addresses; the one it is about first."""
    found = []
    for arg, (text, free) in args.items():
        if not is_identifier(arg) or text.split()[-1] != "id" or arg.lower() in _KEYS:
            continue
        named = own_id([arg]) == arg or arg in spec.targets
        kind = kind_name(id_base(arg) or noun_of(spec))
        if named and kind is not None and not (free and writes):
            found.append((arg, kind))
    noun = noun_of(spec)
    innermost = spec.targets[-1] if spec.targets else None
    # The innermost path parameter is the resource itself; else the entity that the tool's own name names.
    return sorted(found, key=lambda e: (e[0] != innermost, e[1] not in (noun, kind_name(noun))))


def _address(tool: ToolSheet, sheet: Sheet, addressed: Sequence[tuple[str, str]], *, guess: bool) -> None:
    texts: list[str] = []
    taken: set[str] = set()
    for arg, kind in addressed:
        sheet.entities.setdefault(kind, {}).setdefault("id", Line(value="id"))
        alias = kind
        if kind in taken:
            alias = field_name(arg) or arg
            if alias in taken or alias in sheet.entities:
                continue
        taken.add(alias)
        texts.append(f"{kind}(args.{arg})" + ("" if alias == kind else f" as {alias}"))
    if texts:
        sure = not guess or not tool.writes or len(texts) == 1
        tool.put("target", texts[0], "" if sure else "guess: this is what it changes; the rest is only named")
        tool.put("bind", texts[1] if len(texts) == 2 else texts[1:])


def _yield(record: Record, sheet: Sheet, kinds: set[str]) -> YieldSheet:
    fields = sheet.entities.setdefault(record.kind, {})
    fields.setdefault("id", Line(value="id"))
    found = YieldSheet(kind=record.kind, at=join(record.at), id=join(record.id))
    for name, (pointer, type_) in record.fields.items():
        alias = field_name(name)
        if alias is None or alias in found.fields:
            continue
        told = fields.setdefault(alias, Line(value=f"optional {type_}", remark=_field_remark(name, type_, kinds)))
        if told.value != f"optional {type_}":
            told.value, told.remark = "json", "decide: two tools say it differently"
        found.fields[alias] = pointer
    return found


def _field_remark(name: str, type_: str, kinds: set[str]) -> str:
    if is_amount(name) and type_ in ("decimal", "integer"):
        return "decide: money? write `money(EUR)`"
    base = kind_name(id_base(name)) if type_ == "id" else None
    return f"which {base}" if base in kinds else ""


def _pages(tool: ToolSheet, spec: ToolSpec) -> None:
    """Say when a listing is whole, where its result has a next-page marker."""
    if tool.writes:
        return
    properties = _output(spec).get("properties")
    names = properties if isinstance(properties, Mapping) else {}
    marker = next((n for n in _NEXT if n in names), None)
    items = next((n for n, s in names.items() if isinstance(s, Mapping) and s.get("type") == "array"), None)
    if marker is None or items is None:
        return
    page = next((a for a in _PAGE if a in properties_of(spec)), None)
    complete = {"next": join((marker,)), **({"page_arg": page} if page else {}), "items": join((items,))}
    tool.put("complete", complete, "guess: it goes on while this is set")


def _demands(
    tool: ToolSheet,
    spec: ToolSpec,
    addressed: Sequence[tuple[str, str]],
    specs: Mapping[str, ToolSpec],
    effects: Mapping[str, tuple[bool, str]],
    args: Mapping[str, tuple[str, bool]],
    readable: set[str],
) -> None:
    """Say what a write needs first, as far as its declaration tells."""
    key = next((a for a in args if a.lower() in _KEYS), None)
    tool.put("idempotency_arg", key, "decide: does the tool promise one effect per key? then `dedupes_by_key: true`"
             if key else "")  # fmt: skip
    for other, (writes, _) in effects.items():
        if writes or other == spec.name:
            continue
        for sentence_ in re.split(r"(?<=[.!?])\s", spec.description):
            found = re.search(_MENTION % re.escape(other), sentence_)
            if found is None or not _BEFORE.search(sentence_):
                continue
            arg, value = found[1], found[2]
            fields: dict[str, Any] = {"id": f"{other}-first"[:100].replace("/", "-").replace(":", "-"), "read": other}
            if arg is not None and is_identifier(arg) and arg in properties_of(specs[other]):
                fields["with"] = f'args.{arg} == "{value}"'
            tool.requires.append(RuleSheet(fields=fields, remark=f"guess, from its description: {sentence_}"))
            break
    for arg, kind in addressed[:1]:
        if kind in readable:
            fields = {"id": f"{kind}-read", "known": kind}
            tool.requires.append(RuleSheet(fields=fields, remark=f"guess: the {kind} was read before, by that `{arg}`"))
    switch = switch_of(list(args), properties_of(spec))
    same = [a for a, (_, free) in args.items() if a != switch and not free]
    if switch is not None and same:
        fields = {"id": "previewed", "previewed": same}
        remark = "guess: commit only what a preview of the same arguments showed"
        tool.requires.append(RuleSheet(fields=fields, remark=remark))
    if spec.destructive:
        tool.remarks.append("decide: it destroys; should a person approve each call? `needs_approval: any`")
    if spec.idempotent:
        tool.remarks.append("its declaration says that repeating a call changes nothing more")
