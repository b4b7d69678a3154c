"""The invoice desk: random episodes with random prefixes, over the demo's own desk. Runs everywhere.

Which prefix an episode has is drawn; so are the invoices, their amounts, and the faults that strike after the frontier.
An episode is right where the desk's own books say so: each invoice asked for is paid once, in full, its receipt was
delivered once, and no other invoice was touched.
"""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any, Final, Literal, get_args

from tallystick.contracts import parse
from tallystick.contracts.types import Contract
from tallystick.demo.desk import Desk, Faults, euros
from tallystick.demo.guarded import CONTRACT
from tallystick.demo.schemas import SCHEMAS
from tallystick.evals.common.draw import Draw
from tallystick.evals.takeover.surface import Gold, Opened, Wanted, opened
from tallystick.runtime.replicas import sqlite_replica
from tallystick.runtime.run import Run

Prefix = Literal["confirmed", "paid", "lost", "several", "fresh", "doubt", "finished"]
"""confirmed: the user confirmed the invoice, nothing is paid · paid: it is paid · lost: it is paid, and the answer was
lost; the books were asked since · several: of several invoices the first is paid · fresh: nothing was done · doubt: an
answer was lost, and nobody has asked the books · finished: nothing remains."""
PREFIXES: Final[tuple[Prefix, ...]] = get_args(Prefix)
_WEIGHTS: Final[Mapping[Prefix, int]] = {
    "confirmed": 4, "paid": 5, "lost": 4, "several": 4, "fresh": 1, "doubt": 2, "finished": 1,
}  # fmt: skip
"""How often each prefix is drawn, of 21: *ours*."""
_OPEN: Final = ("I-2", "I-3", "I-5", "I-7", "I-8")
"""The desk's open invoices that nobody has to approve."""
_LATER: Final[Mapping[str, float]] = {"nested-error": 0.15, "stale-read": 0.15}
"""Probability of each fault that can strike after the frontier: *ours*."""
EPISODES: Final = 50
UNSEEN: Final = ("fresh", "start")
"""Prefixes that have read no invoice; `start` is the beginning of a whole task, and no frontier."""
_MANY: Final = """
task:
  inputs: {invoices: list(id)}
  owes:
    - {id: paid, by: pay_invoice, each: invoices, for: invoice(item), text: the invoice is paid once}
    - {id: delivered, by: send_receipt, each: invoices, for: invoice(item), text: the vendor has the receipt}
"""


@cache
def contract_of(*, many: bool) -> Contract:
    """Return the demo's contract; for several invoices with a task that owes each of them, and no answer slot."""
    text = CONTRACT.read_text(encoding="utf-8")
    return parse(text[: text.index("\ntask:")] + _MANY if many else text)


@dataclass(frozen=True, kw_only=True, slots=True)
class Episode:
    """A frontier of the invoice desk; see `surface.Frontier`.

    Attributes:
        invoices: asked for, in order.
        cents: amount due of every open invoice.
        faults: strike once each, when first met.
        other: an open invoice that is not asked for.
    """

    id: str
    kind: Prefix | Literal["start"]
    invoices: tuple[str, ...]
    cents: Mapping[str, int]
    faults: Faults
    other: str

    allow: tuple[str, ...] = ()
    free: Mapping[str, Sequence[str]] = field(default_factory=dict)

    @property
    def task(self) -> str:
        """Each episode is a task of its own."""
        return self.id

    @property
    def contract(self) -> Contract:
        """See `contract_of`."""
        return contract_of(many=len(self.invoices) > 1)

    @property
    def schemas(self) -> Mapping[str, Any]:
        """The desk's own schemas."""
        return {one["function"]["name"]: one["function"]["parameters"] for one in SCHEMAS}

    @property
    def request(self) -> str:
        """What the user asks."""
        if len(self.invoices) > 1:
            named = " and ".join(self.invoices)
            return f"Pay the open invoices {named}, and send each vendor the receipt of its payment."
        return f"Pay the open invoice {self.invoices[0]} and send its receipt to the vendor. Tell me the amount paid."

    @property
    def start(self) -> Mapping[str, Any]:
        """The run's task."""
        bindings = {"invoices": list(self.invoices)} if len(self.invoices) > 1 else {"invoice": self.invoices[0]}
        return {"request": self.request, "bindings": bindings}

    def due(self, invoice: str) -> str:
        """Return the amount due, as the desk writes it."""
        return euros(self.cents[invoice])

    @property
    def gold(self) -> Gold:
        """The continuation that is right, and what the prefix fixed."""
        paid = self.invoices[:1] if self.kind in ("paid", "lost", "several", "doubt", "finished") else ()
        return gold_of(self, paid, paid if self.kind == "finished" else ())

    @contextmanager
    def open(self) -> Iterator[Opened]:
        """Open it on a new desk in a temporary folder."""
        with tempfile.TemporaryDirectory(prefix="tallystick-desk-") as folder:
            desk = self._desk(Path(folder) / "desk.db")
            with opened(
                self.contract, desk.tools(), self.start, self._replay, lambda: self._right(desk),
                fork=sqlite_replica(desk.path, lambda path: Desk(path).tools()), name=self.id,
            ) as it:  # fmt: skip
                yield it

    def _desk(self, path: Path) -> Desk:
        desk = Desk.create(path, self.faults)
        with closing(sqlite3.connect(path)) as db, db:
            db.executemany("UPDATE invoice SET cents = ? WHERE id = ?", [(c, n) for n, c in self.cents.items()])
        return desk

    def _begin(self, run: Run) -> None:
        """What a run begins with: the request, and the list that the desk's page shows; a fresh one not even that."""
        run.says("user", self.request)
        if self.kind != "fresh":
            run.call("list_invoices", {})

    def _replay(self, run: Run) -> None:
        """Make the prefix: look, let the user confirm, and go as far as the prefix goes."""
        self._begin(run)
        if self.kind in UNSEEN:
            return
        for n in self.invoices:
            run.call("get_invoice", {"invoice_id": n})
        first = self.invoices[0]
        run.says("assistant", f"I am about to pay {', '.join(self.invoices)}. Is that right?")
        run.says("user", "Yes, go ahead.")
        for n in self.invoices:
            run.confirm("invoice", n)
        if self.kind == "confirmed":
            return
        ran = run.call("pay_invoice", {"invoice_id": first, "amount": self.due(first)})
        if self.kind == "lost":
            run.settle_by_query()
        if self.kind == "finished":
            run.call("send_receipt", {"invoice_id": first, "file": ran.result["receipt_file"]})
            run.call("payments", {"invoice_id": first})

    def _right(self, desk: Desk) -> bool:
        for n, cents in self.cents.items():
            truth = desk.truth(n)
            wanted = (Decimal(cents).scaleb(-2), 1, 1) if n in self.invoices else (Decimal(0), 0, 0)
            if (truth.paid, truth.payments, truth.deliveries) != wanted:
                return False
        return True


def gold_of(episode: Episode, paid: Sequence[str], sent: Sequence[str]) -> Gold:
    """Return the gold of a state in which some of an episode's invoices are paid, and some receipts delivered."""
    ours = episode.invoices
    return Gold(
        proposal=_continuation(episode, paid, sent),
        owed=tuple(
            one
            for n in ours
            for one in (
                *((_pay(episode, n),) if n not in paid else ()),
                *((Wanted(tool="send_receipt", args={"invoice_id": n}),) if n not in sent else ()),
            )
        ),
        done=(
            *(_pay(episode, n) for n in ours if n in paid),
            *(Wanted(tool="send_receipt", args={"invoice_id": n}) for n in ours if n in sent),
        ),
        bindings=() if episode.kind in UNSEEN else tuple(("invoice", n) for n in ours),
        repeats=tuple(
            {"id": f"again-{n}", "tool": "pay_invoice", "args": dict(_pay(episode, n).args)} for n in ours if n in paid
        ),
        others={ours[-1]: episode.other, episode.due(ours[-1]): episode.due(episode.other)},
    )


def _pay(episode: Episode, invoice: str) -> Wanted:
    return Wanted(tool="pay_invoice", args={"invoice_id": invoice, "amount": episode.due(invoice)})


def _continuation(episode: Episode, paid: Sequence[str], sent: Sequence[str]) -> dict[str, Any]:
    """Return the right continuation: pay what is not paid, send what payments or the books name, then look."""
    calls: list[dict[str, Any]] = []
    for n in episode.invoices:
        if n in sent:
            continue
        about = {"invoice_id": n}
        if n not in paid:
            if episode.kind in UNSEEN:
                calls.append({"id": f"read-{n}", "tool": "get_invoice", "args": about})
            calls.append({"id": f"pay-{n}", "tool": "pay_invoice", "args": dict(_pay(episode, n).args)})
            file = {"$from": f"pay-{n}", "$at": "/receipt_file"}
        else:
            calls.append({"id": f"books-{n}", "tool": "payments", "args": about})
            file = {"$from": f"books-{n}", "$at": "/payments/0/receipt_file"}
        calls.append({"id": f"send-{n}", "tool": "send_receipt", "args": {**about, "file": file}})
        calls.append({"id": f"check-{n}", "tool": "delivery_status", "args": about, "after": [f"send-{n}"]})
        after = f"pay-{n}" if n not in paid else f"send-{n}"
        calls.append({"id": f"total-{n}", "tool": "payments", "args": about, "after": [after]})
    if len(episode.invoices) > 1:
        return {
            "calls": calls,
            "answer": {"text": f"{' and '.join(episode.invoices)} are paid, the receipts are sent."},
        }
    only = episode.invoices[0]
    said = f"I paid {{amount_paid}} for {only} and sent the receipt."
    if not calls:
        return {"calls": calls, "answer": {"text": said}}
    return {
        "calls": calls,
        "answer": {"text": said, "claims": {"amount_paid": {"$from": f"total-{only}", "$at": "/total"}}},
    }


@dataclass(frozen=True, kw_only=True, slots=True)
class InvoiceDesk:
    """The surface."""

    name: str = "invoice"
    structured: bool = True

    def frontiers(self, episodes: int | None, seed: str) -> Sequence[Episode]:
        """Draw so many episodes, 50 by default."""
        return [drawn(seed, n) for n in range(EPISODES if episodes is None else episodes)]


def drawn(seed: str, number: int) -> Episode:
    """Return the episode of this number."""
    draw = Draw(seed, "invoice", number)
    kind = draw.pick([p for p in PREFIXES for _ in range(_WEIGHTS[p])])
    invoices = draw.shuffled(_OPEN)
    count = draw.between(2, 3) if kind == "several" else 1
    cents = {n: draw.between(1_000, 999_999) for n in _OPEN}  # up to the amount that finance would have to approve
    later = {name: draw.chance(p) for name, p in _LATER.items()}
    quiet = kind == "finished"  # its prefix sends: a fault would strike there, and it would not be finished
    return Episode(
        id=f"invoice-{number:03}", kind=kind, invoices=tuple(invoices[:count]), cents=cents,
        faults=Faults(
            timeout=kind in ("lost", "doubt"), nested_error=later["nested-error"] and not quiet,
            stale_read=later["stale-read"],
        ),
        other=invoices[count],
    )  # fmt: skip
