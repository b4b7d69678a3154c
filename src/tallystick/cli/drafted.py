"""Where a written contract goes: standard output, or a file that nobody has edited yet."""

from __future__ import annotations

import contextlib
import os
import sys
from pathlib import Path
from typing import Annotated

import typer

from tallystick.cli import console
from tallystick.errors import InputError

Out = Annotated[
    Path | None,
    typer.Option("--out", "-o", metavar="FILE", help="Where to write the contract; printed without it."),
]
Force = Annotated[bool, typer.Option("--force", help="Replace a file that says something else.")]


def deliver(text: str, out: Path | None, *, force: bool) -> None:
    """Print a text, or write it to a file as a whole.

    Raises:
        InputError: the file is there with other content, and `force` is not given: somebody may have edited it.
    """
    if out is None:
        data = text.encode("utf-8")
        binary = getattr(sys.stdout, "buffer", None)
        if binary is None:  # a text-only stand-in for stdout
            sys.stdout.write(text)
        else:
            sys.stdout.flush()
            binary.write(data)
            binary.flush()
        return
    place(out, text.encode("utf-8"), force=force)
    console.say(f"{out}: written; check it with: tallystick check {out}")


def place(file: Path, data: bytes, *, force: bool) -> None:
    """Write a file as a whole, by renaming; nothing is left half-written.

    Raises:
        InputError: it is there with other content, and `force` is not given; or it cannot be written.
    """
    try:
        if file.is_dir():
            raise InputError("a folder", where=str(file), fix="name a file")
        if file.exists() and not force and file.read_bytes() != data:
            raise InputError("the file exists and says something else", where=str(file), fix="another name, or --force")
        part = file.with_name(f".{file.name}.{os.getpid()}.part")
        try:
            part.write_bytes(data)
            part.replace(file)
        finally:
            with contextlib.suppress(OSError):
                part.unlink(missing_ok=True)
    except OSError as bad:
        raise InputError(f"cannot be written: {(bad.strerror or str(bad)).lower()}", where=str(file)) from None
