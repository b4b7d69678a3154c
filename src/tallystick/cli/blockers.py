"""`tallystick blockers`: what is blocked in a run, by what, until what, and what an artifact kept of it."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from tallystick.cli import console
from tallystick.cli.console import Json
from tallystick.cli.sources import SourceArgument, choose, folded, is_sqlite, reading
from tallystick.errors import InputError
from tallystick.handoff import FORMS, Transfer
from tallystick.ledger.exported import exported
from tallystick.model import jsontext
from tallystick.runtime.blocking import BlockerStanding, blockers_of
from tallystick.runtime.handing import Hop, hops, receive
from tallystick.view import View


def blockers(
    source: SourceArgument,
    run: Annotated[str | None, typer.Argument(metavar="RUN", help="Run id, where a ledger has several.")] = None,
    artifact: Annotated[
        Path | None,
        typer.Option("--artifact", metavar="FILE", help="Compare this artifact's carrier block with the record."),
    ] = None,
    form: Annotated[
        str | None,
        typer.Option("--form", metavar="FORM", help=f"The artifact's form: {', '.join(FORMS)}. Default: by its name."),
    ] = None,
    json: Json = False,
) -> int:
    """List the blockers of a run: open, resolved, left aside, over; and its hops, with what was lost on each.

    A blocker removes actions until its authority's signed event, or a receipt that shows its prerequisite, resolves it
    (`tallystick approve LEDGER --blocker ID --key FILE`). One left aside still removes them. With --artifact, exits
    with 1 where an open blocker did not arrive whole. Nothing is written, and a time that is over counts as over.
    """
    if form is not None and artifact is None:
        raise InputError("a form is given, and no artifact", where="--form", fix="give --artifact FILE")
    if form is not None and form not in FORMS:
        raise InputError(f"`{form}` is no form of an artifact", where="--form", fix=f"one of {', '.join(FORMS)}")
    view = _view(source, run)
    now = datetime.now(UTC)
    listed = blockers_of(view, view.contract, now)
    past = hops(view)
    found = None
    if artifact is not None:
        text, known = _read(artifact, form)
        found = receive(text, view, now=now, form=known, repair=False)
    lost = found is not None and bool(found.losses or found.verdict == "reject")
    if json:
        console.emit(
            {
                "run": view.run,
                "blockers": [one.to_json() for one in listed],
                "hops": [_hop_json(hop) for hop in past],
                "artifact": found.to_json() if found is not None else None,
            }
        )
        return 1 if lost else 0
    if not listed:
        console.note(f"run {view.run}: no blocker was raised, and none of its contract is in force")
    for one in listed:
        _print(one)
    for hop in past:
        _print_hop(hop)
    if found is not None:
        _print_artifact(found)
    return 1 if lost else 0


def _view(source: Path, run: str | None) -> View:
    if is_sqlite(source):
        with reading(source) as store:
            return folded(store.events(choose(store, run, source)))
    if run is not None:
        raise InputError("an export holds one run, so none is named", where=str(source), fix="leave RUN out")
    return folded(exported(source))


def _read(file: Path, form: str | None) -> tuple[Any, str]:
    """Return an artifact and its form: a `.json` file is a ticket or a list of messages, a `.md` file Markdown."""
    try:
        text = file.read_bytes().decode("utf-8")
    except UnicodeDecodeError:
        raise InputError("it is not UTF-8 text", where=str(file), fix="an artifact as text") from None
    known = form or {".md": "markdown", ".json": "ticket-text"}.get(file.suffix.lower(), "text")
    if known in ("text", "markdown"):
        return text, known
    value = jsontext.loads(text, where=str(file))
    if isinstance(value, list) and form in (None, "messages"):
        return value, "messages"
    return (value, known) if known in ("ticket", "messages") else (text, known)


def _print(one: BlockerStanding) -> None:
    blocker = one.blocker
    style = "bold yellow" if one.standing in ("open", "left_aside") else "dim"
    console.say(f"{blocker.id}  {one.standing.replace('_', ' ')}: {blocker.status or 'do not proceed'}", style=style)
    about = f" about {blocker.entity[0]} {blocker.entity[1]}" if len(blocker.entity) == 2 else ""
    where = f" where {', '.join(f'{n} = {v}' for n, v in blocker.scope)}" if blocker.scope else ""
    console.say(f"   removes: {', '.join(blocker.removes)}{about}{where}")
    console.say(f"   until: {blocker.prerequisite or 'it is lifted'}")
    nobody = "" if one.deciders else " (which no principal of this run is)"
    console.say(f"   decided by: {blocker.authority or 'any principal of the run'}{nobody}")
    console.say(f"   meanwhile: {blocker.fallback or 'nothing is named'}")
    if blocker.expires:
        console.say(f"   over at: {console.when(blocker.expires)}")
    if one.raised_at:
        on = f", on {', '.join(one.evidence)}" if one.evidence else ""
        console.say(f"   raised by {one.raised_by or 'nobody named'} as event {one.raised_at}{on}")
    if one.ended_how:
        console.say(f"   {one.ended_how} by {one.ended_by} ({one.ended_digest[:12]})")


def _hop_json(hop: Hop) -> dict[str, Any]:
    return {
        "hop": hop.number, "side": hop.side, "sender": hop.sender, "to": hop.to, "state": hop.state,
        "verdict": hop.verdict, "losses": [list(loss) for loss in hop.losses], "carrier": hop.carrier or None,
        "delivered": hop.delivered or None, "seq": hop.seq, "event": hop.event,
    }  # fmt: skip


def _print_hop(hop: Hop) -> None:
    verb = "passed to" if hop.side == "sent" else "taken by"
    console.say(f"hop {hop.number}: {hop.sender}, {verb} {hop.to}: {hop.state}, {hop.verdict}")
    lost: dict[tuple[str, str], list[str]] = {}
    for blocker, field, how in hop.losses:
        lost.setdefault((blocker, how), []).append(field)
    for (blocker, how), fields in lost.items():
        console.say(f"   {blocker}: {', '.join(fields)} {how}")


def _print_artifact(found: Transfer) -> None:
    kept = not found.losses and found.accepted
    console.say(f"the artifact's block is {found.state}", style="green" if kept else "bold red")
    for reason in found.decision.reasons:
        console.say(f"   {reason.code} {reason.message}")
    for read in found.readings():
        console.say(f"   {read.note}", style="dim")
