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
from datetime import datetime
from pathlib import Path
from typing import Final

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tallystick.errors import ForgedEventError, InputError
from tallystick.ledger.checkpoint import Checkpoint, checkpoint
from tallystick.ledger.store import Head, Store
from tallystick.ledger.whole import whole
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
    with whole(Path(out), "the export") as stream:
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
