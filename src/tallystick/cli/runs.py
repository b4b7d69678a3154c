"""`tallystick runs` and `tallystick show`: what is in a ledger."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import msgspec
import typer
from rich.table import Table
from rich.text import Text

from tallystick.cli import console, timeline
from tallystick.cli.console import Json
from tallystick.errors import InputError
from tallystick.gates.stage import Standing, stage_of
from tallystick.ledger.sqlite import SQLiteStore
from tallystick.ledger.store import Store
from tallystick.model.plaintext import printable
from tallystick.runtime.listing import listed
from tallystick.runtime.principals import view_of

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

    A run that has not ended is live (a process is writing it), left (given back, to be resumed) or lost (its process
    was killed or cut off, and another may take it over).
    """
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
    for one in rows:
        row = one.row
        started = console.when(row.started_at)
        cells = (row.run, row.status or one.standing, started, str(row.events), row.parent or "")
        table.add_row(*(Text(printable(cell)) for cell in cells))
    console.stdout().print(table)


def show(
    ledger: LedgerArgument,
    run: Annotated[
        str | None, typer.Argument(metavar="RUN", help="Run id; may be left out where the ledger has one run.")
    ] = None,
    json: Json = False,
) -> None:
    """Show a run, event by event: intents, receipts, decisions with their reasons, and how it ended.

    Under it the stage of the task by the record: what is done, what is open, and what is in doubt.
    """
    with reading(ledger) as store:
        chosen = choose(store, run, ledger)
        stage = _stage(store, chosen)
        shown = timeline.lines(sealed.event for sealed in store.events(chosen))
        if json:
            events = [timeline.to_json(line) for line in shown]
            console.emit({"run": chosen, "events": events, "stage": msgspec.to_builtins(stage)})
            return
        for line in shown:
            timeline.draw(line)
    if stage is None:
        console.note("no stage: the run is judged by rules or a contract that this version cannot read")
        return
    console.say(f"stage by the record: {stage.stage.replace('_', ' ')}", style="bold")
    for name, ids in (("done", stage.done), ("open", stage.open), ("in doubt", stage.in_doubt)):
        if ids:
            console.say(f"  {name}: {', '.join(ids)}")


def _stage(store: Store, run: str) -> Standing | None:
    try:
        view = view_of(store, run)
    except InputError:  # other semantics, or a contract this version cannot read; the events can be shown all the same
        return None
    return stage_of(view, view.contract)
