"""Files and folders: which of them hold traces, read one at a time, with one clear error each."""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tallystick.errors import InputError
from tallystick.model.trace import Trace
from tallystick.traces.exact import MAX_DOCUMENT
from tallystick.traces.formats import AUTO, NotATrace, parse, parse_lines
from tallystick.traces.state_bench import now_beside

ENDINGS: Final = (".json", ".jsonl", ".ndjson")
"""Files of a folder that are opened; a file named on its own is opened whatever its ending."""


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file of a folder that is sound JSON but no conversation."""

    path: str
    why: str


def find(path: str | Path) -> Iterator[Path]:
    """Yield the files under `path` in a fixed order: a file itself, or a folder's files by ending, sorted, recursively.

    Links to folders inside a folder are not followed, so a loop of links ends.

    Raises:
        InputError: nothing is there, it cannot be read, or the folder holds no file with one of `ENDINGS`.
    """
    start = Path(path)
    try:
        is_folder = start.is_dir()
        if not is_folder:
            start.stat()
    except OSError as bad:
        raise _unreadable(start, bad) from None
    if not is_folder:
        yield start
        return
    empty = True
    for found in _walk(start):
        empty = False
        yield found
    if empty:
        raise InputError("the folder holds no trace", where=str(start), fix=f"files ending in {', '.join(ENDINGS)}")


def _walk(folder: Path) -> Iterator[Path]:
    try:
        with os.scandir(folder) as entries:
            found = sorted(entries, key=lambda e: e.name)
    except OSError as bad:
        raise _unreadable(folder, bad) from None
    for entry in found:
        if entry.is_dir(follow_symlinks=False):
            yield from _walk(Path(entry.path))
        elif entry.name.endswith(ENDINGS) and not (entry.is_symlink() and Path(entry.path).is_dir()):
            yield Path(entry.path)


def read_file(path: str | Path, format: str = AUTO) -> Iterator[Trace]:  # noqa: A002 - the option's name
    """Yield the traces of one file. A file too large for one document is read line by line.

    Raises:
        InputError: the file cannot be read or used; `formats.NotATrace` where it is sound JSON of another kind.
    """
    file = Path(path)
    name = file.stem
    now = now_beside(file)
    try:
        if not file.is_file():
            raise InputError("not a regular file", where=str(file)) if file.exists() else FileNotFoundError(2, "")
        if file.stat().st_size <= MAX_DOCUMENT:
            yield from parse(file.read_bytes(), name=name, source=str(file), format=format, now=now)
            return
        with file.open("rb") as lines:
            first = lines.readline(MAX_DOCUMENT + 1)
            if len(first) > MAX_DOCUMENT:
                raise InputError(
                    f"a document of more than {MAX_DOCUMENT:,} bytes",
                    where=str(file),
                    fix="cut the large result out of it, or write one conversation a line",
                )
            lines.seek(0)
            yield from parse_lines(_bounded(lines), name=name, source=str(file), format=format, now=now)
    except OSError as bad:
        raise _unreadable(file, bad) from None


def _bounded(lines: object) -> Iterator[bytes]:
    """Yield lines; of one longer than a document may be, only its beginning, so that it counts as unreadable."""
    read = lines.readline  # type: ignore[attr-defined]  # any binary file object
    while line := read(MAX_DOCUMENT + 1):
        if len(line) > MAX_DOCUMENT:
            while (rest := read(MAX_DOCUMENT)) and not rest.endswith(b"\n"):
                pass
        yield line


def read(path: str | Path, format: str = AUTO) -> Iterator[Trace]:  # noqa: A002 - the option's name
    """Yield every trace under a file or folder, in a fixed order.

    Raises:
        InputError: nothing to read, or a file that cannot be used. Sound JSON that is no conversation is passed over
            inside a folder and an error for a file named on its own.
    """
    start = Path(path)
    for file in find(start):
        try:
            yield from read_file(file, format)
        except NotATrace:
            if file == start:
                raise


def _unreadable(path: Path, bad: OSError) -> InputError:
    why = (bad.strerror or os.strerror(bad.errno or 5)).lower()
    return InputError(f"cannot be read: {why}", where=str(path))
