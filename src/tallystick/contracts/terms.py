"""The functions of the derivation language: what each takes and gives, and when two derivations are the same.

A derivation is a term: sources (`TOOL./POINTER where …`), facts (CEL), and functions over them. Types flow from the
answer slot inwards: `difference(a, b)` in a slot of money asks for two amounts of money. There are no loops and no
names, so evaluation ends; its bounds are in `gates.certify.evaluate`.
Source: evidence-carrying termination, "Certificate" (the derivation language) and check 6 (exact transform).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from typing import Any, Final, Literal

from tallystick.contracts.expr import parse
from tallystick.contracts.expr.syntax import Node
from tallystick.contracts.types import Apply, Constant, Facts, Source, Term
from tallystick.model.jsontext import dumps
from tallystick.model.values import Type

MAX_TEXT: Final = 4_000
"""Longest derivation, in characters."""
MAX_DEPTH: Final = 16
"""Deepest nesting of functions."""
MAX_TERMS: Final = 64
"""Most sources, facts, constants and functions of one derivation."""

Takes = Literal["values", "terms", "option", "members"]


@dataclass(frozen=True, slots=True)
class Function:
    """One function.

    Attributes:
        takes: values: all values of one source (or, from two arguments on where `several`, one value of each term);
            terms: one value of each term; option: a term and a time or zone in quotes; members: `name: term`.
        least: fewest terms; most: most terms.
        several: an aggregate that may also be taken over two terms and more.
        complete: over a source that lists things, it needs all of them, so the read must be complete.
        free: the order of its terms makes no difference.
    """

    takes: Takes
    least: int = 1
    most: int = 1
    several: bool = False
    complete: bool = False
    free: bool = False


_MANY: Final = MAX_TERMS
FUNCTIONS: Final[dict[str, Function]] = {
    "identity": Function("values"),
    "first": Function("values"),
    "last": Function("values"),
    "lookup": Function("values"),
    "sum": Function("values", most=_MANY, several=True, complete=True, free=True),
    "min": Function("values", most=_MANY, several=True, complete=True, free=True),
    "max": Function("values", most=_MANY, several=True, complete=True, free=True),
    "count": Function("values", complete=True),
    "list": Function("values", complete=True),
    "set": Function("values", complete=True),
    "difference": Function("terms", 2, 2),
    "union": Function("terms", 2, _MANY, free=True),
    "intersect": Function("terms", 2, _MANY, free=True),
    "minus": Function("terms", 2, 2),
    "days": Function("terms", 2, 2),
    "after": Function("option"),
    "before": Function("option"),
    "day": Function("option"),
    "record": Function("members", 1, _MANY),
}
SETS: Final = frozenset({"union", "intersect", "minus"})
"""Functions over sets; a source among their terms stands for the set of its values."""
_NUMBERS: Final = ("integer", "decimal", "money", "quantity")
_ORDERED: Final = (*_NUMBERS, "instant", "date")
_JSON: Final = Type(name="json")
_DATE: Final = Type(name="date")
_INSTANT: Final = Type(name="instant")


def operands(term: Apply, wanted: Type) -> tuple[Type, ...]:
    """Return the types of a function's terms where its value must have type `wanted`.

    Raises:
        ValueError: it gives no value of that type.
    """
    name, many = term.function, len(term.args)
    if name in ("identity", "first", "last", "lookup"):
        return (wanted,)
    if name == "record":
        if wanted.name != "record" or set(term.names) != set(wanted.fields):
            raise ValueError(f"this record has the members {', '.join(term.names)}, not those of {wanted}")
        return tuple(wanted.fields[n] for n in term.names)
    inner = replace(wanted, optional=False) if wanted.optional else wanted
    if name in ("list", "set"):
        _given(name, wanted, name, "json")
        return (wanted.item or _JSON,)
    if name in SETS:
        _given(name, wanted, "set")
        return (inner,) * many
    if name == "count":
        _given(name, wanted, "integer", "decimal", "json")
        return (_JSON if isinstance(term.args[0], Source) else Type(name="set", item=_JSON),)
    if name in ("sum", "difference"):
        _given(name, wanted, *_NUMBERS)
        return (inner,) * many
    if name in ("min", "max"):
        _given(name, wanted, *_ORDERED, "string", "id")
        return (inner,) * many
    if name == "days":
        _given(name, wanted, "integer", "decimal")
        return (_DATE, _DATE)
    if name == "day":
        _given(name, wanted, "date")
        return (_INSTANT,)
    _given(name, wanted, "date", "instant")
    if wanted.name == "date" and not term.option.endswith("d"):
        raise ValueError(f"a civil date is moved by whole days, not by {term.option}")
    return (inner,)


def _given(function: str, wanted: Type, *names: str) -> None:
    if wanted.name not in names:
        gives = " or ".join(n for n in names if n != "json")
        raise ValueError(f"`{function}` gives {'a ' if gives[0] not in 'aeio' else 'an '}{gives}, not a {wanted}")


# ---------------------------------------------------------------- the same derivation


def normal(term: Term) -> tuple[Any, ...]:
    """Return the normal form of a term: equal for two terms exactly where they demand the same transform.

    Blanks do not count, nor does the order of terms where it makes no difference; the newest of a tool's answers is
    `last` whether it is written or not. Filters and facts are compared as CEL syntax, not as text.
    """
    if isinstance(term, Source):
        where = None if term.where is None else _syntax(term.where.source)
        return ("source", term.tool, term.pointer, where)
    if isinstance(term, Facts):
        return ("facts", _syntax(term.expr.source))
    if isinstance(term, Constant):
        return ("constant", dumps(term.value))
    inner = [normal(arg) for arg in term.args]
    name, function = term.function, FUNCTIONS[term.function]
    if name == "last" and inner[0][0] == "source" and "*" not in inner[0][2] and inner[0][3] is None:
        name = "identity"
    if name == "record":
        return ("record", *sorted(zip(term.names, inner, strict=True)))
    if function.free and len(inner) > 1:
        flat = [part for i in inner for part in (i[1:-1] if i[0] == name and len(i) > 3 else (i,))]
        inner = sorted(flat, key=repr)
    return (name, *inner, term.option)


@lru_cache(maxsize=1024)
def _syntax(text: str) -> Any:
    return _shape(parse(text))


def _shape(node: Any) -> Any:
    if isinstance(node, tuple):
        return tuple(map(_shape, node))
    if isinstance(node, Node):
        parts = tuple(_shape(getattr(node, f.name)) for f in fields(node) if f.name != "at")
        return (type(node).__name__, *parts)
    return (type(node).__name__, str(node))


def sources(term: Term) -> tuple[tuple[str, Source], ...]:
    """Return (the function that takes its values, source) for every source of a term, in order."""
    if isinstance(term, Apply):
        return tuple(
            pair for arg in term.args for pair in (((term.function, arg),) if isinstance(arg, Source) else sources(arg))
        )
    return (("identity", term),) if isinstance(term, Source) else ()


def facts(term: Term) -> tuple[Facts, ...]:
    """Return the terms over facts inside a term, in order."""
    if isinstance(term, Apply):
        return tuple(f for arg in term.args for f in facts(arg))
    return (term,) if isinstance(term, Facts) else ()


def size(term: Term) -> int:
    """Return how many terms there are in a term, itself included."""
    return 1 + (sum(map(size, term.args)) if isinstance(term, Apply) else 0)


OPTION: Final = re.compile(r"[0-9]{1,6}[smhd]")
"""How `after` and `before` are told by how much."""
