"""The desk's tools as a model is told about them: OpenAI function schemas, and `finish`, which belongs to no desk."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

_INVOICE: Final = {"type": "string", "description": "the invoice's id, e.g. I-7"}
_PARAMETERS: Final[Mapping[str, tuple[str, dict[str, Any], list[str]]]] = {
    "list_invoices": (
        "List invoices, one page at a time. `next_page` is null on the last page.",
        {"page": {"type": "integer", "minimum": 1}},
        [],
    ),
    "get_invoice": ("Read one invoice: vendor, amount due, status.", {"invoice_id": _INVOICE}, ["invoice_id"]),
    "payments": ("List the payments booked for one invoice.", {"invoice_id": _INVOICE}, ["invoice_id"]),
    "pay_invoice": (
        "Pay one invoice.",
        {"invoice_id": _INVOICE, "amount": {"type": "string", "description": "EUR, e.g. 420.00"}},
        ["invoice_id", "amount"],
    ),
    "send_receipt": (
        "Send the receipt file of a payment to the vendor.",
        {"invoice_id": _INVOICE, "file": {"type": "string", "description": "`receipt_file` of the payment"}},
        ["invoice_id", "file"],
    ),
    "delivery_status": ("Ask whether the receipt was delivered.", {"invoice_id": _INVOICE}, ["invoice_id"]),
}


def _function(name: str, description: str, properties: dict[str, Any], required: list[str]) -> dict[str, Any]:
    parameters = {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
    return {"type": "function", "function": {"name": name, "description": description, "parameters": parameters}}


SCHEMAS: Final = [_function(name, *parts) for name, parts in _PARAMETERS.items()]
"""One function schema per tool of the desk, in the desk's order."""

FINISH: Final = _function(
    "finish",
    "Say that the task is finished.",
    {
        "text": {"type": "string", "description": "what to tell the requester"},
        "claims": {"type": "object", "description": 'the values asked for, by name, e.g. {"amount_paid": "420.00"}'},
        "outcome": {"type": "string", "enum": ["acted", "declined"]},
    },
    ["text"],
)
"""How a model says "done"."""
