"""`tallystick mine`: a first contract from good trajectories."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tallystick.cli import console
from tallystick.cli.drafted import Force, Out, deliver, place
from tallystick.errors import InputError
from tallystick.model import jsontext
from tallystick.model.trace import Trace
from tallystick.traces.files import read
from tallystick.traces.formats import AUTO, FORMATS


def mine(
    traces: Annotated[list[Path], typer.Argument(metavar="TRACES", help="Files, and folders to search for them.")],
    tools: Annotated[
        list[Path] | None,
        typer.Option("--tools", metavar="FILE", help="What the tools declare (as for `draft`); may be given again."),
    ] = None,
    labels: Annotated[
        Path | None,
        typer.Option("--labels", metavar="FILE", help="Which are good: lines such as {'trajectory': 't', 'ok': true}."),
    ] = None,
    good_only: Annotated[
        str | None,
        typer.Option("--good-only", metavar="IDS", help="Ids of the good ones, separated by commas."),
    ] = None,
    out: Out = None,
    report: Annotated[
        Path | None,
        typer.Option("--report", metavar="FILE", help="Every rule weighed, with each call for and against it (JSON)."),
    ] = None,
    min_support: Annotated[
        int, typer.Option("--min-support", metavar="N", help="Fewest trajectories in which a rule came up.")
    ] = 5,
    name: Annotated[
        str | None, typer.Option("--name", metavar="NAME", help="For the contract; else that of the first folder.")
    ] = None,
    format: Annotated[  # noqa: A002 - the option's name
        str, typer.Option("--format", metavar="NAME", help=f"How the files are written: {', '.join((AUTO, *FORMATS))}.")
    ] = AUTO,
    force: Force = False,
) -> None:
    """Mine a first contract from good trajectories; without --labels or --good-only, all count as good.

    Each rule says in how many trajectories it held, and in force are only rules that none contradicts. What always
    happened need not be what is required: a person decides. Without -o the contract is printed.
    """
    from tallystick.drafting import chosen, read_labels, read_sources  # noqa: PLC0415 - the rest does without
    from tallystick.drafting import mine as make  # noqa: PLC0415

    if labels is not None and good_only is not None:
        raise InputError("`--labels` and `--good-only` contradict each other", fix="give one of them")
    only = [part.strip() for part in good_only.split(",") if part.strip()] if good_only is not None else None
    specs = read_sources(tools)[1] if tools else {}
    known = read_labels(labels) if labels is not None else None
    found: list[Trace] = [trace for path in traces for trace in read(path, format)]
    good = chosen(found, known, only)
    if specs and not any(call.tool in specs for trace in good for call in trace.calls):
        raise InputError(
            "no tool declared here is called in the trajectories",
            where="--tools",
            fix="give what the tools of these trajectories declare, or leave it out",
        )
    title = name or (traces[0].name if traces[0].is_dir() else traces[0].stem) or "mined"
    mined = make(good, specs=specs, name=title, min_support=min_support, of=len({t.sha256 + t.id for t in found}))
    if report is not None:
        place(report, (jsontext.dumps(mined.report) + "\n").encode("utf-8", "backslashreplace"), force=force)
    deliver(mined.text, out, force=force)
    live = sum(rule["in_force"] for rule in mined.report["rules"])
    console.note(
        f"{len(mined.report['trajectories'])} good of {mined.report['chosen_from']} trajectories; "
        f"{console.counted(live, 'rule')} in force of {len(mined.report['rules'])} weighed"
    )
    for note in mined.notes:
        console.note(note)
