"""The tool through which an agent says that it is done, made from the contract: a place for each value it must state.

What it is given is only what the agent says. The stop gate judges the claims like any others; nothing here makes one
true, and a slot that was left out is found missing there.
Source: evidence-carrying termination, "two ways to obtain certificates".
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING, Any, Final, get_args

from tallystick.contracts.answer_schema import in_words, nullable, schema_of
from tallystick.contracts.types import Contract, Slot, Task
from tallystick.errors import InputError
from tallystick.model import jsontext
from tallystick.model.proposal import Claim, StopOutcome
from tallystick.model.values import Type
from tallystick.runtime.drivers import Steps, drive
from tallystick.runtime.outcome import Finish
from tallystick.view.keys import entity_of

if TYPE_CHECKING:
    from tallystick.runtime.run import Run

NAME: Final = "finish"
OUTCOMES: Final[tuple[str, ...]] = get_args(StopOutcome)
ARGUMENTS: Final = ("text", "claims", "cites", "outcome")
_DESCRIPTION: Final = (
    "Say that the task is finished. Accepted only if the record supports it; otherwise the answer says what is missing "
    "and what would help. The task is not over until this is accepted."
)
_BY_TEXT: Final = " Without `claims`, the values are read from `text`, which must then state them plainly."
_OUTCOME: Final = (
    "acted: what was asked for is done. declined: it is right that it was not done. withdrawn: the requester took the "
    "request back."
)
_CITES: Final = "ids of the receipts the value of this name was read from; leave out where you do not know them"


class FinishTool:
    """The tool through which an agent says that it is done, for one run. Make it with `Run.finish_tool`.

    Calling it with what the model gave (an object, or its JSON text, which keeps every digit) proposes the stop and
    returns the `Finish`: `str()` of it is for the model, `to_json()` for programs. Arguments that cannot be read are a
    rejected stop like any other: they are answered with what is wrong, and asking again and again ends the run.

    Attributes:
        name: the tool's name.
        definition: name, description and inputSchema (JSON Schema).
    """

    def __init__(self, run: Run, *, name: str = NAME, strict: bool = False, by_text: bool = True) -> None:
        self._run = run
        self.name = name
        self.definition = finish_schema(run.contract, run.task, name=name, strict=strict, by_text=by_text)

    def __call__(self, args: Mapping[str, Any] | str | None = None, *, truncated: bool = False) -> Finish:
        """Propose that the run is over, with what the model gave.

        Args:
            args: the tool call's arguments.
            truncated: the turn that made the call was cut by length.
        """
        return drive(self.steps(args, truncated=truncated))

    async def acall(self, args: Mapping[str, Any] | str | None = None, *, truncated: bool = False) -> Finish:
        """As calling it, without blocking the event loop."""
        said, claims = self._read(args)
        return await self._run.afinish(said.text, claims, said.outcome, truncated=truncated)

    def steps(self, args: Mapping[str, Any] | str | None = None, *, truncated: bool = False) -> Steps[Finish]:
        """Return what calling it does as steps for a driver of one's own (`runtime.drivers`)."""
        said, claims = self._read(args)
        return self._run.finish_steps(said.text, claims, said.outcome, truncated=truncated)

    def _read(self, args: Mapping[str, Any] | str | None) -> tuple[Said, tuple[Claim, ...] | InputError | None]:
        try:
            given = jsontext.loads(args) if isinstance(args, str) else args
            said = said_in(self._run.contract, {} if given is None else given)
        except InputError as bad:
            text = args.get("text") if isinstance(args, Mapping) else None
            return Said(text=text if isinstance(text, str) else "", claims=None, outcome="acted"), bad
        return said, said.claims


@dataclass(frozen=True, kw_only=True, slots=True)
class Said:
    """What the arguments of a finish tool say.

    Attributes:
        text: what to tell the requester.
        claims: a claim per stated slot; None where nothing is said about claims at all, so that the values may be read
            from the text.
        outcome: acted, declined or withdrawn.
    """

    text: str
    claims: tuple[Claim, ...] | None
    outcome: StopOutcome


def finish_schema(
    contract: Contract, task: Task | None = None, *, name: str = NAME, strict: bool = False, by_text: bool = True
) -> dict[str, Any]:
    """Return the definition of the finish tool for a contract: name, description, inputSchema (JSON Schema).

    A slot's value has the JSON form of its type. No conditional says when a slot is required (strict schemas and
    several providers take none): its description does, and the stop gate asks for what is missing.

    Args:
        contract: whose answer slots are asked for.
        task: whose bindings say which entity a slot is about, for the descriptions.
        name: the tool's name.
        strict: in the subset that strict function calling takes: every argument is required, and null where it says
            nothing.
        by_text: whether values that are not claimed are read from the text.
    """
    slots = {s.name: _slot(s, task, strict) for s in contract.answer}
    properties: dict[str, Any] = {
        "text": {"type": "string", "description": "what to tell the requester"},
        "outcome": {"type": "string", "enum": list(OUTCOMES), "description": _OUTCOME},
    }
    if slots:
        cites = {"type": "array", "items": {"type": "string"}, "description": _CITES}
        properties["claims"] = _object("the values the answer must state", slots, strict)
        properties["cites"] = _object(
            "where each value was read",
            {s: nullable(cites) if strict else dict(cites) for s in slots}, strict,
        )  # fmt: skip
        if strict:
            properties["claims"], properties["cites"] = nullable(properties["claims"]), nullable(properties["cites"])
    return {
        "name": name,
        "description": _DESCRIPTION + (_BY_TEXT if slots and by_text else ""),
        "inputSchema": {
            "type": "object",
            "properties": properties,
            "required": list(properties) if strict else [],
            "additionalProperties": False,
        },
    }


def _object(description: str, properties: Mapping[str, Any], strict: bool) -> dict[str, Any]:
    return {
        "type": "object",
        "description": description,
        "properties": dict(properties),
        "required": list(properties) if strict else [],
        "additionalProperties": False,
    }


def _slot(slot: Slot, task: Task | None, strict: bool) -> dict[str, Any]:
    schema = schema_of(slot.type, strict=strict)
    if slot.type.name == "integer" and slot.quantifier == "count" and not strict:
        schema["minimum"] = 0
    return {**(nullable(schema) if strict else schema), "description": _described(slot, task)}


def _described(slot: Slot, task: Task | None) -> str:
    """Say in one line what a slot asks for: its form, what it is about, and where the record has it."""
    words = in_words(slot.type)
    if slot.entity is not None:
        ref = None if task is None else next(iter(entity_of(slot.entity, {"task": task.bindings})), None)
        words += f"; of {slot.entity.kind}" + (f" {ref.id}" if ref is not None else "")
    whole = {"all": "all of them", "none": "that there is none", "count": "how many there are"}.get(slot.quantifier)
    if whole:
        words += f"; {whole}, from a complete read"
    words += f"; the record must give it by `{slot.derive.source}`"
    return words + ("; required unless declined or withdrawn" if slot.required else "; may be left out")


# ---------------------------------------------------------------- what was said


def said_in(contract: Contract, args: object) -> Said:
    """Return what the arguments of a finish tool say.

    A null says nothing, except for a slot of an optional type in an answer that claims to have acted: there it states
    that there is nothing.

    Raises:
        InputError: they are no arguments of this tool, or a value has not its slot's type; `where` is the argument and
            `fix` what would be right.
    """
    given = _mapping("the arguments", args)
    for name in given:
        if name not in ARGUMENTS:
            raise InputError(f"there is no argument `{_short(name)}`", where="finish", fix=", ".join(ARGUMENTS))
    text = _or(given.get("text"), "")
    if not isinstance(text, str):
        raise InputError(f"{_kind(text)} is no text", where="text", fix="what to tell the requester, as text")
    outcome = next((o for o in get_args(StopOutcome) if o == _or(given.get("outcome"), "acted")), None)
    if outcome is None:
        raise InputError(f"`{_short(given['outcome'])}` is no outcome", where="outcome", fix=", ".join(OUTCOMES))
    stated, cites = given.get("claims"), given.get("cites")
    if stated is None and cites is None:
        return Said(text=text, claims=None, outcome=outcome)
    return Said(text=text, claims=claims_from(contract, _or(stated, {}), cites, outcome=outcome), outcome=outcome)


def claims_from(
    contract: Contract, claims: object, cites: object = None, *, outcome: StopOutcome = "acted"
) -> tuple[Claim, ...]:
    """Return the claims that values by slot, and receipts by slot, state; see `said_in`.

    Raises:
        InputError: an unknown slot, a value that has not its slot's type, a citation without its value.
    """
    slots = {s.name: s for s in contract.answer}
    values = _mapping("`claims`", claims, where="claims")
    receipts = {k: v for k, v in _mapping("`cites`", _or(cites, {}), where="cites").items() if v is not None}
    for where, names in (("claims", values), ("cites", receipts)):
        for name in names:
            if name not in slots:
                known = f"one of: {', '.join(slots)}" if slots else "leave it out: no values are asked for"
                raise InputError(f"no value `{_short(name)}` is asked for", where=where, fix=known)
    found: list[Claim] = []
    for name, value in values.items():
        slot = slots[name]
        if value is None and (not slot.type.optional or outcome != "acted"):
            continue
        found.append(
            Claim(
                slot=name,
                field=name,
                value=_value(slot, value),
                quantifier=slot.quantifier,
                cites=_cites(name, receipts.pop(name, ())),
            )
        )
    if receipts:
        name = next(iter(receipts))
        raise InputError(f"receipts are cited for `{name}`, and no value", where="cites", fix=f"state `{name}` too")
    return tuple(found)


def _value(slot: Slot, value: Any) -> Any:
    """Return the value as it was given, which is how the gate reads it; here only its form is looked at."""
    where = f"claims.{slot.name}"
    try:
        _no_float(value, where)
        slot.type.parse(value)
        _states_units(slot.type, value, where)
    except ValueError as bad:
        raise InputError(f"not a {slot.type}: {bad}", where=where, fix=in_words(slot.type)) from None
    except RecursionError:  # nested without end, or nearly
        raise InputError("nested too deep to be a value", where=where, fix=in_words(slot.type)) from None
    return value


def _states_units(type_: Type, value: Any, where: str) -> None:
    """Refuse a bare number where the contract gives its tool's numbers a scale: it could be meant either way."""
    if type_.scale and value is not None and not (isinstance(value, str) and len(value.split()) == 2):
        raise InputError("a bare number does not say its unit", where=where, fix=in_words(type_))
    if type_.item is not None and isinstance(value, (list, tuple)):
        for at, item in enumerate(value):
            _states_units(type_.item, item, f"{where}[{at}]")
    elif type_.fields and isinstance(value, Mapping):
        for name, item in value.items():
            _states_units(type_.fields[name], item, f"{where}.{name}")


def _no_float(value: Any, where: str) -> None:
    """Refuse a binary float: it may not be the number that was written."""
    if isinstance(value, float):
        raise InputError(f"{value!r} may not be the number that was written", where=where, fix="write it as text")
    if isinstance(value, Mapping):
        for name, item in value.items():
            _no_float(item, f"{where}.{name}")
    elif isinstance(value, (list, tuple)):
        for at, item in enumerate(value):
            _no_float(item, f"{where}[{at}]")


def _cites(name: str, given: object) -> tuple[str, ...]:
    if not isinstance(given, (list, tuple)) or not all(isinstance(ref, str) for ref in given):
        raise InputError("receipts are cited by a list of their ids", where=f"cites.{name}", fix='e.g. ["r1"]')
    return tuple(given)


def _mapping(what: str, given: object, *, where: str = "finish") -> Mapping[str, Any]:
    if not isinstance(given, Mapping) or not all(isinstance(k, str) for k in given):
        raise InputError(f"{what} must be one object with names, not {_kind(given)}", where=where,
                         fix='e.g. {"name": "value"}')  # fmt: skip
    return given


def _or(value: Any, default: Any) -> Any:
    return default if value is None else value


def _short(value: object) -> str:
    text = value if isinstance(value, str) else _kind(value)
    return text if len(text) <= 40 else text[:39] + "…"


def _kind(value: object) -> str:
    names = {
        dict: "an object",
        list: "a list",
        tuple: "a list",
        str: "a text",
        bool: "a boolean",
        type(None): "nothing",
    }
    number = isinstance(value, (int, float, Decimal))
    return names.get(type(value), "a number" if number else f"a {type(value).__name__}")
