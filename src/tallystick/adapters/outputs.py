"""What an agent's output states: the values of the contract's answer slots, as every adapter reads them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from pydantic import BaseModel

from tallystick.errors import InputError
from tallystick.runtime.run import Run

Claims = Callable[[Any], Mapping[str, Any] | None]
"""From an output to the values it states for the contract's answer slots; None where it does not say "done"."""


def stated_by(run: Run, output: Any, claims: Claims | None) -> tuple[bool, Mapping[str, Any] | None]:
    """Return (whether an output says "done", the values it states; None where they are to be read from its text).

    Raises:
        InputError: `claims` names a slot that the contract does not have: the host's mistake, which no model can mend.
    """
    stated = _members(run, output) if claims is None else claims(output)
    if stated is None:
        return claims is None, None
    _check_slots(run, stated)
    return True, stated


def _members(run: Run, output: Any) -> Mapping[str, Any] | None:
    """Return the members of a structured output that are named like answer slots; None for a text, which is read."""
    if isinstance(output, str):
        return None
    if isinstance(output, Mapping):
        members: Mapping[str, Any] = output
    elif isinstance(output, BaseModel):
        members = {name: getattr(output, name) for name in type(output).model_fields}
    elif is_dataclass(output):
        members = {f.name: getattr(output, f.name) for f in fields(output)}
    else:
        members = {}
    return {slot.name: members[slot.name] for slot in run.contract.answer if slot.name in members}


def _check_slots(run: Run, stated: Mapping[str, Any]) -> None:
    slots = tuple(slot.name for slot in run.contract.answer)
    unknown = [name for name in stated if name not in slots]
    if unknown:
        raise InputError(
            f"the contract asks for no {', '.join(f'`{name}`' for name in unknown)}",
            where="claims",
            fix=f"one of: {', '.join(slots)}" if slots else "leave it out: this contract has no answer slots",
        )
