"""One whole gated call beside a hand-written floor: `python benchmarks/guard.py [--rounds N] [--events N] [--json]`.

A gated call validates, decides, appends the intent, runs the tool, appends the receipt and folds both: two events,
without fsync. The floor is the least anybody would write by hand: encode, chain by SHA-256 and append one event, and
run the tool. CPU time, in interleaved rounds; the tool makes a dictionary on both sides. Flatness compares a run of
`--events` events with a short one.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tallystick import Guard, Run
from tallystick.ledger.sqlite import SQLiteStore
from tallystick.ledger.store import Store
from timing import Ratio, as_json, interleaved, table

CONTRACT = Path(__file__).resolve().parent.parent / "examples" / "invoice-desk.yaml"
BATCH = 100


def get_invoice(invoice_id: str) -> dict[str, Any]:
    return {
        "id": invoice_id, "vendor": "Hazel Print", "amount_due": "420.00", "currency": "EUR", "due": "2026-12-03",
        "status": "open", "receipt_file": None,
    }  # fmt: skip


def started(store: Store | None) -> Run:
    guard = Guard(CONTRACT, store, tools={"get_invoice": get_invoice})
    return guard.run({"bindings": {"invoice": "I-7"}})


def gated(run: Run) -> Callable[[], float]:
    def work() -> float:
        begin = time.process_time()
        for n in range(BATCH):
            run.call("get_invoice", {"invoice_id": f"I-{n % 8}"})
        return (time.process_time() - begin) / BATCH * 1e6

    return work


def floor() -> float:
    """The hand-written one: one event per call, nothing judged, nothing folded."""
    log: list[bytes] = []
    prev = "0" * 64
    begin = time.process_time()
    for n in range(BATCH):
        args = {"invoice_id": f"I-{n % 8}"}
        event = {
            "run": "run", "seq": n, "at": time.time_ns(), "tool": "get_invoice", "args": args,
            "result": get_invoice(**args), "prev": prev,
        }  # fmt: skip
        raw = json.dumps(event, sort_keys=True, separators=(",", ":")).encode()
        prev = hashlib.sha256(raw).hexdigest()
        log.append(raw)
    return (time.process_time() - begin) / BATCH * 1e6


def grown(run: Run, events: int) -> Run:
    while run.view.upto < events:
        run.call("get_invoice", {"invoice_id": f"I-{run.view.upto % 8}"})
    return run


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--events", type=int, default=100_000)
    parser.add_argument("--json", action="store_true")
    chosen = parser.parse_args()
    long_run = grown(started(None), chosen.events)
    with tempfile.TemporaryDirectory() as folder:
        store = SQLiteStore(Path(folder) / "ledger.db")
        label = f"gated call, memory, {chosen.events:,} events"
        times = interleaved(
            {
                "hand-written floor, one event": floor,
                "gated call, memory": gated(started(None)),
                label: gated(long_run),
                "gated call, SQLite without fsync": gated(started(store)),
            },
            rounds=chosen.rounds,
        )
        store.close()
    call = times["gated call, memory"]
    ratios = [
        Ratio(name="call within 100 µs (100 / median)", value=100 / statistics.median(call.rounds), least=1.0),
        Ratio(name="flat: short run / long run (1 is flat)", value=times[label].speed_against(call), least=1 / 1.5),
        Ratio(name="floor / call", value=call.speed_against(times["hand-written floor, one event"])),
    ]
    print(json.dumps(as_json(list(times.values()), ratios)) if chosen.json else table(list(times.values()), ratios))
    return 0


if __name__ == "__main__":
    sys.exit(main())
