"""`tallystick draft`: a first contract from what tools declare about themselves."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tallystick.cli import console
from tallystick.cli.drafted import Force, Out, deliver


def draft(
    sources: Annotated[
        list[Path],
        typer.Argument(
            metavar="SOURCE",
            help="MCP `tools/list` results, lists of tool definitions, OpenAPI 3 documents, JSON Schemas.",
        ),
    ],
    out: Out = None,
    force: Force = False,
) -> None:
    """Write a first contract from what tools declare about themselves. Every guess in it is marked as one.

    What comes out is a valid contract, for a person who knows the tools to go through. Without -o it is printed.
    """
    from tallystick.drafting import draft as make  # noqa: PLC0415 - the rest of the program does without

    drafted = make(sources)
    deliver(drafted.text, out, force=force)
    for note in drafted.notes:
        console.note(note)
