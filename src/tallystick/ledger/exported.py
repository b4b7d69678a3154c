"""Reading an export back: its events, each checked to continue the one before it.

This is for whoever goes on with the events. Whether to believe the file at all is for `ledger.verify`, which shares no
code with this.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tallystick.errors import DamagedError, InputError, LedgerError
from tallystick.ledger.export import FORMAT
from tallystick.ledger.store import Head, check_follows
from tallystick.model import jsontext
from tallystick.model.events import Sealed, unseal

_FIX: Final = "give a ledger or an export"


def exported(file: Path) -> Iterator[Sealed]:
    """Yield the events of an export, each checked to continue the one before it.

    Raises:
        InputError: it is no export.
        DamagedError: a line is no event, does not continue the chain, or the end is missing; `tallystick verify` says
            more.
    """
    fix = f"see what `tallystick verify {file}` says"
    head = Head()
    with file.open("rb") as stream:
        for number, line in enumerate(stream, 1):
            where = f"{file}:{number}"
            if number == 1:
                check_header(line, file)
                continue
            if line.startswith(b'{"checkpoint":'):
                return
            try:
                sealed = unseal(line.removesuffix(b"\n"))
            except InputError as bad:
                raise DamagedError(bad.message, where=where, fix=fix) from None
            try:
                check_follows(sealed, head)
            except LedgerError as bad:
                raise DamagedError(bad.message, where=where, fix=fix) from None
            head = Head(seq=sealed.event.seq, digest=sealed.digest)
            yield sealed
    if not file.stat().st_size:
        raise InputError("the file is empty", where=str(file), fix=_FIX)
    raise DamagedError("the export has no end", where=str(file), fix=fix)


def check_header(line: bytes, file: Path) -> None:
    """Hold that the first line of a file is that of an export.

    Raises:
        InputError: it is not.
        DamagedError: it was one.
    """
    try:
        header = jsontext.loads(line)
    except InputError:
        header = None
    if header is None and b'"format"' in line and FORMAT.encode() in line:
        raise DamagedError(
            "the first line is damaged", where=str(file), fix=f"see what `tallystick verify {file}` says"
        )
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise InputError("neither a ledger nor an export of a run", where=str(file), fix=_FIX)
