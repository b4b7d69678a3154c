"""`tallystick recheck`: make every recorded decision again, from what was known then."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated

import typer

from tallystick.cli import console
from tallystick.cli.console import Json
from tallystick.cli.files import is_sqlite
from tallystick.cli.runs import choose, reading
from tallystick.errors import InputError
from tallystick.ledger.export import FORMAT
from tallystick.ledger.store import Head, check_follows
from tallystick.model import jsontext
from tallystick.model.events import Sealed, unseal
from tallystick.runtime.recheck import Recheck
from tallystick.runtime.recheck import recheck as recheck_run


def recheck(
    source: Annotated[Path, typer.Argument(metavar="SOURCE", help="A ledger, or an export of a run.")],
    run: Annotated[
        str | None, typer.Argument(metavar="RUN", help="Run id, for a ledger; without one, every run of it.")
    ] = None,
    json: Json = False,
) -> int:
    """Make every decision of a run again, from its record alone, and compare. Exits with 1 where one differs.

    This shows that the decisions follow from the record. Whether the record is authentic is for `tallystick verify`.
    """
    if is_sqlite(source):
        with reading(source) as store:
            wanted = [row.run for row in store.runs()] if run is None else [choose(store, run, source)]
            results = [recheck_run(store.events(name)) for name in wanted]
    elif run is not None:
        raise InputError("an export holds one run, so none is named", where=str(source), fix="leave RUN out")
    else:
        results = [recheck_run(exported(source))]
    if json:
        console.emit({"reproduces": all(r.reproduces for r in results), "runs": [r.to_json() for r in results]})
    else:
        for result in results:
            _print(result)
    return 0 if all(r.reproduces for r in results) else 1


def exported(file: Path) -> Iterator[Sealed]:
    """Yield the events of an export, each checked to continue the one before it.

    Raises:
        InputError: it is no export, or a line of it is no event; `tallystick verify` says more.
        LedgerError: an event does not continue the chain.
    """
    fix = f"see what `tallystick verify {file}` says"
    head = Head()
    with file.open("rb") as stream:
        for number, line in enumerate(stream, 1):
            where = f"{file}:{number}"
            if number == 1:
                header = jsontext.loads(line, where=where)
                if not isinstance(header, dict) or header.get("format") != FORMAT:
                    raise InputError("not an export of a run", where=str(file), fix="give a ledger or an export")
                continue
            if line.startswith(b'{"checkpoint":'):
                return
            try:
                sealed = unseal(line.removesuffix(b"\n"))
            except InputError as bad:
                raise InputError(bad.message, where=where, fix=fix) from None
            check_follows(sealed, head)
            head = Head(seq=sealed.event.seq, digest=sealed.digest)
            yield sealed
    raise InputError("the export has no end", where=str(file), fix=fix)


def _print(result: Recheck) -> None:
    if result.other_semantics:
        console.say(f"run {result.run}: judged under other semantics, `{result.semantics}`; nothing compared")
        return
    exempt = f", {result.exempt} of the runtime's own not made again" if result.exempt else ""
    said = "reproduces" if result.reproduces else "does not reproduce"
    style = "green" if result.reproduces else "bold red"
    console.say(f"run {result.run} {said}: {result.compared} decisions compared{exempt}", style=style)
    for other in result.differences:
        console.say(
            f"  event {other.seq}, {other.what}: {other.message}: recorded `{other.recorded}`, now `{other.recomputed}`"
        )
