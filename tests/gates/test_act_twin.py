"""The act gate against its naive twin: on random worlds, on real contracts, and with faults planted in the gate."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import lru_cache

import pytest

from tallystick.contracts import parse
from tallystick.contracts.types import Contract
from tallystick.gates.act import may_act
from tallystick.model.decision import Decision
from tests.gates.naive_act import Answer, naive_act
from tests.gates.worlds import World, world
from tests.gates.worlds_kit import RUN

CHUNK = 5_000
VERDICTS = {"admit", "hold", "refuse", "reconcile", "return_recorded"}
CODES = {
    "run.closed", "args.incomplete", "args.unparseable", "args.mutated", "args.invalid", "tool.unmentioned",
    "schema.effect_changed", "schema.mismatch", "idempotency.conflict", "effect.in_doubt", "effect.in_flight",
    "effect.duplicate", "effect.retry_same_key", "condition.open", "condition.unknown", "evidence.missing",
    "evidence.other_entity", "evidence.stale", "evidence.invalid", "evidence.violated", "evidence.unknown_entity",
    "evidence.ambiguous_entity", "confirmation.missing", "argument.mismatch", "preview.missing", "preview.mismatch",
    "exclusion.taken", "exclusion.unknown", "approval.missing", "approval.other_args", "approval.denied",
    "approval.consumed", "approval.expired", "approval.untrusted",
}  # fmt: skip
# Where these reasons point is a key or a place inside a schema, which the twin does not spell.
_NOWHERE = {"effect.in_doubt", "effect.in_flight", "effect.duplicate", "schema.mismatch"}


def plain(decision: Decision) -> Answer:
    """What a decision says, in the twin's form. What an admission mentions besides is no reason for it."""
    why = () if decision.positive else decision.reasons
    return Answer(
        str(decision.verdict),
        frozenset((r.code, "" if r.code in _NOWHERE else r.where) for r in why),
        decision.recorded,
        decision.in_doubt,
    )


def gate(case: World) -> Answer:
    return plain(may_act(case.view(), case.contract, case.call))


def twin(case: World) -> Answer:
    return naive_act(case.contract, case.task, RUN, case.events, case.call)


@pytest.mark.parametrize("chunk", range(10))
def test_the_gate_and_its_naive_twin_agree_on_50_000_random_worlds(chunk: int) -> None:
    seen: Counter[str] = Counter()
    for seed in range(chunk * CHUNK, (chunk + 1) * CHUNK):
        case = world(seed)
        got, wanted = gate(case), twin(case)
        assert got == wanted, f"world {seed}"
        seen[got.verdict] += 1
    assert set(seen) == VERDICTS
    assert min(seen.values()) > CHUNK // 20  # no verdict is a rare accident


def test_random_worlds_reach_every_reason() -> None:
    missing = set(CODES)
    for seed in range(4 * CHUNK):
        case = world(seed)
        missing.difference_update(may_act(case.view(), case.contract, case.call).codes)
        if not missing:
            break
    assert not missing


def test_every_world_can_be_made_again_from_its_seed() -> None:
    for seed in range(50):
        assert world(seed) == world(seed)


_DESK = """
contract: desk/1
entities:
  invoice: {id: id, amount_due: money(EUR), status: string, vendor: id}
  vendor: {id: id, blocked: boolean}
tools:
  get_invoice:
    effect: read
    args: {invoice_id: id}
    target: invoice(args.invoice_id)
    yields: {invoice: {id: /id, amount_due: /amount_due, status: /status, vendor: /vendor}}
  get_vendor:
    effect: read
    args: {vendor_id: id}
    target: vendor(args.vendor_id)
    yields: {vendor: {id: /id, blocked: /blocked}}
  get_policy:
    effect: read
    args: {topic: string}
  list_invoices:
    effect: read
    yields: {invoice: {at: /items/*, id: /id, amount_due: /amount_due, status: /status}}
  pay:
    effect: write
    args: {invoice_id: id, amount: money(EUR)}
    target: invoice(args.invoice_id)
    bind: [vendor(invoice.vendor)]
    once_per: [args.invoice_id]
    ok: result.status == "paid"
    no_effect: result.status == "rejected"
    settle: get_invoice shows invoice.status == "paid"
    requires:
      - {id: open, fact: invoice.status == "open", fresh: since last write}
      - {id: amount, fact: args.amount == invoice.amount_due}
      - {id: solvent, fact: "!vendor.blocked", when: invoice.amount_due > 100.00, fresh: 2m}
  refund:
    effect: write
    args: {invoice_id: id, amount: money(EUR)}
    target: invoice(args.invoice_id)
    needs_approval: finance
    requires:
      - {id: chosen, confirmed: invoice}
  send:
    effect: write
    args: {invoice_id: id, amount: money(EUR), file: optional string}
    target: invoice(args.invoice_id)
    requires:
      - {id: the-receipt, arg: file, equals: pay./file}
      - id: allowed
        any:
          - {read: get_policy, with: 'args.topic == "pay"'}
          - {approval: finance}
conditions:
  - id: dual-control
    when: invoice.amount_due >= 420.00
    removes: [pay]
    status: do not pay
    prerequisite: approval for this invoice
    authority: finance
    fallback: leave it scheduled
exclusive:
  - {id: one-remedy, tools: [pay, refund], per: args.invoice_id}
"""


@lru_cache(maxsize=1)
def desk() -> Contract:
    return parse(_DESK)


def test_the_twin_agrees_on_a_contract_of_real_expressions() -> None:
    seen: Counter[str] = Counter()
    for seed in range(3_000):
        case = replace(world(seed), contract=desk())
        got, wanted = gate(case), twin(case)
        assert got == wanted, f"world {seed}"
        seen[got.verdict] += 1
    assert set(seen) == VERDICTS
