"""Claims as a ledger keeps them with a stop, and back, so that a stop can be judged again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from tallystick.errors import InputError
from tallystick.model import jsontext
from tallystick.model.canonical import canonical
from tallystick.model.proposal import Claim
from tallystick.model.values import EntityRef


def claims_of(given: Iterable[Claim] | Mapping[str, Any]) -> tuple[Claim, ...]:
    """Return claims from claims, or from a mapping of answer slots to values.

    Raises:
        InputError: a value is not JSON.
    """
    if isinstance(given, Mapping):
        return tuple(Claim(slot=slot, field=slot, value=exact_value(value, slot)) for slot, value in given.items())
    found = []
    for claim in given:
        if not isinstance(claim, Claim):
            raise InputError(f"a {type(claim).__name__} is no claim", fix="a `Claim`, or a mapping of slot to value")
        found.append(claim)
    return tuple(found)


def exact_value(value: Any, where: str) -> Any:
    """Return `value` as exact JSON values.

    Raises:
        InputError: it is none.
    """
    try:
        return jsontext.loads(jsontext.dumps(value))
    except InputError as bad:
        raise InputError(bad.message, where=where) from None


def claims_text(claims: Iterable[Claim]) -> str:
    """Return the canonical JSON text of claims; values are kept as JSON text of their own, digit for digit."""
    return canonical(
        [
            {
                "slot": c.slot,
                "subject": [c.subject.kind, c.subject.id] if c.subject is not None else None,
                "field": c.field,
                "value": jsontext.dumps(c.value),
                "quantifier": c.quantifier,
                "cites": list(c.cites),
                "as_of": c.as_of,
            }
            for c in claims
        ]
    ).decode("utf-8")


def claims_in(text: str) -> tuple[Claim, ...]:
    """Return the claims that `claims_text` wrote.

    Raises:
        InputError: it wrote something else.
    """
    try:
        return tuple(
            Claim(
                slot=c["slot"],
                subject=EntityRef(*c["subject"]) if c["subject"] is not None else None,
                field=c["field"],
                value=jsontext.loads(c["value"]),
                quantifier=c["quantifier"],
                cites=tuple(c["cites"]),
                as_of=c["as_of"],
            )
            for c in jsontext.loads(text)
        )
    except (TypeError, KeyError, AttributeError) as bad:
        raise InputError(f"not recorded claims: {type(bad).__name__} {bad}") from None
