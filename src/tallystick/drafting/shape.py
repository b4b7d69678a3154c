"""What JSON Schemas say, in the contract's words: types of arguments, and the records inside results."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from tallystick.audit.step import is_id_name
from tallystick.audit.tools import words_of
from tallystick.drafting.sheet import kind_name, singular
from tallystick.model.pointer import join

AMOUNTS: Final = frozenset(
    {"amount", "balance", "charge", "cost", "credit", "deposit", "due", "fee", "fare", "paid", "payment", "price",
     "refund", "salary", "subtotal", "sum", "tax", "total"}
)  # fmt: skip
_ENVELOPES: Final = frozenset(
    {"data", "result", "results", "items", "records", "response", "value", "values", "content"}
)
"""Member names that say that something is inside, not what."""
_CODES: Final = (("number",), ("no",), ("ref",), ("reference",), ("code",), ("sku",), ("iban",))
_MAX_DEPTH: Final = 6


def is_amount(name: str) -> bool:
    """Return whether a name says that a number is an amount of money."""
    return words_of(name)[-1:] != () and words_of(name)[-1] in AMOUNTS


def type_text(name: str, schema: Mapping[str, Any]) -> str:
    """Return the contract type of a value called `name`, without `optional`."""
    return _type(name, schema)[0]


def nullable(schema: Mapping[str, Any]) -> bool:
    """Return whether a schema also takes null."""
    return _type("", schema)[1]


def _type(name: str, schema: Mapping[str, Any], depth: int = 0) -> tuple[str, bool]:
    stated = schema.get("type")
    if isinstance(stated, list):
        others = [t for t in stated if t != "null"]
        text = _type(name, {**schema, "type": others[0]}, depth)[0] if len(others) == 1 else "json"
        return text, "null" in stated
    for many in ("anyOf", "oneOf"):
        options = schema.get(many)
        if stated is None and isinstance(options, list) and options:
            inner = [o for o in options if isinstance(o, Mapping)]
            others = [o for o in inner if o.get("type") != "null"]
            text = _type(name, others[0], depth)[0] if len(others) == 1 else "json"
            return text, len(others) < len(inner)
    if stated is None and isinstance(schema.get("enum"), list):
        words = all(isinstance(v, str) for v in schema["enum"])
        return ("string" if words else "json"), False
    if stated == "array":
        items = schema.get("items")
        if not isinstance(items, Mapping) or depth > 2:
            return "list(json)", False
        return f"list({_type(name, items, depth + 1)[0]})", False
    if stated == "string":
        known = {"date": "date", "date-time": "instant", "uuid": "id"}.get(str(schema.get("format")))
        return known or ("id" if is_id_name(name) and "enum" not in schema else "string"), False
    if stated == "integer":
        return ("id" if is_id_name(name) else "integer"), False
    return {"number": "decimal", "boolean": "boolean"}.get(str(stated), "json"), False


@dataclass(kw_only=True)
class Record:
    """A kind of record inside a result: where it is, where its id is in it, and its other plain fields."""

    kind: str
    at: tuple[str, ...]
    id: tuple[str, ...]
    fields: dict[str, tuple[str, str]] = field(default_factory=dict)  # name → (pointer, type)


def id_base(name: str) -> str:
    """Return what an id names: `order_id` an order, `bookingId` a booking; empty for a plain `id`."""
    words = words_of(name)
    if words and words[-1] in ("id", "ids", "uuid", "guid", "number", "no", "ref", "reference", "code", "key"):
        return "_".join(words[:-1])
    return "" if name.lower() == "id" else "_".join(words)


def records(schema: Mapping[str, Any], noun: str) -> Iterator[Record]:
    """Yield the records with an id that results of this schema hold.

    Args:
        schema: of the whole result, references written in.
        noun: what the tool is about, for records that are not named by where they are.
    """
    yield from _records(schema, (), noun, 0)


def _records(schema: Mapping[str, Any], at: tuple[str, ...], noun: str, depth: int) -> Iterator[Record]:
    if depth > _MAX_DEPTH:
        return
    items = schema.get("items")
    if schema.get("type") == "array" and isinstance(items, Mapping):
        yield from _records(items, (*at, "*"), noun, depth + 1)
        return
    properties = schema.get("properties")
    if not isinstance(properties, Mapping):
        return
    plain = {n: s for n, s in properties.items() if isinstance(s, Mapping) and "properties" not in s and
             type_text(n, s) != "json" and not type_text(n, s).startswith("list")}  # fmt: skip
    own = own_id(list(plain))
    if own is not None:
        named = id_base(own)
        kind = kind_name(named or noun)
        if kind is not None:
            fields = {n: (join((n,)), type_text(n, s)) for n, s in plain.items() if n != own}
            yield Record(kind=kind, at=at, id=(own,), fields=fields)
    for name, inner in properties.items():
        if isinstance(inner, Mapping):
            words = words_of(name)
            about = noun if not words or name.lower() in _ENVELOPES else singular("_".join(words))
            yield from _records(inner, (*at, name), about, depth + 1)


def own_id(names: list[str]) -> str | None:
    """Return which field of a record is its own id: `id`, else the first `…_id`, else a first field such as a code."""
    if "id" in names:
        return "id"
    for name in names:
        if words_of(name)[-1:] in (("id",), ("uuid",), ("guid",)):
            return name
    return names[0] if names and words_of(names[0])[-1:] in _CODES else None
