"""What a message works out in the open, denies, compares or lists, over a made-up run at a plant nursery."""

from __future__ import annotations

from typing import Any

import pytest

from tallystick.model.trace import Trace, TraceCall, TraceMessage, TraceResult
from tallystick.prose.judge import Verifier

CALLS: list[tuple[str, dict[str, Any], Any]] = [
    ("get_visit", {"visit_id": "V-3"},
     {"visit_id": "V-3", "gardener_id": "GA-1", "status": "scheduled", "starts_at": "2026-05-04T09:00:00",
      "payment_method": "credit_card", "seat_type": "aisle", "travel_fee": 0, "price_paid": 90, "add_hedge": True}),
    ("search_plants", {"query": "maple", "pot": "large"},
     {"plants": [
         {"plant_id": "PL-1", "name": "Crimson Maple", "grower": "Hollis", "pot": "large", "price": 240, "height": 90},
         {"plant_id": "PL-2", "name": "Paper Birch", "grower": "Marlow", "pot": "small", "price": 160, "height": 60},
     ]}),
    ("get_policy", {"topic": "loyalty"}, {"rules": ["Members get 3% off each plant.", "Refunds take 5 days."]}),
    ("get_member", {"member_id": "ME-1"}, {"member_id": "ME-1", "past_orders": ["PL-2"]}),
    ("add_plant", {"plant_id": "PL-1", "quantity": 1},
     {"status": "added", "basket_item_id": "BI-1", "plant_id": "PL-1", "quantity": 1, "basket_total": 240}),
    ("add_plant", {"plant_id": "PL-2", "quantity": 1},
     {"status": "added", "basket_item_id": "BI-2", "plant_id": "PL-2", "quantity": 1, "basket_total": 400}),
    ("create_visit", {"gardener_id": "GA-2", "day": "2026-05-09", "mulch": "bark"},
     {"status": "confirmed", "visit_id": "V-4"}),
]  # fmt: skip
ASKED = "I have a budget of $450. Anything under 80 cm?"
SHOPPING = "- Crimson Maple: $240\n- Paper Birch: $160\n\n"
BORNE_OUT = [
    (SHOPPING + "**Total:** $400", "**Total:** $400"),
    (SHOPPING + "### Total\n**$400**", "**$400**"),
    (SHOPPING + "Total: $400, which leaves $50 under your budget.", "$50 under your budget"),
    (SHOPPING + "3% of that $400 total = $12 off.", "$400 total = $12 off"),
    ("$240 + $160 = $400", "$240 + $160 = $400"),
    ("| Plant | Price | Height |\n|---|---|---|\n| Crimson Maple | $240 | 90 |", "$240 | 90"),
    ("There isn't a delivery slot on V-3.", "There isn't a delivery slot"),
    ("I did not cancel V-3.", "I did not cancel V-3"),
    ("The travel fee on V-3 is waived.", "The travel fee on V-3 is waived"),
    ("Hollis large: $240", "Hollis large: $240"),
    ("I added 1 Paper Birch to your basket.", "I added 1 Paper Birch"),
    ("The Paper Birch is in your past orders.", "The Paper Birch is in your past orders"),
    ("I found 2 plants that match.", "2 plants that match"),
    ("Basket total: $400", "Basket total: $400"),
    ("- Visit ID: V-4\n- Mulch: bark", "Mulch: bark"),
    ("V-3 has not been cancelled, refunded, or moved.", "has not been cancelled, refunded"),
    ("The Paper Birch is $160 if you want it.", "The Paper Birch is $160 if you want it"),
]
NOT_BORNE_OUT = [
    (SHOPPING + "**Total:** $410", "**Total:** $410"),
    (SHOPPING + "### Total\n**$240**", "**$240**"),
    (SHOPPING + "Total: $400, which leaves $60 under your budget.", "$60 under your budget"),
    (SHOPPING + "3% of that $400 total = $13 off.", "$400 total = $13 off"),
    ("$240 + $160 = $410", "= $410"),
    ("| Plant | Price | Height |\n|---|---|---|\n| Crimson Maple | $90 | 240 |", "$90 | 240"),
    ("There isn't a credit card on V-3.", "There isn't a credit card"),
    ("Nothing was added.", "Nothing was added"),
    ("Nothing has been changed.", "Nothing has been changed"),
    ("Hollis large: $160", "Hollis large: $160"),
    ("I added 2 Paper Birch to your basket.", "I added 2 Paper Birch"),
    ("I removed the Paper Birch.", "I removed the Paper Birch"),
    ("The Crimson Maple is in your past orders.", "The Crimson Maple is in your past orders"),
    ("I found 3 plants that match.", "3 plants that match"),
    ("Basket total: $240", "Basket total: $240"),
    ("V-3 was paid with your gift card.", "V-3 was paid with your gift card"),
    ("V-3 has a window seat.", "V-3 has a window seat"),
    ("Insurance $7 on V-3.", "Insurance $7 on V-3"),
    ("The Paper Birch is $150 if you want it.", "The Paper Birch is $150 if you want it"),
]


def verdict_of(text: str, span: str) -> tuple[str, str]:
    made = tuple(
        TraceCall(id=f"m1.c{at}", message=1, index=at, tool=tool, args=args, result=TraceResult(body=body, index=1))
        for at, (tool, args, body) in enumerate(CALLS)
    )
    trace = Trace(
        id="nursery", source="nursery", format="test",
        messages=(
            TraceMessage(index=0, role="user", text=ASKED),
            TraceMessage(index=1, role="assistant", text=text, calls=made),
        ),
    )  # fmt: skip
    found = Verifier(trace).judge(1, text.rindex(span), span)
    return found.verdict, found.why


@pytest.mark.parametrize(("text", "span"), BORNE_OUT)
def test_what_follows_from_the_message_and_the_record_passes(text, span):
    verdict, why = verdict_of(text, span)
    assert verdict in ("supported", "derivable"), why


@pytest.mark.parametrize(("text", "span"), NOT_BORNE_OUT)
def test_what_does_not_follow_is_refused(text, span):
    verdict, why = verdict_of(text, span)
    assert verdict not in ("supported", "derivable"), why
