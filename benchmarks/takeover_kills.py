"""Kill live tenures of a successor at random points, take the runs up again, and count what was lost or done twice.

`python benchmarks/takeover_kills.py [--kills N] [--seed N] [--json]`. Each run is a process of its own on the invoice
desk: the invoice is paid, then a scripted successor takes over, writes its proposal on an SQLite replica, and carries
it out. SIGKILL strikes within that tenure: half of the time at a step (before and after each append to the ledger, each
live call, each call on the replica), half at a random instant. Another process resumes the run: what was under way is
in doubt, the open tenure is over, and a new one starts from a fresh contract. What happened is read from the desk's own
database, not from what anybody said of it.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from crash import CONTRACT, INVOICE, LEASE_SECONDS, RUN, SteppingStore, Steps, _child, stepping, tell
from tallystick import Guard, Run
from tallystick.demo.desk import Desk, Faults
from tallystick.errors import LeaseHeldError
from tallystick.ledger.sqlite import SQLiteStore
from tallystick.model.events import Intent, ResidualEnded, ResidualFrozen, Tenure
from tallystick.runtime.principals import view_of
from tallystick.runtime.recheck import recheck
from tallystick.runtime.replicas import sqlite_replica
from tallystick.runtime.successors import Brief

AMOUNT = "420.00"
TASK = {"request": "Pay I-7 and send its receipt.", "bindings": {"invoice": INVOICE}}
ROUNDS = 6


def successor(brief: Brief) -> Mapping[str, Any]:
    """Try the delivery on the replica, then hand in the remainder. Scripted."""
    assert brief.replica is not None
    books = brief.replica.call("payments", {"invoice_id": INVOICE})
    file = books["payments"][0]["receipt_file"]
    brief.replica.call("send_receipt", {"invoice_id": INVOICE, "file": file})
    return {
        "calls": [
            {"id": "books", "tool": "payments", "args": {"invoice_id": INVOICE}},
            {
                "id": "send", "tool": "send_receipt", "covers": ["delivered"],
                "args": {"invoice_id": INVOICE, "file": {"$from": "books", "$at": "/payments/0/receipt_file"}},
            },
            {"id": "check", "tool": "payments", "args": {"invoice_id": INVOICE}, "after": ["send"]},
        ],
        "answer": {
            "text": "paid {amount_paid}, delivered",
            "claims": {"amount_paid": {"$from": "check", "$at": "/total"}},
        },
    }  # fmt: skip


def finish_rest(run: Run, fork: Any) -> list[str]:
    """Take over until the run has ended; return the reasons of the tenures, in order."""
    reasons: list[str] = []
    for _ in range(ROUNDS):
        taken = run.take_over(successor, replica=fork)
        reasons.append(taken.reason)
        if run.status is not None:
            break
        if taken.reason == "residual.doubt":
            run.settle_by_query()
        elif taken.reason == "residual.nothing_open":
            run.call("payments", {"invoice_id": INVOICE})
            run.finish("done", {"amount_paid": f"{AMOUNT} EUR"})
    return reasons


def live(folder: Path, kill_at: int | None, ready: Callable[[], object] = lambda: None) -> int:
    """Do the first half and take over, or resume a run that was killed. Returns the steps taken within the tenure."""
    steps = Steps(None)
    store = SteppingStore(folder / "ledger.db", steps)
    desk = Desk(folder / "desk.db")
    tools = {name: stepping(fn, steps) for name, fn in desk.tools().items()}

    def on_replica(path: Path) -> Mapping[str, Callable[..., Any]]:
        return {name: stepping(fn, steps) for name, fn in Desk(path).tools().items()}

    guard = Guard(CONTRACT, store, tools=tools, lease_seconds=LEASE_SECONDS)
    with _taken(guard) as run:
        if not run.view.calls:
            run.call("get_invoice", {"invoice_id": INVOICE})
            run.confirm("invoice", INVOICE)
            run.call("pay_invoice", {"invoice_id": INVOICE, "amount": AMOUNT})
        steps.taken, steps.kill_at = 0, kill_at
        ready()
        finish_rest(run, sqlite_replica(desk.path, on_replica))
    store.close()
    return steps.taken


def _taken(guard: Guard) -> Run:
    while True:
        try:
            return guard.resume(RUN) if guard.store.head(RUN).seq else guard.run(TASK, run_id=RUN)
        except LeaseHeldError:
            time.sleep(0.02)


@dataclass(frozen=True, kw_only=True)
class Killed:
    """What was found after one kill, before and after the run was taken up again.

    Attributes:
        where: what the record ended in when the process died.
        lost: deliveries in the world without an intent in the record.
        open_writes: writes without a receipt at the kill; doubted: those of them that were in doubt after the resume.
        interrupted: whether a tenure was open at the kill, and is recorded as bottom `takeover.interrupted`.
        fresh: every later tenure has a contract of its own, made from a later state.
        payments, deliveries: effects in the world at the end; one of each is right.
        status: final status; recheck: whether every recorded decision came out again.
    """

    seed: int
    where: str
    lost: int
    open_writes: int
    doubted: int
    open_tenure: bool
    interrupted: bool
    fresh: bool
    payments: int
    deliveries: int
    status: str | None
    recheck: bool

    @property
    def right(self) -> bool:
        """Nothing lost or repeated, doubt reported, the tenure ended, and the rest certified."""
        return (
            self.lost == 0
            and self.open_writes == self.doubted
            and self.open_tenure == self.interrupted
            and self.fresh
            and (self.payments, self.deliveries, self.status) == (1, 1, "CERTIFIED")
            and self.recheck
        )


def kill_one(folder: Path, seed: int, *, steps: int, seconds: float, at: int | None = None) -> Killed:
    """Start a run, kill its successor's tenure, look at what is left, resume, and look at the end.

    Args:
        folder: an empty folder.
        seed: gives the faults and the point.
        steps: how many steps a whole tenure takes.
        seconds: how long a whole tenure takes.
        at: kill at this step; None: at a random step or a random instant.
    """
    rng = random.Random(seed)
    Desk.create(folder / "desk.db", Faults(nested_error=rng.random() < 0.25, stale_read=rng.random() < 0.25))
    by_step = at is not None or seed % 2 == 0
    step = at if at is not None else rng.randint(1, steps)
    heard, told = os.pipe()
    child = os.fork()
    if child == 0:
        _child(lambda: live(folder, step if by_step else None, lambda: os.write(told, b"x")))
    os.close(told)
    os.read(heard, 1)
    if not by_step:
        time.sleep(rng.uniform(0, 0.5 * seconds))
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
    os.close(heard)
    os.waitpid(child, 0)
    where, lost, open_writes, tenure = _left(folder)
    resumed = os.fork()
    if resumed == 0:
        _child(lambda: live(folder, None) if where != "run.ended" else 0)
    os.waitpid(resumed, 0)
    truth = Desk(folder / "desk.db").truth(INVOICE)
    with contextlib.closing(SQLiteStore(folder / "ledger.db", read_only=True)) as store:
        frozen = [s.event.body for s in store.events(RUN) if isinstance(s.event.body, ResidualFrozen)]
        ended = [s.event.body for s in store.events(RUN) if isinstance(s.event.body, ResidualEnded)]
        return Killed(
            seed=seed,
            where=where,
            lost=lost + _lost(folder, store),
            open_writes=len(open_writes),
            doubted=_doubted(store, open_writes),
            open_tenure=tenure != "",
            interrupted=any(e.tenure == tenure and e.reason == "takeover.interrupted" for e in ended),
            fresh=len({f.residual_sha256 for f in frozen}) == len(frozen) == len(ended),
            payments=truth.payments,
            deliveries=truth.deliveries,
            status=next((row.status for row in store.runs()), None),
            recheck=recheck(store.events(RUN)).reproduces,
        )


def _left(folder: Path) -> tuple[str, int, set[str], str]:
    with contextlib.closing(SQLiteStore(folder / "ledger.db", read_only=True)) as store:
        view = view_of(store, RUN)
        last = None
        for sealed in store.events(RUN):
            last = sealed.event
        assert last is not None
        writes = {c.id for c in view.open_calls.values() if c.effect == "write"}
        tenure = view.tenure.frozen.tenure if view.tenure is not None else ""
        return last.kind, _lost(folder, store), writes, tenure


def _lost(folder: Path, store: SQLiteStore) -> int:
    truth = Desk(folder / "desk.db").truth(INVOICE)
    intents = Counter(e.event.body.tool for e in store.events(RUN) if isinstance(e.event.body, Intent))
    return max(0, truth.payments - intents["pay_invoice"]) + max(0, truth.deliveries - intents["send_receipt"])


def _doubted(store: SQLiteStore, calls: set[str]) -> int:
    """Count the calls that were in doubt right after the run was taken up again."""
    from tallystick.view import View
    from tallystick.view.frozen import frozen_in

    view: View | None = None
    epochs = 0
    for sealed in store.events(RUN):
        if view is None:
            view = View(*frozen_in(sealed.event.body), run=RUN)  # type: ignore[arg-type]  # the first is `run.started`
        view.apply(sealed)
        epochs += isinstance(sealed.event.body, Tenure)
        if epochs == 2:
            return len(calls & set(view.doubts))
    return 0


@contextlib.contextmanager
def measured() -> Iterator[tuple[int, float]]:
    """Yield how many steps a tenure takes that nobody kills, and how many seconds."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        Desk.create(folder / "desk.db", Faults(nested_error=True))
        begun: list[float] = []
        steps = live(folder, None, lambda: begun.append(time.perf_counter()))
        yield steps, time.perf_counter() - begun[0]


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--kills", type=int, default=200, help="kills that strike while a tenure is open")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    chosen = parser.parse_args()
    found: list[Killed] = []
    with measured() as (steps, seconds):
        while (struck := sum(k.open_tenure for k in found)) < chosen.kills:
            with tempfile.TemporaryDirectory() as name:
                seed = chosen.seed * 100_000 + len(found)
                found.append(kill_one(Path(name), seed, steps=steps // 2, seconds=seconds))
            print(f"\r{struck}/{chosen.kills}", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    wrong = [k for k in found if not k.right]
    result = {
        "kills": len(found),
        "in_a_live_tenure": sum(k.open_tenure for k in found),
        "where": dict(Counter(k.where for k in found).most_common()),
        "writes_open_at_the_kill": sum(k.open_writes for k in found),
        "of_them_in_doubt_after_it": sum(k.doubted for k in found),
        "effects_lost": sum(k.lost for k in found),
        "effects_repeated": sum(max(0, k.payments - 1) + max(0, k.deliveries - 1) for k in found),
        "not_rechecked": sum(not k.recheck for k in found),
        "statuses": dict(Counter(str(k.status) for k in found)),
        "wrong": [asdict(k) for k in wrong],
    }
    tell(result, as_json=chosen.json)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
