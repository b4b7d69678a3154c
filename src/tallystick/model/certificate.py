"""Certificates: what a run that ended well may say, bound to the receipts that support it.

A certificate is a statement about one run up to one event of its ledger. It states no truth about the outside world:
it says that each claim is supported in this recorded trace under this contract. It becomes an in-toto Statement; its
RFC 8785 bytes are what is signed. Values stand in their lexical form (`lexical`), so that no JSON number ever stands
for an amount.
Source: evidence-carrying termination, "Certificate"; in-toto Statement v1; RFC 8785.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any, Final, Literal

import msgspec

from tallystick.errors import InputError
from tallystick.model.canonical import canonical
from tallystick.model.exact import tagged
from tallystick.model.proposal import Quantifier, StopOutcome
from tallystick.model.values import Money, Quantity, Type, decimal_of, plain

STATEMENT_TYPE: Final = "https://in-toto.io/Statement/v1"
PREDICATE_TYPE: Final = "urn:x-tallystick:certificate:v1"
PAYLOAD_TYPE: Final = "application/vnd.in-toto+json"

Check = Literal[
    "claim_coverage", "task_scope", "outcome_validation", "ledger_reference", "value_replay", "exact_transform"
]
"""The six checks of the verifier, by the names that switch them off."""
CHECKS: Final[tuple[Check, ...]] = (
    "claim_coverage",
    "task_scope",
    "outcome_validation",
    "ledger_reference",
    "value_replay",
    "exact_transform",
)


class _Part(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Part of a certificate: unknown members are refused, so nothing unread is ever signed."""


class Reference(_Part, frozen=True, kw_only=True):
    """Where a value stands: a receipt of the run and a place in its result.

    Attributes:
        receipt: the receipt's id in the ledger.
        digest: digest of the receipt's event.
        pointer: JSON Pointer (RFC 6901) into the result: the value itself, or the array the derivation ranges over.
    """

    receipt: str
    digest: str
    pointer: str


class ClaimScope(_Part, frozen=True, kw_only=True):
    """What a claim is about.

    Attributes:
        entity: (kind, id), or None where the slot has no entity.
        dates: first and last civil date (both included), or None where the slot has no period.
    """

    entity: tuple[str, str] | None = None
    dates: tuple[str, str] | None = None


class BoundClaim(_Part, frozen=True, kw_only=True):
    """One claim, bound to receipts.

    Attributes:
        slot: the contract's answer slot.
        type: the slot's type as text.
        value: the claimed value in its lexical form.
        quantifier: one, all, none, count.
        scope: what it is about.
        references: the receipts it rests on.
        derivation: the text of the expression that yields `value` from `references`.
    """

    slot: str
    type: str
    value: Any
    quantifier: Quantifier = "one"
    scope: ClaimScope = ClaimScope()
    references: tuple[Reference, ...] = ()
    derivation: str = ""


class Discharge(_Part, frozen=True, kw_only=True):
    """Why an obligation of the run is owed no more: how, and the digest of the event that says so."""

    obligation: str
    how: Literal["discharged", "waived", "impossible", "not_applicable", "rightly_undone", "withdrawn"]
    event: str = ""


class Certificate(_Part, frozen=True, kw_only=True):
    """The predicate of the statement.

    Attributes:
        run: run id.
        upto: seq of the last event the verdict rests on.
        head: digest of that event; it fixes everything before it.
        contract: SHA-256 of the contract's text.
        task: SHA-256 of the task's text.
        semantics: version of the gates that judged.
        now: RFC 3339 UTC instant of the stop.
    """

    run: str
    upto: int
    head: str
    contract: str
    task: str
    semantics: str
    now: str
    outcome: StopOutcome = "acted"
    claims: tuple[BoundClaim, ...] = ()
    obligations: tuple[Discharge, ...] = ()

    def statement(self) -> bytes:
        """Return the in-toto Statement's RFC 8785 bytes: the payload of the DSSE envelope."""
        predicate = msgspec.to_builtins(self)
        subject = [{"name": f"run:{self.run}", "digest": {"sha256": self.head}}]
        return canonical(
            {"_type": STATEMENT_TYPE, "predicate": predicate, "predicateType": PREDICATE_TYPE, "subject": subject}
        )


def certificate_of(payload: bytes) -> Certificate:
    """Return the certificate whose statement's bytes are exactly `payload`.

    Raises:
        InputError: it is no such statement, has members this version does not know, or is not in canonical form.
    """
    try:
        statement = msgspec.json.decode(payload)
        if not isinstance(statement, dict) or statement.get("predicateType") != PREDICATE_TYPE:
            raise InputError(
                "not a certificate of this kind", fix=f"a statement whose predicateType is {PREDICATE_TYPE}"
            )
        found = msgspec.convert(statement.get("predicate"), Certificate)
    except (msgspec.DecodeError, msgspec.ValidationError, UnicodeDecodeError, RecursionError) as bad:
        raise InputError(f"not a certificate: {bad}") from None
    if found.statement() != payload:
        raise InputError("not a certificate in canonical form (RFC 8785), or its subject is not its run's head")
    return found


def lexical(value: Any, type_: Type | None = None) -> Any:
    """Return a typed value (as `Type.parse` gives it) in the form a certificate states it.

    Numbers, money, quantities, instants and dates are text; sets are sorted lists. Under the type `json`, where nothing
    else tells a number from a text, values stand as `exact.tagged` writes them. `value_of` reads it back.

    Args:
        value: the value.
        type_: its type; needed only where `json` is, or is inside, it.

    Raises:
        InputError: it is no value of any type.
    """
    if type_ is not None and type_.name == "json":
        try:
            return tagged(value)
        except (ValueError, RecursionError) as bad:
            raise InputError(f"no JSON value: {bad}") from None
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, int):
        return str(value)
    if isinstance(value, Decimal):
        return _digits(value)
    if isinstance(value, Money):
        return f"{_digits(value.amount)} {value.currency}"
    if isinstance(value, Quantity):
        return f"{_digits(value.amount)} {value.unit}"
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat().replace("+00:00", "Z")
    if isinstance(value, date):
        return value.isoformat()
    item = type_.item if type_ is not None else None
    if isinstance(value, (set, frozenset)):
        return sorted((lexical(v, item) for v in value), key=canonical)
    if isinstance(value, (list, tuple)):
        return [lexical(v, item) for v in value]
    if isinstance(value, Mapping):
        members = type_.fields if type_ is not None else {}
        return {k: lexical(v, members.get(k)) for k, v in value.items()}
    raise InputError(f"a {type(value).__name__} is no value of a claim")


def _digits(number: Decimal) -> str:
    return plain(number or number.copy_abs())  # there is no `-0`


def value_of(type_: Type, stated: Any) -> Any:
    """Return the typed value that `stated`, in its lexical form, states under `type_`.

    Only what `lexical` writes is read: `lexical(value_of(type_, stated), type_) == stated`.

    Raises:
        ValueError: it is no value of that type, or not in its lexical form.
    """
    try:
        value = _read(type_, stated)
        again = lexical(value, type_)
    except (InputError, RecursionError, OverflowError) as bad:
        raise ValueError(f"not a {type_}: {bad}") from None
    if again != stated:
        raise ValueError(f"not in the form in which a {type_} is stated")
    return value


def _read(type_: Type, stated: Any) -> Any:
    if stated is None:
        return type_.parse(None)
    name = type_.name
    if name == "json":
        return _untagged(stated)
    if name in _TEXTS and not isinstance(stated, str):
        raise ValueError(f"a {type_} is stated as text")
    if name == "integer":
        if not _INTEGER.fullmatch(stated):
            raise ValueError("not an integer")
        return int(stated)
    if name in ("money", "quantity"):
        number, _, unit = stated.partition(" ")
        if not unit or (type_.unit is not None and unit != type_.unit):
            raise ValueError(f"expected an amount in {type_.unit or 'a unit'}")
        if name == "quantity":
            return Quantity(decimal_of(number), unit)
        return Type(name="money").parse(stated)
    if name in ("list", "set"):
        if not isinstance(stated, (list, tuple)):
            raise ValueError("expected a list")
        item = type_.item or Type(name="json")
        items = tuple(_read(item, part) for part in stated)
        if name == "list":
            return items
        try:
            return frozenset(items)
        except TypeError:
            raise ValueError("items of a set must be scalars") from None
    if name == "record":
        if not isinstance(stated, Mapping) or stated.keys() != type_.fields.keys():
            raise ValueError("expected exactly the members of the record")
        return {member: _read(t, stated[member]) for member, t in type_.fields.items()}
    return type_.parse(stated)


_INTEGER: Final = re.compile("-?(0|[1-9][0-9]{0,3999})")
_TEXTS: Final = frozenset({"integer", "decimal", "money", "quantity", "instant", "date"})


def _untagged(stated: Any) -> Any:
    if isinstance(stated, Mapping):
        if stated.keys() == {"$num"}:
            return decimal_of(stated["$num"])
        return {k[1:] if k.lstrip("$") == "num" and k.startswith("$") else k: _untagged(v) for k, v in stated.items()}
    if isinstance(stated, (list, tuple)):
        return [_untagged(v) for v in stated]
    return stated
