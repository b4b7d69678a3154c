"""A simulated invoice desk on a real SQLite file: list, get, pay, send the receipt, ask for payments and deliveries.

It is as naive as many real desks: nothing prevents paying an invoice twice. Amounts are stored in cents and cross the
wire as decimal strings, never as floats. Everything is deterministic, and all state (money, deliveries, which faults
are still to strike, the desk's own access log) is in the file, so a desk can be reopened by another process, and the
truth can be read from it without asking any tool.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, fields
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

from tallystick.errors import InputError
from tallystick.model.values import decimal_of, plain

CURRENCY: Final = "EUR"
WHOLE_LIST: Final = 50
"""Invoices on one page of the list."""
SHORT_LIST: Final = 4
"""Invoices on one page under the fault *second page*."""

_SEED: Final = (  # id, vendor, amount due in cents, due date, status
    ("I-1", "Alder Stationery", 11990, "2026-11-04", "paid"),
    ("I-2", "Birch Couriers", 8650, "2026-11-09", "open"),
    ("I-3", "Cedar Cleaning", 37500, "2026-11-12", "open"),
    ("I-4", "Dogwood Catering", 64220, "2026-11-18", "paid"),
    ("I-5", "Elm Repairs", 152000, "2026-11-23", "open"),
    ("I-6", "Fir Heating", 1240000, "2026-12-01", "open"),
    ("I-7", "Hazel Print", 42000, "2026-12-03", "open"),
    ("I-8", "Juniper Software", 42900, "2026-12-10", "open"),
)
_TABLES: Final = """
CREATE TABLE invoice (id TEXT PRIMARY KEY, vendor TEXT NOT NULL, cents INTEGER NOT NULL, due TEXT NOT NULL,
                      status TEXT NOT NULL) STRICT;
CREATE TABLE payment (n INTEGER PRIMARY KEY, invoice TEXT NOT NULL REFERENCES invoice, cents INTEGER NOT NULL) STRICT;
CREATE TABLE delivery (n INTEGER PRIMARY KEY, invoice TEXT NOT NULL REFERENCES invoice, file TEXT NOT NULL) STRICT;
CREATE TABLE fault (name TEXT PRIMARY KEY, strikes INTEGER NOT NULL) STRICT;
CREATE TABLE snapshot (invoice TEXT PRIMARY KEY, answer TEXT NOT NULL, reads INTEGER NOT NULL) STRICT;
CREATE TABLE access (n INTEGER PRIMARY KEY, tool TEXT NOT NULL, args TEXT NOT NULL, answer TEXT NOT NULL) STRICT;
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Faults:
    """What goes wrong at the desk; each can be switched on alone.

    Attributes:
        timeout: the first `pay_invoice` is committed, but its caller sees a timeout.
        nested_error: the first `send_receipt` fails inside an envelope that says `"ok": true`.
        second_page: the list comes in pages of four, so invoice I-7 is on page 2.
        stale_read: the first `get_invoice` after a write answers from the state before that write.
    """

    timeout: bool = False
    nested_error: bool = False
    second_page: bool = False
    stale_read: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """The switched-on faults as written on the command line, e.g. `nested-error`."""
        return tuple(f.name.replace("_", "-") for f in fields(self) if getattr(self, f.name))


ALL_FAULTS: Final = Faults(timeout=True, nested_error=True, second_page=True, stale_read=True)


def faults_of(text: str) -> Faults:
    """Return the faults a comma-separated list names; `all` and `none` stand for every fault and for none.

    Raises:
        InputError: a name that is no fault.
    """
    if text.strip() == "all":
        return ALL_FAULTS
    wanted = [w.strip() for w in text.split(",") if w.strip()] if text.strip() != "none" else []
    known = [f.name.replace("_", "-") for f in fields(Faults)]
    for name in wanted:
        if name not in known:
            raise InputError(f"there is no fault `{name}`", where="--faults", fix=f"any of {', '.join(known)}")
    return Faults(**{name.replace("-", "_"): True for name in wanted})


@dataclass(frozen=True, kw_only=True, slots=True)
class Truth:
    """What really happened to one invoice, read from the database and not through any tool.

    Attributes:
        paid: sum of all payments, in EUR.
        payments: number of payments.
        deliveries: number of receipts delivered.
        seen_first: whether the desk had shown this invoice before it was first paid; None where it was never paid.
    """

    paid: Decimal
    payments: int
    deliveries: int
    seen_first: bool | None


def euros(cents: int) -> str:
    """Return `cents` as a decimal string with two digits, e.g. `420.00`."""
    return plain(Decimal(cents).scaleb(-2))


class Desk:
    """The desk behind one SQLite file. Its tools are plain methods that take and return JSON values.

    Every tool call is one transaction, and is logged in the table `access` with what the desk answered.
    """

    def __init__(self, path: Path | str) -> None:
        self.path = Path(path)

    @classmethod
    def create(cls, path: Path | str, faults: Faults | None = None) -> Desk:
        """Make the file at `path`, with eight invoices, and return the desk.

        Raises:
            InputError: the file exists, or its folder does not.
        """
        faults = faults or Faults()
        desk = cls(path)
        try:
            desk.path.touch(exist_ok=False)
        except FileExistsError:
            raise InputError("the file exists", where=str(path), fix="name a new file for the desk") from None
        except FileNotFoundError:
            raise InputError("its folder does not exist", where=str(path)) from None
        with desk._connection() as db:
            for statement in filter(str.strip, _TABLES.split(";")):
                db.execute(statement)
            db.executemany("INSERT INTO invoice VALUES (?, ?, ?, ?, ?)", _SEED)
            paid = [(number, cents) for number, _, cents, _, status in _SEED if status == "paid"]
            db.executemany("INSERT INTO payment (invoice, cents) VALUES (?, ?)", paid)
            db.executemany("INSERT INTO fault VALUES (?, ?)", [(name, 1) for name in faults.names])
        return desk

    def tools(self) -> Mapping[str, Callable[..., Any]]:
        """The desk's tools by name."""
        return {
            "list_invoices": self.list_invoices,
            "get_invoice": self.get_invoice,
            "payments": self.payments,
            "pay_invoice": self.pay_invoice,
            "send_receipt": self.send_receipt,
            "delivery_status": self.delivery_status,
        }

    # The tools. Each opens its own connection, so a guard may run them on any thread or kill the process under them.

    def list_invoices(self, page: int = 1) -> dict[str, Any]:
        """Return one page of invoices; `next_page` is null on the last page."""
        if isinstance(page, bool) or not isinstance(page, int) or page < 1:
            return {"error": f"`{page}` is no page; pages are counted from 1"}
        with self._serving("list_invoices", {"page": page}) as (db, answer):
            size = SHORT_LIST if _strikes(db, "second-page") else WHOLE_LIST
            rows = db.execute(
                "SELECT id, vendor, cents, due, status FROM invoice ORDER BY id LIMIT ? OFFSET ?",
                (size + 1, size * (page - 1)),
            ).fetchall()
            answer["invoices"] = [
                {"id": i, "vendor": v, "amount_due": euros(c), "currency": CURRENCY, "due": d, "status": s}
                for i, v, c, d, s in rows[:size]
            ]
            answer["page"] = page
            answer["next_page"] = page + 1 if len(rows) > size else None
        return answer

    def get_invoice(self, invoice_id: str) -> dict[str, Any]:
        """Return one invoice; `receipt_file` is the newest payment's receipt, null before any payment."""
        with self._serving("get_invoice", {"invoice_id": invoice_id}) as (db, answer):
            old = db.execute("SELECT answer, reads FROM snapshot WHERE invoice = ?", (invoice_id,)).fetchone()
            if old is not None and old[1] > 0:
                db.execute("UPDATE snapshot SET reads = reads - 1 WHERE invoice = ?", (invoice_id,))
                answer.update(json.loads(old[0]))
            else:
                answer.update(_invoice(db, invoice_id))
        return answer

    def payments(self, invoice_id: str) -> dict[str, Any]:
        """Return every payment booked for one invoice, their number and their sum. Read from the books, never stale."""
        with self._serving("payments", {"invoice_id": invoice_id}) as (db, answer):
            answer.update(_payments(db, invoice_id))
        return answer

    def pay_invoice(self, invoice_id: str, amount: Any) -> dict[str, Any]:
        """Pay `amount` (a decimal string such as `420.00`) for one invoice. Nothing stops a second payment.

        Raises:
            TimeoutError: under the fault *timeout*; the payment is booked all the same.
        """
        lost = False
        with self._serving("pay_invoice", {"invoice_id": invoice_id, "amount": str(amount)}) as (db, answer):
            invoice = _invoice(db, invoice_id)
            cents = _cents(amount)
            if "error" in invoice:
                answer.update(invoice)
            elif isinstance(cents, str):
                answer["error"] = cents
            else:
                self._keep_snapshot(db, invoice_id, invoice)
                number = db.execute(
                    "INSERT INTO payment (invoice, cents) VALUES (?, ?) RETURNING n", (invoice_id, cents)
                ).fetchone()[0]
                db.execute(
                    "UPDATE invoice SET status = iif((SELECT sum(cents) FROM payment WHERE invoice = ?1) >= cents,"
                    " 'paid', 'part-paid') WHERE id = ?1",
                    (invoice_id,),
                )
                answer.update(
                    status="paid",
                    payment_id=f"P-{number}",
                    invoice_id=invoice_id,
                    amount=euros(cents),
                    currency=CURRENCY,
                    receipt_file=_receipt_file(number),
                )
                lost = _strike(db, "timeout")
        if lost:
            raise TimeoutError("pay_invoice: no answer within 30 s")
        return answer

    def send_receipt(self, invoice_id: str, file: str) -> dict[str, Any]:
        """Send the receipt `file` of a payment of this invoice to its vendor.

        Under the fault *nested error* the first call delivers nothing and says so only inside its `result`.
        """
        with self._serving("send_receipt", {"invoice_id": invoice_id, "file": file}) as (db, answer):
            rows = db.execute("SELECT n FROM payment WHERE invoice = ?", (invoice_id,)).fetchall()
            if file not in {_receipt_file(n) for (n,) in rows}:
                answer["error"] = f"invoice `{invoice_id}` has no receipt `{file}`"
            elif _strike(db, "nested-error"):
                answer.update(ok=True, result={"error": "mail relay refused the attachment", "invoice_id": invoice_id})
            else:
                self._keep_snapshot(db, invoice_id, _invoice(db, invoice_id))
                number = db.execute(
                    "INSERT INTO delivery (invoice, file) VALUES (?, ?) RETURNING n", (invoice_id, file)
                ).fetchone()[0]
                answer.update(status="sent", delivery_id=f"D-{number}", invoice_id=invoice_id, file=file)
        return answer

    def delivery_status(self, invoice_id: str) -> dict[str, Any]:
        """Return whether a receipt of this invoice was delivered, and which."""
        with self._serving("delivery_status", {"invoice_id": invoice_id}) as (db, answer):
            rows = db.execute("SELECT n, file FROM delivery WHERE invoice = ? ORDER BY n", (invoice_id,)).fetchall()
            answer["invoice_id"] = invoice_id
            answer["delivered"] = bool(rows)
            answer["deliveries"] = [{"delivery_id": f"D-{n}", "file": file} for n, file in rows]
        return answer

    # The truth, for tables and tests.

    def truth(self, invoice_id: str) -> Truth:
        """Return what the database says happened to one invoice."""
        with self._connection() as db:
            cents, count = db.execute(
                "SELECT coalesce(sum(cents), 0), count(*) FROM payment WHERE invoice = ?", (invoice_id,)
            ).fetchone()
            deliveries = db.execute("SELECT count(*) FROM delivery WHERE invoice = ?", (invoice_id,)).fetchone()[0]
            shown: int | None = None
            first: int | None = None
            for n, tool, args, answer in db.execute("SELECT n, tool, args, answer FROM access ORDER BY n"):
                asked, said = json.loads(args), json.loads(answer)
                listed = {item["id"] for item in said.get("invoices", ())} | {said.get("id")}
                if shown is None and invoice_id in listed:
                    shown = n
                if (
                    first is None
                    and tool == "pay_invoice"
                    and asked["invoice_id"] == invoice_id
                    and "error" not in said
                ):
                    first = n
        seen_first = None if first is None else shown is not None and shown < first
        return Truth(paid=Decimal(cents).scaleb(-2), payments=count, deliveries=deliveries, seen_first=seen_first)

    def accesses(self) -> list[tuple[str, Any, Any]]:
        """Return (tool, arguments, answer) of every call served, in order; the answer even where the caller lost it."""
        with self._connection() as db:
            rows = db.execute("SELECT tool, args, answer FROM access ORDER BY n").fetchall()
        return [(tool, json.loads(args), json.loads(answer)) for tool, args, answer in rows]

    @contextmanager
    def _connection(self) -> Iterator[sqlite3.Connection]:
        if not self.path.is_file():
            raise InputError("there is no desk in this file", where=str(self.path))
        connection = sqlite3.connect(self.path, isolation_level=None, timeout=30)
        try:
            # The desk is simulated: losing it with the machine's power is fine, losing it with a process is not.
            connection.execute("PRAGMA synchronous = OFF")
            connection.execute("BEGIN IMMEDIATE")
            yield connection
            connection.execute("COMMIT")
        finally:
            connection.close()  # rolls back what was not committed

    @contextmanager
    def _serving(self, tool: str, args: dict[str, Any]) -> Iterator[tuple[sqlite3.Connection, dict[str, Any]]]:
        with self._connection() as db:
            answer: dict[str, Any] = {}
            yield db, answer
            db.execute(
                "INSERT INTO access (tool, args, answer) VALUES (?, ?, ?)", (tool, json.dumps(args), json.dumps(answer))
            )

    def _keep_snapshot(self, db: sqlite3.Connection, invoice_id: str, invoice: dict[str, Any]) -> None:
        reads = _strikes(db, "stale-read")
        if reads:
            db.execute("INSERT OR REPLACE INTO snapshot VALUES (?, ?, ?)", (invoice_id, json.dumps(invoice), reads))


def _strikes(db: sqlite3.Connection, name: str) -> int:
    row = db.execute("SELECT strikes FROM fault WHERE name = ?", (name,)).fetchone()
    return int(row[0]) if row else 0


def _strike(db: sqlite3.Connection, name: str) -> bool:
    """Return whether the fault strikes now, and use it up."""
    return bool(db.execute("UPDATE fault SET strikes = strikes - 1 WHERE name = ? AND strikes > 0", (name,)).rowcount)


def _receipt_file(number: int) -> str:
    return f"receipt-P-{number}.pdf"


def _invoice(db: sqlite3.Connection, invoice_id: str) -> dict[str, Any]:
    row = db.execute("SELECT vendor, cents, due, status FROM invoice WHERE id = ?", (invoice_id,)).fetchone()
    if row is None:
        return {"error": f"there is no invoice `{invoice_id}`"}
    last = db.execute("SELECT max(n) FROM payment WHERE invoice = ?", (invoice_id,)).fetchone()[0]
    return {
        "id": invoice_id,
        "vendor": row[0],
        "amount_due": euros(row[1]),
        "currency": CURRENCY,
        "due": row[2],
        "status": row[3],
        "receipt_file": None if last is None else _receipt_file(last),
    }


def _payments(db: sqlite3.Connection, invoice_id: str) -> dict[str, Any]:
    rows = db.execute("SELECT n, cents FROM payment WHERE invoice = ? ORDER BY n", (invoice_id,)).fetchall()
    return {
        "invoice_id": invoice_id,
        "count": len(rows),
        "total": euros(sum(cents for _, cents in rows)),
        "currency": CURRENCY,
        "payments": [
            {"payment_id": f"P-{n}", "amount": euros(cents), "receipt_file": _receipt_file(n)} for n, cents in rows
        ],
    }


def _cents(amount: Any) -> int | str:
    """Return `amount` in cents, or a sentence saying why it is no amount."""
    try:
        if isinstance(amount, float):
            raise ValueError("a binary float is no amount")
        cents = decimal_of(amount).scaleb(2)
    except ValueError as bad:
        return f"the amount cannot be read: {bad}"
    if cents <= 0 or cents != cents.to_integral_value() or cents.adjusted() > 12:
        return f"`{amount}` is no amount in {CURRENCY}: more than zero, whole cents"
    return int(cents)
