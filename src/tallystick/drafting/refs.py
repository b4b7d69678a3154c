"""Local references of a JSON document (RFC 6901 pointers after `#`), written in. Nothing is ever fetched."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from tallystick.model.pointer import MISSING, resolve, split

ANYTHING: Final[Mapping[str, Any]] = {}
"""The schema that says nothing."""
MAX_DEPTH: Final = 16
"""Deepest nesting of a schema that is looked at."""
MAX_NODES: Final = 200_000
"""Most schemas written out for one document; what comes after counts as "anything"."""
_MANY: Final = ("anyOf", "oneOf")


class Resolver:
    """Follows the references of one document. A schema that contains itself ends in "anything"."""

    def __init__(self, document: Mapping[str, Any]) -> None:
        self._document = document
        self._left = MAX_NODES

    def follow(self, value: Any) -> Mapping[str, Any]:
        """Return an object, through its `$ref` if it has one; `{}` for anything else."""
        return self._follow(value, ())[0]

    def _follow(self, value: Any, inside: tuple[str, ...]) -> tuple[Mapping[str, Any], tuple[str, ...]]:
        while isinstance(value, Mapping) and isinstance(value.get("$ref"), str):
            ref = value["$ref"]
            if ref in inside or not ref.startswith("#"):
                return ANYTHING, inside
            inside = (*inside, ref)
            try:
                value = resolve(self._document, split(ref[1:]))
            except ValueError:
                return ANYTHING, inside
        return (value if isinstance(value, Mapping) and value is not MISSING else ANYTHING), inside

    def schema(self, value: Any) -> Mapping[str, Any]:
        """Return a JSON Schema with its references written in, and the members of `allOf` laid over each other.

        Only what drafting looks at is followed: `properties`, `items`, `anyOf`, `oneOf`, `allOf`.
        """
        return self._schema(value, (), 0)

    def _schema(self, value: Any, inside: tuple[str, ...], depth: int) -> Mapping[str, Any]:
        self._left -= 1
        if depth > MAX_DEPTH or self._left < 0:
            return ANYTHING
        found, inside = self._follow(value, inside)
        here = dict(found)
        parts = here.pop("allOf", None)
        for part in parts if isinstance(parts, list) else ():
            here = _over(here, self._schema(part, inside, depth + 1))
        properties = here.get("properties")
        if isinstance(properties, Mapping):
            here["properties"] = {n: self._schema(s, inside, depth + 1) for n, s in properties.items()}
        if isinstance(here.get("items"), Mapping):
            here["items"] = self._schema(here["items"], inside, depth + 1)
        for name in _MANY:
            if isinstance(here.get(name), list):
                here[name] = [self._schema(s, inside, depth + 1) for s in here[name]]
        return here


def _over(mine: dict[str, Any], other: Mapping[str, Any]) -> dict[str, Any]:
    """Return both schemas as one, for the members that both may have."""
    merged = {**other, **mine}
    for name in ("properties", "required"):
        a, b = mine.get(name), other.get(name)
        if isinstance(a, Mapping) and isinstance(b, Mapping):
            merged[name] = {**b, **a}
        elif isinstance(a, list) and isinstance(b, list):
            merged[name] = [*a, *(n for n in b if n not in a)]
    return merged
