"""The act gate's contract of a domain, written from its world and kept as YAML in `contracts/`.

It is standing: it knows tools, records and conditions, and nothing of any case. `python -m tallystick.evals.evidence
contracts` writes the files; a test holds them to what this module writes.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from tallystick.contracts import Contract, parse
from tallystick.evals.evidence.case import SUBMIT
from tallystick.evals.evidence.records import LABEL
from tallystick.evals.evidence.schemas import type_of
from tallystick.evals.evidence.world import Action, Need, ReadTool, World, data, world

_TYPES = {"int": "integer", "money": "money(EUR)", "yes": "boolean", "no": "boolean", "id": "id"}


@cache
def contract(domain: str) -> Contract:
    """Return the domain's contract, from its file."""
    return parse(data(f"contracts/{domain}.yaml"), f"contracts/{domain}.yaml")


def text(domain: str) -> str:
    """Return the text of a domain's contract, as written from its world."""
    return "\n".join(_lines(world(domain))) + "\n"


def _lines(place: World) -> Iterator[str]:
    yield f"# {place.title}: what each action needs established, for the act gate. Written from the domain's world"
    yield f"# (worlds/{place.domain}.yaml) by `python -m tallystick.evals.evidence contracts`; edit that instead."
    yield f"contract: evidence-{place.domain}/1"
    yield ""
    yield "entities:"
    for kind in place.kinds.values():
        alias = next(a.name for a in place.aliases.values() if a.kind == kind.name)
        fields = {kind.id: "id", **{n: _type(place, f"{alias}.{n}", how) for n, how in _fields(place, kind.name)}}
        yield f"  {kind.name}: {_flow(fields)}"
    for action in place.actions.values():
        yield f"  {made(action)}: {_flow({place.kinds['request'].id: 'id'})}"
    yield ""
    yield "tools:"
    for tool in place.reads.values():
        yield from _read(place, tool)
    for action in place.actions.values():
        yield from _write(place, action)
    yield f"  {SUBMIT}:"
    yield "    effect: read          # ends the task with a label and changes nothing"


def _fields(place: World, kind: str) -> Iterator[tuple[str, str]]:
    yield from place.fields_of(kind).items()


def _type(place: World, path: str, how: str) -> str:
    word = how.split(maxsplit=1)[0]
    return _TYPES.get(type_of(place, path) if word in ("same", "ref") else word, "string")


def made(action: Action) -> str:
    """Return the contract's name for what an action makes; records and things made never share a name."""
    return f"made_{action.noun}"


def _flow(values: dict[str, str]) -> str:
    return "{" + ", ".join(f"{k}: {v}" for k, v in values.items()) + "}"


def _read(place: World, tool: ReadTool) -> Iterator[str]:
    kind = place.kinds[tool.kind]
    key = "" if tool.every else tool.by or kind.id
    yield f"  {tool.name}:"
    yield "    effect: read"
    if key:
        yield f"    args: {{{key}: id}}"
    if not tool.lists:
        yield f"    target: {kind.name}(args.{key})"
        yield "    ok: '!has(result.found)'   # a record that was not found states nothing"
    if tool.index:
        return  # an index may be out of date: what it shows is a way to an id, never evidence
    fields = {name: f"/{name}" for name, _ in _fields(place, kind.name)}
    at = {"at": "/records/*"} if tool.lists else {}
    yield f"    yields: {{{kind.name}: {_flow({**at, 'id': f'/{kind.id}', **fields})}}}"


def _write(place: World, action: Action) -> Iterator[str]:
    request = place.kinds["request"].id
    yield f"  {action.name}:"
    yield "    effect: write"
    args = {name: _arg_type(place, path) for name, path in place.arguments(action).items()}
    args.update({f"{noun}_id": "optional id" for noun in place.cites(action)})
    yield f"    args: {_flow(args)}"
    subject = place.kind_of(action.subject) if action.subject else None
    if subject is not None:
        yield f"    target: {subject.name}(args.{subject.id})"
    yield "    bind:"
    for alias in place.entities(action):
        if alias != action.subject:
            entry = place.aliases[alias]
            same = "" if entry.kind == alias else f" as {alias}"
            yield f"      - {entry.kind}({entry.bind}){same}"
    for noun in place.cites(action):
        yield f"      - made_{noun}(args.{noun}_id)"
    yield f"    once_per: [args.{request}{f', args.{subject.id}' if subject else ''}]"
    yield '    ok: result.status == "done"'
    yield "    no_effect: has(result.error)"
    yield f"    echoes: {{{request}: /{request}}}"
    yield "    yields:"
    yield f"      {made(action)}: {{id: /{action.noun}_id, {request}: /{request}}}"
    about = action.subject or ("request" if action.closes else "")
    if about:
        kind = place.kind_of(about)
        names = [*action.sets, *(["version"] if action.subject and "version" in kind.fields else [])]
        fields = {"at": f"/{kind.name}", "id": f"/{kind.id}", **{n: f"/{n}" for n in names}}
        yield f"      {kind.name}: {_flow(fields)}"
    yield "    requires:"
    yield from _requires(place, action)


def _arg_type(place: World, path: str) -> str:
    return _TYPES.get(type_of(place, path), "string")


def _requires(place: World, action: Action) -> Iterator[str]:
    request = place.kinds["request"].id
    if action.subject:
        subject = place.kind_of(action.subject)
        yield "      - id: asked-about      # the request names this very record, by id or by its name"
        yield "        any:"
        yield f"          - {{fact: request.{subject.id} == args.{subject.id}}}"
        yield f"          - {{fact: request.{action.subject}_{LABEL} == {action.subject}.{LABEL}}}"
    for need in action.needs:
        yield f"      - {{id: {need.id}, fact: {_fact(need)}, message: {_quoted(need.words)}}}"
    nouns = place.cites(action)
    for noun in nouns:
        yield f"      - {{id: cites-{noun}, fact: made_{noun}.{request} == args.{request}, when: has(args.{noun}_id)}}"
    if nouns:
        some = " || ".join(f"has(args.{noun}_id)" for noun in nouns)
        yield "      - id: follows-something"
        yield f"        fact: {some}"
        yield "        message: cite what it follows from, by the id that was returned"


def _fact(need: Need) -> str:
    left = f"{need.alias}.{need.field}"
    if need.test == "covers":
        return f"{left} >= args.{need.operand}"
    right = {"is": _literal(need.operand), "arg": f"args.{need.operand}", "same": need.operand}[need.test]
    return _quoted(f"{left} == {right}") if '"' in right else f"{left} == {right}"


def _literal(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else f'"{value}"'


def _quoted(text_: str) -> str:
    return "'" + text_.replace("'", "''") + "'"
