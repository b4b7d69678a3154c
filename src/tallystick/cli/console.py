"""What every command prints with: results on stdout, everything else on stderr, one JSON object with `--json`.

Colour follows the terminal and NO_COLOR (no-color.org), both handled by rich.
"""

from __future__ import annotations

import sys
from typing import Annotated, Any

import msgspec
import typer
from rich.console import Console
from rich.markup import escape
from rich.text import Text

from tallystick.errors import ContractError, TallystickError
from tallystick.model import jsontext
from tallystick.model.plaintext import printable

Json = Annotated[
    bool,
    typer.Option("--json", help='Print exactly one JSON object on stdout, nothing else; {"error": ...} for bad input.'),
]


def stdout() -> Console:
    """Return the console results go to. Made per call, so that a test or a pipe that swaps `sys.stdout` is honoured."""
    return Console(file=sys.stdout, highlight=False, soft_wrap=True)


def stderr() -> Console:
    """Return the console progress, hints and errors go to."""
    return Console(file=sys.stderr, highlight=False, soft_wrap=True)


def emit(value: dict[str, Any]) -> None:
    """Print `value` as the one JSON object of a `--json` run: UTF-8, exact numbers, a newline at the end."""
    data = (jsontext.dumps(value) + "\n").encode("utf-8")
    binary = getattr(sys.stdout, "buffer", None)
    if binary is None:  # a text-only stand-in for stdout
        sys.stdout.write(data.decode("utf-8"))
    else:
        sys.stdout.flush()
        binary.write(data)
        binary.flush()


def say(text: str = "", *, style: str | None = None) -> None:
    """Print one line of plain text (no markup is read from it) on stdout."""
    stdout().print(Text(printable(text, keep="\n"), style=style or ""))


def note(text: str) -> None:
    """Print one line on stderr: progress, hints, never results."""
    stderr().print(escape(printable(text, keep="\n")), style="dim")


def complain(text: str) -> None:
    """Print the error line of a failed command on stderr."""
    console = stderr()
    console.print(Text.assemble(("error: ", "bold red"), printable(text, keep="\n")))


def fail(bad: TallystickError, *, json: bool) -> None:
    """Print the error a command ended with: on stderr, and with `--json` as the one object on stdout too."""
    complain(str(bad))
    if json:
        found: dict[str, Any] = {"message": bad.message, "where": bad.where, "fix": bad.fix}
        if isinstance(bad, ContractError):
            found["problems"] = [msgspec.to_builtins(problem) for problem in bad.problems]
        emit({"error": found})


def counted(count: int, one: str, many: str = "") -> str:
    """Return a count with its noun: `1 trace`, `2 traces`."""
    return f"{count} {one if count == 1 else many or one + 's'}"


def when(at: str) -> str:
    """Return an RFC 3339 instant shortened for a person: `2026-11-30 20:40:03`."""
    return at[:19].replace("T", " ")
