"""What is declared about tools: MCP `tools/list`, OpenAI and Anthropic tool lists, bare JSON Schemas, as `ToolSpec`.

OpenAPI documents are read by `openapi`. Nothing is fetched; a `$ref` is followed only inside its own document.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final

from tallystick.contracts.yamltext import read as read_yaml
from tallystick.drafting.openapi import is_openapi, operations
from tallystick.drafting.spec import ToolSpec
from tallystick.errors import ContractError, InputError
from tallystick.model import jsontext

MAX_SOURCE: Final = 50_000_000
"""Largest source read, in bytes."""
_SCHEMA_KEYS: Final = ("inputSchema", "parameters", "input_schema")
_SCHEMA_WORDS: Final = frozenset({"$schema", "properties", "required", "additionalProperties", "$defs"})


@dataclass(frozen=True, kw_only=True)
class Source:
    """A file read: a name for the contract, its tools, and what to tell the reader about it."""

    title: str
    tools: tuple[ToolSpec, ...]
    notes: tuple[str, ...] = field(default=())


def read_source(path: str | Path) -> Source:
    """Return the tools a file declares.

    Raises:
        InputError: it cannot be read, is no JSON (or YAML, for OpenAPI), or declares no tool.
    """
    file = Path(path)
    try:
        if not file.is_file():
            raise InputError("not a file", where=str(file), fix="name a JSON file of tools, or an OpenAPI document")
        if file.stat().st_size > MAX_SOURCE:
            raise InputError(f"a source of more than {MAX_SOURCE:,} bytes", where=str(file))
        raw = file.read_bytes()
    except OSError as bad:
        raise InputError(f"cannot be read: {(bad.strerror or str(bad)).lower()}", where=str(file)) from None
    return source_of(_value(raw, file), file.stem, str(file))


def _value(raw: bytes, file: Path) -> Any:
    if not raw.strip():
        raise InputError("the file is empty", where=str(file))
    if file.suffix.lower() not in (".yaml", ".yml"):
        return jsontext.loads(raw, where=str(file))
    try:
        return read_yaml(raw.decode("utf-8"), str(file)).value
    except UnicodeDecodeError:
        raise InputError("not UTF-8", where=str(file), fix="save the file as UTF-8") from None
    except ContractError as bad:
        first = bad.problems[0]
        raise InputError(f"line {first.line}: {first.message}", where=str(file), fix=first.fix) from None


def source_of(value: Any, name: str, where: str) -> Source:
    """Return the tools that a parsed document declares.

    Args:
        value: the document.
        name: what to call a tool or contract that has no name of its own.
        where: what to call the document in messages.

    Raises:
        InputError: it declares no tool, or one twice in different ways.
    """
    if is_openapi(value):
        found = operations(value, where)
        title = value.get("info", {}).get("title") if isinstance(value.get("info"), Mapping) else None
        return _source(title if isinstance(title, str) else name, found, where, [])
    holder = value.get("result") if isinstance(value, Mapping) and isinstance(value.get("result"), Mapping) else value
    notes = []
    writes: list[Any] | None = None
    listed: Any = holder if isinstance(holder, list) else None
    title = name
    if isinstance(holder, Mapping):
        listed = holder.get("tools")
        writes = holder.get("write_tools") if isinstance(holder.get("write_tools"), list) else None
        title = holder["domain"] if isinstance(holder.get("domain"), str) else name
        if holder.get("nextCursor"):
            notes.append("the list has a `nextCursor`: it goes on, and the tools of later pages are not here")
        if listed is None and _named(holder):
            listed = [holder]
        elif listed is None and _is_schema(holder):
            stated = holder.get("title")
            listed = [{"name": stated if isinstance(stated, str) and stated else name, "inputSchema": holder}]
    if not isinstance(listed, list) or not listed:
        raise InputError(
            "no tools are declared here",
            where=where,
            fix="an MCP `tools/list` result, a list of tool definitions, an OpenAPI 3 document or a JSON Schema",
        )
    tools = []
    for i, item in enumerate(listed):
        spec = _spec(item, writes)
        if spec is None:
            raise InputError(f"entry {i + 1} of the tools has no name", where=where, fix='give each tool a "name"')
        tools.append(spec)
    return _source(title, tools, where, notes)


def _source(title: str, tools: list[ToolSpec], where: str, notes: list[str]) -> Source:
    merged = merge([(tool, where) for tool in tools])
    return Source(title=title, tools=tuple(merged.values()), notes=tuple(notes))


def merge(tools: list[tuple[ToolSpec, str]]) -> dict[str, ToolSpec]:
    """Return the tools by name.

    Raises:
        InputError: one name stands for two different tools.
    """
    found: dict[str, ToolSpec] = {}
    for tool, where in tools:
        if found.setdefault(tool.name, tool) != tool:
            raise InputError(
                f"two different tools are called `{tool.name[:80]}`", where=where, fix="draft them separately"
            )
    return found


def _named(value: Mapping[str, Any]) -> bool:
    inner = value.get("function") if isinstance(value.get("function"), Mapping) else value
    return isinstance(inner, Mapping) and isinstance(inner.get("name"), str) and (
        inner is not value or any(isinstance(value.get(k), Mapping) for k in _SCHEMA_KEYS)
    )  # fmt: skip


def _is_schema(value: Mapping[str, Any]) -> bool:
    return bool(_SCHEMA_WORDS & value.keys()) or value.get("type") == "object"


def _spec(item: Any, writes: list[Any] | None) -> ToolSpec | None:
    if not isinstance(item, Mapping):
        return None
    inner = item["function"] if isinstance(item.get("function"), Mapping) else item
    name = inner.get("name")
    if not isinstance(name, str) or not name:
        return None
    schema: Mapping[str, Any] = next((inner[k] for k in _SCHEMA_KEYS if isinstance(inner.get(k), Mapping)), {})
    output = inner.get("outputSchema")
    hints = item.get("annotations")
    annotations: Mapping[str, Any] = hints if isinstance(hints, Mapping) else {}
    described = inner.get("description")
    spec = ToolSpec(
        name=name,
        description=described if isinstance(described, str) else "",
        schema=schema,
        output=output if isinstance(output, Mapping) else None,
        idempotent=annotations.get("idempotentHint") is True,
        destructive=annotations.get("destructiveHint") is True,
    )
    if writes is not None:
        return replace(spec, writes=name in writes, because="`write_tools` names those that write")
    hint = annotations.get("readOnlyHint")
    if isinstance(hint, bool):
        return replace(spec, writes=not hint, because=f"its annotations say `readOnlyHint: {str(hint).lower()}`")
    if spec.destructive:
        return replace(spec, writes=True, because="its annotations say `destructiveHint: true`")
    return spec


def read_sources(paths: list[Path]) -> tuple[str, dict[str, ToolSpec], list[str]]:
    """Return (title of the first, tools by name, notes) of several files.

    Raises:
        InputError: a file cannot be used, or two declare different tools of one name.
    """
    sources = [(read_source(path), str(path)) for path in paths]
    tools = merge([(tool, where) for source, where in sources for tool in source.tools])
    notes = [f"{where}: {note}" for source, where in sources for note in source.notes]
    return sources[0][0].title, tools, notes
