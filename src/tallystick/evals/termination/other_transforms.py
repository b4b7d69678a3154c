"""F9, ours: a value that is right, from the right receipts, by another derivation than the contract demands.

Even tasks state the value itself, a constant that rests on nothing. Odd ones use another aggregate, or another filter,
that happens to agree on these receipts: over other receipts it would not.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from msgspec.structs import replace

from tallystick.model.certificate import BoundClaim

_AGREES: Final[Mapping[str, tuple[str, str]]] = {
    "lookup": ("balance", "max(get_account./account/balance)"),
    "pages": ("invoices", "count(list_invoices./invoices/*/amount)"),
    "join": ("total", "sum(get_order./order/total)"),
    "period": ("peak", "max(list_readings./readings/*/kwh where item.day != '2026-01-01')"),
    "confirm": ("fee", "min(get_ticket./ticket/fee)"),
    "batch": ("size", "sum(list_files./files/*/bytes where item.archived == true)"),
}
"""Family → (slot, a derivation that yields its value here and is not the contract's)."""


def other_transform(family: str, number: int, claims: tuple[BoundClaim, ...]) -> tuple[BoundClaim, ...]:
    """Return the claims with one slot's derivation replaced by a constant or by one that happens to agree."""
    slot, derivation = _AGREES[family]
    return tuple(
        c if c.slot != slot else replace(c, derivation=derivation if number % 2 else constant(c.value)) for c in claims
    )


def constant(value: object) -> str:
    """Return a derivation that states a value outright."""
    text = str(value)
    return text if text.isdigit() else f'"{text}"'
