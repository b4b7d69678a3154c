"""`tallystick runs`: what is in a ledger."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table
from rich.text import Text

from tallystick.cli import console
from tallystick.cli.console import Json
from tallystick.cli.sources import reading
from tallystick.errors import InputError
from tallystick.model.plaintext import printable
from tallystick.runtime.listing import listed, standing_text


def runs(
    ledger: Annotated[Path | None, typer.Argument(metavar="LEDGER", help="The ledger file.")] = None,
    option: Annotated[Path | None, typer.Option("--ledger", metavar="FILE", help="The same, as an option.")] = None,
    json: Json = False,
) -> None:
    """List the runs of a ledger, oldest first, with their final status.

    A run that has not ended is live (a process is writing it), left (given back, to be resumed) or lost (its process
    was killed or cut off, and another may take it over). What is listed is not verified.
    """
    if ledger is None:
        ledger = option
    elif option is not None:
        raise InputError("the ledger is named twice", where="--ledger", fix="name it once: `tallystick runs FILE`")
    if ledger is None:
        raise InputError("no ledger is named", fix="`tallystick runs FILE`")
    with reading(ledger) as store:
        rows = listed(store, datetime.now(UTC))
    if json:
        console.emit(
            {
                "runs": [
                    {
                        "run": one.row.run,
                        "status": one.row.status,
                        "standing": one.standing,
                        "started_at": one.row.started_at,
                        "events": one.row.events,
                        "parent": one.row.parent,
                        "holder": one.holder,
                        "letters": one.letters,
                    }
                    for one in rows
                ],
                "verified": False,
            }
        )
        return
    if not rows:
        console.note("the ledger has no runs")
        return
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for column in ("run", "status", "started", "events", "parent"):
        table.add_column(column, no_wrap=True, justify="right" if column == "events" else "left")
    for one in rows:
        row = one.row
        started = console.when(row.started_at)
        cells = (row.run, row.status or one.standing, started, str(row.events), row.parent or "")
        table.add_row(*(Text(printable(cell)) for cell in cells))
    console.stdout().print(table)
    for one in rows:
        if one.standing == "live":
            console.note(f"run {printable(one.row.run)} is {standing_text(one)}")
    console.note(f"as the ledger lists them; `tallystick verify {ledger}` checks every event")
