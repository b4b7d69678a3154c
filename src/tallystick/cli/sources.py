"""Where commands read runs from: a ledger file, or an export of one run."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Final

import typer

from tallystick.errors import DamagedError, InputError, LedgerError
from tallystick.ledger.export import FORMAT
from tallystick.ledger.sqlite import SQLiteStore
from tallystick.ledger.store import Head, Store, check_follows
from tallystick.model import jsontext
from tallystick.model.events import Sealed, Started, unseal
from tallystick.runtime.frozen import frozen_in
from tallystick.view import View

_SQLITE: Final = b"SQLite format 3\x00"
_FIX: Final = "give a ledger or an export"

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


def choose(store: Store, run: str | None, ledger: Path) -> str:
    """Return `run` if the ledger has it, or the ledger's only run where none is named.

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
            fix=f"name one; `tallystick runs {ledger}` lists them",
        )
    if run not in known:
        raise InputError(f"there is no run `{run}`", where=str(ledger), fix=f"`tallystick runs {ledger}` lists them")
    return run


def exported(file: Path) -> Iterator[Sealed]:
    """Yield the events of an export, each checked to continue the one before it.

    Raises:
        InputError: it is no export.
        DamagedError: a line is no event, does not continue the chain, or the end is missing; `tallystick verify` says
            more.
    """
    fix = f"see what `tallystick verify {file}` says"
    head = Head()
    with file.open("rb") as stream:
        for number, line in enumerate(stream, 1):
            where = f"{file}:{number}"
            if number == 1:
                check_header(line, file)
                continue
            if line.startswith(b'{"checkpoint":'):
                return
            try:
                sealed = unseal(line.removesuffix(b"\n"))
            except InputError as bad:
                raise DamagedError(bad.message, where=where, fix=fix) from None
            try:
                check_follows(sealed, head)
            except LedgerError as bad:
                raise DamagedError(bad.message, where=where, fix=fix) from None
            head = Head(seq=sealed.event.seq, digest=sealed.digest)
            yield sealed
    if not file.stat().st_size:
        raise InputError("the file is empty", where=str(file), fix=_FIX)
    raise DamagedError("the export has no end", where=str(file), fix=fix)


def check_header(line: bytes, file: Path) -> None:
    """Hold that the first line of a file is that of an export.

    Raises:
        InputError: it is not.
        DamagedError: it was one.
    """
    try:
        header = jsontext.loads(line)
    except InputError:
        header = None
    if header is None and b'"format"' in line and FORMAT.encode() in line:
        raise DamagedError(
            "the first line is damaged", where=str(file), fix=f"see what `tallystick verify {file}` says"
        )
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise InputError("neither a ledger nor an export of a run", where=str(file), fix=_FIX)


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
