"""Kill live runs at random points, take them up again, and count what was lost or done twice.

`python benchmarks/crash.py [--kills N] [--seed N] [--json]`. Each run is a process of its own on the invoice desk, with
an SQLite ledger and the desk's SQLite file as the world. It is ended by SIGKILL: half of the runs at a step between two
of the things a call consists of (append, effect, return), half whenever the clock says, wherever that is. Then another
process resumes the run, and the same agent starts over. What really happened is read from the desk's file, never from a
tool.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import random
import signal
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tallystick import Guard, Run
from tallystick.demo.desk import Desk, Faults
from tallystick.errors import LeaseHeldError, LedgerError
from tallystick.ledger.sqlite import SQLiteStore
from tallystick.ledger.store import Lease
from tallystick.model import jsontext
from tallystick.model.events import Ended, Intent, Receipt, Sealed
from tallystick.runtime.principals import view_of
from tallystick.runtime.recheck import recheck

CONTRACT = Path(__file__).resolve().parent.parent / "examples" / "invoice-desk.yaml"
RUN, INVOICE, AMOUNT = "run", "I-7", "420.00"
LEASE_SECONDS = 0.3
ROUNDS = 6
"""Times the agent starts over before it gives up."""


class Steps:
    """Counts the steps of a live run and kills the process at one of them."""

    def __init__(self, kill_at: int | None) -> None:
        self.taken = 0
        self.kill_at = kill_at

    def step(self) -> None:
        """Take one step, the last one if it is the one to die at."""
        self.taken += 1
        if self.taken == self.kill_at:
            os.kill(os.getpid(), signal.SIGKILL)


class SteppingStore(SQLiteStore):
    """An SQLite ledger with a step before and after each append."""

    def __init__(self, path: Path, steps: Steps) -> None:
        super().__init__(path)
        self._steps = steps

    def append(self, lease: Lease, sealed: Sealed, durable: bool) -> None:
        """See `Store.append`."""
        self._steps.step()
        super().append(lease, sealed, durable)
        self._steps.step()


def stepping(fn: Callable[..., Any], steps: Steps) -> Callable[..., Any]:
    """Return a tool with a step before it runs and one after its effect, before anybody hears of it."""

    def tool(**args: Any) -> Any:
        steps.step()
        try:
            return fn(**args)
        finally:
            steps.step()

    return tool


def agent(run: Run) -> None:
    """Do the job from its beginning, as an agent without memory would; stop once the run has ended."""
    for _ in range(ROUNDS):
        run.call("get_invoice", {"invoice_id": INVOICE})
        run.call("pay_invoice", {"invoice_id": INVOICE, "amount": AMOUNT})
        books = run.call("payments", {"invoice_id": INVOICE}).result
        files = [p["receipt_file"] for p in books["payments"]] if isinstance(books, dict) else []
        run.call("send_receipt", {"invoice_id": INVOICE, "file": files[0] if files else "none"})
        run.call("delivery_status", {"invoice_id": INVOICE})
        if run.finish("done", {"amount_paid": AMOUNT}).status is not None:
            return


def live(folder: Path, kill_at: int | None, ready: Callable[[], object] = lambda: None) -> int:
    """Start the run, or take it up again where it is there already, and work on it. Returns the steps taken.

    `ready` is called once the run is held, before its first call.
    """
    steps = Steps(kill_at)
    store = SteppingStore(folder / "ledger.db", steps)
    tools = {name: stepping(fn, steps) for name, fn in Desk(folder / "desk.db").tools().items()}
    guard = Guard(CONTRACT, store, tools=tools, lease_seconds=LEASE_SECONDS)
    with taken(guard) as run:
        ready()
        agent(run)
    store.close()
    return steps.taken


def taken(guard: Guard) -> Run:
    """Return the run, started or resumed, once the lease of whoever was killed has expired. Nothing is forced."""
    while True:
        try:
            if guard.store.head(RUN).seq:
                return guard.resume(RUN)
            return guard.run({"bindings": {"invoice": INVOICE}}, run_id=RUN)
        except LeaseHeldError:
            time.sleep(0.02)


@dataclass(frozen=True, kw_only=True)
class Killed:
    """What was found after one kill, before and after the run was taken up again.

    Attributes:
        where: what the record ended in when the process died.
        lost: effects in the world without an intent in the record.
        certified_in_doubt: the record said CERTIFIED while a call was in doubt, or with less done than was owed.
        payments, deliveries: effects in the world at the end; one of each is right.
        status: final status at the end.
        recheck: whether every recorded decision came out again.
    """

    seed: int
    where: str
    lost: int
    certified_in_doubt: bool
    payments: int
    deliveries: int
    status: str | None
    recheck: bool

    @property
    def right(self) -> bool:
        """Nothing lost, nothing repeated, nothing certified too early, and the job done in the end."""
        return (
            self.lost == 0
            and not self.certified_in_doubt
            and (self.payments, self.deliveries, self.status) == (1, 1, "CERTIFIED")
            and self.recheck
        )


def prepare(folder: Path, rng: random.Random) -> None:
    """Open a desk with some of its faults."""
    Desk.create(
        folder / "desk.db",
        Faults(timeout=rng.random() < 0.3, nested_error=rng.random() < 0.3, stale_read=rng.random() < 0.3),
    )


def kill_one(folder: Path, seed: int, *, steps: int, seconds: float, at: int | None = None) -> Killed:
    """Start a run, kill it, look at what is left, take it up again, and look at the end.

    Args:
        folder: an empty folder.
        seed: gives the faults and the point.
        steps: how many steps a whole run takes.
        seconds: how long a whole run takes from its first call.
        at: kill at this step; None: at a random step or a random instant.
    """
    rng = random.Random(seed)
    prepare(folder, rng)
    by_step = at is not None or seed % 2 == 0
    step = at if at is not None else rng.randint(1, steps)
    heard, told = os.pipe()
    child = os.fork()
    if child == 0:
        _child(lambda: live(folder, step if by_step else None, lambda: os.write(told, b"x")))
    os.close(told)
    if not by_step:
        os.read(heard, 1)
        time.sleep(rng.uniform(0, 0.6 * seconds))  # a run without faults takes about that part of it
        with contextlib.suppress(ProcessLookupError):
            os.kill(child, signal.SIGKILL)
    os.close(heard)
    os.waitpid(child, 0)
    where, lost, too_early = _after_the_kill(folder)
    resumed = os.fork()
    if resumed == 0:
        _child(lambda: live(folder, None) if where != "ended" else 0)
    os.waitpid(resumed, 0)
    truth = Desk(folder / "desk.db").truth(INVOICE)
    with contextlib.closing(SQLiteStore(folder / "ledger.db", read_only=True)) as store:
        return Killed(
            seed=seed,
            where=where,
            lost=lost + _lost(folder, store),
            certified_in_doubt=too_early or _too_early(folder, store),
            payments=truth.payments,
            deliveries=truth.deliveries,
            status=next((row.status for row in store.runs()), None),
            recheck=recheck(store.events(RUN)).reproduces,
        )


def _child(work: Callable[[], object]) -> None:
    """Do `work` in a forked process and leave without the parent's clean-up."""
    status = 1
    try:
        work()
        status = 0
    except BaseException:  # noqa: BLE001 - a forked process must not return into its parent's code
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(status)


def _after_the_kill(folder: Path) -> tuple[str, int, bool]:
    try:
        store = SQLiteStore(folder / "ledger.db", read_only=True)
    except LedgerError:
        return "before the ledger", 0, False
    with contextlib.closing(store):
        return _where(store), _lost(folder, store), _too_early(folder, store)


def _where(store: SQLiteStore) -> str:
    last = None
    for sealed in store.events(RUN):
        last = sealed.event.body
    if last is None:
        return "before the start"
    if isinstance(last, Ended):
        return "ended"
    if isinstance(last, Intent):
        return f"after the intent of {last.tool}"
    return "after a receipt" if isinstance(last, Receipt) else f"after {last.__struct_config__.tag}"


def _lost(folder: Path, store: SQLiteStore) -> int:
    """Effects in the world that the record has no intent for."""
    truth = Desk(folder / "desk.db").truth(INVOICE)
    intents = Counter(e.event.body.tool for e in store.events(RUN) if isinstance(e.event.body, Intent))
    return max(0, truth.payments - intents["pay_invoice"]) + max(0, truth.deliveries - intents["send_receipt"])


def _too_early(folder: Path, store: SQLiteStore) -> bool:
    if store.head(RUN).seq == 0:
        return False
    view = view_of(store, RUN)
    if view.ended is None or view.ended.status != "CERTIFIED":
        return False
    truth = Desk(folder / "desk.db").truth(INVOICE)
    return bool(view.doubts or view.open_calls) or truth.payments != 1 or truth.deliveries != 1


@contextlib.contextmanager
def measured() -> Iterator[tuple[int, float]]:
    """Yield how many steps a run takes that nobody kills, and how many seconds from its first call."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        Desk.create(folder / "desk.db", Faults(timeout=True, nested_error=True))
        begun: list[float] = []
        steps = live(folder, None, lambda: begun.append(time.perf_counter()))
        yield steps, time.perf_counter() - begun[0]


def tell(result: dict[str, Any], *, as_json: bool) -> None:
    """Print what a series of kills came to: one JSON object, or a line for each figure and count."""
    if as_json:
        print(jsontext.dumps(result))
        return
    for key, value in result.items():
        if isinstance(value, dict):
            print(f"{key}:")
            for name, count in value.items():
                print(f"  {count:>5}  {name}")
        else:
            print(f"{key}: {value if not isinstance(value, list) else json.dumps(value)}")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    chosen = parser.parse_args()
    found: list[Killed] = []
    with measured() as (steps, seconds):
        for n in range(chosen.kills):
            with tempfile.TemporaryDirectory() as name:
                found.append(kill_one(Path(name), chosen.seed * 100_000 + n, steps=steps, seconds=seconds))
            print(f"\r{n + 1}/{chosen.kills}", end="", file=sys.stderr, flush=True)
    print(file=sys.stderr)
    wrong = [k for k in found if not k.right]
    result = {
        "kills": len(found),
        "where": dict(Counter(k.where for k in found).most_common()),
        "effects_lost": sum(k.lost for k in found),
        "effects_repeated": sum(max(0, k.payments - 1) + max(0, k.deliveries - 1) for k in found),
        "certified_while_in_doubt": sum(k.certified_in_doubt for k in found),
        "not_rechecked": sum(not k.recheck for k in found),
        "statuses": dict(Counter(str(k.status) for k in found)),
        "wrong": [asdict(k) for k in wrong],
    }
    tell(result, as_json=chosen.json)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
