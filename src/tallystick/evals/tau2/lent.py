"""Databases that share their records until one of them is touched: opening or forking one costs next to nothing.

A domain's database has thousands of records and an episode changes a handful. A record that is asked for by its key is
copied first, so that whoever asks may change it; records that are only iterated over stay shared. The tools of both
domains change nothing that they find by iterating, and `World` checks at its end that the common records are as before.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class Lent(dict[str, Any]):
    """A table: records by their keys, each of them shared with others until it is asked for."""

    def __init__(self, records: Mapping[str, Any]) -> None:
        super().__init__(records)
        self._own: set[str] = set()

    def __getitem__(self, key: str) -> Any:
        found = super().__getitem__(key)
        if key not in self._own:
            found = found.model_copy(deep=True)
            self[key] = found
        return found

    def __setitem__(self, key: str, record: Any) -> None:
        super().__setitem__(key, record)
        self._own.add(key)

    def get(self, key: str, default: Any = None) -> Any:
        """Return the record, as `[]` does, or the default."""
        return self[key] if key in self else default  # noqa: SIM401 - this is what `get` is made of

    def again(self) -> Lent:
        """Return a table of its own: what this one owns is copied, the rest is shared on."""
        other = Lent(self)
        for key in self._own & self.keys():
            other[key] = self[key].model_copy(deep=True)
        return other


def lent(database: Any) -> Any:
    """Return a database that shares the records of another one, which nobody changes or which is lent itself."""
    tables = {name: getattr(database, name) for name in type(database).model_fields}
    return type(database).model_construct(
        **{name: table.again() if isinstance(table, Lent) else Lent(table) for name, table in tables.items()}
    )
