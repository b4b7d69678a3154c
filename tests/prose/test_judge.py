"""Statements about a small run, true and false, each judged from its record alone."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tallystick.prose.judge import Verifier
from tests.prose.desk import CALLS, judged, trace_saying

BORNE_OUT = [
    "Invoice I-8 is due on 2026-02-11.",
    "Invoice I-8 is due on February 11.",
    "The late fee on I-8 is $15.",
    "Late fee on I-7: $0",
    "The amount due on I-8 is 80.25 EUR.",
    "I paid invoice I-7.",
    "I-7 has been paid.",
    "I paid $120.50 for I-7.",
    "The payment id for I-7 is PAY-31.",
    "I-8 is still overdue.",
    "I-8 is from Green Mill Foods.",
    "The Green Mill Foods invoice has a late fee of $15.",
    "I-8 is disputed.",
    "I-7 is not disputed.",
    "Payment method on I-8: card",
    "The original amount due on I-7 was $120.50.",
    "Per the policy, invoices overdue by more than 10 days incur a late fee of $15.",
]
NOT_BORNE_OUT = [
    ("Invoice I-8 is due on 2026-02-12.", "another date"),
    ("Invoice I-8 is due on March 4.", "the date of another invoice"),
    ("The late fee on I-8 is $16.", "an invented amount"),
    ("The late fee on I-7 is $15.", "the amount of another invoice"),
    ("The amount due on I-8 is $120.50.", "the amount of another invoice"),
    ("The late fee on I-8 is 80.25 EUR.", "the amount of another field"),
    ("The amount due on I-7 is $120.50.", "a newer receipt says otherwise"),
    ("I paid invoice I-8.", "a preview is no payment"),
    ("I-8 has been paid.", "a preview is no payment"),
    ("The payment id for I-7 is PAY-32.", "an invented id"),
    ("I-8 has been cancelled.", "no call did it"),
    ("I-7 is still overdue.", "the state of another invoice"),
    ("I-7 is disputed.", "the record says false"),
    ("I-8 is not disputed.", "the record says true"),
    ("Payment method on I-8: bank transfer", "the choice of another invoice"),
    ("I-7 was paid from the card ending in 15.", "an amount is not the end of a number"),
    ("The supplier refunded $15.", "an amount of something else"),
]


@pytest.mark.parametrize("text", BORNE_OUT)
def test_what_the_newest_receipt_says_of_this_entity_passes(text):
    found = judged(text)
    assert found.verdict in ("supported", "derivable"), found.why
    assert found.receipts


@pytest.mark.parametrize(("text", "why"), NOT_BORNE_OUT, ids=[t for t, _ in NOT_BORNE_OUT])
def test_what_no_receipt_says_of_this_entity_is_refused(text, why):
    assert judged(text).verdict == "refused", why


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("- I-7: $120.50 paid\n- I-8: $80.25 due\n\nTogether: $200.75", "derivable"),
        ("- I-7: $120.50 paid\n- I-8: $80.25 due\n\nTogether: $201.75", "refused"),
        ("The total is $120.50 + $80.25 = $200.75", "derivable"),
        ("The total is $120.50 + $80.25 = $210.75", "refused"),
        ("You have two invoices", "derivable"),
        ("You have three invoices", "refused"),
    ],
)
def test_what_follows_from_receipts_is_derivable(text, verdict):
    assert judged(text, text.rsplit("\n", 1)[-1]).verdict == verdict


@pytest.mark.parametrize(
    "text", ["If you want, I can pay I-8 now.", "Let me know if I should pay I-8.", "You're all set!"]
)
def test_offers_and_closing_phrases_are_not_checkable(text):
    assert judged(text).verdict == "not_checkable"


def test_the_heading_says_whom_a_line_is_about():
    text = "I-7\n- Late fee: $0\n\nI-8\n- Late fee: $15"
    assert judged(text, "Late fee: $15").verdict == "supported"
    assert judged(text.replace("$15", "$0"), "I-8\n- Late fee: $0"[4:].strip("\n- ")).verdict == "supported"
    swapped = "I-7\n- Late fee: $15\n\nI-8\n- Late fee: $15"
    assert judged(swapped, "Late fee: $15").verdict == "refused"


def test_a_receipt_names_where_the_value_stands():
    (first, *_) = judged("The late fee on I-8 is $15.").receipts
    assert (first.message, first.call, first.pointer, first.seen) == (1, 2, "/result/late_fee", 15)


def test_a_statement_before_the_call_that_would_support_it_is_refused():
    early = Verifier(trace_saying("I-7 has been paid.", CALLS[:5]))
    assert early.judge(1, 0, "I-7 has been paid.").verdict == "refused"


def test_a_failed_call_supports_nothing():
    failed = [*CALLS[:5], ("pay_invoice", {"invoice_id": "I-7", "confirm": True}, {"error": "I-7 is locked"})]
    assert Verifier(trace_saying("I paid I-7.", failed)).judge(1, 0, "I paid I-7.").verdict == "refused"


def test_what_a_user_says_is_no_receipt():
    assert judged("The fee is $200.").verdict == "refused"


def test_a_span_that_does_not_stand_there_is_misuse():
    with pytest.raises(ValueError, match="does not say that"):
        Verifier(trace_saying("I paid I-7.")).judge(1, 3, "I paid")


@given(st.integers(min_value=1, max_value=10**6))
@settings(max_examples=150, deadline=None)
def test_an_invented_amount_is_never_borne_out(cents):
    amount = f"{cents // 100:,}.{cents % 100:02d}"
    known = {"15", "15.00", "0", "0.00", "120.50", "80.25", "2", "2.00", "200", "200.00"}
    if amount in known or amount.removesuffix(".00") in known:
        return
    for text in (f"The late fee on I-8 is ${amount}.", f"I paid ${amount} for I-7.", f"I-8\n- Amount due: ${amount}"):
        assert judged(text).verdict == "refused"


@given(st.text(alphabet="I-78 $.,\n*:abcdefghilnoprstuy0123456789", max_size=80))
@settings(max_examples=200, deadline=None)
def test_any_text_is_judged_without_error(text):
    if text.strip():
        assert judged(text).verdict in ("supported", "derivable", "refused", "not_checkable")


def test_taking_receipts_away_never_turns_a_refused_value_into_a_supported_one():
    for text, _ in NOT_BORNE_OUT:
        if not re.search(r"[$€0-9]{2}", text) or "due on I-7" in text:
            continue  # a newer receipt that says otherwise is one whose loss does matter
        for gone in range(len(CALLS)):
            left = [c for at, c in enumerate(CALLS) if at != gone]
            assert Verifier(trace_saying(text, left)).judge(1, 0, text).verdict != "supported", (text, CALLS[gone][0])
