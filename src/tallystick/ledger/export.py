"""Exports: one run as canonical JSON Lines.

```
{"format":"tallystick-export/1","run":"…"}        the header
{"actor":…,"at":…,"body":…,"prev":…,"seq":1,…}    one line per event: exactly its canonical bytes
{"checkpoint":{"head":…,"seq":…,…}}               the checkpoint, signed or not
```
Each line ends with a line feed and nothing follows the last. The file is written whole or not at all.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import BinaryIO, Final

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tallystick.errors import ForgedEventError, InputError
from tallystick.ledger.checkpoint import Checkpoint, checkpoint
from tallystick.ledger.store import Head, Store
from tallystick.model.canonical import canonical

FORMAT: Final = "tallystick-export/1"


def export(
    store: Store, run: str, out: str | os.PathLike[str], key: Ed25519PrivateKey | None, *, now: datetime
) -> Checkpoint:
    """Write `run`, as it is at this moment, to the file `out` and return the checkpoint it ends in.

    Args:
        store: where the run is.
        run: its id.
        out: the file; replaced at the end, in one step, if it exists.
        key: signs the checkpoint; `None` leaves it unsigned.
        now: instant of the checkpoint, with a time zone.

    Raises:
        InputError: no such run, or `out` cannot be written or is an SQLite file.
        LedgerError: the store cannot be read, or what it holds is not a chain.
    """
    head = store.head(run)
    if head.seq == 0:
        raise InputError(f"there is no run `{run}` in the ledger", fix="list the runs with `tallystick runs`")
    end = checkpoint(run, head, now, key)
    with _whole(Path(out)) as stream:
        stream.write(canonical({"format": FORMAT, "run": run}) + b"\n")
        last = Head()
        for item in store.events(run):
            if item.event.seq > head.seq:
                break
            stream.write(item.raw)
            stream.write(b"\n")
            last = Head(seq=item.event.seq, digest=item.digest)
        if last != head:
            raise ForgedEventError(f"the run should end at event {head.seq}, but {last.seq} were read", where=run)
        stream.write(end.line() + b"\n")
    return end


@contextmanager
def _whole(out: Path) -> Iterator[BinaryIO]:
    """A stream whose bytes appear at `out` all at once, at the end, or never."""
    draft = out.with_name(f".{out.name}.{secrets.token_hex(8)}.part")
    try:
        if out.is_dir():
            raise InputError("is a folder", where=str(out), fix="give the path of a file")
        if out.is_file():
            with out.open("rb") as old:
                if old.read(16) == b"SQLite format 3\x00":
                    raise InputError("is an SQLite file, and would be lost", where=str(out), fix="give another path")
        try:
            with draft.open("xb") as stream:
                yield stream
                stream.flush()
                os.fsync(stream.fileno())
            draft.replace(out)
            _sync_folder(out.parent)
        finally:
            draft.unlink(missing_ok=True)
    except OSError as bad:
        raise InputError(f"the export cannot be written: {bad.strerror}", where=str(out)) from bad


def _sync_folder(folder: Path) -> None:
    """Make the new name durable; a rename alone may be lost in a power cut."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
