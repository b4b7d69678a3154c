"""The folder of a run: its settings, and a row a line as episodes are through. The same command goes on from it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec

from tallystick.errors import InputError
from tallystick.evals.takeover.rows import Row

ROWS: Final = "rows.jsonl"
SETTINGS: Final = "settings.json"
Key = tuple[str, str, str, int]
"""frontier, stage (or baseline), successor, round."""


def key_of(row: Row) -> Key:
    """Return what a row is the only one of."""
    return (row.frontier, row.stage, row.successor, row.round)


def lines(path: Path, kind: type[Any]) -> Iterator[Any]:
    """Yield the records of a file, one a line; a last line that was cut off is left out.

    Raises:
        InputError: a line is no record of that kind.
    """
    if not path.exists():
        return
    found = path.read_bytes().splitlines(keepends=True)
    for number, line in enumerate(found, 1):
        try:
            yield msgspec.json.decode(line, type=kind)
        except msgspec.DecodeError as bad:
            if number == len(found) and not line.endswith(b"\n"):
                return  # the run was killed while it wrote; the episode is played again
            raise InputError(f"not a {kind.__name__.lower()}: {bad}", where=f"{path}:{number}") from None


class Folder:
    """Where a run is kept.

    Args:
        path: made where it is missing.
        settings: of the run; a folder that holds a run with others is refused.

    Raises:
        InputError: it cannot be used, holds a run with other settings, or a line that is none.
    """

    def __init__(self, path: Path, settings: Mapping[str, Any]) -> None:
        self.path = path
        try:
            path.mkdir(parents=True, exist_ok=True)
        except OSError as bad:
            raise InputError(f"cannot be made: {bad.strerror}", where=str(path), fix="name a folder") from None
        self._settle(settings)
        self._cut(path / ROWS)
        self.rows = {key_of(row): row for row in lines(path / ROWS, Row)}

    def add(self, row: Row) -> None:
        """Keep a row."""
        self.append(ROWS, row)
        self.rows[key_of(row)] = row

    def append(self, name: str, record: msgspec.Struct) -> None:
        """Append a record to a file of the folder."""
        with (self.path / name).open("ab") as file:
            file.write(msgspec.json.encode(record) + b"\n")

    def _settle(self, settings: Mapping[str, Any]) -> None:
        path = self.path / SETTINGS
        told = msgspec.to_builtins(dict(settings))
        if path.exists():
            try:
                before = msgspec.json.decode(path.read_bytes(), type=dict[str, Any])
            except msgspec.DecodeError:
                raise InputError("the folder's settings cannot be read", where=str(path)) from None
            other = sorted(k for k in {*before, *told} if before.get(k) != told.get(k))
            if other:
                raise InputError(
                    f"the folder holds a run with other settings: {', '.join(other)}", where=str(self.path),
                    fix="another folder for each setting",
                )  # fmt: skip
        path.write_bytes(msgspec.json.format(msgspec.json.encode(told), indent=2) + b"\n")

    @staticmethod
    def _cut(path: Path) -> None:
        if path.exists():
            data = path.read_bytes()
            if data and not data.endswith(b"\n"):
                path.write_bytes(data[: data.rfind(b"\n") + 1])
