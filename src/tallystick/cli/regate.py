"""`tallystick regate`: what another stop policy would have made of a recording, where that can be told exactly."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Annotated, Any, Final

import typer
from rich.table import Table
from rich.text import Text

from tallystick.cli import console
from tallystick.cli.console import Json
from tallystick.cli.recordings import (
    RUN,
    ContractOption,
    FormatOption,
    Recording,
    TaskOption,
    encoding_named,
    recordings,
)
from tallystick.errors import InputError
from tallystick.gates.stage import Stage
from tallystick.gates.stop_policies import POLICIES, Regated, StopPolicy, regate_rulings
from tallystick.model.plaintext import printable
from tallystick.progress import ENCODINGS, Encoding, parse_report
from tallystick.runtime.recorded import RecordedTurn, moments, rulings, turns_of
from tallystick.traces.formats import AUTO

_STAGED: Final = ("A", "A-matched", "A-stop")
"""Policies that look at the derived stage."""
_MARKED: Final = ("B1",)
"""Policies that look at what a report says."""


def regate(
    source: Annotated[
        Path, typer.Argument(metavar="SOURCE", help="A ledger, an export, a conversation file, or a folder of them.")
    ],
    run: Annotated[
        str | None, typer.Argument(metavar="RUN", help="Only this run, or this conversation; all where left out.")
    ] = None,
    policy: Annotated[
        list[str] | None,
        typer.Option("--policy", metavar="NAME", help=f"One of: {', '.join(POLICIES)}; repeatable. Default: all."),
    ] = None,
    contract: ContractOption = None,
    task: TaskOption = None,
    told_to_report: Annotated[
        bool | None,
        typer.Option(
            "--told-to-report/--not-told-to-report",
            help="Whether the agent was told to report its stage. Default: told, where the recording holds a report or "
            "that one was due.",
        ),
    ] = None,
    encoding: Annotated[
        str | None,
        typer.Option(
            "--encoding",
            metavar="E",
            help="How the agent was told to write reports: xml or json. Default: xml; B1 says so where all are json.",
        ),
    ] = None,
    format: FormatOption = AUTO,  # noqa: A002 - the option's name
    json: Json = False,
) -> None:
    """Judge recordings by another stop policy: where it would have ended each, or that nobody can tell.

    Exact only for a policy that stops no later than the recording under identical inputs: the agent was told the same
    and answered the same until then. Everything else is "not regatable". B1 reads markers, B2 ends a turn without a
    call, A is the derived stage and asks again, A-stop its stop rule alone; the stage needs a contract.
    """
    read_as = encoding_named(encoding) if encoding is not None else None
    chosen = _policies(policy)
    rows: list[dict[str, Any]] = []
    for recording in recordings(source, run, contract, task, format):
        rows += _judged(recording, chosen, told_to_report, read_as)
    counts = {
        name: {
            "exact": sum(r["exact"] for r in rows if r["policy"] == name),
            "not_regatable": sum(not r["exact"] for r in rows if r["policy"] == name),
            "outcomes": dict(Counter(r["outcome"] for r in rows if r["policy"] == name and r["exact"])),
        }
        for name in chosen
    }
    if json:
        console.emit({"recordings": rows, "policies": counts})
        return
    if not rows:
        console.note("there are no runs in it")
        return
    _draw(rows, counts)


def _policies(names: list[str] | None) -> dict[str, StopPolicy]:
    for name in names or ():
        if name not in POLICIES:
            raise InputError(f"unknown stop policy `{name}`", where="--policy", fix=f"one of: {', '.join(POLICIES)}")
    return {name: POLICIES[name] for name in names or POLICIES}


def _judged(
    recording: Recording, policies: dict[str, StopPolicy], told: bool | None, encoding: Encoding | None
) -> list[dict[str, Any]]:
    follow = recording.follow()
    turns = tuple(turns_of(follow, recording.events(), encoding or ENCODINGS[0]))
    # A host that was looking for reports has told its agent to make them, also where the record says that none came.
    looked = any(turn.said is not None for turn in turns)
    if told is None:
        told = looked
    elif looked and not told:
        raise InputError(
            "the recording holds reports, or that one was due, so its agent was told to make them",
            where="--not-told-to-report",
            fix="leave it out",
        )
    seen, followed = moments(turns), rulings(turns, follow.view.ended)
    other = _written_as(turns) if encoding is None else None
    cut = follow.view.ended is None and bool(turns) and (recording.kind == RUN or turns[-1].called)
    rows = []
    for name, policy in policies.items():
        if not turns:
            found = _not("the agent made no turn")
        elif name in _STAGED and not recording.staged:
            found = _not(recording.why_not)
        elif name in _MARKED and told and other is not None:
            found = _not(f"its reports are written as {other}; say what it was told with --encoding")
        else:
            found = regate_rulings(seen, followed, policy, told=told)
            if found.exact and found.turn is None and cut:
                found = _not("it would have gone on where the recording stops, which is no end")
        rows.append(_row(recording, name, turns, found, told=told))
    return rows


def _not(why: str) -> Regated:
    return Regated(exact=False, why_not=f"not regatable: {why}")


def _written_as(turns: tuple[RecordedTurn, ...]) -> Encoding | None:
    """Return the other encoding, where every report that can be read is written in it and none in the first."""
    if any(turn.value is not None for turn in turns):
        return None
    return next((e for e in ENCODINGS[1:] if any(parse_report(t.text, e).well_formed for t in turns)), None)


def _row(
    recording: Recording, policy: str, turns: tuple[RecordedTurn, ...], found: Regated, *, told: bool
) -> dict[str, Any]:
    at = turns[found.turn] if found.turn is not None else None
    stage = str(at.standing.stage) if at is not None and recording.staged else None
    return {
        "recording": recording.name,
        "kind": recording.kind,
        "turns": len(turns),
        "told_to_report": told,
        "policy": policy,
        "exact": found.exact,
        "turn": found.turn,
        "seq": at.last if at is not None else None,
        "ruling": found.ruling,
        "stage": stage,
        "outcome": _outcome(found, stage) if found.exact else "not regatable",
        "why_not": found.why_not.removeprefix("not regatable: ") or None,
    }


def _outcome(found: Regated, stage: str | None) -> str:
    """Return what the end under the other policy is worth, as far as the record tells."""
    if found.turn is None:
        return "ends as recorded"
    if found.ruling != "stop":
        return "dead end" if found.ruling == "dead_end" else "gives up"
    if stage is None:
        return "stops"
    return "correct stop" if stage == Stage.COMPLETED else "premature stop"


def _draw(rows: list[dict[str, Any]], counts: dict[str, Any]) -> None:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for column in ("recording", "turns", "policy", "outcome", "at turn", "stage there, or why not"):
        table.add_column(column, no_wrap=not column.startswith("stage"), overflow="fold")
    for row in rows:
        at = "" if row["turn"] is None else str(row["turn"])
        cells = (row["recording"], str(row["turns"]), row["policy"], row["outcome"], at,
                 row["why_not"] or row["stage"] or "")  # fmt: skip
        table.add_row(*(Text(printable(cell)) for cell in cells))
    console.stdout().print(table)
    console.say()
    for name, found in counts.items():
        ends = ", ".join(f"{n} {what}" for what, n in sorted(found["outcomes"].items()))
        told = f": {ends}" if ends else ""
        console.say(f"{name}: {found['exact']} exact{told}; {found['not_regatable']} not regatable")
