"""Appends for ever, one acknowledgement per event: `python -m tests.ledger.kill_child LEDGER durable|normal|batch`."""

from __future__ import annotations

import os
import sys

from tallystick.ledger.sqlite import SQLiteStore
from tallystick.model.events import Said
from tests.ledger.samples import NOW, chain, started


def main(path: str, mode: str) -> None:
    store = SQLiteStore(path)
    lease = store.acquire("r", "child", NOW, 60, force=True)
    after = list(store.events("r"))
    last = after[-1] if after else None
    if last is None:
        [last] = chain("r", (started(),))
        store.append(lease, last, durable=True)
        os.write(1, b"1\n")
    while True:
        count = 7 if mode == "batch" else 1
        # Sizes vary so that kills fall into page splits, overflow pages and checkpoints.
        bodies = tuple(Said(role="user", text="x" * (last.event.seq * 37 % 9_000)) for _ in range(count))
        events = chain("r", bodies, after=last)
        if mode == "batch":
            store.append_many(lease, events, durable=True)
        else:
            store.append(lease, events[0], durable=mode == "durable")
        last = events[-1]
        os.write(1, b"%d\n" % last.event.seq)  # unbuffered: what is acknowledged has left the process


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
