"""`tallystick audit`: what goes wrong in recorded conversations."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from tallystick.cli.console import Json
from tallystick.traces.formats import AUTO, FORMATS


def audit(
    paths: Annotated[list[Path], typer.Argument(metavar="PATH", help="Files, and folders to search for them.")],
    contract: Annotated[
        Path | None,
        typer.Option("--contract", metavar="FILE", help="Let this contract's act gate judge the calls as well."),
    ] = None,
    format: Annotated[  # noqa: A002 - the option's name
        str, typer.Option("--format", metavar="NAME", help=f"How the files are written: {', '.join((AUTO, *FORMATS))}.")
    ] = AUTO,
    writes: Annotated[
        str | None,
        typer.Option("--writes", metavar="NAMES", help="Tools that write, separated by commas; the others then read."),
    ] = None,
    tools: Annotated[
        Path | None,
        typer.Option("--tools", metavar="FILE", help="Tool schemas (JSON) that say which tools write."),
    ] = None,
    jobs: Annotated[int, typer.Option("--jobs", metavar="N", help="Processes.")] = 1,
    sarif: Annotated[
        Path | None,
        typer.Option("--sarif", metavar="FILE", help="Write the findings as SARIF 2.1.0 too; `-` for stdout alone."),
    ] = None,
    junit: Annotated[
        Path | None,
        typer.Option("--junit", metavar="FILE", help="Write a JUnit test case per trace too; `-` for stdout alone."),
    ] = None,
    json: Json = False,
) -> int:
    """Audit recorded conversations, with or without a contract. Nothing is stored.

    Exits with 1 where there are findings of severity error or warning, and with 2 where a file could not be used (the
    others are audited all the same). Which tools write is guessed from their names, and marked as a guess, unless
    --contract, --writes or --tools says so.

    --sarif and --junit are for CI systems. Their file appears whole, at the end, or not at all, and replaces nothing
    but such a report.
    """
    from tallystick.audit.report import run_audit  # noqa: PLC0415 - the rules are only needed here

    named = [name.strip() for name in writes.split(",") if name.strip()] if writes is not None else None
    return run_audit(
        paths, contract, format, json, named, tools, jobs, sys.stdout, sys.stderr, sarif=sarif, junit=junit
    )
