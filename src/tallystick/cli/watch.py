"""`tallystick watch`: the derived stage of a run that another process writes, beside what its model says."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from rich.console import Console, Group
from rich.live import Live
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from tallystick.cli import console
from tallystick.cli.console import Json
from tallystick.cli.sources import choose, ledger_and_run, reading
from tallystick.errors import InputError
from tallystick.gates.stage import Stage
from tallystick.ledger.store import Store
from tallystick.model.decision import Reason
from tallystick.model.plaintext import printable
from tallystick.runtime.listing import Listed, listed, standing_text
from tallystick.runtime.standing import Followed, RunProgress, begun

POLL: Final = 0.25
"""Seconds between two looks at the ledger."""
_MARKS: Final = {"open": "[ ]", "waived": "[-]", "impossible": "[-]", "not_applicable": "[-]"}
_ALL: Final = tuple(Stage)


@dataclass(frozen=True, kw_only=True, slots=True)
class _Look:
    """The run at one look."""

    progress: RunProgress
    listed: Listed | None

    @property
    def over(self) -> bool:
        return self.progress.status is not None


def watch(
    run: Annotated[
        str, typer.Argument(metavar="RUN|LEDGER", help="Run id in --ledger; without --ledger, the ledger file.")
    ],
    second: Annotated[
        str | None, typer.Argument(metavar="RUN", help="Run id, where the ledger came first and has several runs.")
    ] = None,
    ledger: Annotated[Path | None, typer.Option("--ledger", metavar="DB", help="The ledger file.")] = None,
    once: Annotated[bool, typer.Option("--once", help="Show where the run stands now, and go.")] = False,
    json: Json = False,
) -> None:
    """Watch a run: its derived stage, what is done, open, missing and in doubt, beside the model's last report.

    Follows the ledger while another process writes it, and ends when the run ends. The stage is derived from contract,
    task and record; the model's report is only compared with it. With --json, prints the last look alone.
    """
    file, named = ledger_and_run(run, second, ledger, "watch")
    with reading(file) as store:
        chosen = choose(store, named, file)
        looks = _looks(store, chosen)
        if once:
            last = next(looks)
            if not json:
                _paper().print(_drawn(last))
        elif json:
            for last in looks:  # noqa: B007 - the last one is printed
                pass
        else:
            last = _live(looks)
    if json:
        console.emit(_to_json(last))


def _looks(store: Store, run: str) -> Iterator[_Look]:
    """Yield the run now, and again whenever something changed, until it has ended."""
    followed: Followed | None = None
    before: Any = None
    while True:
        for sealed in store.events(run, followed.view.upto if followed is not None else 0):
            if followed is None:
                followed = begun(sealed)
            else:
                followed.take(sealed)
        if followed is None:
            raise InputError(f"the run `{run}` has no events")
        now = datetime.now(UTC)
        row = next((one for one in listed(store, now) if one.row.run == run), None)
        look = _Look(progress=followed.progress(now), listed=row)
        seen = (look.progress, row.standing if row is not None else None)
        if seen != before:
            yield look
            before = seen
        if look.over:
            return
        time.sleep(POLL)


def _paper() -> Console:
    """Return what a panel is drawn on; lines are wrapped inside it, not by the terminal."""
    return Console(file=sys.stdout, highlight=False)


def _live(looks: Iterator[_Look]) -> _Look:
    """Draw every look, in place on a terminal and one under the other elsewhere; return the last."""
    out = _paper()
    last = next(looks)
    if not out.is_terminal:
        out.print(_drawn(last))
        for last in looks:
            out.print(_drawn(last))
        return last
    with Live(_drawn(last), console=out, auto_refresh=False) as live:
        for last in looks:
            live.update(_drawn(last), refresh=True)
    return last


def _to_json(look: _Look) -> dict[str, Any]:
    row = look.listed
    return {
        **look.progress.to_json(),
        "standing": row.standing if row is not None else None,
        "holder": row.holder if row is not None else None,
    }


# ---------------------------------------------------------------- drawing


def _drawn(look: _Look) -> Panel:
    found = look.progress
    standing = found.standing
    parts: list[Any] = [_stages(found.stage), _report(found)]
    if standing.obligations:
        table = Table(box=None, padding=(0, 2, 0, 0), show_header=False)
        for owed in standing.obligations:
            style = "" if owed.state == "open" else "dim"
            cells = (_MARKS.get(owed.state, "[x]"), owed.id, owed.state.replace("_", " "), owed.text)
            table.add_row(*(Text(printable(cell), style=style) for cell in cells))
        parts.append(table)
    else:
        parts.append(Text("the task owes nothing, so there is nothing to complete", style="dim"))
    for title, reasons in (
        ("missing", standing.missing),
        ("blocked", standing.blocked),
        ("duty", standing.duties),
        ("unsettled", standing.unsettled),
    ):
        parts += [_reason(title, reason) for reason in reasons]
    return Panel(Group(*parts), title=Text(f"run {printable(found.run)}"), subtitle=Text(_where(look)), expand=False)


def _where(look: _Look) -> str:
    if look.progress.status is not None:
        return f"ended: {look.progress.status}"
    return standing_text(look.listed) if look.listed is not None else "going on"


def _stages(stage: Stage) -> Text:
    text = Text("by the record  ")
    for at, one in enumerate(_ALL):
        text.append(" > " if at else "", style="dim")
        text.append(one.words if one is not stage else f"[{one.words}]", style="bold" if one is stage else "dim")
    return text


def _report(found: RunProgress) -> Text:
    said = found.report
    text = Text("the model says ")
    if said is None:
        return text.append("nothing so far", style="dim")
    good = said.agreement == "match"
    text.append(printable(said.value) or f"({said.agreement})", style="green" if good else "yellow")
    if said.value:
        text.append(f": {said.agreement} when it said so", style="" if good else "yellow")
    if found.now != said.agreement:
        text.append(f", {found.now} by now", style="yellow")
    counts = ", ".join(f"{n} {what}" for what, n in sorted(found.counts.items()))
    return text.append(f"   (so far: {counts})", style="dim")


def _reason(title: str, reason: Reason) -> Text:
    text = Text.assemble((f"{title}: ", "yellow"), printable(reason.message))
    if reason.reverses:
        text.append(f"; what would help: {printable(reason.reverses)}", style="dim")
    for read in reason.reads:
        text.append(f"\n  read: {printable(read.tool)} {printable(read.args)}", style="dim")
    return text
