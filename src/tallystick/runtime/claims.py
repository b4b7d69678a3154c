"""Claims as callers give them, made plain exact values; `view.stops` keeps them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, get_args

from tallystick.errors import InputError
from tallystick.model import jsontext
from tallystick.model.proposal import Claim, Quantifier
from tallystick.model.values import EntityRef
from tallystick.runtime.copies import within_bounds


def claims_of(given: object) -> tuple[Claim, ...]:
    """Return claims from an iterable of claims, or from a mapping of answer slots to values: of plain exact values.

    Raises:
        InputError: something else, a part of a claim that has another type than it says, or a value that is not JSON.
    """
    if isinstance(given, InputError):
        raise given  # whoever made them says why there are none
    if isinstance(given, (str, bytes)) or not isinstance(given, Iterable):
        raise InputError(f"a {type(given).__name__} is no list of claims", fix="claims, or a mapping of slot to value")
    try:
        items = list(given.items()) if isinstance(given, Mapping) else list(given)
    except Exception as bad:  # noqa: BLE001 - a foreign iterable's own code
        raise InputError(f"the claims cannot be read: {type(bad).__name__}", fix="a list or a mapping") from None
    if isinstance(given, Mapping):
        return tuple(_of_slot(slot, value) for slot, value in items)
    return tuple(_checked(claim) for claim in items)


def _of_slot(slot: object, value: Any) -> Claim:
    name = _text("slot", slot)
    return Claim(slot=name, field=name, value=exact_value(value, name))


def _checked(claim: object) -> Claim:
    if not isinstance(claim, Claim):
        raise InputError(f"a {type(claim).__name__} is no claim", fix="a `Claim`, or a mapping of slot to value")
    field = _text("field", claim.field)
    subject: object = claim.subject
    if subject is not None and not isinstance(subject, EntityRef):
        raise InputError(f"a {type(subject).__name__} is no subject", where=field, fix="`EntityRef(kind, id)`")
    if claim.quantifier not in get_args(Quantifier):
        raise InputError("an unknown quantifier", where=field, fix=", ".join(get_args(Quantifier)))
    cites: object = claim.cites
    if not isinstance(cites, (tuple, list)):
        raise InputError(f"a {type(cites).__name__} is no tuple of receipts", where=field, fix='e.g. cites=("r1",)')
    return Claim(
        slot=_text("slot", claim.slot) if claim.slot is not None else None,
        subject=EntityRef(_text("kind", subject.kind), _text("id", subject.id)) if subject is not None else None,
        field=field,
        value=exact_value(claim.value, field),
        quantifier=claim.quantifier,
        cites=tuple(_text("cited receipt", ref) for ref in cites),
        as_of=_text("receipt", claim.as_of) if claim.as_of is not None else None,
    )


def _text(what: str, given: object) -> str:
    if not isinstance(given, str):
        raise InputError(f"a {type(given).__name__} is no {what}", where="claims", fix="give it as text")
    return str.__str__(given)  # a subclass can say that it equals anything


def exact_value(value: Any, where: str) -> Any:
    """Return `value` as exact JSON values.

    Raises:
        InputError: it is none.
    """
    try:
        within_bounds(value)
        return jsontext.loads(jsontext.dumps(value))
    except InputError as bad:
        raise InputError(bad.message, where=where) from None
