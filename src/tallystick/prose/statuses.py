"""Words for the state of things, reduced so that `cancelled`, `canceled` and `cancellation` meet."""

from __future__ import annotations

import re
from typing import Final

_SAME: Final = {
    "cancelled": ("canceled", "cancelled"),
    "confirmed": ("confirmed",),
    "completed": ("completed", "complete", "finished"),
    "delivered": ("delivered",),
    "shipped": ("shipped", "dispatched"),
    "in_transit": ("in transit", "on its way", "on the way", "en route"),
    "pending": ("pending",),
    "processing": ("processing", "being processed"),
    "approved": ("approved",),
    "denied": ("denied", "declined", "rejected", "refused"),
    "refunded": ("refunded",),
    "replaced": ("replaced",),
    "exchanged": ("exchanged",),
    "returned": ("returned",),
    "lost": ("lost",),
    "damaged": ("damaged",),
    "active": ("active", "in effect"),
    "inactive": ("inactive",),
    "expired": ("expired", "lapsed"),
    "eligible": ("eligible",),
    "ineligible": ("ineligible",),
    "available": ("available",),
    "unavailable": ("unavailable",),
    "in_stock": ("in stock", "in-stock"),
    "out_of_stock": ("out of stock", "out-of-stock", "sold out"),
    "open": ("open",),
    "closed": ("closed",),
    "paid": ("paid",),
    "unpaid": ("unpaid",),
    "failed": ("failed",),
    "delayed": ("delayed",),
    "on_time": ("on time", "on schedule", "on-time"),
    "scheduled": ("scheduled",),
    "booked": ("booked",),
    "refundable": ("refundable",),
    "non_refundable": ("non-refundable", "nonrefundable"),
    "unchanged": ("unchanged",),
    "updated": ("updated", "modified"),
    "created": ("created",),
    "removed": ("removed", "deleted"),
    "added": ("added",),
    "applied": ("applied",),
    "placed": ("placed",),
    "submitted": ("submitted",),
    "waived": ("waived",),
    "charged": ("charged",),
    "included": ("included",),
    "free": ("free", "free of charge", "complimentary", "at no cost", "at no charge", "no charge"),
}
_BY_WORD: Final = {word: status for status, words in _SAME.items() for word in words}
STATUS: Final = re.compile(
    r"\b(?:" + "|".join(re.escape(w) for w in sorted(_BY_WORD, key=len, reverse=True)) + r")\b", re.IGNORECASE
)
"""Any of the words."""


STRICT: Final = frozenset({
    "cancelled", "confirmed", "completed", "delivered", "shipped", "pending", "processing", "approved",
    "denied", "refunded", "replaced", "exchanged", "returned", "lost", "damaged", "active", "inactive", "expired",
    "ineligible", "in_stock", "out_of_stock", "unavailable", "closed", "unpaid", "failed", "delayed",
    "on_time", "booked", "waived",
})  # fmt: skip
"""States that must be on record where they are said of something."""
SWITCHED: Final = {
    "in_stock": ("stock", True), "out_of_stock": ("stock", False), "available": ("available", True),
    "unavailable": ("available", False), "eligible": ("eligible", True), "ineligible": ("eligible", False),
    "refundable": ("refundable", True), "non_refundable": ("refundable", False), "active": ("active", True),
    "inactive": ("active", False),
}  # fmt: skip
"""States that records hold as true or false under a name."""


def status_of(word: str) -> str:
    """Return the status a word stands for, in snake case; a word that is none of them, as it is."""
    low = word.lower()
    return _BY_WORD.get(low, low.replace(" ", "_").replace("-", "_"))
