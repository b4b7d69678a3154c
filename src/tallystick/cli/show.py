"""`tallystick show`: a run or a recorded conversation, event by event, and the stage after each turn."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer
from rich.table import Table
from rich.text import Text

from tallystick.cli import console, timeline
from tallystick.cli.console import Json
from tallystick.cli.recordings import (
    ContractOption,
    EncodingOption,
    FormatOption,
    Recording,
    TaskOption,
    encoding_named,
    is_run,
    recordings,
)
from tallystick.cli.sources import choose, is_sqlite, reading
from tallystick.errors import InputError
from tallystick.gates.stage import Standing, stage_of
from tallystick.ledger.store import Store
from tallystick.model.plaintext import printable
from tallystick.progress import Encoding
from tallystick.runtime.listing import listed, standing_text, unanswered
from tallystick.runtime.recorded import RecordedTurn, turns_of
from tallystick.traces.formats import AUTO


def show(
    source: Annotated[
        Path, typer.Argument(metavar="SOURCE", help="A ledger, an export of a run, or a recorded conversation.")
    ],
    run: Annotated[
        str | None,
        typer.Argument(
            metavar="RUN", help="Run id, or the conversation's name; may be left out where there is only one."
        ),
    ] = None,
    contract: ContractOption = None,
    task: TaskOption = None,
    encoding: EncodingOption = "xml",
    format: FormatOption = AUTO,  # noqa: A002 - the option's name
    json: Json = False,
) -> None:
    """Show a run, event by event: intents, receipts, decisions with their reasons, and how it ended.

    Under it the stage of the task by the record: what is done, what is open, and what is in doubt; and the stage after
    each turn of the agent, beside what it reported. A recorded conversation is shown alike; its stage needs --contract.
    """
    read_as = encoding_named(encoding)
    if is_run(source) and is_sqlite(source):
        with reading(source) as store:
            chosen = choose(store, run, source)
        _show(_only(source, chosen, contract, task, format), read_as, json=json)
        if not json:
            with reading(source) as store:
                _still_open(store, chosen)
        return
    _show(_only(source, run, contract, task, format), read_as, json=json)


def _only(source: Path, run: str | None, contract: Path | None, task: Path | None, format_: str) -> Recording:
    """Return the one recording that is meant.

    Raises:
        InputError: there are several, and none was named.
    """
    found = recordings(source, run, contract, task, format_)
    first = next(found)
    if run is None and next(found, None) is not None:
        raise InputError("it holds several conversations, and none was named", where=str(source), fix="name one")
    return first


def _show(recording: Recording, encoding: Encoding, *, json: bool) -> None:
    stage, turns = _staged(recording, encoding)
    shown = timeline.lines(sealed.event for sealed in recording.events())
    if json:
        found = [timeline.to_json(line) for line in shown]
        told = [_turn_json(turn) for turn in turns]
        console.emit({"run": recording.name, "events": found, "stage": msgspec.to_builtins(stage), "turns": told})
        return
    for line in shown:
        timeline.draw(line)
    if stage is None:
        why = recording.why_not or "the run is judged by rules or a contract that this version cannot read"
        console.note(f"no stage: {why}")
        return
    # An obligation is done or open, so without either there is none; and nothing else completes a task.
    nothing = "" if stage.done or stage.open else "; the task owes nothing, so there is nothing to complete"
    console.say(f"stage by the record: {stage.stage.words}{nothing}", style="bold")
    for name, ids in (("done", stage.done), ("open", stage.open), ("in doubt", stage.in_doubt)):
        if ids:
            console.say(f"  {name}: {', '.join(ids)}")
    for name, reasons in (("missing", stage.missing), ("blocked", stage.blocked), ("duty", stage.duties)):
        for reason in reasons:
            console.say(f"  {name}: {reason.message}; what would help: {reason.reverses}")
    if turns:
        _draw_turns(turns)


def _draw_turns(turns: tuple[RecordedTurn, ...]) -> None:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    reported = any(turn.said is not None for turn in turns)
    for column in ("turn", "events", "stage after it", "open", *(("reported", "which is") if reported else ())):
        table.add_column(column, no_wrap=True)
    for turn in turns:
        said = turn.said
        cells = [
            str(turn.number),
            f"{turn.first}-{turn.last}" if turn.last > turn.first else str(turn.first),
            turn.standing.stage.words,
            str(len(turn.standing.open) + len(turn.standing.duties)),
        ]
        if reported:
            cells += [(said.value or "-") if said is not None else "", said.agreement if said is not None else ""]
        table.add_row(*(Text(printable(cell)) for cell in cells))
    console.stdout().print(table)


def _turn_json(turn: RecordedTurn) -> dict[str, Any]:
    return {
        "turn": turn.number,
        "first": turn.first,
        "last": turn.last,
        "called": turn.called,
        "stage": str(turn.standing.stage),
        "done": list(turn.standing.done),
        "open": list(turn.standing.open),
        "duties": [reason.where for reason in turn.standing.duties],
        "missing": [reason.code for reason in turn.standing.missing],
        "in_doubt": list(turn.standing.in_doubt),
        "reported": turn.said.value if turn.said is not None else None,
        "agreement": turn.said.agreement if turn.said is not None else None,
    }


def _still_open(store: Store, run: str) -> None:
    """Name the calls without a receipt of a run that has not ended: under way, or in doubt if their process is gone."""
    one = next((one for one in listed(store, datetime.now(UTC)) if one.row.run == run), None)
    if one is None or one.row.status is not None:
        return
    calls = unanswered(store, run)
    if calls:
        console.say(f"  without a receipt: {', '.join(f'{c.call} ({c.tool})' for c in calls)}")
        console.note(f"the run is {standing_text(one)}; if its process is gone, these calls are in doubt from then on")


def _staged(recording: Recording, encoding: Encoding) -> tuple[Standing | None, tuple[RecordedTurn, ...]]:
    if not recording.staged:
        return None, ()
    try:
        run = recording.follow()
    except InputError:  # other semantics, or a contract this version cannot read; the events can be shown all the same
        return None, ()
    turns = tuple(turns_of(run, recording.events(), encoding))
    return stage_of(run.view, run.view.contract), turns
