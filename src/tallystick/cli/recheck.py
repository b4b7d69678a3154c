"""`tallystick recheck`: make every recorded decision again, from what was known then."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import typer

from tallystick.cli import console
from tallystick.cli.console import Json
from tallystick.cli.sources import SourceArgument, choose, is_sqlite, reading
from tallystick.errors import InputError, LedgerError
from tallystick.ledger.exported import exported
from tallystick.runtime.recheck import Recheck
from tallystick.runtime.recheck import recheck as recheck_run


def recheck(
    source: SourceArgument,
    run: Annotated[
        str | None, typer.Argument(metavar="RUN", help="Run id, for a ledger; without one, every run of it.")
    ] = None,
    json: Json = False,
) -> int:
    """Make every decision of a run again, from its record alone, and compare. Exits with 1 where one differs.

    This shows that the decisions follow from the record. Whether the record is authentic is for `tallystick verify`. A
    run of a ledger that cannot be read is reported, and the others are rechecked all the same.
    """
    results: list[Recheck | _Unread] = []
    if is_sqlite(source):
        with reading(source) as store:
            wanted = [row.run for row in store.runs()] if run is None else [choose(store, run, source)]
            for name in wanted:
                try:
                    results.append(recheck_run(store.events(name)))
                except (InputError, LedgerError) as bad:
                    results.append(_Unread(run=name, error=str(bad)))
    elif run is not None:
        raise InputError("an export holds one run, so none is named", where=str(source), fix="leave RUN out")
    else:
        results.append(recheck_run(exported(source)))
    if json:
        console.emit({"reproduces": all(r.reproduces for r in results), "runs": [r.to_json() for r in results]})
    else:
        for result in results:
            _print(result)
        if not results:
            console.note("the ledger has no runs")
    return 0 if all(r.reproduces for r in results) else 1


@dataclass(frozen=True, kw_only=True, slots=True)
class _Unread:
    """A run that could not be rechecked, because its record cannot be read."""

    run: str
    error: str
    reproduces: bool = False

    def to_json(self) -> dict[str, Any]:
        return {"run": self.run, "reproduces": False, "error": self.error}


def _print(result: Recheck | _Unread) -> None:
    if isinstance(result, _Unread):
        console.say(f"run {result.run} cannot be rechecked: {result.error}", style="bold red")
        return
    if result.other_semantics:
        console.say(f"run {result.run}: judged under other semantics, `{result.semantics}`; nothing compared")
        return
    exempt = f", {result.exempt} of the runtime's own not made again" if result.exempt else ""
    said = "reproduces" if result.reproduces else "does not reproduce"
    style = "green" if result.reproduces else "bold red"
    compared = console.counted(result.compared, "decision")
    console.say(f"run {result.run} {said}: {compared} compared{exempt}", style=style)
    for other in result.differences:
        console.say(
            f"  event {other.seq}, {other.what}: {other.message}: recorded `{other.recorded}`, now `{other.recomputed}`"
        )
