"""What a newcomer's slips are answered with: the fix is the thing to write."""

from __future__ import annotations

import pytest

from tallystick.contracts import parse
from tallystick.errors import ContractError
from tallystick.gates.act import may_act
from tallystick.model.proposal import Call
from tallystick.model.values import instant_of
from tallystick.view import View

HEAD = "contract: a/1\n"
TOOL = "tools: {charge_card: {effect: write, args: {amount: money(EUR)}}}\n"
ANSWER = "task: {answer: [{slot: paid, type: money(EUR), derive: charge_card.amount}]}\n"


@pytest.mark.parametrize(
    ("text", "fix"),
    [
        (TOOL, "add `contract: …`, a name and a version: `pay-invoice/1`"),
        (HEAD + "tools: {pay: {effect: write, needs_approval: true}}\n", "the role or id of the principal who may, or"),
        (HEAD + TOOL + ANSWER, "write `charge_card./amount`"),
    ],
    ids=["no contract line", "needs_approval: true", "a tool written like a fact"],
)
def test_a_slip_is_answered_with_what_to_write(text: str, fix: str) -> None:
    with pytest.raises(ContractError) as raised:
        parse(text)
    assert [problem.fix for problem in raised.value.problems if problem.fix and problem.fix.startswith(fix)]


def test_a_misspelled_tool_is_told_which_one_is_near() -> None:
    contract = parse(HEAD + TOOL)
    call = Call(tool="charge_crd", args={}, now=instant_of("2026-11-30T00:00:00Z"))
    [reason] = may_act(View(contract, run="r"), contract, call).reasons
    assert reason.code == "tool.unmentioned"
    assert reason.message.endswith("did you mean `charge_card`?")
