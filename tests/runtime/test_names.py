"""A misspelt name, or a list given as one string, is misuse: it would block, ask or owe nothing, in silence."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tallystick import Guard, InputError, Run
from tallystick.contracts import parse
from tallystick.model.values import EntityRef
from tests.runtime.shop import PAY, TASK, Shop, kinds

READ = {"invoice_id": "I-7"}
MISSPELT: dict[str, Callable[[Run], Any]] = {
    "block a tool": lambda run: run.block("b", ("refnd",)),
    "block one of two tools": lambda run: run.block("b", ("pay", "refnd")),
    "block no tool": lambda run: run.block("b", ()),
    "block a tool by number": lambda run: run.block("b", 7),  # type: ignore[arg-type]
    "block without an id": lambda run: run.block("", "pay"),
    "block an argument": lambda run: run.block("b", "pay", args={"invoice": "I-7"}),
    "block a kind": lambda run: run.block("b", "pay", entity=EntityRef("invoise", "I-7")),
    "block no entity": lambda run: run.block("b", "pay", entity=["invoice", "I-7"]),  # type: ignore[arg-type]
    "block an operation": lambda run: run.block("b", "pay", operation=""),
    "wish for a tool": lambda run: run.wish("again", tool="payy"),
    "owe a tool": lambda run: run.oblige("o", tool="payy"),
    "owe a read": lambda run: run.oblige("o", tool="get_invoice"),
    "owe an argument": lambda run: run.oblige("o", tool="pay", args={"invoice": "I-7"}),
    "owe arguments of nothing": lambda run: run.oblige("o", args={"invoice": "I-7"}),
    "owe twice": lambda run: run.oblige("paid", tool="refund"),
    "confirm a kind": lambda run: run.confirm("invoise", "I-7"),
    "confirm a field": lambda run: run.confirm("invoice", "I-7", "amount_dew", "1.00"),
    "confirm a number": lambda run: run.confirm("invoice", 7),  # type: ignore[arg-type]
    "close an operation": lambda run: run.close_operation("stocktakin"),
    "leave a condition aside": lambda run: run.leave_aside("hld"),
    "leave aside somehow": lambda run: run.leave_aside("hold", "resolved"),  # type: ignore[arg-type]
    "impossible obligation": lambda run: run.impossible("payd", ("r1",)),
    "impossible without a receipt": lambda run: run.impossible("paid", ()),
    "impossible by an unknown receipt": lambda run: run.impossible("paid", "r99"),
    "change a tool": lambda run: run.schema_changed("payy", {}),
    "change an effect": lambda run: run.schema_changed("pay", {}, effect="wirte"),
    "words by nobody": lambda run: run.says("usr", "hello"),
    "register a tool": lambda run: run.register("payy", lambda: None),
    "register no callable": lambda run: run.register("pay", "pay"),  # type: ignore[arg-type]
    "wrap a tool": lambda run: run.tool(lambda: None, name="payy"),
}


@pytest.mark.parametrize("name", MISSPELT)
def test_a_misspelt_name_is_refused_and_recorded_nowhere(guard: Guard, name: str) -> None:
    with guard.run(TASK) as run:
        run.call("get_invoice", READ)
        run.block("hold", "wire", operation="stocktaking")
        before = kinds(guard, run)
        with pytest.raises(InputError) as caught:
            MISSPELT[name](run)
        assert caught.value.fix, "every misuse says what would be right"
        assert kinds(guard, run) == before


def test_the_fix_names_what_may_have_been_meant(guard: Guard) -> None:
    with guard.run(TASK) as run, pytest.raises(InputError, match=r"unknown tool `refnd` \(fix: did you mean `refund`"):
        run.block("b", ("refnd",))


def test_one_name_is_a_list_of_one(guard: Guard, shop: Shop) -> None:
    with guard.run(TASK) as run:
        run.call("get_invoice", READ)
        run.block("audit", "pay", status="do not pay")
        assert run.call("pay", PAY).decision.codes == ("condition.open",)
        run.impossible("paid", "r1")
        assert run.view.obligations["paid"].settled == "impossible"
    assert shop.count("pay") == 0


def test_tools_a_contract_does_not_mention_are_no_tools_of_the_guard(shop: Shop) -> None:
    contract = parse("contract: c/1\ntools:\n  look: {effect: read}\n")
    for tools in ({"lok": print}, {"look": "print"}, [print]):
        with pytest.raises(InputError):
            Guard(contract, tools=tools)  # type: ignore[arg-type]
    with pytest.raises(InputError, match="did you mean `look`"):
        Guard(contract, tools={"lok": print})
    free = parse("contract: c/1\nclosed: false\ntools:\n  look: {effect: read}\n")
    with Guard(free, tools={"other": print}) as guard, guard.run() as run:
        run.block("b", "other")
        with pytest.raises(InputError):
            run.block("b", "othr")
