"""Reading YAML and JSON text into plain exact values, with the place of every field.

The YAML read here is the plain part of it: one document, mappings with unique string keys, lists, and scalars in the
YAML 1.2 core reading (`no` and `on` are words, `10000.00` is an exact decimal, a date is a string). Anchors, aliases,
merge keys and tags are refused: a contract says what it says where it says it, and nothing can expand.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from typing import Any, Final

import yaml

from tallystick.errors import ContractError, InputError, Problem
from tallystick.model import jsontext

MAX_BYTES: Final = 1_000_000
"""Largest contract or task text read."""
MAX_DEPTH: Final = 64
"""Deepest nesting read; contracts need about ten levels, JSON Schemas inside them some more."""
Path = tuple[str | int, ...]
_INTEGER: Final = re.compile(r"[-+]?(0|[1-9][0-9]*)")
_DECIMAL: Final = re.compile(r"[-+]?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?")
_WORDS: Final[dict[str, Any]] = {
    "": None, "~": None, "null": None, "Null": None, "NULL": None,
    "true": True, "True": True, "TRUE": True, "false": False, "False": False, "FALSE": False,
}  # fmt: skip
Mark = tuple[int, int]


@dataclass(slots=True)
class Text:
    """A read text: its plain value, and where each value and each key stands (1-based line and column).

    `inline` holds the places of scalars written on one line, where an offset into the value is an offset in the line.
    """

    value: Any
    marks: dict[Path, Mark] = field(default_factory=dict)
    keys: dict[Path, Mark] = field(default_factory=dict)
    inline: dict[Path, Mark] = field(default_factory=dict)


def decode(raw: bytes | str, source: str | None) -> str:
    """Return the text of `raw`.

    Raises:
        ContractError: too large, not UTF-8, or with a NUL or another character YAML does not allow.
    """
    if len(raw) > MAX_BYTES:
        raise _error(f"the text has {len(raw)} bytes; at most {MAX_BYTES} are read", source)
    if isinstance(raw, str):
        return raw
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as bad:
        line = raw[: bad.start].count(b"\n") + 1
        column = bad.start - (raw.rfind(b"\n", 0, bad.start) + 1) + 1
        raise _error(f"not UTF-8 at byte {bad.start}", source, (line, column), "save the file as UTF-8") from None


def read(text: str, source: str | None = None) -> Text:
    """Return what a YAML (or JSON) text says.

    Raises:
        ContractError: not the YAML described above; the problem names line and column.
    """
    if text.lstrip()[:1] == "{":
        try:
            return Text(jsontext.loads(text))
        except InputError:
            pass  # a YAML flow mapping, or broken JSON, which the YAML reader places by line and column
    try:
        return _Composer(source).compose(text)
    except yaml.MarkedYAMLError as bad:
        mark = bad.problem_mark or bad.context_mark
        place = (mark.line + 1, mark.column + 1) if mark else (1, 1)
        words = " ".join(str(part) for part in (bad.context, bad.problem) if part)
        fix = "indent with spaces" if "'\\t'" in words else None
        if "mapping values are not allowed" in words:
            fix = "put text that contains `: ` in quotes"
        elif "flow" in words:
            fix = "inside `{…}` and `[…]`, put text with any of `, ? : [ ] { } #` in quotes"
        raise _error(f"not YAML: {words[:300]}", source, place, fix) from None
    except yaml.YAMLError as bad:
        position = getattr(bad, "position", 0)
        before = text[: position if isinstance(position, int) else 0]
        place = (before.count("\n") + 1, len(before) - (before.rfind("\n") + 1) + 1)
        words = str(bad).splitlines()[0] if str(bad) else "unreadable"
        raise _error(f"not YAML: {words[:300]}", source, place) from None
    except RecursionError:
        raise _error(f"nested deeper than {MAX_DEPTH} levels", source) from None


def places(text: str) -> Text | None:
    """Return where the fields of a JSON text stand, or `None` where it cannot be told."""
    try:
        return _Composer(None).compose(text)
    except (yaml.YAMLError, ContractError, RecursionError):
        return None


def _error(message: str, source: str | None, place: Mark = (1, 1), fix: str | None = None) -> ContractError:
    return ContractError(
        (Problem(line=place[0], column=place[1], pointer="", message=message, fix=fix),), source=source
    )


def _sayable(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _number(text: str) -> Decimal | None:
    """Return the number, or None where it is longer than anybody means or its exponent is (`jsontext` says why)."""
    try:
        number = Decimal(text) if len(text) <= 4_000 else None
    except InvalidOperation:
        return None
    return number if number is not None and abs(number.adjusted()) <= 400 else None


def _place(event: yaml.Event) -> Mark:
    mark = event.start_mark
    return (mark.line + 1, mark.column + 1) if mark is not None else (1, 1)


class _Composer:
    """Builds values from YAML events with its own stack, so that depth is checked before anything recurses."""

    def __init__(self, source: str | None) -> None:
        self.source = source
        self.out = Text(None)
        self.stack: list[tuple[Any, Path]] = []
        self.key: str | None = None  # the key read and waiting for its value, in the mapping on top of the stack
        self.waiting: list[str | None] = []

    def fail(self, message: str, event: yaml.Event, fix: str | None = None) -> ContractError:
        return _error(message, self.source, _place(event), fix)

    def compose(self, text: str) -> Text:
        documents = 0
        for event in yaml.parse(text, Loader=yaml.SafeLoader):
            if isinstance(event, yaml.DocumentStartEvent):
                documents += 1
                if documents > 1:
                    raise self.fail("a second document", event, "one file holds one contract; drop the `---`")
            elif isinstance(event, yaml.AliasEvent):
                raise self.fail(f"an alias `*{event.anchor}`", event, "write the value out; aliases are not expanded")
            elif isinstance(event, yaml.NodeEvent):
                self.node(event)
            elif isinstance(event, (yaml.MappingEndEvent, yaml.SequenceEndEvent)):
                self.stack.pop()
                self.key = self.waiting.pop()
        return self.out

    def node(self, event: yaml.NodeEvent) -> None:
        if isinstance(event, yaml.ScalarEvent) and not _sayable(event.value):
            raise self.fail("a string holds a lone surrogate", event, "replace it; it stands for no character")
        anchor, tag = getattr(event, "anchor", None), getattr(event, "tag", None)
        if anchor is not None:
            raise self.fail(f"an anchor `&{anchor}`", event, "write the value where it is needed")
        if tag is not None and tag != "!":
            raise self.fail(f"a tag `{tag}`", event, "write a plain value")
        parent = self.stack[-1] if self.stack else None
        if parent is not None and isinstance(parent[0], dict) and self.key is None:
            self.set_key(event, *parent)
            return
        path = self.place(parent)
        self.out.marks[path] = _place(event)
        value: Any
        if isinstance(event, yaml.ScalarEvent):
            value = self.scalar(event, path)
        else:
            if len(self.stack) >= MAX_DEPTH:
                raise self.fail(f"nested deeper than {MAX_DEPTH} levels", event)
            value = {} if isinstance(event, yaml.MappingStartEvent) else []
        if parent is None:
            self.out.value = value
        elif isinstance(parent[0], dict):
            parent[0][self.key] = value
            self.key = None
        else:
            parent[0].append(value)
        if not isinstance(event, yaml.ScalarEvent):
            self.stack.append((value, path))
            self.waiting.append(self.key)
            self.key = None

    def place(self, parent: tuple[Any, Path] | None) -> Path:
        if parent is None:
            return ()
        holder, path = parent
        if isinstance(holder, dict):
            assert self.key is not None
            return (*path, self.key)
        return (*path, len(holder))

    def set_key(self, event: yaml.NodeEvent, holder: dict[str, Any], path: Path) -> None:
        if not isinstance(event, yaml.ScalarEvent):
            raise self.fail("a key that is not a plain name", event)
        key = event.value
        if key == "<<" and event.implicit[0]:
            raise self.fail("a merge key `<<`", event, "write the fields out; nothing is merged")
        if key in holder:
            first = self.out.keys[(*path, key)][0]
            raise self.fail(f"the key `{key[:60]}` appears twice (first on line {first})", event, "keep one of them")
        self.out.keys[(*path, key)] = _place(event)
        self.key = key

    def scalar(self, event: yaml.ScalarEvent, path: Path) -> Any:
        text, (line, column) = str(event.value), _place(event)
        one_line = event.end_mark is not None and event.end_mark.line + 1 == line
        if one_line and event.style in (None, "'", '"'):
            self.out.inline[path] = (line, column if event.style is None else column + 1)
        if event.style is not None:
            return text
        if text in _WORDS:
            return _WORDS[text]
        if _INTEGER.fullmatch(text):
            if len(text) > 4_000:
                raise self.fail(f"a number of {len(text)} digits", event)
            return int(text)
        if _DECIMAL.fullmatch(text):
            number = _number(text)
            if number is None:
                raise self.fail("a number out of range", event)
            return number
        if text.lower() in (".nan", ".inf", "-.inf", "+.inf"):
            raise self.fail(f"`{text}` is not a number", event)
        return text
