"""Each of the six checks is one in its own right: it finds its own fault alone, and switched off it finds nothing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from tallystick.contracts.types import Contract
from tallystick.errors import InputError
from tallystick.gates.certify import verify_certificate
from tallystick.model.certificate import CHECKS, Certificate, Check, ClaimScope, Reference, certificate_of
from tallystick.model.proposal import Claim, Stop
from tallystick.view import View
from tests.gates.certify.desk import (
    BODIES,
    CONTRACT,
    NOW,
    SLOTS,
    TASK,
    claim,
    contract_of,
    found,
    honest,
    intent,
    invoice,
    receipt,
    record,
)

Faulty = tuple[View, Contract, Certificate]


def changed(certificate: Certificate, slot: str, **to: Any) -> Certificate:
    """Return a certificate with one claim changed."""
    claims = tuple(msgspec.structs.replace(c, **to) if c.slot == slot else c for c in certificate.claims)
    return msgspec.structs.replace(certificate, claims=claims)


def omitted_slot() -> Faulty:
    view = record()
    whole = honest(view)
    return view, CONTRACT, msgspec.structs.replace(whole, claims=whole.claims[1:])


def untyped_claim() -> Faulty:
    view = record()
    return view, CONTRACT, changed(honest(view), "paid", type="money")


def other_quantifier() -> Faulty:
    view = record()
    return view, CONTRACT, changed(honest(view), "names", quantifier="all")


def another_entity() -> Faulty:
    """Everything about the claim is right, of another invoice."""
    view, contract = record(), contract_of("status")
    of_other = honest(record(task=_of("I-2"), contract=contract), contract).claims[0]
    return view, contract, msgspec.structs.replace(honest(view, contract), claims=(_redated(view, of_other),))


def another_period() -> Faulty:
    view, contract = record(), contract_of("march")
    scope = ClaimScope(dates=("2026-02-01", "2026-03-31"))
    return view, contract, changed(honest(view, contract), "march", scope=scope, value="3")


def another_task() -> Faulty:
    view = record()
    return view, CONTRACT, msgspec.structs.replace(honest(view), task="0" * 64)


def stale_read() -> Faulty:
    """The invoice is written to again after it was read."""
    later = [intent("p2", "pay", {"id": "I-1", "n": 2}), receipt("rp2", "p2", {"status": "paid", "amount": "12.50"})]
    contract = contract_of("left")
    view = record([*BODIES, *later], contract)
    return view, contract, honest(view, contract)


def missing_page() -> Faulty:
    contract = contract_of("open")
    view = record([b for b in BODIES if getattr(b[0], "call", "") != "l2"], contract)
    return view, contract, honest(view, contract, open="30.00")


def nested_error() -> Faulty:
    """The value is there, beside an error inside the body."""
    contract = contract_of("quoted")
    bad = receipt("rq1", "q1", {"amount": "9.00", "detail": {"error": "the price list is not available"}})
    view = record([bad if getattr(b[0], "id", "") == "rq1" else b for b in BODIES], contract)
    return view, contract, honest(view, contract)


def cut_off() -> Faulty:
    contract = contract_of("quoted")
    view = record(
        [receipt("rq1", "q1", {"amount": "9.00"}, truncated=True) if getattr(b[0], "id", "") == "rq1" else b
         for b in BODIES], contract,
    )  # fmt: skip
    return view, contract, honest(view, contract)


def forged_digest() -> Faulty:
    view = record()
    whole = honest(view)
    (only,) = claim(whole, "paid").references
    return view, CONTRACT, changed(whole, "paid", references=(msgspec.structs.replace(only, digest="f" * 64),))


def another_head() -> Faulty:
    view = record()
    return view, CONTRACT, msgspec.structs.replace(honest(view), head="f" * 64)


def replica_only() -> Faulty:
    contract = contract_of("quoted")
    view = record(
        [receipt("rq1", "q1", {"amount": "9.00"}, source="replica") if getattr(b[0], "id", "") == "rq1" else b
         for b in BODIES], contract,
    )  # fmt: skip
    return view, contract, honest(view, contract)


def imported_into_a_live_run() -> Faulty:
    contract = contract_of("quoted")
    view = record(
        [receipt("rq1", "q1", {"amount": "9.00"}, source="imported") if getattr(b[0], "id", "") == "rq1" else b
         for b in BODIES], contract,
    )  # fmt: skip
    return view, contract, honest(view, contract)


def cached_repeat() -> Faulty:
    """A repeated answer beside the one it repeats is no second piece of evidence."""
    contract = contract_of("mine")
    again = receipt("rl1b", "l1", {"items": [], "next": 2}, cached_from="rl1")
    view = record([*BODIES, again], contract)
    whole = honest(view, contract)
    cited = claim(whole, "mine").references
    assert [r.receipt for r in cited] == ["rl1b", "rl2"]
    first = Reference(receipt="rl1", digest=view.index.receipt_by_id["rl1"].digest, pointer="/items")
    return view, contract, changed(whole, "mine", references=(first, *cited))


def wrong_value() -> Faulty:
    view = record()
    return view, CONTRACT, changed(honest(view), "open", value="30.00 EUR")


def wrong_currency() -> Faulty:
    contract = contract_of("quoted")
    view = record(contract=contract)
    return view, contract, changed(honest(view, contract), "quoted", value="9.01 EUR")


def constant() -> Faulty:
    view = record()
    return view, CONTRACT, changed(honest(view), "open", derivation='"30.10 EUR"')


def other_aggregate() -> Faulty:
    """The only payment is also the greatest."""
    view = record()
    return view, CONTRACT, changed(honest(view), "paid", derivation="max(pay./amount)")


def other_filter() -> Faulty:
    view = record()
    return view, CONTRACT, changed(honest(view), "open", derivation='sum(list./items/*/amount where item.id != "I-1")')


def older_answer() -> Faulty:
    """An answer that is not the newest says the same."""
    contract = contract_of("quoted")
    again = [intent("q2", "quote", {}), receipt("rq2", "q2", {"amount": "9.00"})]
    view = record([*BODIES, *again], contract)
    older = Reference(receipt="rq1", digest=view.index.receipt_by_id["rq1"].digest, pointer="/amount")
    return view, contract, changed(honest(view, contract), "quoted", references=(older,))


def _of(name: str) -> Any:
    from dataclasses import replace

    return replace(TASK, bindings={**TASK.bindings, "invoice": name})


def _redated(view: View, made: Any) -> Any:
    """A claim made over another record's chain, with the digests of this one."""
    references = tuple(
        msgspec.structs.replace(r, digest=view.index.receipt_by_id[r.receipt].digest) for r in made.references
    )
    return msgspec.structs.replace(made, references=references)


ISOLATED: list[tuple[Check, Callable[[], Faulty]]] = [
    ("claim_coverage", omitted_slot),
    ("claim_coverage", untyped_claim),
    ("claim_coverage", other_quantifier),
    ("task_scope", another_entity),
    ("task_scope", another_period),
    ("task_scope", another_task),
    ("task_scope", stale_read),
    ("task_scope", missing_page),
    ("outcome_validation", nested_error),
    ("outcome_validation", cut_off),
    ("ledger_reference", forged_digest),
    ("ledger_reference", another_head),
    ("ledger_reference", replica_only),
    ("ledger_reference", imported_into_a_live_run),
    ("value_replay", wrong_value),
    ("value_replay", wrong_currency),
    ("exact_transform", constant),
    ("exact_transform", other_aggregate),
    ("exact_transform", other_filter),
    ("exact_transform", older_answer),
]


def test_an_honest_certificate_is_complete() -> None:
    view = record()
    verified = verify_certificate(view, CONTRACT, honest(view))
    assert verified.complete
    assert not verified.deficits
    assert {c.slot for c in honest(view).claims} == set(SLOTS)
    assert set(verified.basis) <= {r.digest for r in view.receipts}


def test_a_certificate_survives_its_statement() -> None:
    view = record()
    whole = honest(view)
    assert certificate_of(whole.statement()) == whole
    assert verify_certificate(view, CONTRACT, certificate_of(whole.statement())).complete


@pytest.mark.parametrize(("check", "fault"), ISOLATED, ids=[f"{c}-{f.__name__}" for c, f in ISOLATED])
def test_only_one_check_finds_its_isolated_fault_and_switched_off_the_fault_passes(
    check: Check, fault: Callable[[], Faulty]
) -> None:
    view, contract, certificate = fault()
    deficits = verify_certificate(view, contract, certificate).deficits
    assert {d.check for d in deficits} == {check}, deficits
    assert all(d.message and d.closes for d in deficits)
    assert verify_certificate(view, contract, certificate, without={check}).complete


def test_every_check_has_an_isolated_fault() -> None:
    assert {check for check, _ in ISOLATED} == set(CHECKS)


def test_all_checks_switched_off_find_nothing_and_unknown_names_are_misuse() -> None:
    view, contract, certificate = nested_error()
    broken = msgspec.structs.replace(certificate, claims=(), head="", run="x")
    assert verify_certificate(view, contract, broken, without=CHECKS).complete
    with pytest.raises(InputError, match="no check"):
        verify_certificate(view, contract, broken, without={"coverage"})  # type: ignore[arg-type]  # the very misuse


@pytest.mark.parametrize(
    ("fault", "checks"),
    [
        # Matched faults that more than one check catches: switching one off changes nothing.
        (lambda w: changed(w, "paid", references=(Reference(receipt="r-none", digest="0" * 64, pointer="/amount"),)),
         {"ledger_reference", "task_scope", "value_replay", "exact_transform"}),
        (lambda w: changed(w, "status", scope=ClaimScope(entity=("invoice", "I-2"))),
         {"task_scope", "value_replay", "exact_transform"}),
        (lambda w: changed(w, "paid", derivation="sum("), {"value_replay", "exact_transform"}),
        (lambda w: changed(w, "paid", value="twelve"), {"claim_coverage", "value_replay"}),
    ],
)  # fmt: skip
def test_a_fault_that_several_checks_catch_is_caught_without_any_one_of_them(
    fault: Callable[[Certificate], Certificate], checks: set[Check]
) -> None:
    view = record()
    certificate = fault(honest(view))
    assert {check for check, _ in found(view, certificate)} == checks
    for check in CHECKS:
        assert not verify_certificate(view, CONTRACT, certificate, without={check}).complete


def test_a_cached_repeat_is_no_second_evidence() -> None:
    view, contract, certificate = cached_repeat()
    assert ("ledger_reference", "evidence.repeated") in found(view, certificate, contract)


def test_a_deficit_says_which_read_would_close_it() -> None:
    view = record(BODIES[:4])  # paid, and nothing read since
    deficits = verify_certificate(view, CONTRACT, honest(view)).deficits
    reads = {(d.slot, d.code): {(r.tool, r.args) for r in d.reads} for d in deficits}
    assert reads["quoted", "evidence.missing"] == {("quote", "{}")}
    assert reads["status", "evidence.stale"] == {("get", '{"id":"I-1"}')}
    assert reads["left", "evidence.stale"] == {("get", '{"id":"I-1"}')}


def test_an_obligation_left_out_or_misattributed_is_found() -> None:
    view = record()
    whole = honest(view)
    (paid,) = whole.obligations
    assert (paid.how, paid.event) == ("discharged", view.index.receipt_by_id["rp1"].digest)
    left_out = msgspec.structs.replace(whole, obligations=())
    assert found(view, left_out) == {("claim_coverage", "obligation.open")}
    waived = msgspec.structs.replace(whole, obligations=(msgspec.structs.replace(paid, how="waived"),))
    assert found(view, waived) == {("ledger_reference", "obligation.open")}


def test_claims_of_a_stop_that_is_not_accepted_are_bound_as_they_are_and_refused() -> None:
    view = record()
    said = (Claim(slot="paid", field="paid", value="twelve"), Claim(slot="tip", field="tip", value=1))
    from tallystick.gates.certify import bind

    certificate = bind(view, contract_of("paid"), Stop(now=NOW, claims=said))
    assert ("claim_coverage", "claim.type") in found(view, certificate, contract_of("paid"))
    assert ("claim_coverage", "coverage.unknown_slot") in found(view, certificate, contract_of("paid"))


def test_a_result_that_names_another_invoice_than_was_asked_for_speaks_of_neither() -> None:
    contract = contract_of("left")
    swapped = receipt("rg1", "g1", invoice("I-2"))
    view = record([swapped if getattr(b[0], "id", "") == "rg1" else b for b in BODIES], contract)
    checks = {check for check, _ in found(view, honest(view, contract), contract)}
    assert "task_scope" in checks
