"""Writing a sheet as the YAML a person reads and edits: the order, the spacing and the quoting of `examples/`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Final

from tallystick.drafting.sheet import Line, RuleSheet, Sheet, ToolSheet, YieldSheet
from tallystick.model.plaintext import printable

WIDTH: Final = 120
_COLUMN: Final = 38
"""Where a remark starts, if the line is short enough."""
_PLAIN: Final = re.compile(r"[A-Za-z_/(][A-Za-z0-9_/().*+=<>|&!\"'~$%^ -]*")
_WORDS: Final = frozenset({"null", "true", "false", "yes", "no", "on", "off"})
_ORDER: Final = (
    "effect", "args", "target", "bind", "complete", "once_per", "undone_by", "idempotency_arg",
    "ok", "no_effect", "pending", "echoes", "settle",
)  # fmt: skip


def write(sheet: Sheet) -> str:
    """Return the contract as text."""
    return "\n".join(line.rstrip() for line in _lines(sheet)) + "\n"


def scalar(value: Any, *, flow: bool = True) -> str:
    """Return a scalar as YAML. Text is plain where that reads as the same text, else quoted."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if not isinstance(value, str):
        return str(value)
    plain = _PLAIN.fullmatch(value) and value.lower() not in _WORDS and " #" not in value and value == value.strip()
    if plain or (not flow and value and re.fullmatch(r"[A-Za-z_/(][^:#\\]*", value) and value.isprintable()
                 and value == value.strip() and value.lower() not in _WORDS):  # fmt: skip
        return value
    if value.isprintable() and "'" not in value:
        return f"'{value}'"
    return '"' + "".join(_escaped(c) for c in value) + '"'


def _escaped(char: str) -> str:
    if char in ('"', "\\"):
        return f"\\{char}"
    # JSON's pairs of surrogates would be two characters to YAML.
    return char if char.isprintable() else f"\\U{ord(char):08x}"


def inline(value: Any) -> str:
    """Return a value on one line, as a YAML flow value."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{scalar(k)}: {inline(v)}" for k, v in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(inline(v) for v in value) + "]"
    return scalar(value)


def _lines(sheet: Sheet) -> Iterator[str]:
    for text in sheet.intro:
        yield from remark(text, "")
    yield f"contract: {scalar(sheet.name, flow=False)}"
    if sheet.entities:
        yield from ("", "entities:")
        for kind, fields in sheet.entities.items():
            yield from _entity(kind, fields)
    if sheet.tools:
        yield from ("", "tools:")
        before: bool | None = None
        for tool in sheet.ordered():
            if before is None or tool.writes != before:
                if before is not None:
                    yield ""
                yield "  # ---- writes" if tool.writes else "  # ---- reads"
            elif tool.writes or tool.intro:
                yield ""
            before = tool.writes
            yield from _tool(tool)
    if sheet.exclusive:
        live = any(rule.in_force for rule in sheet.exclusive)
        yield from ("", "exclusive:" if live else "# exclusive:")
        for rule in sheet.exclusive:
            yield from _rule(rule, "  ")


def _entity(kind: str, fields: Mapping[str, Line]) -> Iterator[str]:
    flat = f"  {kind}: " + inline({name: line.value for name, line in fields.items()})
    if len(flat) <= WIDTH and not any(line.remark for line in fields.values()):
        yield flat
        return
    yield f"  {kind}:"
    for name, line in fields.items():
        yield from _remarked(f"    {name}: {scalar(line.value, flow=False)}", line.remark)


def _tool(tool: ToolSheet) -> Iterator[str]:
    if tool.intro:
        yield from remark(tool.intro, "  ")
    yield f"  {scalar(tool.name)}:"
    for name in (*_ORDER, *(n for n in tool.lines if n not in _ORDER)):
        line = tool.lines.get(name)
        if line is not None:
            yield from _field(name, line)
    if tool.yields:
        yield from _yields(tool.yields)
    for text in tool.remarks:
        yield from remark(text, "    ")
    if tool.requires:
        live = any(rule.in_force for rule in tool.requires)
        yield "    requires:" if live else "    # requires:"
        for rule in tool.requires:
            yield from _rule(rule, "      ")


def _field(name: str, line: Line) -> Iterator[str]:
    head = f"    {name}: "
    if isinstance(line.value, Mapping):
        yield from _wrapped(head, line.value, line.remark)
    elif isinstance(line.value, (list, tuple)):
        yield from _remarked(head + inline(line.value), line.remark)
    else:
        yield from _remarked(head + scalar(line.value, flow=False), line.remark)


def _yields(rules: list[YieldSheet]) -> Iterator[str]:
    yield "    yields:"
    for kind in dict.fromkeys(rule.kind for rule in rules):
        mine = [rule for rule in rules if rule.kind == kind]
        if len(mine) == 1:
            yield from _wrapped(f"      {kind}: ", _yield(mine[0]), "")
            continue
        yield f"      {kind}:"
        for rule in mine:
            yield from _wrapped("        - ", _yield(rule), "")


def _yield(rule: YieldSheet) -> dict[str, str]:
    where = {"at": rule.at} if rule.at else {}
    return {**where, "id": rule.id, **rule.fields}


def _rule(rule: RuleSheet, indent: str) -> Iterator[str]:
    if rule.remark:
        yield from remark(rule.remark, indent)
    off = "" if rule.in_force else "# "
    flat = f"{indent}{off}- {inline(rule.fields)}"
    if len(flat) <= WIDTH:
        yield flat
        return
    first = True
    for name, value in rule.fields.items():
        text = inline(value) if isinstance(value, (Mapping, list, tuple)) else scalar(value, flow=False)
        yield f"{indent}{off}{'- ' if first else '  '}{name}: {text}"
        first = False


def _wrapped(head: str, value: Mapping[str, Any], note: str) -> Iterator[str]:
    """Yield a flow mapping, broken between members where it is too long for a line."""
    whole = head + inline(value)
    if len(whole) <= WIDTH:
        yield from _remarked(whole, note)
        return
    if note:
        yield from remark(note, " " * (len(head) - len(head.lstrip())))
    here = head + "{"
    indent = " " * len(here)
    last = len(value) - 1
    for i, (name, item) in enumerate(value.items()):
        piece = f"{scalar(name)}: {inline(item)}" + ("}" if i == last else ", ")
        if len(here) + len(piece.rstrip()) > WIDTH and here.strip() not in ("", "{"):
            yield here
            here = indent
        here += piece
    yield here


def _remarked(line: str, note: str) -> Iterator[str]:
    if not note:
        yield line
        return
    text = _tidy(note)
    beside = f"{line:<{_COLUMN - 2}}  # {text}"
    if len(beside) <= WIDTH:
        yield beside
        return
    yield from remark(text, " " * (len(line) - len(line.lstrip())))
    yield line


def remark(text: str, indent: str) -> Iterator[str]:
    """Yield `text` as comment lines, wrapped between words."""
    room = WIDTH - len(indent) - 2
    here = ""
    for given in _tidy(text).split(" "):
        word = given if len(given) <= room else given[: room - 1] + "…"
        if here and len(here) + 1 + len(word) > room:
            yield f"{indent}# {here}"
            here = word
        else:
            here = f"{here} {word}" if here else word
    yield f"{indent}# {here}" if here else f"{indent}#"


def _tidy(text: str) -> str:
    # Foreign words end up in comments; a line break there would end the comment.
    return printable(" ".join(text.encode("utf-8", "replace").decode("utf-8").split()))
