"""The folder a run is kept in: settings as JSON, and records one a line, appended as they come.

A run can be killed while it writes a line; what is cut off is left out when the file is read, and cut off before the
next run goes on, so that its first record does not join it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any, TypeVar

import msgspec

from tallystick.errors import InputError

R = TypeVar("R", bound=msgspec.Struct)


def made(folder: Path) -> Path:
    """Return a folder, made where it is missing.

    Raises:
        InputError: it cannot be made.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as bad:
        raise InputError(f"cannot be made: {bad.strerror}", where=str(folder), fix="name a folder") from None
    return folder


def records(path: Path, kind: type[R], called: str) -> Iterator[R]:
    """Yield the records of a file, one a line; a last line that was cut off is left out.

    Args:
        path: the file.
        kind: what a line is.
        called: what a line is called in an error, with its article: `a reply`.

    Raises:
        InputError: the file cannot be read, or a line is no such record.
    """
    try:
        lines = path.read_bytes().splitlines(keepends=True)
    except OSError as bad:
        raise InputError(f"cannot be read: {bad.strerror}", where=str(path)) from None
    for number, line in enumerate(lines, 1):
        try:
            yield msgspec.json.decode(line, type=kind)
        except msgspec.DecodeError as bad:
            if number == len(lines) and not line.endswith(b"\n"):
                return
            raise InputError(f"not {called}: {bad}", where=f"{path}:{number}") from None


def append(path: Path, record: msgspec.Struct) -> None:
    """Append a record to a file."""
    with path.open("ab") as file:
        file.write(msgspec.json.encode(record) + b"\n")


def mend(path: Path) -> None:
    """Cut off a last line that a killed run left unfinished."""
    if path.exists():
        data = path.read_bytes()
        if data and not data.endswith(b"\n"):
            path.write_bytes(data[: data.rfind(b"\n") + 1])


def write_settings(path: Path, settings: Mapping[str, Any]) -> None:
    """Write settings, for people to read as well."""
    path.write_bytes(msgspec.json.format(msgspec.json.encode(settings), indent=2) + b"\n")


def differing(before: Mapping[str, Any], now: Mapping[str, Any], apart: Collection[str] = ()) -> list[str]:
    """Return the names of settings, `apart` left out, that are not the same in both."""
    return sorted(k for k in {*before, *now} - {*apart} if before.get(k) != now.get(k))


def settled(path: Path, settings: Mapping[str, Any], called: str) -> list[str]:
    """Keep the settings of a new folder; return the names of those that differ from what is kept there.

    Args:
        path: the file.
        settings: of the run that begins.
        called: what they are the settings of: `a run`.

    Raises:
        InputError: what is kept there cannot be read.
    """
    now = msgspec.to_builtins(dict(settings))
    if not path.exists():
        write_settings(path, now)
        return []
    try:
        kept = msgspec.json.decode(path.read_bytes(), type=dict[str, Any])
    except msgspec.DecodeError as bad:
        raise InputError(f"not the settings of {called}: {bad}", where=str(path)) from None
    return differing(kept, now)
