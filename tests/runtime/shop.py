"""A small shop with a real SQLite file as its world, a contract for it, and a store whose writes can fail."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from tallystick.contracts import parse
from tallystick.errors import LedgerError
from tallystick.ledger.store import Head, Lease, Letter, RunRow, Store
from tallystick.model.events import Event, Sealed
from tallystick.runtime.guard import Guard
from tallystick.runtime.run import Run

CONTRACT = parse("""
contract: shop/1
entities:
  invoice: {id: id, amount_due: money(EUR), status: string}
tools:
  get_invoice:
    effect: read
    args: {invoice_id: id}
    target: invoice(args.invoice_id)
    yields: {invoice: {id: /id, amount_due: /amount_due, status: /status}}
  payments:
    effect: read
    args: {invoice_id: id}
    target: invoice(args.invoice_id)
    complete: always
  queue: {effect: read, volatile: true}
  pay:
    effect: write
    args: {invoice_id: id, amount: money(EUR), pin: optional string}
    target: invoice(args.invoice_id)
    once_per: args.invoice_id
    ok: result.status == "paid"
    no_effect: has(result.rejected)
    pending: result.status == "queued"
    settle: {tool: payments, shows: int(result.count) > 0}
    requires:
      - {id: open, fact: invoice.status == "open", fresh: since last write}
      - {id: amount, fact: args.amount == invoice.amount_due}
  refund:                                  # nothing can settle a doubt about it but a person
    effect: write
    args: {invoice_id: id}
    target: invoice(args.invoice_id)
    once_per: args.invoice_id
    ok: result.status == "refunded"
  wire:
    effect: write
    args: {invoice_id: id, amount: money(EUR)}
    target: invoice(args.invoice_id)
    needs_approval: finance
    ok: result.status == "wired"
  order:
    effect: write
    args: {sku: string, key: optional string}
    idempotency_arg: key
    dedupes_by_key: true
    once_per: args.sku
    ok: result.status == "ordered"
  mail_all:
    effect: write
    args: {to: json}
    batch: {arg: to, results: /answers, result_key: /to, ok: item.sent}
task:
  inputs: {invoice: id}
  owes:
    - {id: paid, by: pay}
""")
CHIEF = {"id": "chief", "role": "finance", "public_key": "00" * 32}  # a key nobody has; the contract needs the role
TASK = {"bindings": {"invoice": "I-7"}, "principals": [CHIEF]}
PAY = {"invoice_id": "I-7", "amount": "420.00"}


class Clock:
    """A clock that stands still until it is told to move."""

    def __init__(self) -> None:
        self.now = datetime(2026, 3, 11, 9, 0, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def move(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


class Shop:
    """The world: payments are rows, so what really happened can be counted without asking any tool.

    Attributes:
        before, after: called before and after the effect of a write; whatever they raise, the tool raises.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.before: Callable[[], None] = lambda: None
        self.after: Callable[[], None] = lambda: None
        with self._db() as db:
            db.execute("CREATE TABLE IF NOT EXISTS effect (kind TEXT, about TEXT, key TEXT)")

    def _db(self) -> sqlite3.Connection:
        return sqlite3.connect(self.path, timeout=30)

    def count(self, kind: str, about: str = "I-7") -> int:
        with self._db() as db:
            return int(
                db.execute("SELECT count(*) FROM effect WHERE kind = ? AND about = ?", (kind, about)).fetchone()[0]
            )

    def _do(self, kind: str, about: str, key: str = "") -> None:
        self.before()
        with self._db() as db:
            if not key or not db.execute("SELECT 1 FROM effect WHERE key = ?", (key,)).fetchone():
                db.execute("INSERT INTO effect VALUES (?, ?, ?)", (kind, about, key))
        self.after()

    # the tools

    def get_invoice(self, invoice_id: str) -> dict[str, Any]:
        status = "paid" if self.count("pay", invoice_id) else "open"
        return {"id": invoice_id, "amount_due": "420.00", "currency": "EUR", "status": status}

    def payments(self, invoice_id: str) -> dict[str, Any]:
        return {"count": self.count("pay", invoice_id)}

    def queue(self) -> dict[str, Any]:
        return {"waiting": 3}

    def pay(self, invoice_id: str, amount: str, pin: str = "") -> dict[str, Any]:
        self._do("pay", invoice_id)
        return {"status": "paid", "invoice_id": invoice_id, "amount": amount}

    def refund(self, invoice_id: str) -> dict[str, Any]:
        self._do("refund", invoice_id)
        return {"status": "refunded"}

    def wire(self, invoice_id: str, amount: str) -> dict[str, Any]:
        self._do("wire", invoice_id)
        return {"status": "wired"}

    def order(self, sku: str, key: str = "") -> dict[str, Any]:
        self._do("order", sku, key)
        return {"status": "ordered"}

    def mail_all(self, to: list[str]) -> dict[str, Any]:
        for one in to:
            self._do("mail", one)
        return {"answers": [{"to": one, "sent": one != "bad"} for one in to]}

    def tools(self) -> dict[str, Callable[..., Any]]:
        names = ("get_invoice", "payments", "queue", "pay", "refund", "wire", "order", "mail_all")
        return {name: getattr(self, name) for name in names}


class Faulty:
    """A store in front of another, whose appends of some kinds fail as a full disk would make them.

    Attributes:
        fails: kinds whose append fails; `stored` says whether the event is in the store all the same.
    """

    def __init__(self, inner: Store) -> None:
        self.inner = inner
        self.fails: set[str] = set()
        self.stored = False
        self.unreadable = False

    def _may(self, sealed: Sequence[Sealed], do: Callable[[], None]) -> None:
        if any(s.event.kind in self.fails for s in sealed):
            if self.stored:
                do()
            raise LedgerError("the disk is full", fix="free some space")
        do()

    def append(self, lease: Lease, sealed: Sealed, durable: bool) -> None:
        self._may([sealed], lambda: self.inner.append(lease, sealed, durable))

    def append_many(self, lease: Lease, sealed: Sequence[Sealed], durable: bool) -> None:
        self._may(sealed, lambda: self.inner.append_many(lease, sealed, durable))

    def head(self, run: str) -> Head:
        if self.unreadable:
            raise LedgerError("reading the disk failed")
        return self.inner.head(run)

    def acquire(self, run: str, holder: str, now: datetime, ttl_seconds: float, force: bool = False) -> Lease:
        return self.inner.acquire(run, holder, now, ttl_seconds, force)

    def renew(self, lease: Lease, now: datetime, ttl_seconds: float) -> Lease:
        return self.inner.renew(lease, now, ttl_seconds)

    def release(self, lease: Lease) -> None:
        self.inner.release(lease)

    def lease(self, run: str) -> Lease | None:
        return self.inner.lease(run)

    def events(self, run: str, after: int = 0) -> Iterator[Sealed]:
        return self.inner.events(run, after)

    def runs(self) -> tuple[RunRow, ...]:
        return self.inner.runs()

    def post(self, run: str, raw: bytes) -> int:
        return self.inner.post(run, raw)

    def posted(self, run: str) -> tuple[Letter, ...]:
        return self.inner.posted(run)

    def drop(self, lease: Lease, upto: int) -> None:
        self.inner.drop(lease, upto)

    def close(self) -> None:
        self.inner.close()


def events_of(guard: Guard, run: Run | str) -> list[Event]:
    """Return what the ledger holds of a run."""
    return [s.event for s in guard.store.events(run if isinstance(run, str) else run.id)]


def kinds(guard: Guard, run: Run | str) -> list[str]:
    """Return the kinds of a run's events, after its start and tenure."""
    return [e.kind for e in events_of(guard, run)][2:]


def in_thread(work: Callable[[], Any]) -> Callable[[], Any]:
    """Start `work` on a thread and return a function that waits for it and returns its value."""
    found: list[Any] = []
    thread = threading.Thread(target=lambda: found.append(work()))
    thread.start()

    def result() -> Any:
        thread.join(30)
        assert found, "the thread did not finish"
        return found[0]

    return result
