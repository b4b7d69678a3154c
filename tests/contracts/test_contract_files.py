"""The syntax says everything the compiled form can hold, and the examples say what they are meant to."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

import pytest

from tallystick import contracts
from tallystick.contracts.types import Contract, Duty, Tool
from tallystick.model.values import Money, Type

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").rglob("*.yaml"))


@pytest.mark.parametrize("path", EXAMPLES, ids=[p.stem for p in EXAMPLES])
def test_an_example_is_valid_and_its_stored_text_gives_the_same_contract(path: Path) -> None:
    contract = contracts.load(path)
    assert contracts.check(path) == []
    again = contracts.parse(contract.text)
    assert (again.name, again.version, again.sha256) == (contract.name, contract.version, contract.sha256)
    assert again.tools.keys() == contract.tools.keys()


ARCHITECTURE = """
contract: pay-invoice/1
entities:
  invoice: {id: string, amount_due: money(EUR), status: string}
tools:
  get_invoice:
    effect: read
    yields: {invoice: {id: /id, amount_due: /amount_due, status: /status}}
  pay_invoice:
    effect: write                       # may depend on arguments: `preview unless args.confirm`
    target: invoice(args.invoice_id)
    args: {amount: money(EUR)}
    once_per: [args.invoice_id]
    ok: result.status == "paid"
    settle: get_invoice shows invoice.status == "paid"            # how doubt is resolved
    requires:
      - {id: open,   fact: invoice.status == "open", fresh: since last write}
      - {id: amount, fact: args.amount == invoice.amount_due}     # exact: both are money(EUR)
      - {id: chosen, confirmed: invoice}
  send_receipt:
    effect: write
    target: invoice(args.invoice_id)
    requires:
      - {id: the-receipt, arg: file, equals: pay_invoice./receipt_file}   # the predecessor's actual result
conditions:
  - {id: dual-control, when: invoice.amount_due > 10000.00, removes: [pay_invoice], status: do not pay,
     prerequisite: approval for this invoice, authority: finance, fallback: leave it scheduled}
exclusive: []                           # e.g. one remedy per item across tools
task:                                   # template; instances are frozen per run
  inputs: {invoice: id}
  owes:   [{id: paid, by: pay_invoice, kind: event}, {id: delivered, by: send_receipt, kind: event}]
  answer: [{slot: amount_paid, type: money(EUR), scope: invoice, derive: pay_invoice./amount}]
"""


def test_the_example_of_the_architecture_is_a_contract() -> None:
    """Word for word, with the task's input declared, which says which invoice `scope: invoice` is."""
    contract = contracts.parse(ARCHITECTURE)
    pay = contract.tools["pay_invoice"]
    assert [r.kind for r in pay.requires] == ["fact", "fact", "confirmed"]
    assert pay.requires[0].fresh == "write"
    assert pay.settle is not None
    assert pay.settle.tool == "get_invoice"
    assert {k: e.source for k, e in pay.settle.args.items()} == {"invoice_id": "args.invoice_id"}
    (condition,) = contract.conditions
    assert condition.kind == "invoice"
    assert condition.when is not None
    assert condition.when.evaluate({"invoice": {"amount_due": Money(Decimal("10000.01"), "EUR")}}) is True
    assert [o.entity and o.entity.id.source for o in contract.owes] == ["task.invoice", "task.invoice"]


EVERYTHING = """
contract: everything/2
closed: false
entities:
  order: {id: id, status: string, total: money(/currency), lines: list(id), customer: id}
  line: {id: id, price: money(EUR minor), weight: optional quantity(g), tags: set(string)}
  customer: {id: id, tier: string, since: date, seen: instant, extra: json, point: 'record(x: integer, y: decimal)'}
tools:
  list_lines:
    annotations: {readOnlyHint: true, title: List}
    args: {page: optional integer}
    yields:
      line:
        - {at: /lines/*, id: /id, price: /price}
        - {at: /more/*, id: /id}
      order: {id: args.order_id, status: /status}
    complete: {flag: /all, next: /next, page_arg: page, page_size: 20, items: /lines, degraded: [/partial]}
    lag: 5s
    volatile: true
  get_order: {effect: read, target: order(args.order_id), complete: always,
              yields: {order: {id: /id, status: /status}}}
  ship:
    effect: {read: args.mode == "quote", preview: args.mode == "try", otherwise: write}
    description: Ships lines of an order.
    schema: {type: object, required: [order_id, mode], properties: {order_id: {type: string}, mode: {type: string},
             ids: {type: array}, key: {type: string}, fee: {type: number}, pin: {type: string}}}
    args: {fee: optional money(EUR), ids: list(id)}
    target: [order(args.order_id), each line(args.ids)]
    bind: customer(order.customer) as buyer
    once_per: [args.order_id, args.ids]
    idempotency_arg: key
    dedupes_by_key: true
    needs_approval: any
    ok: result.state == "shipped"
    no_effect: has(result.error)
    pending: result.state == "queued"
    status_at: /state
    terminal: [shipped, failed]
    echoes: {order_id: /order/id}
    batch: {arg: ids, results: /answers, result_key: /id, ok: item.ok == true}
    settle: {tool: get_order, shows: order.status == "shipped", args: {order_id: args.order_id}, lag: 30s}
    secrets: [/args/pin, /result/token]
    requires:
      - {id: k, known: order, when: args.mode != "quote", message: look first}
      - {id: c, confirmed: buyer}
      - {id: f, fact: order.total > 1.00, fresh: 10m}
      - {id: a, arg: fee, equals: get_order./fees/0}
      - {id: r, read: get_order, with: args.order_id == call.order_id && result.open == true}
      - {id: p, previewed: [order_id], with: preview.ok == true}
      - {id: ap, approval: finance}
      - {id: any, any: [{fact: buyer.tier == "gold"}, {id: boss, approval: boss}]}
  recall: {effect: write, target: order(args.order_id), undone_by: ship}
conditions:
  - {id: frozen, for: order, removes: ship, status: stop, prerequisite: thaw, until: order.status == "thawed",
     authority: ops, fallback: wait, fallback_tools: [get_order]}
  - {id: night, when: now.getHours("Europe/Paris") < 6, removes: [ship], status: wait, prerequisite: morning}
exclusive:
  - {id: one, tools: [ship, list_lines], per: {ship: args.order_id, list_lines: args.order_id}, message: only one}
duties:
  - {id: told, after: ship, when: result.late == true && talk.heard.mentions(args.order_id), owes: [recall, get_order],
     with: args.order_id == call.order_id, ever: true, message: look again}
task:
  inputs: {orders: list(id), order_id: id, limit: money(EUR), start: date}
  owes:
    - {id: each, by: ship, each: orders, for: order(item), args: {order_id: item}, when: order.status == "open",
       text: every order is shipped}
    - {id: state, fact: order.status == "shipped", for: order}
  answer:
    - {slot: fees, type: money(EUR), scope: order, derive: 'sum(ship./answers/*/fee where item.ok == true)'}
    - {slot: left, type: integer, derive: count(list_lines./lines/*), quantifier: count, required: false}
    - {slot: status, type: string, scope: order, derive: order.status}
    - {slot: names, type: set(id), derive: set(list_lines./lines/*/id), quantifier: all,
       dates: {at: /shipped, from: task.start, to: 'date("2026-12-31")', zone: Europe/Paris}}
"""


def everything() -> Contract:
    return contracts.parse(EVERYTHING)


def test_each_field_of_the_compiled_form_can_be_said() -> None:
    """Every attribute of a tool, requirement, condition, exclusion, obligation and slot has a value here."""
    contract = everything()
    ship = contract.tools["ship"]
    empty = [name for name in Tool.__slots__ if getattr(ship, name) in (None, (), 0, False)]
    assert sorted(empty) == ["complete", "lag_seconds", "undone_by", "volatile", "yields"]  # said of other tools
    assert contract.tools["recall"].undone_by == ("ship",)
    read = contract.tools["list_lines"]
    assert read.effect == "read"
    assert read.lag_seconds == 5
    assert read.volatile
    assert read.complete is not None
    assert read.complete.degraded == (("partial",),)
    assert [(y.kind, y.at, y.id, y.id_arg) for y in read.yields] == [
        ("line", ("lines", "*"), ("id",), None),
        ("line", ("more", "*"), ("id",), None),
        ("order", (), None, "order_id"),
    ]
    assert [r.kind for r in ship.requires] == [
        "known", "confirmed", "fact", "argument", "read", "previewed", "approval", "any",
    ]  # fmt: skip
    assert [o.id for o in ship.requires[-1].options] == ["any.1", "boss"]
    assert ship.requires[2].fresh == 600
    assert ship.needs_approval == ""
    assert [(e.kind, e.alias, e.each) for e in (*ship.target, *ship.bind)] == [
        ("order", "order", False), ("line", "line", True), ("customer", "buyer", False),
    ]  # fmt: skip
    assert [(effect, expr.source) for expr, effect in ship.effect_cases] == [
        ("read", 'args.mode == "quote"'), ("preview", 'args.mode == "try"'),
    ]  # fmt: skip
    assert ship.schema_sha256 is not None
    assert contract.closed is False
    assert (contract.conditions[0].when, contract.conditions[1].kind) == (None, None)
    assert [o.kind for o in contract.owes] == ["event", "state"]
    (duty,) = contract.duties
    assert all(getattr(duty, name) not in (None, (), False, "") for name in Duty.__slots__)
    assert [getattr(s.derive.term, "function", "facts") for s in contract.answer] == ["sum", "count", "facts", "set"]
    dates = contract.answer[3].dates
    assert dates is not None
    assert (dates.at, dates.arg, dates.zone, dates.first.source) == (("shipped",), None, "Europe/Paris", "task.start")


def test_an_argument_has_its_declared_type_else_what_the_schema_says_else_json() -> None:
    args = everything().tools["ship"].args
    assert args["fee"] == Type(name="money", unit="EUR", optional=True)
    assert args["order_id"] == Type(name="string")
    assert args["key"] == Type(name="string", optional=True)
    assert args["ids"] == Type(name="list", item=Type(name="id"))


def test_yaml_and_python_give_the_same_contract() -> None:
    from tallystick.contracts.yamltext import read

    built = contracts.build(read(EVERYTHING).value)
    assert repr(built.tools) == repr(everything().tools)
    assert repr(contracts.parse(built.text).tools) == repr(built.tools)


def test_a_contract_without_anything_closes_every_door() -> None:
    assert contracts.EMPTY.closed
    assert not contracts.EMPTY.tools
    assert contracts.parse("contract: a/1").closed
