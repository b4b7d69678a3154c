"""The derivation language: what each function gives, exactly, and that evaluating anything at all ends."""

from __future__ import annotations

import time
from decimal import Decimal
from typing import Any

import msgspec
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tallystick.contracts.build import build
from tallystick.contracts.derive import stated
from tallystick.contracts.terms import normal
from tallystick.errors import ContractError, InputError
from tallystick.gates.certify import bind, verify_certificate
from tallystick.model.certificate import Certificate, lexical, value_of
from tallystick.model.proposal import Claim, Stop
from tests.gates.certify import desk
from tests.gates.certify.desk import (
    BODIES,
    CONTRACT,
    NOW,
    TASK,
    claim,
    contract_of,
    found,
    honest,
    intent,
    item,
    receipt,
    record,
)

SLOTS = {slot.name: slot for slot in CONTRACT.answer}


def with_derivation(certificate: Certificate, slot: str, text: str) -> Certificate:
    claims = tuple(msgspec.structs.replace(c, derivation=text) if c.slot == slot else c for c in certificate.claims)
    return msgspec.structs.replace(certificate, claims=claims)


@pytest.mark.parametrize("slot", desk.SLOTS)
def test_every_function_gives_what_was_worked_out_by_hand_and_nothing_else(slot: str) -> None:
    contract = contract_of(slot)
    view = record(contract=contract)
    assert verify_certificate(view, contract, honest(view, contract)).complete
    other: Any = {
        "status": "open", "names": ["Ann", "Cy", "Bo"], "ids": ["I-1", "I-2"], "march": 3, "overdue": 1, "age": 20,
        "until": "2026-03-25", "local": "2026-03-10", "seen": "2026-03-11T00:30:00Z", "weight": "2.5 g", "others": [],
        "summary": {"id": "I-1", "total": "15.76"},
    }.get(slot, "12.51")  # fmt: skip
    assert not verify_certificate(view, contract, honest(view, contract, **{slot: other})).complete


@pytest.mark.parametrize(
    ("slot", "text", "same"),
    [
        ("paid", " last( pay./amount ) ", True),
        ("paid", "first(pay./amount)", False),
        ("open", 'sum(list./items/*/amount where (item.status=="open"))', True),
        ("open", "sum(list./items/*/amount where item.status == 'open')", True),
        ("open", 'sum(list./items/*/amount where item.status == "Open")', False),
        ("others", 'minus(set(list./items/*/id where item.status == "open"), set(list./items/*/id))', False),
        ("summary", "record(total: get./amount_due, id: get./id)", True),
        ("left", "difference(get./paid, get./amount_due)", False),
        ("until", 'after(get./issued, "15d")', False),
        ("local", 'day(get./seen, "Europe/Berlin")', False),
    ],
)
def test_the_same_derivation_may_be_written_otherwise(slot: str, text: str, same: bool) -> None:
    term = stated(text, CONTRACT, SLOTS[slot])
    assert (normal(term) == normal(SLOTS[slot].derive.term)) is same
    view = record()
    certificate = with_derivation(honest(view), slot, text)
    assert (("exact_transform", "claim.transform") not in found(view, certificate)) is same


def test_the_order_of_what_is_added_makes_no_difference() -> None:
    left = stated("sum(get./paid, get./amount_due, pay./amount)", CONTRACT, SLOTS["left"])
    right = stated("sum(pay./amount, sum(get./amount_due, get./paid))", CONTRACT, SLOTS["left"])
    assert normal(left) == normal(right)


@pytest.mark.parametrize(
    ("derive", "type_", "message"),
    [
        ("5.00", "decimal", "rests on no receipt"),
        ('"paid"', "string", "rests on no receipt"),
        ("task.invoice", "id", "rests on no receipt"),
        ("sum(task.invoice, task.invoice)", "id", "rests on no receipt"),
        ("difference(get./a)", "money(EUR)", "takes 2"),
        ("difference(get./a, get./b)", "string", "gives an integer or decimal"),
        ("union(get./a, get./b)", "list(id)", "gives a set"),
        ("days(get./a, get./b)", "date", "gives an integer"),
        ('after(get./a, "3 weeks")', "date", "is no time"),
        ('after(get./a, "36h")', "date", "whole days"),
        ('day(get./a, "Europe/Nowhere")', "date", "zone"),
        ("record(id: get./a)", "record(id: id, total: money(EUR))", "members"),
        ("record(id: get./a, id: get./b)", "record(id: id)", "different names"),
        ("count(get./items/*)", "string", "gives an integer"),
        ("get./items/*/id", "id", "several places"),
        ("set(union(set(get./a), set(get./b)))", "set(id)", "values of a source"),
        ("sum(" * 40 + "get./a" + ")" * 40, "decimal", ""),
        ("sum(" + ", ".join(["get./a"] * 100) + ")", "decimal", "at least 1"),
        ("summ(get./a)", "decimal", "unknown aggregate"),
        ("difference(sum(get./a/*/x), first(get./a/*/y))", "decimal", "both as one answer and as all"),
        ("nosuch./a", "decimal", "unknown tool"),
    ],
)
def test_a_contract_whose_derivation_means_nothing_is_refused(derive: str, type_: str, message: str) -> None:
    with pytest.raises(ContractError) as bad:
        build(
            {
                "contract": "bad/1",
                "tools": {"get": {"effect": "read"}},
                "task": {"inputs": {"invoice": "id"}, "answer": [{"slot": "s", "type": type_, "derive": derive}]},
            }
        )
    assert message in str(bad.value)


@pytest.mark.parametrize(
    ("quantifier", "type_", "ok"),
    [("count", "integer", True), ("count", "decimal", False), ("none", "string", False), ("none", "set(id)", True)],
)
def test_a_quantifier_fits_its_slots_type(quantifier: str, type_: str, ok: bool) -> None:
    derive = "set(get./ids/*)" if type_ == "set(id)" else "count(get./ids/*)" if type_ == "integer" else "get./n"
    answer = [{"slot": "s", "type": type_, "derive": derive, "quantifier": quantifier}]
    text = {"contract": "q/1", "tools": {"get": {"effect": "read"}}, "task": {"answer": answer}}
    if ok:
        assert build(text).answer[0].quantifier == quantifier
    else:
        with pytest.raises(ContractError, match="is not said of"):
            build(text)


def test_none_is_said_only_of_nothing() -> None:
    contract = contract_of("overdue")
    late = receipt("rl2", "l2", {"items": [item("I-3", "Cy", "0.10", "overdue", "2026-03-31")], "next": None})
    view = record([late if getattr(b[0], "id", "") == "rl2" else b for b in BODIES], contract)
    assert found(view, honest(view, contract, overdue=1), contract) == {("claim_coverage", "claim.not_none")}
    assert found(view, honest(view, contract), contract) == {("value_replay", "claim.mismatch")}


def test_a_period_is_of_the_calendar_of_its_zone_and_an_undated_item_is_no_item_of_any_period() -> None:
    """23:30 UTC on the last of the month is the first of the next in Paris, and still the last in London."""
    for zone, count in (("Europe/Paris", 0), ("Europe/London", 1), (None, None)):
        dates = {"at": "/seen", "from": "task.from", "to": "task.to", **({"zone": zone} if zone else {})}
        contract = build(
            {
                "contract": "when/1",
                "tools": {"list": {"effect": "read", "complete": "always"}},
                "task": {
                    "inputs": {"invoice": "id", "from": "date", "to": "date"},
                    "answer": [{"slot": "n", "type": "integer", "derive": "count(list./*)", "dates": dates,
                                "quantifier": "count"}],
                },
            }
        )  # fmt: skip
        view = record([intent("l", "list", {}), receipt("r", "l", [{"seen": "2026-02-28T23:30:00Z"}])], contract,
                      _february())  # fmt: skip
        said = Stop(now=NOW, claims=(Claim(slot="n", field="n", value=count or 0),))
        verified = verify_certificate(view, contract, bind(view, contract, said))
        assert verified.complete is (count is not None)
    assert {d.code for d in verified.deficits} == {"claim.not_derivable"}


def test_a_period_that_ends_before_it_begins_supports_nothing() -> None:
    period = {"at": "/seen", "from": "task.to", "to": "task.from"}
    inputs = {"invoice": "id", "from": "date", "to": "date"}
    slot = {"slot": "n", "type": "integer", "derive": "count(list./*)", "dates": period, "quantifier": "count"}
    contract = build(
        {
            "contract": "when/1",
            "tools": {"list": {"effect": "read", "complete": "always"}},
            "task": {"inputs": inputs, "answer": [slot]},
        }
    )
    view = record([intent("l", "list", {}), receipt("r", "l", [{"seen": "2026-02-14"}])], contract, _february())
    said = Stop(now=NOW, claims=(Claim(slot="n", field="n", value=0),))
    assert ("task_scope", "claim.scope") in found(view, bind(view, contract, said), contract)


def _february() -> Any:
    from dataclasses import replace

    from tallystick.model.values import date_of

    return replace(TASK, bindings={**TASK.bindings, "from": date_of("2026-02-01"), "to": date_of("2026-02-28")})


def test_a_result_dated_as_a_whole_is_evidence_only_of_its_period() -> None:
    slot = {
        "slot": "rate", "type": "decimal", "derive": "rate./rate",
        "dates": {"at": "args.day", "from": "task.from", "to": "task.from"},
    }  # fmt: skip
    contract = build(
        {
            "contract": "rate/1",
            "tools": {"rate": {"effect": "read"}},
            "task": {"inputs": {"invoice": "id", "from": "date", "to": "date"}, "answer": [slot]},
        }
    )
    asked = [
        intent("a", "rate", {"day": "2026-03-01"}), receipt("ra", "a", {"rate": "1.1"}),
        intent("b", "rate", {"day": "2026-03-02"}), receipt("rb", "b", {"rate": "1.2"}),
    ]  # fmt: skip
    view = record(asked, contract)
    right = bind(view, contract, Stop(now=NOW, claims=(Claim(slot="rate", field="rate", value="1.1"),)))
    assert verify_certificate(view, contract, right).complete
    of_next_day = msgspec.structs.replace(
        right.claims[0].references[0], receipt="rb", digest=view.index.receipt_by_id["rb"].digest
    )
    wrong = msgspec.structs.replace(
        right, claims=(msgspec.structs.replace(right.claims[0], value="1.2", references=(of_next_day,)),)
    )
    assert ("task_scope", "evidence.other_date") in found(view, wrong, contract)


GAPS: dict[str, Any] = {
    "no amount": {"id": "I-9", "name": "x", "status": "open", "issued": "2026-03-01"},
    "no status": {"id": "I-9", "name": "x", "amount": "1.00", "issued": "2026-03-01"},
    "null": None,
    "text": "and 5 more",
    "list": [item("I-9", "x", "1.00", "open", "2026-03-01")],
    "empty": {},
}
ONE_OF_EACH = {"open": "1.00", "ids": ["I-1"], "names": ["x"], "overdue": 0}


def _listed(slot: str, value: Any, items: Any) -> bool:
    """Return whether a claim over one complete answer with these items is certified."""
    contract = contract_of(slot)
    body = receipt("rl1", "l1", {"items": items, "next": None})
    view = record([*BODIES[:4], intent("l1", "list", {"page": 1}), body], contract)
    return verify_certificate(view, contract, honest(view, contract, **{slot: value})).complete


@pytest.mark.parametrize("gap", GAPS, ids=GAPS)
def test_an_item_without_the_value_is_never_passed_over_by_an_aggregate(gap: str) -> None:
    kept = item("I-1", "x", "1.00", "open", "2026-03-01")
    for slot in ONE_OF_EACH if gap in ("null", "text", "list", "empty") else ("open",):
        assert _listed(slot, ONE_OF_EACH[slot], [kept])
        for items in ([kept, GAPS[gap]], [GAPS[gap], kept]):
            assert not _listed(slot, ONE_OF_EACH[slot], items), slot


@pytest.mark.parametrize("items", [None, "none found", 0, False])
def test_what_has_no_items_is_not_an_empty_listing(items: Any) -> None:
    for slot, value in (("open", "0"), ("ids", []), ("names", []), ("overdue", 0)):
        assert _listed(slot, value, [])
        assert not _listed(slot, value, items), slot


@given(
    st.lists(st.decimals(min_value=-(10**9), max_value=10**9, places=3), min_size=1, max_size=8),
    st.decimals(min_value=0, max_value=10**6, places=2),
)
@settings(max_examples=60, deadline=None)
def test_sums_and_differences_are_exact_to_the_last_digit(amounts: list[Decimal], paid: Decimal) -> None:
    contract = contract_of("open", "left")
    items = [item(f"I-{i}", "x", format(a, "f"), "open", "2026-03-01") for i, a in enumerate(amounts)]
    due = sum(amounts, Decimal(0))
    view = record(
        [
            *BODIES[:4],
            intent("l1", "list", {"page": 1}),
            receipt("rl1", "l1", {"items": items, "next": None}),
            intent("g1", "get", {"id": "I-1"}),
            receipt("rg1", "g1", desk.invoice("I-1", amount_due=format(due, "f"), paid=format(paid, "f"))),
        ],
        contract,
    )
    thousandths = sum(int(a.scaleb(3)) for a in amounts)
    left = thousandths - int(paid.scaleb(3))
    certificate = honest(view, contract, open=_text(thousandths), left=_text(left))
    assert verify_certificate(view, contract, certificate).complete
    assert not verify_certificate(
        view, contract, honest(view, contract, open=_text(thousandths + 1), left="0")
    ).complete


def _text(thousandths: int) -> str:
    sign, digits = "-" if thousandths < 0 else "", abs(thousandths)
    return f"{sign}{digits // 1000}.{digits % 1000:03d}"


@given(st.data())
def test_what_a_type_gives_stands_in_a_certificate_and_comes_back(data: st.DataObject) -> None:
    from tallystick.contracts.typetext import type_of

    texts = {
        "integer": st.integers(),
        "decimal": st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**20), max_value=10**20),
        "string": st.text(),
        "boolean": st.booleans(),
        "optional date": st.dates() | st.none(),
        "set(integer)": st.frozensets(st.integers(-5, 5)),
        "list(string)": st.lists(st.text(), max_size=4).map(tuple),
        "json": st.recursive(st.none() | st.booleans() | st.integers(-9, 9) | st.text(max_size=3),
                             lambda c: st.lists(c, max_size=3) | st.dictionaries(st.text(max_size=4), c, max_size=3)),
    }  # fmt: skip
    name = data.draw(st.sampled_from(sorted(texts)))
    value, type_ = data.draw(texts[name]), type_of(name)
    assume(value is not None or type_.optional)  # null is no value of another type
    assert value_of(type_, lexical(value, type_)) == value


@pytest.mark.parametrize(
    ("type_", "stated_"),
    [
        ("integer", "05"), ("integer", 5), ("integer", "5.0"), ("integer", "\u0665"), ("decimal", "1e3"),
        ("decimal", "-0"), ("money(EUR)", "5.00"), ("money(EUR)", "5.00 USD"), ("money(EUR)", "EUR 5.00"),
        ("money(EUR)", "5,000.00 EUR"), ("quantity(kg)", "5kg"), ("instant", "2026-03-01T10:00:00"),
        ("instant", "2026-03-01T10:00:00+01:00"), ("instant", "2026-03-01t10:00:00z"), ("date", "2026-3-1"),
        ("date", "2026-02-30"), ("set(id)", ["b", "a"]), ("set(id)", ["a", "a"]), ("boolean", "true"),
        ("record(a: id)", {"a": "x", "b": "y"}), ("record(a: id)", {}), ("json", {"$num": "1e400"}),
    ],
)  # fmt: skip
def test_a_value_that_is_not_in_its_one_form_is_no_value(type_: str, stated_: Any) -> None:
    from tallystick.contracts.typetext import type_of

    with pytest.raises(ValueError):
        value_of(type_of(type_), stated_)


BIG = [item(f"I-{i}", "A" * 20, "1.00", "open", "2026-03-10") for i in range(3_000)]
HOSTILE = {
    "quadratic": 'sum(list./items/*/amount where result.items.exists(x, x.id == item.id && x.status == "none"))',
    "whole result": "sum(list./items/*/amount where result == result)",
    "big text": 'sum(list./items/*/amount where result.text.contains("b"))',
    "regex": 'sum(list./items/*/amount where result.text.matches("(a*)*b"))',
    "macros": "sum(list./items/*/amount where [1,2,3,4,5,6,7,8,9].all(a, [1,2,3,4,5,6,7,8,9].all(b, "
    "[1,2,3,4,5,6,7,8,9].all(c, a + b + c > 0))))",
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_derivation_that_blows_up_ends_in_a_deficit(name: str) -> None:
    contract = contract_of("open")
    huge = {"items": BIG, "next": None, "text": "a" * 200_000}
    view = record([*BODIES[:4], intent("l1", "list", {"page": 1}), receipt("rl1", "l1", huge)], contract)
    certificate = with_derivation(honest(view, contract, open="3000.00"), "open", HOSTILE[name])
    began = time.process_time()
    deficits = {(d.check, d.code) for d in verify_certificate(view, contract, certificate).deficits}
    assert deficits & {("value_replay", "derivation.bounds"), ("value_replay", "claim.not_derivable")}
    assert ("exact_transform", "claim.transform") in deficits
    assert time.process_time() - began < 60  # it ended: a guard against a hang, not a measurement


@pytest.mark.parametrize("text", ["", " ", "x" * 5_000, "(" * 3_000, "sum(" * 500, "1e400", "NaN", "sum(pay./amount",
                                  "pay./amount where", "\u0455um(pay./amount)", "pay./a~", '"'])  # fmt: skip
def test_a_text_that_is_no_derivation_is_refused_and_never_raises(text: str) -> None:
    view = record()
    deficits = found(view, with_derivation(honest(view), "paid", text))
    assert ("exact_transform", "claim.transform") in deficits
    assert all(code != "gate.error" for _, code in deficits)


def test_a_certificate_with_too_many_claims_is_not_looked_at() -> None:
    view = record()
    whole = honest(view)
    many = msgspec.structs.replace(whole, claims=(claim(whole, "paid"),) * 5_000)
    assert found(view, many) == {("claim_coverage", "certificate.too_large")}


def test_a_stated_derivation_under_another_contract_is_none() -> None:
    with pytest.raises(InputError):
        stated("nosuch./amount", CONTRACT, None)
    with pytest.raises(InputError):
        stated("invoice.status", CONTRACT, None)


OTHERS: dict[str, list[Any]] = {
    "seen": ["2026-03-11T00:30:00+01:00", "2026-03-10T23:30:00", "2026-03-10T23:30:00z", "2026-03-10 23:30:00Z",
             "2026-03-10T23:30:00.000Z", "2026-03-10T23:30:00-00:00", "2026-03-10T24:30:00Z", "1773185400", "23:30"],
    "local": ["2026-03-10", "11.03.2026", "2026-03-11T00:00:00Z", "2026-3-11", "\u0662026-03-11"],
    "until": ["2026-03-10", "2026-03-23", "2026-03-24T00:00:00Z", "March 24", "9999-99-99"],
    "age": ["20", "21.0", "+21", "021", 21, "twenty-one", "\u0662\u0661", "1e400"],
    "weight": ["2.5", "2.5 g", "2.5kg", "2500 g", "2.50001 kg", "25 kg", "2.5 \u339a"],
    "ids": [["I-1", "I-2"], ["I-1", "I-2", "I-3", "I-4"], ["I-3", "I-2", "I-1"], ["I-1", "I-1", "I-2", "I-3"],
            ["\u0399-1", "I-2", "I-3"], "I-1, I-2, I-3", {"0": "I-1"}],
    "names": [["Ann", "Cy", "Bo"], ["Ann", "Bo"], ["ann", "Bo", "Cy"], ["Ann", "Bo", "Cy", "Cy"], []],
    "march": ["3", "1", "0", "-2", "2.0", 2],
    "others": [[], ["I-2"], ["I-1", "I-2"], ["I-1 "]],
    "summary": [{"id": "I-1"}, {"id": "I-1", "total": "15.75"}, {"id": "I-2", "total": "15.75 EUR"},
                {"id": "I-1", "total": "15.75 EUR", "vat": "0 EUR"}, ["I-1", "15.75 EUR"]],
    "left": ["3.25", "3.25 USD", "-3.25 EUR", "3.26 EUR", "325 EUR", "3,25 EUR", "3.25\u202fEUR"],
}  # fmt: skip


@pytest.mark.parametrize("slot", OTHERS)
def test_no_other_value_and_no_other_form_of_the_value_is_certified(slot: str) -> None:
    """Time zones, look-alikes, scales, orders and shapes: what is stated is the one form of the one value."""
    contract = contract_of(slot)
    view = record(contract=contract)
    whole = honest(view, contract)
    for value in OTHERS[slot]:
        changed = msgspec.structs.replace(whole, claims=(msgspec.structs.replace(whole.claims[0], value=value),))
        checks = {check for check, _ in found(view, changed, contract)}
        assert checks, value
        assert checks <= {"claim_coverage", "value_replay"}, value
