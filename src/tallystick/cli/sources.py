"""Where commands read runs from: a ledger file, or an export of one run."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Final

import typer

from tallystick.errors import DamagedError, InputError, LedgerError
from tallystick.ledger.sqlite import SQLiteStore
from tallystick.ledger.store import Store
from tallystick.model.events import Sealed, Started
from tallystick.view import View
from tallystick.view.frozen import frozen_in

_SQLITE: Final = b"SQLite format 3\x00"

LedgerArgument = Annotated[Path, typer.Argument(metavar="LEDGER", help="The ledger file.")]
SourceArgument = Annotated[Path, typer.Argument(metavar="SOURCE", help="A ledger, or an export of a run.")]


def is_sqlite(file: Path) -> bool:
    """Return whether `file` starts as SQLite files do, so that it is meant as a ledger."""
    with file.open("rb") as stream:
        return stream.read(len(_SQLITE)) == _SQLITE


@contextmanager
def reading(ledger: Path) -> Iterator[SQLiteStore]:
    """Open `ledger` for reading, and close it again.

    Raises:
        DamagedError: SQLite finds the file damaged.
        LedgerError: it is not there, no ledger, or cannot be read.
    """
    try:
        store = SQLiteStore(ledger, read_only=True)
        try:
            yield store
        finally:
            store.close()
    except LedgerError as bad:
        code = getattr(bad.__cause__, "sqlite_errorcode", None)
        if isinstance(code, int) and code & 0xFF == sqlite3.SQLITE_CORRUPT:
            raise DamagedError(bad.message, where=bad.where, fix=bad.fix) from bad
        raise


@contextmanager
def writing(ledger: Path) -> Iterator[SQLiteStore]:
    """Open `ledger` for writing, and close it again."""
    store = SQLiteStore(ledger)
    try:
        yield store
    finally:
        store.close()


def choose(store: Store, run: str | None, ledger: Path, *, option: str = "") -> str:
    """Return `run` if the ledger has it, or the ledger's only run where none is named.

    Args:
        store: the ledger, open.
        run: the run named, if one is.
        ledger: the ledger's file.
        option: the option that names it; "" where its id stands after the file.

    Raises:
        InputError: no such run, or none named and there is not exactly one.
    """
    known = [row.run for row in store.runs()]
    if run is None:
        if len(known) == 1:
            return known[0]
        raise InputError(
            f"the ledger has {len(known)} runs, and none was named",
            where=str(ledger),
            fix=f"name one {f'with {option}' if option else 'after the file'}; `tallystick runs {ledger}` lists them",
        )
    if run not in known:
        raise InputError(f"there is no run `{run}`", where=str(ledger), fix=f"`tallystick runs {ledger}` lists them")
    return run


def ledger_and_run(first: str, second: str | None, option: Path | None, command: str) -> tuple[Path, str | None]:
    """Return ledger and run of a command that takes `RUN --ledger FILE`, and `LEDGER [RUN]` as the others do.

    Raises:
        InputError: the ledger is named twice, is no file, or is no ledger.
    """
    usage = f"`tallystick {command} RUN --ledger FILE`"
    if option is not None and second is not None:
        raise InputError("the ledger is named twice", where="--ledger", fix=usage)
    ledger, run = (option, first) if option is not None else (Path(first), second)
    if option is None and not ledger.is_file():
        raise InputError(f"`{first}` is no ledger file", where="RUN", fix=usage)
    if not is_sqlite(ledger):
        fix = "the file that the run was recorded in; an export can be shown and verified"
        raise InputError("no ledger", where=str(ledger), fix=fix)
    return ledger, run


def folded(events: Iterable[Sealed]) -> View:
    """Return the view of a run's events.

    Raises:
        InputError: there are none, or the contract in them cannot be read.
    """
    view: View | None = None
    for sealed in events:
        if view is None:
            if not isinstance(sealed.event.body, Started):
                break
            contract, task = frozen_in(sealed.event.body)
            view = View(contract, task, run=sealed.event.run)
        view.apply(sealed)
    if view is None:
        raise InputError("there is no run in it")
    return view
