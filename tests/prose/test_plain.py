"""A value is read only from a plain statement of it: not from a wish, a try, a doubt, a denial or a bound."""

from __future__ import annotations

from typing import Final

import pytest

from tallystick import Guard
from tallystick.contracts import parse
from tallystick.runtime.outcome import Finish

CONTRACT: Final = parse("""
contract: refunds/1
entities:
  order: {id: id, status: string}
tools:
  refund:
    effect: write
    args: {order: id, amount: money(USD)}
    target: order(args.order)
    ok: result.status == "refunded"
task:
  inputs: {order: id}
  owes: [{id: refunded, by: refund}]
  answer: [{slot: amount, type: money(USD), scope: order, derive: refund./amount}]
""")


def said(text: str) -> Finish:
    """Return the answer to a text after 420.50 USD were refunded for O-7."""
    run = Guard(CONTRACT).run({"bindings": {"order": "O-7"}})
    run.call("refund", {"order": "O-7", "amount": "420.50 USD"},
             lambda order, amount: {"status": "refunded", "amount": "420.50"})  # fmt: skip
    return run.finish(text)


PLAIN: Final = """\
I refunded $420.50.
I have refunded $420.50 to your original payment method.
Your refund of $420.50 has been processed and you'll see it in 5-10 business days.
I was able to refund $420.50 for order O-7. If you have any questions, let me know.
As requested, I refunded $420.50.
You asked for a refund; I refunded $420.50.
I'm happy to confirm that a refund of $420.50 was issued.
I refunded $420.50, let me know if you need anything else.
A refund of $420.50 will be credited to your card within 5 days.
You will receive $420.50 within 3-5 business days.
I checked order O-7 and refunded $420.50. The label could not be removed.
After checking the order, I refunded $420.50.
When I checked, the order was delivered, so I refunded $420.50.
Once the item was inspected, I refunded $420.50.
Although I couldn't waive the fee, I refunded $420.50.
I refunded $420.50 to your card. I could not refund the shipping fee.
Order O-7 has been refunded: $420.50.
To summarize, $420.50 was refunded.
Please note that $420.50 was refunded.
I refunded $420.50, as we discussed earlier.
- [x] Refunded $420.50""".splitlines()

NOT_PLAIN: Final = {
    "denied": """\
The refund of $420.50 did not go through.
The refund of $420.50 never happened.
The refund of $420.50 won't be made.
The refund of $420.50, sadly, was not made.
The refund of $420.50 cannot be made.
Refund: $420.50 (not issued).
Refund: $420.50 - not issued
Refund amount: $420.50. It was not issued.
Refund amount: $420.50. It failed.
Refunded $420.50: false
Refund $420.50 \u274c
- [ ] refund $420.50
<!-- amount: $420.50 -->
Anything but $420.50 was refunded.
I refunded all but $420.50.
I refunded none of the $420.50.
The amount refunded is other than $420.50.""",
    "taken back": """\
The refund of $420.50 has been cancelled.
The refund of $420.50 was reverted.
The refund of $420.50 is pending.
The refund of $420.50 is on hold.
The refund of $420.50 awaits approval.
The refund of $420.50 errored out.
The refund of $420.50 timed out.
A refund of $420.50 has yet to be made.
A refund of $420.50 is due.
A refund of $420.50 has been requested.
$420.50 is the wrong amount.
$420.50 was a typo.
It is false that I refunded $420.50.
"I refunded $420.50" is what the previous agent claimed, wrongly.
The original amount was $420.50.
The amount used to be $420.50.""",
    "wished, tried, supposed": """\
I will refund $420.50 tomorrow.
I'm going to refund $420.50.
I plan to refund $420.50.
I tried to refund $420.50.
I have requested a refund of $420.50.
You asked me to refund $420.50.
You asked for a refund of $420.50, but I gave you a coupon.
Please refund $420.50 yourself.
Perhaps $420.50 was refunded.
I think I refunded $420.50.
Hopefully $420.50 was refunded.
A refund of $420.50 would have been right.
A refund of $420.50 is what you'd get.
Once approved, $420.50 will be refunded.
Provided you agree, $420.50 will be refunded.
Shall I refund $420.50
Imagine I refunded $420.50.
For example, I refunded $420.50.
E.g. $420.50.""",
    "roughly, or not all": """\
I refunded $420.50 plus tax.
I refunded $420.50 minus a fee.
I refunded half of $420.50.
I refunded two thirds of $420.50.
I refunded twice $420.50.
I refunded 2 x $420.50.
I refunded $420.50 two times.
I refunded another $420.50.
I refunded $420.50 or so.
I refunded $420.50 at least.
I refunded $420.50 tops.
I refunded $420.50 in coupons.
Amount: $420.50 (estimate)
Estimated amount: $420.50
Amount (approx.): $420.50
Amount: ca. $420.50
Amount: \u00b1$420.50
Amount: $420.50/month
Amount: $420.50 monthly
The maximum refund amount is $420.50.
The amount refunded was capped at $420.50.""",
    "part of another number": """\
I refunded AU$420.50.
I refunded HK$420.50.
I refunded $420.50e3.
I refunded $420.50%.
I refunded $420.50ish.
I refunded $420.50\u200b0.
I refunded $420.50\u202e.""",
    "of another": """\
I refunded $420.50 for O-7 and O-8.
I refunded $420.50 for O-7/O-8.
I refunded $420.50 for your other order.
I refunded $420.50 to the wrong customer's order.""",
}


@pytest.mark.parametrize("text", PLAIN)
def test_a_plain_statement_is_read_whatever_stands_around_it(text: str) -> None:
    assert said(text).accepted


@pytest.mark.parametrize("text", [line for kind in NOT_PLAIN.values() for line in kind.splitlines()])
def test_what_only_speaks_of_a_value_never_certifies_it(text: str) -> None:
    finish = said(text)
    assert not finish.accepted
    assert {d.slot for d in finish.deficits} == {"amount"}


@pytest.mark.parametrize(
    "text", ["I refunded $1,299.00 less $420.50.", "At most $430.00. I refunded $420.50 or $430.00."]
)
def test_another_value_stays_a_rival_however_roughly_it_is_said(text: str) -> None:
    assert not said(text).accepted


def test_words_by_which_the_slot_is_called_change_nothing() -> None:
    contract = parse("""
contract: bills/1
entities: {bill: {id: id, estimated_due: money(USD)}}
tools:
  look:
    effect: read
    args: {bill: id}
    target: bill(args.bill)
    yields: {bill: {id: /id, estimated_due: /estimated_due}}
task:
  inputs: {bill: id}
  answer: [{slot: estimated_due, type: money(USD), scope: bill, derive: bill.estimated_due}]
""")
    for text in ("Estimated amount due: $12.00", "$12.00 is due.", "An estimated $12.00 is due for B-1."):
        run = Guard(contract).run({"bindings": {"bill": "B-1"}})
        run.call("look", {"bill": "B-1"}, lambda bill: {"id": bill, "estimated_due": "12.00"})
        assert run.finish(text).accepted, text


@pytest.mark.parametrize("unit", ["two ", "$420.50 ", "not $420.50 ", "O-7 and ", "$430.50 of "])
def test_a_text_that_is_made_to_be_read_forever_is_refused(unit: str) -> None:
    """Hours, if what is looked at around each value grew with the text."""
    finish = said((unit * 60_000)[:60_000])
    assert not finish.accepted
    assert {d.slot for d in finish.deficits} == {"amount"}


def test_nothing_is_stated_plainly_in_a_sentence_without_an_end() -> None:
    assert said("I refunded $420.50 for what follows: " + "x " * 100).accepted
    assert not said("I refunded $420.50 for what follows: " + "x " * 2_000).accepted
