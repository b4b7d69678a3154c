"""The folder of a run: its settings, and a row a line as episodes are through. The same command goes on from it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Final, TypeVar

import msgspec

from tallystick.errors import InputError
from tallystick.evals.common import folder
from tallystick.evals.takeover.rows import Row

ROWS: Final = "rows.jsonl"
SETTINGS: Final = "settings.json"
R = TypeVar("R", bound=msgspec.Struct)
Key = tuple[str, str, str, int]
"""frontier, stage (or baseline), successor, round."""


def key_of(row: Row) -> Key:
    """Return what a row is the only one of."""
    return (row.frontier, row.stage, row.successor, row.round)


def lines(path: Path, kind: type[R]) -> Iterator[R]:
    """Yield the records of a file, none where there is no file yet; a last line that was cut off is left out.

    Raises:
        InputError: the file cannot be read, or a line is no record of that kind.
    """
    return folder.records(path, kind, f"a {kind.__name__.lower()}") if path.exists() else iter(())


class Folder:
    """Where a run is kept.

    Args:
        path: made where it is missing.
        settings: of the run; a folder that holds a run with others is refused.

    Raises:
        InputError: it cannot be used, holds a run with other settings, or a line that is none.
    """

    def __init__(self, path: Path, settings: Mapping[str, Any]) -> None:
        self.path = folder.made(path)
        self._settle(settings)
        folder.mend(path / ROWS)
        self.rows = {key_of(row): row for row in lines(path / ROWS, Row)}

    def add(self, row: Row) -> None:
        """Keep a row."""
        self.append(ROWS, row)
        self.rows[key_of(row)] = row

    def append(self, name: str, record: msgspec.Struct) -> None:
        """Append a record to a file of the folder."""
        folder.append(self.path / name, record)

    def _settle(self, settings: Mapping[str, Any]) -> None:
        path = self.path / SETTINGS
        told = msgspec.to_builtins(dict(settings))
        if path.exists():
            try:
                before = msgspec.json.decode(path.read_bytes(), type=dict[str, Any])
            except msgspec.DecodeError:
                raise InputError("the folder's settings cannot be read", where=str(path)) from None
            other = folder.differing(before, told)
            if other:
                raise InputError(
                    f"the folder holds a run with other settings: {', '.join(other)}", where=str(self.path),
                    fix="another folder for each setting",
                )  # fmt: skip
        folder.write_settings(path, told)
