"""Scripted successors make the mistake they are named for, at the rates they state, and the same one in every stage."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

import pytest

from tallystick.errors import InputError
from tallystick.evals.common.draw import Draw
from tallystick.evals.takeover.invoice import InvoiceDesk
from tallystick.evals.takeover.ports import Seen
from tallystick.evals.takeover.successors import (
    MADE_UP,
    MODES,
    STATED,
    Mode,
    Scripted,
    filled,
    mistaken,
    mode_of,
    possible,
    rates_of,
    scripted,
)

FRONTIERS = InvoiceDesk().frontiers(40, "tests")
BY_KIND = {one.kind: one for one in FRONTIERS if not one.faults.nested_error}


class Past:
    """A port past the guard."""

    def __init__(self, tools: Mapping[str, Any]) -> None:
        self.tools = tools

    def call(self, tool: str, args: Mapping[str, Any]) -> Seen:
        """Run it."""
        try:
            return Seen(result=self.tools[tool](**args))
        except Exception as bad:
            return Seen(error=str(bad))

    def finish(self, text: str, claims: Mapping[str, Any]) -> Seen:
        """Believe it."""
        del text, claims
        return Seen(over=True)


def _ends_right(kind: str, mode: Mode, mend: float = 0.0) -> bool:
    frontier = BY_KIND[kind]
    script = Scripted(gold=frontier.gold, mode=mode, mend=mend, draw=Draw("tests"))
    with frontier.open() as opened:
        script.act(Past(opened.meter.tools))
        return opened.correct()


@pytest.mark.parametrize("kind", ["confirmed", "paid", "lost", "several"])
def test_a_perfect_continuation_is_right_where_no_fault_strikes(kind: str) -> None:
    """Gold is what the desk's own truth accepts."""
    quiet = [f for f in FRONTIERS if f.kind == kind and not f.faults.nested_error]
    assert quiet, "the draw has one"
    for frontier in quiet:
        with frontier.open() as opened:
            Scripted(gold=frontier.gold, mode="perfect", mend=0, draw=Draw("t")).act(Past(opened.meter.tools))
            assert opened.correct(), frontier.id


@pytest.mark.parametrize("kind", ["confirmed", "paid", "lost", "several"])
@pytest.mark.parametrize("mode", [m for m in MODES if m != "perfect"])
def test_every_mistake_makes_the_world_wrong(kind: str, mode: Mode) -> None:
    """Nobody checks, and nobody mends."""
    assert possible(mode, BY_KIND[kind].gold) == mode
    assert not _ends_right(kind, mode)


def test_an_omission_leaves_out_an_owed_effect_and_what_hangs_on_it() -> None:
    """And keeps everything else."""
    gold = BY_KIND["paid"].gold
    left = {c["id"] for c in gold.proposal["calls"]} - {c["id"] for c in mistaken("omitting", gold)["calls"]}
    assert any(name.startswith("send-") for name in left)
    assert any(name.startswith("check-") for name in left)


def test_a_repetition_is_of_the_prefix() -> None:
    """The payment that the record shows as done."""
    gold = BY_KIND["paid"].gold
    first = mistaken("repeating", gold)["calls"][0]
    assert (first["tool"], first["args"]) == ("pay_invoice", gold.done[0].args)


def test_a_false_claim_covers_in_words_what_no_call_does() -> None:
    """The declaration names what is owed, and the claim has a value from nowhere."""
    proposal = mistaken("false_claim", BY_KIND["paid"].gold, ["delivered"])
    assert proposal["calls"][-1]["covers"] == ["delivered"]
    assert not any(c["tool"] == "send_receipt" for c in proposal["calls"])


def test_a_wrong_order_asks_for_a_value_that_is_not_there_yet() -> None:
    """Acting step by step it makes one up."""
    calls = mistaken("wrong_order", BY_KIND["paid"].gold)["calls"]
    assert calls[0]["tool"] == "send_receipt"
    assert filled(calls[0]["args"], {})["file"] == MADE_UP


def test_the_mixture_is_drawn_at_its_stated_rates() -> None:
    """Within four standard errors, over ten thousand draws."""
    counts = Counter(mode_of(STATED, Draw("tests", n)) for n in range(10_000))
    for mode, rate in {**STATED.wrong, "perfect": 1 - sum(STATED.wrong.values())}.items():
        assert abs(counts[mode] / 10_000 - rate) < 4 * (rate * (1 - rate) / 10_000) ** 0.5


def test_the_same_seed_and_round_make_the_same_successor() -> None:
    """Another round may make another one; every one is labelled by its mode."""
    rates = rates_of("mixture")
    for frontier in FRONTIERS[:10]:
        one, two = scripted(frontier, rates, "s", 1), scripted(frontier, rates, "s", 1)
        assert (one.mode, one.told()) == (two.mode, two.told())
    assert {scripted(f, rates, "s", 1).mode for f in FRONTIERS} != {"perfect"}


def test_there_is_no_other_script() -> None:
    """Misuse is one clear error."""
    with pytest.raises(InputError, match="no scripted successor"):
        rates_of("brilliant")


def test_mended_after_a_refusal_it_makes_the_right_calls_that_are_left() -> None:
    """The guard's answer turns it, and nothing that was done is done again."""
    assert _ends_right("paid", "wrong_order", mend=1.0)
