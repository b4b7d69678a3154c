"""`tallystick keygen`: a key for a principal, or for signing exports."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tallystick.cli import console
from tallystick.cli.console import Json
from tallystick.errors import InputError
from tallystick.ledger.keys import public_bytes, signing_key


def keygen(
    path: Annotated[Path, typer.Argument(metavar="PATH", help="The file to make; its public half goes to PATH.pub.")],
    json: Json = False,
) -> None:
    """Make an Ed25519 signing key: PATH (mode 0600) and PATH.pub, its public half. Nothing is ever overwritten.

    Make a principal's key where the agent cannot reach it, and give the agent's host only PATH.pub.
    """
    public = path.with_name(path.name + ".pub")
    for file in (path, public):
        if file.exists() or file.is_symlink():
            raise InputError("there is a file already", where=str(file), fix="give another path, or move it away")
    key = public_bytes(signing_key(path)).hex()
    if json:
        console.emit({"key_file": str(path), "public_key_file": str(public), "public_key": key})
        return
    console.say(f"{path}: the signing key; keep it from agents and out of repositories")
    console.say(f"{public}: its public half, {key}")
