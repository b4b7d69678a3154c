"""Wrong types, and values that are small in memory and endless as JSON: one clear answer, no raw exception."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

from tallystick import Guard, InputError
from tallystick.contracts import parse
from tallystick.model.proposal import Claim
from tallystick.model.values import EntityRef
from tallystick.runtime.copies import MAX_NODES, copied, within_bounds
from tallystick.runtime.results import NotJsonError, json_of
from tallystick.runtime.run import Run
from tests.runtime.shop import CONTRACT, TASK, Shop

WRONG: dict[str, tuple[Callable[[Run], Any], str]] = {
    "no tool": (lambda run: run.call(None, {}), "tool"),  # type: ignore[arg-type]
    "a list of tools": (lambda run: run.call(["queue"], {}), "tool"),  # type: ignore[arg-type]
    "bytes for a text": (lambda run: run.call("queue", args_text=b"{}"), "args_text"),  # type: ignore[arg-type]
    "a number for a text": (lambda run: run.call("queue", args_text=5), "args_text"),  # type: ignore[arg-type]
    "a number for an id": (lambda run: run.call("queue", {}, native_id=5), "native_id"),  # type: ignore[arg-type]
    "a text for a turn": (lambda run: run.call("queue", {}, turn="1"), "turn"),  # type: ignore[arg-type]
    "a turn of 71 bits": (lambda run: run.call("queue", {}, turn=2**70), "turn"),
    "a number for a wish": (lambda run: run.call("queue", {}, wish=5), "wish"),  # type: ignore[arg-type]
    "a number for a key": (lambda run: run.call("order", {"sku": "a"}, idempotency_key=5), "idempotency_key"),  # type: ignore[arg-type]
    "a text for a bit": (lambda run: run.call("queue", {}, complete="no"), "complete"),  # type: ignore[arg-type]
    "a text for a callable": (lambda run: run.call("queue", {}, "queue"), "tool `queue`"),  # type: ignore[arg-type]
    "a number for words": (lambda run: run.finish(5), "text"),  # type: ignore[arg-type]
}


class Liar(str):
    """A text that says it equals every other."""

    def __eq__(self, other: object) -> bool:
        return True

    def __ne__(self, other: object) -> bool:
        return False

    __hash__ = str.__hash__


def failing() -> Iterator[Claim]:
    for name in ("who", 5):
        yield Claim(slot="a", field=name.lower(), value=1)  # type: ignore[union-attr]  # an AttributeError, in turn


NO_CLAIMS: dict[str, Any] = {
    "a number": 5,
    "a text": "abc",
    "mappings": [{"slot": "who"}],
    "a slot that is no text": {1: 1},
    "a generator that fails": failing(),
    "a field that is no text": [Claim(slot="a", field=2, value=1)],  # type: ignore[arg-type]
    "a subject that is no entity": [Claim(slot="a", field="a", value=1, subject=("a", "b"))],  # type: ignore[arg-type]
    "a subject of numbers": [Claim(slot="a", field="a", value=1, subject=EntityRef("a", 1))],  # type: ignore[arg-type]
    "no citations": [Claim(slot="a", field="a", value=1, cites=None)],  # type: ignore[arg-type]
    "a text of citations": [Claim(slot="a", field="a", value=1, cites="r1")],  # type: ignore[arg-type]
    "a citation that is no text": [Claim(slot="a", field="a", value=1, cites=(1,))],  # type: ignore[arg-type]
    "an unknown quantifier": [Claim(slot="a", field="a", value=1, quantifier="zz")],  # type: ignore[arg-type]
    "a state after a number": [Claim(slot="a", field="a", value=1, as_of=1)],  # type: ignore[arg-type]
}


@pytest.fixture
def run(shop: Shop) -> Iterator[Run]:
    guard = Guard(CONTRACT, tools=shop.tools(), refusal_budget=1000, same_refusal_limit=1000)
    with guard.run(TASK) as made:
        yield made


@pytest.mark.parametrize("name", WRONG)
def test_a_parameter_of_another_type_is_an_input_error_and_nothing_runs(name: str, run: Run) -> None:
    propose, where = WRONG[name]
    with pytest.raises(InputError) as caught:
        propose(run)
    assert caught.value.where == where
    assert not run.view.calls


@pytest.mark.parametrize("name", NO_CLAIMS)
def test_claims_that_are_none_are_rejected(name: str, run: Run) -> None:
    answer = run.finish("done", NO_CLAIMS[name])
    assert answer.decision.codes == ("claims.not_json",)
    assert run.status is None


def test_a_claim_cannot_bring_its_own_equality() -> None:
    contract = parse("""
contract: liar/1
tools:
  pay: {effect: write, args: {invoice_id: id}, once_per: args.invoice_id, ok: result.status == "paid"}
task:
  owes: [{id: paid, by: pay}]
  answer: [{slot: who, type: string, derive: pay./who}]
""")
    run = Guard(contract).run({})
    run.call("pay", {"invoice_id": "I-7"}, lambda invoice_id: {"status": "paid", "who": "Anna", "for": invoice_id})
    assert not run.finish("done", [Claim(slot="who", field="who", value=Liar("Eve"))]).accepted
    assert not run.finish("done", [Claim(slot=Liar("zzz"), field="who", value="Anna")]).accepted
    assert run.finish("done", [Claim(slot="who", field="who", value="Anna")]).accepted


# ------------------------------------------------------------------ small in memory, endless as text


def bomb() -> list[Any]:
    value: list[Any] = []
    for _ in range(60):
        value = [value, value]
    return value


@dataclass
class Pair:
    left: Any
    right: Any


def test_a_result_that_holds_itself_many_times_over_is_a_clear_error(run: Run) -> None:
    outcome = run.call("queue", {}, bomb)
    assert isinstance(outcome.error, NotJsonError)
    assert "1,000,000" in str(outcome.error)
    assert outcome.result is None
    doubtful = run.call("refund", {"invoice_id": "I-7"}, lambda invoice_id: {"status": bomb(), "for": invoice_id})
    assert doubtful.in_doubt


def test_arguments_and_claims_that_hold_themselves_many_times_over_are_refused(run: Run) -> None:
    assert run.call("mail_all", {"to": bomb()}).decision.codes == ("args.not_json",)
    assert run.finish("done", {"a": bomb()}).decision.codes == ("claims.not_json",)


def test_shared_dataclasses_are_counted_too() -> None:
    value: Any = None
    for _ in range(60):
        value = Pair(value, value)
    with pytest.raises(NotJsonError, match="1,000,000"):
        json_of(value)


def test_the_bound_counts_values_and_nothing_below_it_is_refused() -> None:
    within_bounds([0] * MAX_NODES)
    assert len(copied([0] * MAX_NODES)) == MAX_NODES
    for check in (within_bounds, copied):
        with pytest.raises(InputError, match="1,000,000"):
            check([0] * (MAX_NODES + 1))
