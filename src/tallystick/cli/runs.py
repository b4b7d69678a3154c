"""`tallystick runs` and `tallystick show`: what is in a ledger."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from tallystick.cli import console, timeline
from tallystick.cli.console import Json
from tallystick.errors import InputError
from tallystick.ledger.sqlite import SQLiteStore
from tallystick.ledger.store import Store

LedgerOption = Annotated[Path, typer.Option("--ledger", metavar="FILE", help="The ledger file.")]
LedgerArgument = Annotated[Path, typer.Argument(metavar="LEDGER", help="The ledger file.")]


@contextmanager
def reading(ledger: Path) -> Iterator[SQLiteStore]:
    """Open `ledger` for reading, and close it again."""
    store = SQLiteStore(ledger, read_only=True)
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
            fix=f"name one; `tallystick runs --ledger {ledger}` lists them",
        )
    if run not in known:
        raise InputError(
            f"there is no run `{run}`", where=str(ledger), fix=f"`tallystick runs --ledger {ledger}` lists them"
        )
    return run


def runs(ledger: LedgerOption, json: Json = False) -> None:
    """List the runs of a ledger, oldest first, with their final status.

    A run without status has not ended: it is going on, or its process died.
    """
    with reading(ledger) as store:
        rows = store.runs()
    if json:
        console.emit(
            {
                "runs": [
                    {
                        "run": row.run,
                        "status": row.status,
                        "started_at": row.started_at,
                        "events": row.events,
                        "parent": row.parent,
                    }
                    for row in rows
                ]
            }
        )
        return
    if not rows:
        console.note("the ledger has no runs")
        return
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for column in ("run", "status", "started", "events", "parent"):
        table.add_column(column, no_wrap=True, justify="right" if column == "events" else "left")
    for row in rows:
        started = console.when(row.started_at)
        table.add_row(row.run, row.status or "not ended", started, str(row.events), row.parent or "")
    console.stdout().print(table)


def show(
    ledger: LedgerArgument,
    run: Annotated[
        str | None, typer.Argument(metavar="RUN", help="Run id; may be left out where the ledger has one run.")
    ] = None,
    json: Json = False,
) -> None:
    """Show a run, event by event: intents, receipts, decisions with their reasons, and how it ended."""
    with reading(ledger) as store:
        chosen = choose(store, run, ledger)
        shown = timeline.lines(sealed.event for sealed in store.events(chosen))
        if json:
            console.emit({"run": chosen, "events": [timeline.to_json(line) for line in shown]})
            return
        for line in shown:
            timeline.draw(line)
