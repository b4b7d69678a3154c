"""Appending events beside raw fdatasync and raw SQLite: `python benchmarks/append.py [--rounds N] [--json]`.

Every contender writes the same events, of about 600 bytes. Raw SQLite has one table with the same columns, the same
pragmas and one statement per event, without lease, chain or trigger: the least any SQLite ledger has to do.
"""

from __future__ import annotations

import argparse
import json
import os
import sqlite3
import sys
import tempfile
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from tallystick.ledger.sqlite import SQLiteStore
from tallystick.model.canonical import digest
from tallystick.model.events import GENESIS, SEMANTICS, Actor, Event, Intent, Sealed, Started, blob, seal
from timing import Ratio, Timing, as_json, interleaved, table

AT = "2026-03-11T09:00:00.000000Z"
BATCH = 100


def body(n: int) -> Intent:
    return Intent(
        call=f"c{n:06}",
        tool="pay_invoice",
        args=blob(b'{"invoice_id": "I-%d", "amount": "420.00", "currency": "EUR"}' % n),
        effect_keys=[f"pay_invoice:I-{n}"],
        now=AT,
    )


def sealed_after(last: Sealed | None, what: Started | Intent) -> Sealed:
    return seal(
        Event(
            v=1,
            run="run",
            seq=last.event.seq + 1 if last else 1,
            at=AT,
            actor=Actor(role="runtime", id="guard"),
            body=what,
            prev=last.digest if last else GENESIS,
        )
    )


def start() -> Sealed:
    none = digest(b"")
    return sealed_after(
        None, Started(semantics=SEMANTICS, contract="", contract_sha256=none, task="", task_sha256=none)
    )


def chained(count: int) -> list[Sealed]:
    found = [start()]
    while len(found) <= count:
        found.append(sealed_after(found[-1], body(len(found))))
    return found


def per_event(count: int, work: Callable[[], object]) -> float:
    begin = time.perf_counter()
    work()
    return (time.perf_counter() - begin) / count * 1e6


class Bench:
    """The contenders, each on a fresh file."""

    def __init__(self, folder: Path, full: int, normal: int) -> None:
        self.folder = folder
        self.full = full
        self.normal = normal
        self.events = chained(max(full, normal, 20 * BATCH))
        self.files = 0

    def fresh(self) -> Path:
        """Return a path of no file yet."""
        self.files += 1
        return self.folder / f"{self.files}.bench"

    def fdatasync(self) -> float:
        """Write each event to a plain file and wait for the disk."""
        descriptor = os.open(self.fresh(), os.O_CREAT | os.O_WRONLY | os.O_APPEND)

        def work() -> None:
            for item in self.events[1 : self.full + 1]:
                os.write(descriptor, item.raw)
                os.fdatasync(descriptor)

        try:
            return per_event(self.full, work)
        finally:
            os.close(descriptor)

    def raw(self, mode: str, count: int) -> float:
        """Insert each event by one statement, which commits by itself."""
        sql = self._raw_file(mode)

        def work() -> None:
            for item in self.events[1 : count + 1]:
                sql.execute(
                    "INSERT INTO event VALUES (?, ?, ?, ?)", (item.event.seq, item.event.kind, item.digest, item.raw)
                )

        took = per_event(count, work)
        sql.close()
        return took

    def raw_groups(self) -> float:
        """Insert events with one commit per `BATCH`."""
        sql = self._raw_file("FULL")

        def work() -> None:
            for first in range(1, 20 * BATCH, BATCH):
                sql.execute("BEGIN IMMEDIATE")
                rows = [(e.event.seq, e.event.kind, e.digest, e.raw) for e in self.events[first : first + BATCH]]
                sql.executemany("INSERT INTO event VALUES (?, ?, ?, ?)", rows)
                sql.execute("COMMIT")

        took = per_event(20 * BATCH, work)
        sql.close()
        return took

    def _raw_file(self, mode: str) -> sqlite3.Connection:
        sql = sqlite3.connect(self.fresh(), isolation_level=None)
        sql.execute("PRAGMA journal_mode = WAL")
        sql.execute(f"PRAGMA synchronous = {mode}")
        sql.execute("CREATE TABLE event (id INTEGER PRIMARY KEY, kind TEXT, digest TEXT, raw BLOB)")
        return sql

    def append(self, *, durable: bool, count: int) -> float:
        """Append events that are sealed already."""
        store = SQLiteStore(self.fresh())
        lease = store.acquire("run", "bench", datetime.now(UTC), 3_600)
        store.append(lease, self.events[0], durable)

        def work() -> None:
            for item in self.events[1 : count + 1]:
                store.append(lease, item, durable)

        took = per_event(count, work)
        store.close()
        return took

    def seal_and_append(self, *, durable: bool, count: int) -> float:
        """Seal each event onto the one before and append it, as a run does."""
        store = SQLiteStore(self.fresh())
        lease = store.acquire("run", "bench", datetime.now(UTC), 3_600)
        store.append(lease, self.events[0], durable)
        bodies = [body(n) for n in range(1, count + 1)]

        def work() -> None:
            last = self.events[0]
            for what in bodies:
                last = sealed_after(last, what)
                store.append(lease, last, durable)

        took = per_event(count, work)
        store.close()
        return took

    def groups(self) -> float:
        """Append sealed events, `BATCH` per commit."""
        store = SQLiteStore(self.fresh())
        lease = store.acquire("run", "bench", datetime.now(UTC), 3_600)
        store.append(lease, self.events[0], durable=True)

        def work() -> None:
            for first in range(1, 20 * BATCH, BATCH):
                store.append_many(lease, self.events[first : first + BATCH], durable=True)

        took = per_event(20 * BATCH, work)
        store.close()
        return took


def measure(folder: Path, *, rounds: int, full: int, normal: int) -> tuple[list[Timing], list[Ratio]]:
    bench = Bench(folder, full, normal)
    t = interleaved(
        {
            "write + fdatasync": bench.fdatasync,
            "raw SQLite, FULL": lambda: bench.raw("FULL", full),
            "append, durable": lambda: bench.append(durable=True, count=full),
            "seal and append, durable": lambda: bench.seal_and_append(durable=True, count=full),
            f"raw SQLite, FULL, {BATCH} a commit": bench.raw_groups,
            f"append_many, durable, {BATCH} a commit": bench.groups,
            "raw SQLite, NORMAL": lambda: bench.raw("NORMAL", normal),
            "append, not durable": lambda: bench.append(durable=False, count=normal),
            "seal and append, not durable": lambda: bench.seal_and_append(durable=False, count=normal),
        },
        rounds=rounds,
    )
    fdatasync, raw_full, append, sealing, raw_group, group, raw_normal, normal_append, normal_sealing = t.values()
    ratios = [
        Ratio(name="append, durable / write + fdatasync", value=append.speed_against(fdatasync), least=0.60),
        Ratio(name="append, durable / raw SQLite, FULL", value=append.speed_against(raw_full), least=0.90),
        Ratio(name="seal and append, durable / raw SQLite, FULL", value=sealing.speed_against(raw_full)),
        Ratio(name=f"{BATCH} a commit / one a commit, durable", value=group.speed_against(append), least=70),
        Ratio(name=f"the same with raw SQLite, {BATCH} / one", value=raw_group.speed_against(raw_full)),
        Ratio(name=f"append_many, {BATCH} a commit / raw SQLite, the same", value=group.speed_against(raw_group)),
        Ratio(
            name="append, not durable / raw SQLite, NORMAL", value=normal_append.speed_against(raw_normal), least=0.70
        ),
        Ratio(name="seal and append, not durable / raw SQLite, NORMAL", value=normal_sealing.speed_against(raw_normal)),
    ]
    return list(t.values()), ratios


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--full", type=int, default=400, help="durable events per round")
    parser.add_argument("--normal", type=int, default=4_000, help="events per round that are not durable")
    parser.add_argument("--folder", type=Path, help="where to write; the disk decides what is measured")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        timings, ratios = measure(Path(folder), rounds=options.rounds, full=options.full, normal=options.normal)
    size = len(chained(1)[1].raw)
    if options.json:
        json.dump({"event_bytes": size, "rounds": options.rounds, **as_json(timings, ratios)}, sys.stdout)
        print()
    else:
        print(f"events of {size} bytes, {options.rounds} interleaved rounds\n")
        print(table(timings, ratios))


if __name__ == "__main__":
    main()
