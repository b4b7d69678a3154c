"""Certificates that are wrong in one way or several: each change says which check is to name it."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any, Final

import msgspec

from tallystick.model.certificate import CHECKS, BoundClaim, Certificate, ClaimScope, Discharge, Reference
from tallystick.view import View
from tests.gates.claim_worlds import AMOUNTS, IDS

Change = Callable[[random.Random, View, Certificate], Certificate]
_HEX: Final = "0123456789abcdef"
LOOK_ALIKES: Final = {"a": "\u0430", "e": "\u0435", "o": "\u043e", "p": "\u0440", "s": "\u0455", "I": "\u0399"}
"""Latin letters, and letters of other scripts that look the same."""
HOSTILE: Final = (
    "sum(" * 200 + "pay./amount" + ")" * 200,
    "(" * 3_000,
    "sum(" + ", ".join(["pay./amount"] * 300) + ")",
    'sum(list./items/*/amount_due where item.status.matches("(a+)+$"))',
    'sum(list./items/*/amount_due where result.items.all(x, result.items.all(y, x == y || y == x)))',
    "list(list./*/*/*/*/*)",
    'after(pay./amount, "999999d")',
    "1e400", "1e-400", "9" * 5_000, "NaN", "Infinity", '"NaN EUR"', "null", "[]", "true",
    "\u0455um(list./items/*/amount_due)", "sum(list./items/*/amount_due", "record(a: pay./amount, a: pay./amount)",
    "pay./amount where true", "difference(pay./amount, \"0.00 EUR\")", "sum(pay./amount, \"0.00 EUR\")",
    "union(list./items/*/id)", "pay./" + "a/" * 1_900, "x" * 10_000,
)  # fmt: skip
TEXTS: Final = (
    "1e400 EUR", "1E+3 EUR", "NaN EUR", "Infinity EUR", "-0 EUR", "05.00 EUR", "5,00 EUR", "5.00 eur", "5.00 USD",
    "\uff15.\uff10\uff10 EUR", "\u0665.00 EUR", "5.00\u00a0EUR", " 5.00 EUR", "5.00 EUR ", "5.00", "EUR 5.00", "",
    "five", "1_000.00 EUR", "+5.00 EUR", "p\u0430id", "PAID", "open\u200b", "9" * 4_001 + " EUR",
)  # fmt: skip


def _digest(rng: random.Random) -> str:
    return "".join(rng.choice(_HEX) for _ in range(64))


def _with(certificate: Certificate, index: int, **to: Any) -> Certificate:
    claims = list(certificate.claims)
    claims[index] = msgspec.structs.replace(claims[index], **to)
    return msgspec.structs.replace(certificate, claims=tuple(claims))


def _one(rng: random.Random, certificate: Certificate) -> tuple[int, BoundClaim]:
    index = rng.randrange(len(certificate.claims))
    return index, certificate.claims[index]


def _reference(rng: random.Random, certificate: Certificate, change: Callable[[Reference], Any]) -> Certificate:
    index, claim = _one(rng, certificate)
    if not claim.references:
        return certificate
    at = rng.randrange(len(claim.references))
    references = list(claim.references)
    made = change(references[at])
    references[at : at + 1] = made if isinstance(made, list) else [made]
    return _with(certificate, index, references=tuple(references))


def forged_digest(rng: random.Random, _: View, c: Certificate) -> Certificate:
    return _reference(rng, c, lambda r: msgspec.structs.replace(r, digest=_digest(rng)))


def swapped_receipt(rng: random.Random, view: View, c: Certificate) -> Certificate:
    other = rng.choice(view.receipts)
    return _reference(rng, c, lambda r: msgspec.structs.replace(r, receipt=other.id, digest=other.digest))


def invented_receipt(rng: random.Random, _: View, c: Certificate) -> Certificate:
    return _reference(rng, c, lambda r: msgspec.structs.replace(r, receipt=rng.choice(("r-1", "", "C0r0", "c0r0#1"))))


def further_receipt(rng: random.Random, view: View, c: Certificate) -> Certificate:
    other = rng.choice(view.receipts)
    return _reference(rng, c, lambda r: [r, Reference(receipt=other.id, digest=other.digest, pointer=r.pointer)])


def referred_to_twice(rng: random.Random, _: View, c: Certificate) -> Certificate:
    return _reference(rng, c, lambda r: [r, r])


def dropped_reference(rng: random.Random, _: View, c: Certificate) -> Certificate:
    return _reference(rng, c, lambda _: [])


def other_pointer(rng: random.Random, _: View, c: Certificate) -> Certificate:
    places = ("", "/", "/status", "/id", "/amount", "/items", "/items/0", "/items/0/status", "/items/1/status",
              "/items/-", "/items/00/status", "no/slash", "/a~2", "/items/*/status", "/\u0441tatus")  # fmt: skip
    return _reference(rng, c, lambda r: msgspec.structs.replace(r, pointer=rng.choice(places)))


def other_run(rng: random.Random, _: View, c: Certificate) -> Certificate:
    return msgspec.structs.replace(c, run=rng.choice(("r-other", "", "r-claim\u0455")))


def other_head(rng: random.Random, _: View, c: Certificate) -> Certificate:
    return msgspec.structs.replace(c, head=rng.choice((_digest(rng), "", c.head.upper())))


def other_point(rng: random.Random, view: View, c: Certificate) -> Certificate:
    """An earlier point (what came after is then the future), with that point's own digest, or a later one."""
    call = rng.choice(list(view.calls.values()))
    return msgspec.structs.replace(
        c, **rng.choice(({"upto": call.seq, "head": call.digest}, {"upto": c.upto + 1}, {"upto": 0}))
    )


def other_contract(rng: random.Random, _: View, c: Certificate) -> Certificate:
    return msgspec.structs.replace(c, **{rng.choice(("contract", "task")): _digest(rng)})


def other_rules(rng: random.Random, _: View, c: Certificate) -> Certificate:
    return msgspec.structs.replace(c, semantics=rng.choice(("", "tallystick-gates/0", "tallystick-gates/99")))


def other_now(rng: random.Random, _: View, c: Certificate) -> Certificate:
    return msgspec.structs.replace(
        c, now=rng.choice(("", "now", "2026-03-01", "2026-03-01T12:00:00", "2026-02-30T00:00:00Z"))
    )


def omitted_slot(rng: random.Random, _: View, c: Certificate) -> Certificate:
    index, _claim = _one(rng, c)
    return msgspec.structs.replace(c, claims=(*c.claims[:index], *c.claims[index + 1 :]))


def repeated_slot(rng: random.Random, _: View, c: Certificate) -> Certificate:
    return msgspec.structs.replace(c, claims=(*c.claims, _one(rng, c)[1]))


def extra_claim(rng: random.Random, _: View, c: Certificate) -> Certificate:
    _, claim = _one(rng, c)
    name = rng.choice(("tip", "", "".join(LOOK_ALIKES.get(ch, ch) for ch in claim.slot), claim.slot.upper() + " "))
    return msgspec.structs.replace(c, claims=(*c.claims, msgspec.structs.replace(claim, slot=name)))


def renamed_slot(rng: random.Random, _: View, c: Certificate) -> Certificate:
    index, claim = _one(rng, c)
    return _with(c, index, slot="".join(LOOK_ALIKES.get(ch, ch) for ch in claim.slot))


def other_type(rng: random.Random, _: View, c: Certificate) -> Certificate:
    index, _claim = _one(rng, c)
    return _with(c, index, type=rng.choice(("money", "money(USD)", "json", "decimal", "", "m\u043eney(EUR)")))


def other_quantifier(rng: random.Random, _: View, c: Certificate) -> Certificate:
    return _with(c, _one(rng, c)[0], quantifier=rng.choice(("all", "none", "count")))


def other_amount(rng: random.Random, _: View, c: Certificate) -> Certificate:
    index, claim = _one(rng, c)
    said = rng.choice(("open", "closed")) if claim.slot == "status" else f"{rng.choice(AMOUNTS)} EUR"
    return _with(c, index, value=said)


def odd_value(rng: random.Random, _: View, c: Certificate) -> Certificate:
    odd: tuple[Any, ...] = (*TEXTS, None, True, 5, [], {}, ["5.00 EUR"], {"$num": "5"}, 5.0, float("inf"))
    return _with(c, _one(rng, c)[0], value=rng.choice(odd))


def other_scope(rng: random.Random, _: View, c: Certificate) -> Certificate:
    scopes = (
        *(ClaimScope(entity=("invoice", name)) for name in (*IDS, "\u0399-1", "I-1 ", "")),
        ClaimScope(), ClaimScope(entity=("order", "I-1")),
        ClaimScope(entity=("invoice", "I-1"), dates=("2026-03-01", "2026-03-31")),
        ClaimScope(dates=("2026-03-31", "2026-03-01")), ClaimScope(dates=("x", "")),
    )  # fmt: skip
    return _with(c, _one(rng, c)[0], scope=rng.choice(scopes))


def other_derivation(rng: random.Random, _: View, c: Certificate) -> Certificate:
    index, claim = _one(rng, c)
    others = (
        *HOSTILE, "", "pay./amount", " pay./amount ", "last( pay./amount )", "first(pay./amount)", "max(pay./amount)",
        "get./amount_due", "invoice.status", "invoice.amount_due", "task.invoice", "get./status", "list(pay./amount)",
        "sum(list./items/*/amount_due)", f'"{claim.value}"',
        'sum(list./items/*/amount_due where item.status != "paid")',
        'sum( list./items/*/amount_due  where  item.status=="open" )',
    )  # fmt: skip
    return _with(c, index, derivation=rng.choice(others))


def other_account(rng: random.Random, view: View, c: Certificate) -> Certificate:
    """The obligation left out, accounted for twice, by another event, in another way, or one that is none."""
    if not c.obligations:
        return msgspec.structs.replace(
            c, obligations=(Discharge(obligation="paid", how="discharged", event=rng.choice(view.receipts).digest),)
        )
    paid = c.obligations[0]
    others: tuple[tuple[Discharge, ...], ...] = (
        (),
        (paid, paid),
        (msgspec.structs.replace(paid, event=rng.choice((_digest(rng), ""))),),
        (msgspec.structs.replace(paid, how=rng.choice(("waived", "impossible", "withdrawn", "rightly_undone"))),),
        (paid, Discharge(obligation="p\u0430id", how="waived")),
    )
    return msgspec.structs.replace(c, obligations=rng.choice(others))


ANY: Final = frozenset(CHECKS)
CHANGES: Final[tuple[tuple[Change, frozenset[str]], ...]] = (
    (forged_digest, frozenset({"ledger_reference"})),
    (swapped_receipt, ANY),
    (invented_receipt, frozenset({"ledger_reference"})),
    (further_receipt, ANY),
    (referred_to_twice, frozenset({"ledger_reference"})),
    (dropped_reference, frozenset({"task_scope", "exact_transform"})),
    (other_pointer, ANY),
    (other_run, frozenset({"task_scope"})),
    (other_head, frozenset({"ledger_reference"})),
    (other_point, frozenset({"ledger_reference"})),
    (other_contract, frozenset({"task_scope"})),
    (other_rules, frozenset({"task_scope"})),
    (other_now, frozenset({"task_scope"})),
    (omitted_slot, frozenset({"claim_coverage"})),
    (repeated_slot, frozenset({"claim_coverage"})),
    (extra_claim, frozenset({"claim_coverage"})),
    (renamed_slot, frozenset({"claim_coverage"})),
    (other_type, frozenset({"claim_coverage"})),
    (other_quantifier, frozenset({"claim_coverage"})),
    (other_amount, frozenset({"value_replay"})),
    (odd_value, frozenset({"claim_coverage", "value_replay"})),
    (other_scope, frozenset({"task_scope"})),
    (other_derivation, frozenset({"value_replay", "exact_transform"})),
    (other_account, frozenset({"claim_coverage", "ledger_reference"})),
)
"""Every change, and the checks of which at least one names it where it makes a believable certificate unbelievable."""
