"""`tallystick runs` and `tallystick show`: what is in a ledger."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated

import msgspec
import typer
from rich.table import Table
from rich.text import Text

from tallystick.cli import console, timeline
from tallystick.cli.console import Json
from tallystick.cli.sources import SourceArgument, choose, folded, is_sqlite, reading
from tallystick.errors import InputError
from tallystick.gates.stage import Standing, stage_of
from tallystick.ledger.exported import exported
from tallystick.ledger.store import Store
from tallystick.model.events import Sealed
from tallystick.model.plaintext import printable
from tallystick.runtime.listing import listed, standing_text, unanswered


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


def show(
    source: SourceArgument,
    run: Annotated[
        str | None, typer.Argument(metavar="RUN", help="Run id; may be left out where there is only one run.")
    ] = None,
    json: Json = False,
) -> None:
    """Show a run, event by event: intents, receipts, decisions with their reasons, and how it ended.

    Under it the stage of the task by the record: what is done, what is open, and what is in doubt.
    """
    if is_sqlite(source):
        with reading(source) as store:
            chosen = choose(store, run, source)
            _show(chosen, lambda: store.events(chosen), json=json)
            if not json:
                _still_open(store, chosen)
        return
    chosen = next((sealed.event.run for sealed in exported(source)), "")
    if run is not None and run != chosen:
        raise InputError(f"the export is of the run `{chosen}`", where=str(source), fix="leave RUN out")
    _show(chosen, lambda: exported(source), json=json)


def _show(run: str, events: Callable[[], Iterator[Sealed]], *, json: bool) -> None:
    stage = _stage(events)
    shown = timeline.lines(sealed.event for sealed in events())
    if json:
        found = [timeline.to_json(line) for line in shown]
        console.emit({"run": run, "events": found, "stage": msgspec.to_builtins(stage)})
        return
    for line in shown:
        timeline.draw(line)
    if stage is None:
        console.note("no stage: the run is judged by rules or a contract that this version cannot read")
        return
    # An obligation is done or open, so without either there is none; and nothing else completes a task.
    nothing = "" if stage.done or stage.open else "; the task owes nothing, so there is nothing to complete"
    console.say(f"stage by the record: {stage.stage.words}{nothing}", style="bold")
    for name, ids in (("done", stage.done), ("open", stage.open), ("in doubt", stage.in_doubt)):
        if ids:
            console.say(f"  {name}: {', '.join(ids)}")


def _still_open(store: Store, run: str) -> None:
    """Name the calls without a receipt of a run that has not ended: under way, or in doubt if their process is gone."""
    one = next((one for one in listed(store, datetime.now(UTC)) if one.row.run == run), None)
    if one is None or one.row.status is not None:
        return
    calls = unanswered(store, run)
    if calls:
        console.say(f"  without a receipt: {', '.join(f'{c.call} ({c.tool})' for c in calls)}")
        console.note(f"the run is {standing_text(one)}; if its process is gone, these calls are in doubt from then on")


def _stage(events: Callable[[], Iterator[Sealed]]) -> Standing | None:
    try:
        view = folded(events())
    except InputError:  # other semantics, or a contract this version cannot read; the events can be shown all the same
        return None
    return stage_of(view, view.contract)
