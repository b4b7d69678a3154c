"""Stops as a ledger keeps them, and back, so that a stop can be judged again."""

from __future__ import annotations

from collections.abc import Iterable
from typing import get_args

from tallystick.errors import InputError
from tallystick.model import jsontext
from tallystick.model.canonical import canonical
from tallystick.model.events import StopDecided
from tallystick.model.proposal import Claim, Stop, StopOutcome
from tallystick.model.values import EntityRef
from tallystick.view.state import when


def stop_of(body: StopDecided) -> Stop | None:
    """Return the stop as it was proposed, or None where the event does not say when, or states no known outcome.

    Raises:
        InputError: what it records as claims are none.
    """
    now = when(body.now)
    if now is None or body.outcome not in get_args(StopOutcome):
        return None
    return Stop(
        now=now,
        claims=claims_in(body.claims),
        text=body.text,
        outcome=body.outcome,  # type: ignore[arg-type]  # checked above
        declared_by=body.declared_by,
        truncated=body.truncated,
    )


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
