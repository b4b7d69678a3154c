"""Requirements that may hold, each generated from what was known before every effect of a tool.

A form is a sentence an author could write: the target was read; a policy was read; a preview of the same arguments
came first; a fact was so; an argument is what a record or an earlier result says. `chance` is how likely it is that the
form would hold in all cases although it means nothing, by what was different elsewhere; the smaller, the better.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Final, Literal

from tallystick.audit.tools import words_of
from tallystick.drafting.shape import is_amount
from tallystick.model.values import same

Form = Literal[
    "target-read", "read-of", "policy", "previewed", "fact", "match", "predecessor", "limit", "confirmed", "heard"
]
USUAL: Final = 0.8
"""Share of cases in which a form must hold to be weighed at all."""
MISSING: Final = object()
"""Stands for an argument or a field that is not there."""


@dataclass(kw_only=True)
class Candidate:
    """A requirement that may hold.

    Attributes:
        fields: as written under `requires`, without `id`.
        stem: what its id starts with.
        because: the sentence of the remark.
        chance: see the module; already the product over all cases.
        binds: texts of entities it needs bound besides.
    """

    tool: str
    form: Form
    fields: dict[str, Any]
    stem: str
    because: str
    chance: float
    binds: tuple[str, ...] = field(default=())


def is_number(value: Any) -> bool:
    """Return whether a JSON value is a number."""
    return isinstance(value, (int, Decimal)) and not isinstance(value, bool)


def alike(one: Any, other: Any) -> bool:
    """Return whether two values are there and the same."""
    return one is not None and other is not None and same(one, other)


def akin(arg: str, other: str, type_: str) -> bool:
    """Whether names allow that two values mean the same: small numbers and words agree by accident all the time."""
    if type_ == "id":
        return True
    return bool(set(words_of(arg)) & set(words_of(other))) or (is_amount(arg) and is_amount(other))
