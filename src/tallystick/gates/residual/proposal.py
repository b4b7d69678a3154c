"""A successor's whole proposal, as it is written: calls, and the terminal response. Nothing in it is believed.

`proposal.schema.json` beside this file is the published form; a test keeps the two in step.
Source: residual completion, section 3.3.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from tallystick.errors import InputError
from tallystick.gates.residual.refs import refs_in
from tallystick.model import jsontext
from tallystick.model.pointer import join, split

MAX_CALLS: Final = 10_000
"""Most calls of one proposal."""
MAX_BYTES: Final = 8 * 1024 * 1024
"""Longest proposal read."""
_ALONE: Final = "one JSON object alone, in the published form: no words around it, no code fence"
_CALL: Final = frozenset({"id", "tool", "args", "after", "covers", "expect"})


@dataclass(frozen=True, kw_only=True, slots=True)
class Proposed:
    """One call as the successor wrote it.

    Attributes:
        args: JSON values; a reference anywhere inside is still a reference.
        after: ids of the calls it says it follows; covers: the obligations it says it discharges, which is a claim.
        expect: JSON Pointer into its result → the value that must be there.
    """

    id: str
    tool: str
    args: Mapping[str, Any] = field(default_factory=dict)
    after: tuple[str, ...] = ()
    covers: tuple[str, ...] = ()
    expect: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True, slots=True)
class Proposal:
    """The whole remainder as the successor wrote it: its calls, its words, and its claims by answer slot."""

    calls: tuple[Proposed, ...] = ()
    text: str = ""
    claims: Mapping[str, Any] = field(default_factory=dict)


def parse_proposal(raw: bytes | str | Mapping[str, Any]) -> Proposal:
    """Return the proposal that a JSON text states, or a mapping of JSON values.

    Raises:
        InputError: it is not JSON, or not of the published form; `where` is the JSON Pointer of what is wrong.
    """
    if isinstance(raw, (bytes, str)):
        if len(raw) > MAX_BYTES:
            raise InputError(f"a proposal of {len(raw)} bytes", fix=f"at most {MAX_BYTES}")
        value = _read(raw)
    else:
        value, _ = jsontext.exact(dict(raw))
    members = _object(value, "", {"calls", "answer"})
    calls = _array(members.get("calls"), "/calls")
    if len(calls) > MAX_CALLS:
        raise InputError(f"{len(calls)} calls", where="/calls", fix=f"at most {MAX_CALLS}")
    answer = _object(members.get("answer", {}), "/answer", {"text", "claims"})
    return Proposal(
        calls=tuple(_call(item, f"/calls/{i}") for i, item in enumerate(calls)),
        text=_text(answer.get("text", ""), "/answer/text", empty=True),
        claims=_with_refs(answer.get("claims", {}), "/answer/claims"),
    )


def _read(raw: bytes | str) -> Any:
    if not raw.strip():
        raise InputError("nothing was handed in that is text or a mapping of JSON values", fix=_ALONE)
    try:
        return jsontext.loads(raw)
    except InputError as bad:
        raise InputError(bad.message, where=bad.where, fix=bad.fix or _ALONE) from None


def _call(value: Any, where: str) -> Proposed:
    members = _object(value, where, _CALL)
    for name in ("id", "tool"):
        if name not in members:
            raise InputError(f"`{name}` is missing", where=where, fix="every call has an id of its own and a tool")
    return Proposed(
        id=_text(members["id"], f"{where}/id"),
        tool=_text(members["tool"], f"{where}/tool"),
        args=_with_refs(members.get("args", {}), f"{where}/args"),
        after=_texts(members.get("after", []), f"{where}/after"),
        covers=_texts(members.get("covers", []), f"{where}/covers"),
        expect=_expected(members.get("expect", {}), f"{where}/expect"),
    )


def _with_refs(value: Any, where: str) -> Mapping[str, Any]:
    """Return an object whose references are all well formed; itself it is data, not a reference."""
    members = _object(value, where, None)
    for name, item in members.items():
        try:
            for _ in refs_in(item):
                pass
        except InputError as bad:
            raise InputError(bad.message, where=f"{where}{join((name,))}", fix=bad.fix) from None
    return members


def _expected(value: Any, where: str) -> Mapping[str, Any]:
    """Return what a result must show: values, and no references, which could say that it shows what it shows."""
    members = _object(value, where, None)
    for pointer, item in members.items():
        place = f"{where}{join((pointer,))}"
        try:
            split(pointer)
        except ValueError as bad:
            raise InputError(str(bad), where=place, fix="a JSON Pointer (RFC 6901) as the name") from None
        if next(refs_in(item, ()), None) is not None:
            raise InputError("a reference cannot be expected", where=place, fix="the value itself")
    return members


def _object(value: Any, where: str, known: set[str] | frozenset[str] | None) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise InputError("not an object", where=where or "/", fix="a JSON object")
    unknown = sorted(value.keys() - known) if known is not None else []
    if unknown:
        names = ", ".join(sorted(known or ()))
        raise InputError(f"unknown member `{unknown[0][:60]}`", where=where or "/", fix=f"one of: {names}")
    return value


def _array(value: Any, where: str) -> list[Any]:
    if not isinstance(value, list):
        raise InputError("not a list", where=where, fix="a JSON array")
    return value


def _text(value: Any, where: str, *, empty: bool = False) -> str:
    if not isinstance(value, str) or not (value or empty):
        raise InputError("not a text", where=where, fix="a JSON string" + ("" if empty else " that is not empty"))
    return value


def _texts(value: Any, where: str) -> tuple[str, ...]:
    return tuple(_text(item, f"{where}/{i}") for i, item in enumerate(_array(value, where)))
