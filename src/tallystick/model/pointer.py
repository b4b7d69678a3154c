"""JSON Pointers (RFC 6901), plus `*` for "every item" in places that say so."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any, Final

MISSING: Final = object()
"""What `resolve` returns when nothing is there; distinct from a JSON null."""
_BAD_ESCAPE: Final = re.compile("~(?![01])")
_INDEX: Final = re.compile("0|[1-9][0-9]{0,17}")


def split(pointer: str) -> tuple[str, ...]:
    """Return the unescaped reference tokens of `pointer` (RFC 6901 section 4). The empty pointer is the whole document.

    Raises:
        ValueError: the pointer is not empty and does not start with `/`, or has a `~` not followed by 0 or 1.
    """
    if pointer == "":
        return ()
    if not pointer.startswith("/"):
        raise ValueError(f"a JSON Pointer starts with `/`, got `{pointer}`")
    tokens = []
    for token in pointer[1:].split("/"):
        if _BAD_ESCAPE.search(token):
            raise ValueError(f"`~` must be written `~0` in the JSON Pointer `{pointer}`")
        tokens.append(token.replace("~1", "/").replace("~0", "~"))
    return tuple(tokens)


@lru_cache(maxsize=4096)
def join(tokens: tuple[str | int, ...]) -> str:
    """Return the JSON Pointer of `tokens`."""
    return "".join("/" + str(t).replace("~", "~0").replace("/", "~1") for t in tokens)


def step(value: Any, token: str) -> Any:
    """Return the member or item of `value` that `token` names, or `MISSING`."""
    if type(value) is dict or isinstance(value, Mapping):  # the first test is much cheaper, and nearly always enough
        return value.get(token, MISSING)
    if isinstance(value, (list, tuple)):
        # RFC 6901 section 4: an array index is 0 or has no leading zero; `-` names no existing item.
        if _INDEX.fullmatch(token):
            index = int(token)
            return value[index] if index < len(value) else MISSING
        return MISSING
    return MISSING


def resolve(value: Any, tokens: tuple[str, ...]) -> Any:
    """Return what `tokens` (from `split`) names inside `value`, or `MISSING`."""
    for token in tokens:
        value = value.get(token, MISSING) if type(value) is dict else step(value, token)
        if value is MISSING:
            return MISSING
    return value


def resolve_each(value: Any, tokens: tuple[str, ...], *, gaps: bool = False) -> Iterator[tuple[str, Any]]:
    """Yield (pointer, value) for every place `tokens` names, where the token `*` stands for every item or member.

    Args:
        value: a JSON value.
        tokens: the place.
        gaps: also yield (pointer, `MISSING`) where the way to a place breaks off: the pointer is of the first thing
            on that way that is not there, or of what should have items and is neither an array nor an object.
    """
    stack: list[tuple[tuple[str, ...], Any, int]] = [((), value, 0)]
    while stack:
        path, here, at = stack.pop()
        if at == len(tokens):
            yield join(path), here
            continue
        token = tokens[at]
        if token == "*" and isinstance(here, (list, tuple)):
            stack.extend(((*path, str(i)), item, at + 1) for i, item in reversed(list(enumerate(here))))
        elif token == "*" and isinstance(here, Mapping):
            stack.extend(((*path, k), item, at + 1) for k, item in reversed(list(here.items())))
        else:
            found = step(here, token)
            if found is not MISSING:
                stack.append(((*path, token), found, at + 1))
            elif gaps:
                yield join(path if token == "*" else (*path, token)), MISSING


def leaves(value: Any) -> Iterator[tuple[tuple[str | int, ...], Any]]:
    """Yield (path, value) for everything in a JSON value that is no object and no array, in order."""
    stack: list[tuple[tuple[str | int, ...], Any]] = [((), value)]
    while stack:
        path, here = stack.pop()
        if isinstance(here, Mapping):
            stack.extend(((*path, name), item) for name, item in reversed(list(here.items())))
        elif isinstance(here, (list, tuple)):
            stack.extend(((*path, i), here[i]) for i in reversed(range(len(here))))
        else:
            yield path, here
