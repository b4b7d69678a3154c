"""Answer slots: claimed values are recomputed by the contract's derivation, exactly."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tallystick.contracts.build import build
from tallystick.contracts.task import load_task
from tallystick.gates.claim import may_claim
from tallystick.model import events as e
from tallystick.model import jsontext
from tallystick.model.decision import Decision, Verdict
from tallystick.model.proposal import Claim
from tallystick.model.values import EntityRef
from tests.gates.claim_worlds import folded, intent, receipt, sealed

CONTRACT = build(
    {
        "contract": "slots/1",
        "entities": {
            "order": {
                "id": "id",
                "total": "money(/currency)",
                "state": "string",
                "due": "date",
                "weight": "quantity(kg)",
            }
        },
        "tools": {
            "get": {
                "effect": "read",
                "target": "order(args.id)",
                "yields": {"order": {"id": "/id", "total": "/total", "state": "/state", "due": "/due"}},
            },
            "orders": {
                "effect": "read",
                "yields": {"order": {"at": "/items/*", "id": "/id", "total": "/total", "state": "/state"}},
                "complete": {"next": "/next", "page_arg": "page", "items": "/items", "degraded": ["/partial"]},
            },
            "charge": {
                "effect": "write",
                "target": "order(args.id)",
                "ok": 'result.status == "done"',
            },
            "ship_many": {
                "effect": "write",
                "target": "each order(args.ids)",
                "batch": {"arg": "ids", "results": "/results/*", "result_key": "/id", "ok": "item.ok == true"},
            },
        },
        "task": {
            "inputs": {"order": "id"},
            "answer": [
                {"slot": slot, "required": False, **rest}
                for slot, rest in {
                    "charged": {"type": "money(EUR)", "scope": "order", "derive": "charge./amount"},
                    "cents": {"type": "money(EUR minor)", "scope": "order", "derive": "charge./cents"},
                    "all_charged": {"type": "money(EUR)", "derive": "sum(charge./amount)"},
                    "sum": {"type": "money(/currency)", "derive": "sum(orders./items/*/total)"},
                    "count": {"type": "integer", "derive": "count(orders./items/*)", "quantifier": "count"},
                    "open": {
                        "type": "integer",
                        "derive": 'count(orders./items/* where item.state == "open")',
                        "quantifier": "count",
                    },
                    "most": {"type": "money(/currency)", "derive": "max(orders./items/*/total)"},
                    "ids": {"type": "set(id)", "derive": "set(orders./items/*/id)", "quantifier": "all"},
                    "first": {"type": "id", "derive": "first(orders./items/*/id)"},
                    "state": {"type": "string", "scope": "order", "derive": "order.state"},
                    "due": {"type": "date", "scope": "order", "derive": "get./due"},
                    "shipped": {"type": "set(id)", "derive": "set(ship_many./results/*/id)"},
                }.items()
            ],
        },
    }
)
TASK = load_task({"bindings": {"order": "O-1"}}, CONTRACT)


def judged(slot: str, value: Any, *bodies: tuple[e.AnyBody, e.Role], **more: Any) -> Decision:
    """Claim `value` for `slot` over a record of `bodies`; a slot's own quantifier unless another is given."""
    own = next(s for s in CONTRACT.answer if s.name == slot)
    view = folded(sealed(bodies), CONTRACT, TASK)
    return may_claim(
        view, CONTRACT, Claim(slot=slot, field=slot, value=value, **{"quantifier": own.quantifier, **more})
    )


def charge(n: int, order: str = "O-1", status: str = "done", **result: Any) -> list[tuple[e.AnyBody, e.Role]]:
    return [
        intent(f"c{n}", "charge", {"id": order, "n": n}),
        receipt(f"r{n}", f"c{n}", {"status": status, "id": order, "amount": "5.00", **result}),
    ]


def page(n: int, items: list[dict[str, Any]], after: int | None, **result: Any) -> list[tuple[e.AnyBody, e.Role]]:
    return [
        intent(f"p{n}", "orders", {"page": n}),
        receipt(f"pr{n}", f"p{n}", {"items": items, "next": after, **result}),
    ]


def order(name: str, total: str = "10.00", state: str = "open", currency: str = "EUR") -> dict[str, Any]:
    return {"id": name, "total": total, "state": state, "currency": currency}


TWO_PAGES = [*page(1, [order("O-1"), order("O-2", "0.10")], 2), *page(2, [order("O-3", "0.20", "paid")], None)]


@pytest.mark.parametrize(
    ("slot", "value"),
    [
        ("sum", "10.30 EUR"),
        ("count", 3),
        ("open", 2),
        ("most", "10.00 EUR"),
        ("ids", ["O-3", "O-1", "O-2"]),
        ("first", "O-1"),
    ],
)
def test_every_aggregate_over_all_pages_is_accepted(slot: str, value: Any) -> None:
    assert judged(slot, value, *TWO_PAGES).verdict is Verdict.ACCEPT


@pytest.mark.parametrize("slot", ["sum", "count", "open", "most", "ids"])
def test_an_aggregate_over_some_pages_is_partial_and_the_missing_page_is_named(slot: str) -> None:
    value = ["O-1", "O-2"] if slot == "ids" else 2 if slot in ("count", "open") else "10.10 EUR"
    decision = judged(slot, value, *TWO_PAGES[:2])
    assert decision.codes == ("evidence.partial",)
    (read,) = decision.reasons[0].reads
    assert (read.tool, jsontext.loads(read.args)) == ("orders", {"page": 2})


def test_a_page_read_twice_counts_once() -> None:
    again = [intent("p9", "orders", {"page": 1}), receipt("pr9", "p9", {"items": [order("O-1")], "next": 2})]
    assert judged("count", 2, *TWO_PAGES, *again).verdict is Verdict.ACCEPT  # the newest answer of page 1 has one item


@pytest.mark.parametrize(
    ("page_one", "code"),
    [
        ({"items": [order("O-1")], "next": None, "partial": True}, "evidence.partial"),
        ({"items": [order("O-1"), order("O-2", currency="USD")], "next": None}, "claim.not_derivable"),
        ({"items": [{"id": "O-1", "total": "ten", "currency": "EUR"}], "next": None}, "claim.not_derivable"),
        ({"items": [{"id": "O-1", "total": "10.00"}], "next": None}, "claim.not_derivable"),
        ({"items": [order("O-1", "1.00")], "next": None}, "claim.unit"),
        ({"items": [order("O-1", "9.99")], "next": None}, "claim.mismatch"),
        ({"items": [order("O-1", currency="USD")], "next": None}, "claim.unit"),
    ],
)
def test_a_sum_that_is_not_exactly_derivable_is_refused(page_one: dict[str, Any], code: str) -> None:
    bodies = [intent("p", "orders", {}), receipt("r", "p", page_one)]
    assert judged("sum", "10.00 EUR", *bodies).codes == (code,)


@given(st.lists(st.decimals(min_value=0, max_value=10**12, places=2), min_size=1, max_size=12))
def test_a_sum_is_exact_to_the_last_digit(amounts: list[Any]) -> None:
    items = [order(f"O-{i}", format(a, "f")) for i, a in enumerate(amounts)]
    bodies = page(1, items, None)
    total = sum(int(a.scaleb(2)) for a in amounts)
    text = f"{total // 100}.{total % 100:02d} EUR"
    assert judged("sum", text, *bodies).verdict is Verdict.ACCEPT
    wrong = total + 1
    assert judged("sum", f"{wrong // 100}.{wrong % 100:02d} EUR", *bodies).verdict is Verdict.REJECT


@pytest.mark.parametrize(
    ("value", "code"),
    [
        ("5.00", None), ("5.00 EUR", None), ("5", None), (5, None),
        ("5.00 USD", "claim.type"), ("five", "claim.type"), (True, "claim.type"), ("1.299,00", "claim.type"),
        ("50.00", "claim.unit"), ("5.01", "claim.mismatch"),
    ],
)  # fmt: skip
def test_a_claimed_amount_is_the_same_money_or_refused(value: Any, code: str | None) -> None:
    assert judged("charged", value, *charge(1)).codes == (() if code is None else (code,))


def test_minor_units_are_read_by_the_slots_type() -> None:
    assert judged("cents", 500, *charge(1, cents=500)).verdict is Verdict.ACCEPT
    assert judged("cents", "5.00 EUR", *charge(1, cents=500)).verdict is Verdict.ACCEPT
    assert judged("cents", "500.00 EUR", *charge(1, cents=500)).codes == ("claim.unit",)


@pytest.mark.parametrize(
    ("bodies", "more", "codes"),
    [
        ([], {}, ("evidence.missing",)),
        (charge(1, "O-2"), {}, ("evidence.other_entity",)),
        (charge(1), {"subject": EntityRef("order", "O-2")}, ("claim.scope",)),
        (charge(1), {"quantifier": "all"}, ("claim.type",)),
        (charge(1), {"cites": ("nowhere",)}, ("receipt.forged",)),
        ([*charge(1), *charge(2, "O-2")], {"cites": ("r2",)}, ("claim.unsupported",)),
        (charge(1, status="who knows"), {}, ("doubt.open",)),
        ([intent("c1", "charge", {"id": "O-1"})], {}, ("doubt.open",)),
        ([*charge(1), intent("c2", "charge", {"id": "O-1"})], {}, ("doubt.open",)),
        (charge(1, amount=None), {}, ("claim.not_derivable",)),
    ],
)
def test_each_gap_in_a_slots_evidence_has_its_code(
    bodies: list[tuple[e.AnyBody, e.Role]], more: dict[str, Any], codes: tuple[str, ...]
) -> None:
    decision = judged("charged", "5.00", *bodies, **more)
    assert decision.verdict is Verdict.REJECT
    assert decision.codes == codes
    assert all(r.message and r.reverses for r in decision.reasons)


def test_the_newest_charge_counts_for_identity_and_every_charge_for_a_sum() -> None:
    both = [*charge(1), *charge(2, amount="7.00")]
    assert judged("charged", "7.00", *both).verdict is Verdict.ACCEPT
    assert judged("charged", "5.00", *both).codes == ("claim.mismatch",)
    others = [*charge(1, "O-1"), *charge(2, "O-2", amount="7.00")]
    assert judged("all_charged", "12.00", *others).verdict is Verdict.ACCEPT


def test_a_repeated_answer_is_no_second_charge() -> None:
    twice = [*charge(1, "O-1"), intent("c2", "charge", {"id": "O-2"}),
             receipt("r2", "c2", {"status": "done", "amount": "5.00"}, cached_from="r1")]  # fmt: skip
    assert judged("all_charged", "10.00", *twice).codes == ("claim.mismatch",)
    assert judged("all_charged", "5.00", *twice).verdict is Verdict.ACCEPT


def test_facts_are_fresh_or_void() -> None:
    read = [intent("g", "get", {"id": "O-1"}), receipt("gr", "g", {**order("O-1"), "due": "2026-05-01"})]
    assert judged("state", "open", *read).verdict is Verdict.ACCEPT
    assert judged("due", "2026-05-01", *read).verdict is Verdict.ACCEPT
    assert judged("due", "2026-04-30", *read).codes == ("claim.mismatch",)
    for slot, value in (("state", "open"), ("due", "2026-05-01")):
        assert judged(slot, value, *read, *charge(1)).codes == ("evidence.stale",)
    assert judged("state", "open").codes == ("evidence.missing",)


def test_a_listing_is_void_once_something_it_lists_was_written() -> None:
    assert judged("sum", "10.30 EUR", *TWO_PAGES, *charge(1, "O-3")).codes == ("evidence.stale",)
    assert judged("sum", "10.30 EUR", *TWO_PAGES, *charge(1, "O-9")).verdict is Verdict.ACCEPT


def test_two_channels_that_disagree_hold_the_claim() -> None:
    made = intent("c1", "charge", {"id": "O-1"})
    structured = e.blob(b'{"status":"done","amount":5}')
    said = receipt("r1", "c1", "charged an amount of 7", structured=structured)
    assert judged("charged", "5.00", made, said).codes == ("evidence.conflict",)
    assert judged("charged", "5.00", made, said).verdict is Verdict.HOLD
    assert judged("charged", "6.00", made, said).verdict is Verdict.REJECT


def test_of_a_batch_only_the_items_that_were_done_are_derived() -> None:
    answers = [{"id": "O-1", "ok": True}, {"id": "O-2", "ok": False}]
    bodies = [intent("b", "ship_many", {"ids": ["O-1", "O-2"]}), receipt("br", "b", {"results": answers})]
    assert judged("shipped", ["O-1"], *bodies).verdict is Verdict.ACCEPT
    assert judged("shipped", ["O-1", "O-2"], *bodies).codes == ("claim.mismatch",)


def test_a_claim_need_not_repeat_the_slots_quantifier() -> None:
    assert judged("count", 3, *TWO_PAGES, quantifier="one").verdict is Verdict.ACCEPT
    assert judged("count", 3, *TWO_PAGES, quantifier="none").codes == ("claim.type",)


def test_an_unknown_slot_is_no_slot() -> None:
    view = folded(sealed([]), CONTRACT, TASK)
    decision = may_claim(view, CONTRACT, Claim(slot="tip", field="tip", value=1))
    assert decision.codes == ("coverage.unknown_slot",)


def test_without_its_binding_a_slot_has_no_scope() -> None:
    view = folded(sealed(charge(1)), CONTRACT)
    view.task = load_task({"bindings": {"order": "O-1"}}, CONTRACT).__class__()
    decision = may_claim(view, CONTRACT, Claim(slot="charged", field="charged", value="5.00"))
    assert decision.codes == ("claim.scope",)
