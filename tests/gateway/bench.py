"""A session between a scripted client and a scripted server, in this process and without any transport."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

from tallystick import Guard, Run
from tallystick.contracts import Contract, parse
from tallystick.gateway.session import Session, Wires

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
  pay:
    effect: write
    args: {invoice_id: id, amount: money(EUR)}
    target: invoice(args.invoice_id)
    once_per: args.invoice_id
    ok: result.status == "paid"
    no_effect: has(result.rejected)
    settle: {tool: payments, shows: int(result.count) > 0}
    requires:
      - {id: open, fact: invoice.status == "open", fresh: since last write}
      - {id: amount, fact: args.amount == invoice.amount_due}
  refund:                                  # nothing can settle a doubt about it but a person
    effect: write
    args: {invoice_id: id}
    once_per: args.invoice_id
    ok: result.status == "refunded"
  order:
    effect: write
    args: {sku: string, key: optional string}
    idempotency_arg: key
    dedupes_by_key: true
    once_per: args.sku
    ok: result.status == "ordered"
task:
  inputs: {invoice: id}
  owes:
    - {id: paid, by: pay}
  answer:
    - {slot: amount, type: money(EUR), scope: invoice, derive: pay./amount}
""")
TASK = {"bindings": {"invoice": "I-7"}}
OPEN = {"id": "I-7", "amount_due": "420.00", "currency": "EUR", "status": "open"}
PAY = {"invoice_id": "I-7", "amount": "420.00"}
PAID = {"status": "paid", "amount": "420.00", "currency": "EUR"}


class Timers:
    """Timers that go off when they are told to."""

    def __init__(self) -> None:
        self.set: list[tuple[float, Callable[[], None]]] = []

    def later(self, seconds: float, then: Callable[[], None]) -> Callable[[], None]:
        entry = (seconds, then)
        self.set.append(entry)
        return lambda: self.set.remove(entry) if entry in self.set else None

    def fire(self, upto: float = 0) -> None:
        due = [e for e in self.set if e[0] <= upto]
        for entry in due:
            if entry in self.set:
                self.set.remove(entry)
                entry[1]()


class Bench:
    """What both ends see: `sent` are the lines at the server, `got` those at the client, raw and in order."""

    def __init__(
        self,
        *,
        contract: Contract = CONTRACT,
        task: Mapping[str, Any] | None = TASK,
        guard: Guard | None = None,
        run: Run | None = None,
        timeout: float | None = None,
        listed: bool = True,
        tools: list[Any] | None = None,
    ) -> None:
        self.guard = guard or Guard(contract)
        self.run = run or self.guard.run(task)
        self.timers = Timers()
        self.lists = 0
        self.sent: list[bytes] = []
        self.got: list[bytes] = []
        wires = Wires(
            to_server=self.sent.append,
            reply=lambda _, line: self.got.append(line),
            to_client=lambda line, _: self.got.append(line),
            later=self.timers.later,
        )
        self.session = Session(self.run, wires, timeout=timeout)
        if listed:
            self.list(tools or [])

    # the client

    def client(self, message: Any) -> None:
        raw = message if isinstance(message, bytes) else json.dumps(message, separators=(",", ":")).encode()
        self.session.from_client(raw)

    def request(self, id_: Any, method: str, params: Any = None) -> None:
        message = {"jsonrpc": "2.0", "id": id_, "method": method}
        self.client(message if params is None else {**message, "params": params})

    def call(self, id_: Any, tool: str, args: Any = None, **rest: Any) -> None:
        self.request(id_, "tools/call", {"name": tool, "arguments": args or {}, **rest})

    def list(self, tools: list[Any], **rest: Any) -> dict[str, Any]:
        self.lists += 1
        id_ = f"list-{self.lists}"
        self.request(id_, "tools/list")
        for line in self.sent:  # where the gateway has seen no list yet, it asks for one itself first
            own = json.loads(line)
            if own["id"] != id_:
                self.server({"jsonrpc": "2.0", "id": own["id"], "result": {"tools": tools, **rest}})
        self.server({"jsonrpc": "2.0", "id": id_, "result": {"tools": tools, **rest}})
        self.sent.clear()
        return json.loads(self.got.pop())["result"]

    # the server

    def server(self, message: Any) -> None:
        raw = message if isinstance(message, bytes) else json.dumps(message).encode()
        self.session.from_server(raw)

    def result(self, id_: Any, value: Any, **rest: Any) -> None:
        content = [{"type": "text", "text": value if isinstance(value, str) else json.dumps(value)}]
        self.server({"jsonrpc": "2.0", "id": id_, "result": {"content": content, **rest}})

    # both

    def read(self, id_: Any = "read") -> None:
        """The client reads the invoice, so that paying it is supported."""
        self.call(id_, "get_invoice", {"invoice_id": "I-7"})
        self.result(id_, OPEN)
        self.sent.clear()
        self.got.clear()

    def answer(self) -> Any:
        """The one line the client has got since it was last asked for."""
        (line,) = self.got
        self.got.clear()
        assert line.endswith(b"\n")
        return json.loads(line)

    def forwarded(self) -> Any:
        """The one line the server has got since it was last asked for."""
        (line,) = self.sent
        self.sent.clear()
        assert line.endswith(b"\n")
        return json.loads(line)

    def kinds(self) -> list[str]:
        """Kinds of the run's events after its start and tenure."""
        return [s.event.kind for s in self.guard.store.events(self.run.id)][2:]

    def bodies(self, kind: str) -> list[Any]:
        """Bodies of the run's events of one kind."""
        return [s.event.body for s in self.guard.store.events(self.run.id) if s.event.kind == kind]


def told(answer: Any) -> dict[str, Any]:
    """What the gateway itself said in a result, as JSON."""
    found: dict[str, Any] = answer["result"]["_meta"]["tallystick/decision"]
    return found


def codes(answer: Any) -> list[str]:
    """The codes of the reasons in a result of the gateway's own."""
    found = told(answer)
    return [r["code"] for r in found.get("reasons", found.get("deficits", ()))]
