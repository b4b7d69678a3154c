"""The builder: it claims what a text plainly states, of the right thing, and nothing else."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tallystick.contracts import parse
from tallystick.gates.claim import may_claim
from tallystick.prose.propose import MAX_TEXT, Proposed, propose
from tests.prose.answers import SLOTS, Parcel, answers, parcels, run_over, sentence, values_of, ways


def proposed(run: Any, text: str) -> Proposed:
    return propose(run.view, run.contract, text)


# ---------------------------------------------------------------- theorems


@settings(max_examples=60)
@given(st.data(), parcels())
def test_an_answer_with_the_right_values_is_accepted_however_they_are_written(
    data: st.DataObject, two: tuple[Parcel, Parcel]
) -> None:
    run = run_over(*data.draw(st.permutations(two)))
    text = data.draw(answers(values_of(two[0]), "P-71"))
    finish = run.finish(text)
    assert finish.accepted, f"{text}\n{finish}"


@settings(max_examples=60)
@given(st.data(), parcels(), st.sampled_from(SLOTS))
def test_an_answer_with_any_one_value_changed_to_another_is_not_accepted(
    data: st.DataObject, two: tuple[Parcel, Parcel], slot: str
) -> None:
    run = run_over(*two)
    values = values_of(two[0])
    other = values_of(two[1])[slot]
    if slot in ("fee", "weight"):  # a value the record has nowhere, too
        other = data.draw(st.sampled_from([other, values[slot] + 1, values[slot] * 10]))
    text = data.draw(answers({**values, slot: other}, "P-71"))
    finish = run.finish(text)
    assert not finish.accepted, text
    assert slot in {d.slot for d in finish.deficits}, f"{text}\n{finish}"


@settings(max_examples=60)
@given(st.data(), parcels(), st.sampled_from(SLOTS))
def test_a_right_value_said_of_another_thing_is_not_claimed(
    data: st.DataObject, two: tuple[Parcel, Parcel], slot: str
) -> None:
    run = run_over(two[0], two[1])
    written = data.draw(st.sampled_from(ways(slot, values_of(two[0])[slot])))
    about = data.draw(st.sampled_from(["P-72", "P-99"]))  # one that is known, one that is not
    text = data.draw(st.sampled_from(sentence(slot, written, about)))
    found = proposed(run, text)
    assert slot not in {c.slot for c in found.claims}, text


@settings(max_examples=50)
@given(st.data(), parcels(), st.sampled_from(SLOTS))
def test_values_that_changed_places_between_two_things_are_not_claimed(
    data: st.DataObject, two: tuple[Parcel, Parcel], slot: str
) -> None:
    mine, theirs = values_of(two[0])[slot], values_of(two[1])[slot]

    def said(value: Any, parcel: str) -> str:
        written = data.draw(st.sampled_from(ways(slot, value)))
        return data.draw(st.sampled_from(sentence(slot, written, parcel)))

    right = data.draw(st.permutations([said(mine, "P-71"), said(theirs, "P-72")]))
    assert slot in {c.slot for c in proposed(run_over(*two), "\n".join(right)).claims}, right
    swapped = data.draw(st.permutations([said(theirs, "P-71"), said(mine, "P-72")]))
    run = run_over(*two)
    found = proposed(run, "\n".join(swapped))
    assert all(c.slot != slot or not may_claim(run.view, run.contract, c).positive for c in found.claims), swapped


@settings(max_examples=50)
@given(st.data(), parcels())
def test_what_is_left_out_is_not_claimed(data: st.DataObject, two: tuple[Parcel, Parcel]) -> None:
    run = run_over(*two)
    kept = data.draw(st.sets(st.sampled_from(SLOTS), max_size=len(SLOTS) - 1))
    values = values_of(two[0])
    said = [
        data.draw(st.sampled_from(sentence(s, data.draw(st.sampled_from(ways(s, values[s]))), "P-71")))
        for s in sorted(kept)
    ]
    found = proposed(run, "\n".join(said))
    assert {c.slot for c in found.claims} == kept, said
    assert set(found.unmatched) | set(found.ambiguous) == set(SLOTS) - kept


@settings(max_examples=30)
@given(st.data(), parcels())
def test_the_verifier_accepts_from_a_text_nothing_that_it_refuses_as_explicit_claims(
    data: st.DataObject, two: tuple[Parcel, Parcel]
) -> None:
    values = values_of(two[0])
    mixed = {s: data.draw(st.sampled_from([values[s], values_of(two[1])[s]])) for s in SLOTS}
    text = data.draw(answers(mixed, data.draw(st.sampled_from(["P-71", "P-72"]))))
    by_text = run_over(*two)
    claims = proposed(by_text, text).claims
    explicit = run_over(*two).finish(text, claims)
    assert by_text.finish(text).accepted == explicit.accepted


@settings(max_examples=60)
@given(st.text(max_size=200), parcels())
def test_any_text_at_all_is_read_without_an_exception_and_claims_nothing_it_does_not_contain(
    text: str, two: tuple[Parcel, Parcel]
) -> None:
    found = proposed(run_over(*two), text)
    assert len(found.claims) + len(found.notes) == len(SLOTS)
    assert not {c.slot for c in found.claims} & {"label", "state"}


# ---------------------------------------------------------------- one case each

ONE = parse("""
contract: refunds/1
entities:
  order: {id: id, total: money(USD), refunded: money(USD), customer: string, status: string}
tools:
  get_order:
    effect: read
    args: {order: id}
    target: order(args.order)
    yields: {order: {id: /id, total: /total, refunded: /refunded, customer: /customer, status: /status}}
  list_orders:
    effect: read
    complete: always
    yields: {order: {at: /orders/*, id: /id}}
task:
  inputs: {order: id}
  answer:
    - {slot: refund, type: money(USD), scope: order, derive: get_order./refunded}
""")
MINE = {"id": "O-7", "total": "1299.00", "refunded": "420.50", "customer": "Alice Jones", "status": "refunded"}
YOURS = {"id": "O-8", "total": "88.00", "refunded": "12.00", "customer": "Bob Stone", "status": "open"}


def one(text: str, mine: dict[str, Any] = MINE) -> Any:
    from tallystick import Guard

    run = Guard(ONE).run({"bindings": {"order": "O-7"}})
    orders = {"O-7": mine, "O-8": YOURS}
    for name in tuple(orders):
        run.call("get_order", {"order": name}, lambda order: orders[order])
    return run.finish(text)


@pytest.mark.parametrize(
    "text",
    [
        "I refunded $420.50 for order O-7.",
        "I refunded $420.50.",
        "A refund of 420.50 USD has been issued for O-7.",
        "The order total was $1,299.00, and the refund is $420.50.",
        "| order | refund |\n|---|---|\n| O-7 | $420.50 |",
        "O-8 was refunded $12.00. For O-7, the refund is $420.50.",
        "O-8: $12.00\nO-7: $420.50",
        "Alice Jones gets a refund of $420.50; Bob Stone got $12.00.",
        "Refund: 420.50",
        "Was the refund made? Yes.\nThe refund was $420.50.",
        "No worries, the refund was $420.50.",
        "You should see the refund of $420.50 in 3 days.",
        "Order O-7: refunded in part ($420.50 of $1,299.00).",
        "Refund issued: $420.50 (32% of $1,299.00)",
        "| field | value |\n|---|---|\n| refund | $420.50 |\n| total | $1,299.00 |",
        "I'm sorry it did not arrive. I refunded $420.50.",
        "Order O-7 (total $1,299.00) got a refund of $420.50. You'll see it in 5-10 business days.",
    ],
)
def test_a_plain_statement_is_accepted(text: str) -> None:
    finish = one(text)
    assert finish.accepted, str(finish)


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("All done!", "text.absent"),
        ("The refund is $430.50.", "claim.mismatch"),
        ("The refund is €420.50.", "claim.type"),
        ("The refund is $42,050.", "claim.unit"),
        ("The refund for O-8 is $420.50.", "text.other_entity"),
        ("The refund for order O-9 is $420.50.", "text.other_entity"),
        ("Bob Stone gets a refund of $420.50.", "text.other_entity"),
        ("O-7 and O-8 were refunded $420.50.", "text.other_entity"),
        ("O-8: $420.50\nO-7: $12.00", "text.other_entity"),
        ("The order total is $420.50.", "text.other_field"),
        ("The order total is $420.50, and the refund is $1,299.00.", "text.other_field"),
        ("The refund of $420.50 was not issued.", "text.denied"),
        ("I could not refund $420.50.", "text.denied"),
        ("If you agree, the refund is $420.50.", "text.denied"),
        ("Should I refund $420.50?", "text.denied"),
        ("The refund of $420.50 is pending approval and has been rejected.", "text.denied"),
        ("Nobody refunded $420.50.", "text.denied"),
        ("I refunded $430.50 instead of $420.50.", "text.denied"),
        ("I refunded $420.50 twice.", "text.inexact"),
        ("The refund is $420.50 each.", "text.inexact"),
        ("Your orders O-7/O-8: refund $420.50.", "text.other_entity"),
        ("Bob's refund is $420.50.", "text.other_entity"),
        ("Refund for o-8: $420.50", "text.other_entity"),
        ("The refund is C$420.50.", "claim.type"),
        ("The refund is $420.50k.", "claim.unit"),
        ("Refund: -$420.50", "claim.unit"),
        ("I refunded $420.50 plus $10.00.", "text.ambiguous"),
        ("The refund is about $420.50.", "text.inexact"),
        ("The refund is between $420.50 and $500.", "text.inexact"),
        ("The refund is $420.50. The refund is $430.50.", "text.ambiguous"),
        ("A refund of $420.50 or $430.50.", "text.ambiguous"),
        ("Refund reference 420.507", "text.absent"),
        ("The refund is $1420.50.", "claim.mismatch"),
    ],
)
def test_what_is_no_plain_statement_is_refused_and_the_reason_is_told(text: str, code: str) -> None:
    finish = one(text)
    assert not finish.accepted
    (deficit,) = [d for d in finish.deficits if d.slot == "refund"]
    assert code in (deficit.code, deficit.message.partition("(")[2].partition(":")[0]), str(finish)


def test_a_slot_the_record_does_not_give_yet_says_which_read_would() -> None:
    run = run_over(about="P-71")
    finish = run.finish("The fee for P-71 is 4.20 EUR.")
    (fee,) = [d for d in finish.deficits if d.slot == "fee"]
    assert fee.code == "evidence.missing"
    assert fee.reads
    assert fee.reads[0].tool == "look"


def test_a_text_that_is_too_long_is_not_read() -> None:
    assert proposed(run_over(about="P-71"), "x" * (MAX_TEXT + 1)).claims == ()


SETS = parse("""
contract: lists/1
tools:
  list_open:
    effect: read
    complete: always
task:
  answer:
    - {slot: open_ids, type: set(id), derive: 'set(list_open./items/*/id)'}
    - {slot: total, type: money(EUR), derive: 'sum(list_open./items/*/amount)'}
    - {slot: open_count, type: integer, quantifier: count, derive: 'count(list_open./items/*)'}
""")


@pytest.mark.parametrize(
    ("text", "accepted"),
    [
        ("3 items are open: I-1, I-2 and I-3; the total is 6.00 EUR.", True),
        ("Three items are open (I-3, I-2, I-1), total 6 EUR.", True),
        ("3 items are open: I-1 and I-2; the total is 6.00 EUR.", False),
        ("3 items are open: I-1, I-2, I-3, I-4; the total is 6.00 EUR.", False),
        ("2 items are open: I-1, I-2 and I-3; the total is 6.00 EUR.", False),
        ("3 items are open: I-1, I-2 and I-3; the total is 7.00 EUR.", False),
    ],
)
def test_a_list_must_be_stated_whole_and_alone(text: str, accepted: bool) -> None:
    from tallystick import Guard

    items = [{"id": f"I-{n}", "amount": f"{n}.00"} for n in (1, 2, 3)]
    run = Guard(SETS).run()
    run.call("list_open", {}, lambda: {"items": items})
    finish = run.finish(text)
    assert finish.accepted is accepted, str(finish)


def test_reading_the_text_can_be_turned_off_and_is_not_done_beside_explicit_claims() -> None:
    run = run_over(about="P-71", claims_from_text=False)
    assert {d.code for d in run.finish("The fee for P-71 is 4.20 EUR.").deficits} == {"coverage.open"}
    run = run_over(about="P-71")
    finish = run.finish("The fee for P-71 is 4.20 EUR.", {})
    assert {d.code for d in finish.deficits} == {"coverage.open"}
