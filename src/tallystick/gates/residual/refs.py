"""Source bindings: `{"$from": SOURCE, "$at": POINTER}` anywhere inside a value stands for what a source says there.

A dict that really has a member `$from` is written with one more `$` (`$$from` stands for `$from`, `$$$from` for
`$$from`), so that every value can be written and no value is taken for a reference.
Source: residual completion, section 3.3, step 2: dynamic arguments bind to their source, not to a proposal-time value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from tallystick.errors import InputError
from tallystick.model.pointer import MISSING, resolve, split
from tallystick.model.residual import AT, FROM
from tallystick.view import View

Path = tuple[str | int, ...]
TASK: Final = "task"
"""The source that is the task's inputs."""
_NAME: Final = FROM.removeprefix("$")


@dataclass(frozen=True, slots=True)
class Ref:
    """What a reference names: a source, and a place in it."""

    source: str
    at: str = ""

    @property
    def tokens(self) -> tuple[str, ...]:
        """The place, as pointer tokens."""
        return split(self.at)

    def written(self) -> dict[str, str]:
        """Return the reference as a proposal writes it."""
        return {FROM: self.source, AT: self.at}


def ref_of(value: Any) -> Ref | None:
    """Return the reference a value is, or None where it is data.

    Raises:
        InputError: a dict with `$from` that is no well-formed reference.
    """
    if not isinstance(value, Mapping) or FROM not in value:
        return None
    source, at = value[FROM], value.get(AT, "")
    if not isinstance(source, str) or not isinstance(at, str) or not value.keys() <= {FROM, AT}:
        raise InputError(
            "not a reference", where=FROM, fix='{"$from": SOURCE, "$at": JSON POINTER}, or `$$from` for data'
        )
    try:
        split(at)
    except ValueError as bad:
        raise InputError(str(bad), where=AT, fix="a JSON Pointer (RFC 6901)") from None
    return Ref(source, at)


def refs_in(value: Any, path: Path = ()) -> Iterator[tuple[Path, Ref]]:
    """Yield (path, reference) for every reference inside a value, in order.

    Raises:
        InputError: as `ref_of`.
    """
    ref = ref_of(value)
    if ref is not None:
        yield path, ref
    elif isinstance(value, Mapping):
        for name, item in value.items():
            yield from refs_in(item, (*path, name))
    elif isinstance(value, (list, tuple)):
        for i, item in enumerate(value):
            yield from refs_in(item, (*path, i))


def literals_in(value: Any, path: Path = ()) -> Iterator[tuple[Path, Any]]:
    """Yield (path, scalar) for everything inside a value that is neither a reference nor a container."""
    if ref_of(value) is not None:
        return
    if isinstance(value, Mapping):
        for name, item in value.items():
            yield from literals_in(item, (*path, name))
    elif isinstance(value, (list, tuple)):
        for i, item in enumerate(value):
            yield from literals_in(item, (*path, i))
    else:
        yield path, value


def plain(value: Any, look: Callable[[Ref], Any]) -> Any:
    """Return a value with every reference replaced by what `look` says of it, and the escapes taken off."""
    ref = ref_of(value)
    if ref is not None:
        return look(ref)
    if isinstance(value, Mapping):
        return {_unescaped(name): plain(item, look) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item, look) for item in value]
    return value


def rewritten(value: Any, scalar: Callable[[Path, Any], Any], path: Path = ()) -> Any:
    """Return a value, references and escapes as they stand, with every literal scalar replaced."""
    if ref_of(value) is not None:
        return value
    if isinstance(value, Mapping):
        return {name: rewritten(item, scalar, (*path, name)) for name, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [rewritten(item, scalar, (*path, i)) for i, item in enumerate(value)]
    return scalar(path, value)


def names_in(value: Any, path: Path = ()) -> Iterator[tuple[Path, str]]:
    """Yield (path, name) for every member name inside a value that is data, escapes taken off."""
    if ref_of(value) is not None:
        return
    if isinstance(value, Mapping):
        for name, item in value.items():
            yield path, _unescaped(name)
            yield from names_in(item, (*path, name))
    elif isinstance(value, (list, tuple)):
        for i, item in enumerate(value):
            yield from names_in(item, (*path, i))


def _unescaped(name: str) -> str:
    return name[1:] if name.startswith("$$") and name.lstrip("$") == _NAME else name


def receipt_says(view: View, ref: Ref) -> Any:
    """Return what a live receipt says at a place, or `MISSING`."""
    receipt = view.index.receipt_by_id.get(ref.source)
    return resolve(receipt.value, ref.tokens) if receipt is not None and receipt.good else MISSING
