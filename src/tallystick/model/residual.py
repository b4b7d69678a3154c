"""A takeover's data: the frozen residual contract, what a successor proposes, and the closed graph made of it.

Everything here has one canonical byte form (RFC 8785): strings, lists of strings, small integers. JSON values are kept
as canonical JSON text. Source: residual completion, sections 3.2 (contract) and 3.3 (graph).
"""

from __future__ import annotations

from typing import Any, Final, Literal, TypeVar

import msgspec

from tallystick.errors import InputError
from tallystick.model import jsontext
from tallystick.model.canonical import digest

FROM: Final = "$from"
AT: Final = "$at"
"""`{"$from": SOURCE, "$at": POINTER}` stands for what a source says at a JSON Pointer: the source is the id of an
earlier call of the proposal, the id of a live receipt of the contract, or `task`, the task's inputs."""

S = TypeVar("S", bound="Frozen")


class Frozen(msgspec.Struct, frozen=True, kw_only=True):
    """Base of what is hashed: `canonical` is its RFC 8785 form, `sha256` the digest of it."""

    def canonical(self) -> str:
        """Return the canonical JSON text."""
        return _ENCODER.encode(self).decode("utf-8")

    @property
    def sha256(self) -> str:
        """SHA-256 of the canonical JSON text, hexadecimal."""
        return digest(_ENCODER.encode(self))


_ENCODER: Final = msgspec.json.Encoder(order="sorted")


class Binding(Frozen, frozen=True, kw_only=True):
    """An accepted choice (B): the user confirmed it, or the task fixed it. It may precede any effect.

    Attributes:
        kind, id: the entity it is about; "" for a plain input of the task.
        name: "" the entity itself was chosen; else the field, or the task's input.
        value: canonical JSON of the value; "" where the entity itself is the choice.
        source: who said so; support: digest of the event that says it.
    """

    kind: str = ""
    id: str = ""
    name: str = ""
    value: str = ""
    source: Literal["task", "confirmation", "statement"]
    support: str


class Kept(Frozen, frozen=True, kw_only=True):
    """A realised effect (K), protected against repetition and reversal.

    Attributes:
        tool, call: what realised it; key: its effect key; item: the batch item.
        entities: [kind, id] each, as the call addressed them.
        receipt: id of the receipt that shows it, "" where a principal settled it.
        support: digest of the event that shows it.
    """

    tool: str
    call: str
    key: str
    entities: list[list[str]] = []
    item: str = ""
    receipt: str = ""
    support: str


class Entity(Frozen, frozen=True, kw_only=True):
    """A verified entity (E): a live receipt established that it exists."""

    kind: str
    id: str
    support: str


class Evidence(Frozen, frozen=True, kw_only=True):
    """A live receipt (E) whose fields the continuation may refer to."""

    receipt: str
    tool: str
    support: str


class Owed(Frozen, frozen=True, kw_only=True):
    """An open obligation (O), per instance.

    Attributes:
        kind: event: an effect discharges it, for good; state: `fact` must hold at the end; duty: a standing duty of
            the contract that a call of the prefix brought about.
        tools: tools of which one discharges it; empty where only facts do.
        entity: [kind, id], or [] for none in particular.
        args: [name, canonical JSON] pairs the discharging call must have.
        fact: source of the expression, for the state kind.
        origin: task: of the contract's template; added: by host or principal; extracted: by an extractor; duty.
        support: digest of the event it stems from.
    """

    id: str
    kind: Literal["event", "state", "duty"]
    text: str = ""
    tools: list[str] = []
    entity: list[str] = []
    args: list[list[str]] = []
    fact: str = ""
    origin: Literal["task", "added", "extracted", "duty"] = "task"
    support: str


class Admissible(Frozen, frozen=True, kw_only=True):
    """An effect the remainder may have (S): this tool, this entity, these arguments, so many times.

    Attributes:
        obligation: what it discharges; "" for an effect the host allowed on the way; `duty:ID` for one that a standing
            duty will owe because of what the remainder itself does.
        entity: [kind, id], or [] for any verified entity.
        args: [name, canonical JSON] pairs that are fixed.
        times: how often; 0 for any number (what the host allowed), or as often as the duty comes about.
    """

    tool: str
    obligation: str = ""
    entity: list[str] = []
    args: list[list[str]] = []
    times: int = 1


class Residual(Frozen, frozen=True, kw_only=True):
    """The residual contract z_f = (K, E, O, S, A), with the bindings B that were compiled into it.

    It is made before the successor is asked, and nothing later widens, weakens or rewrites it.

    Attributes:
        run, tenure: which takeover it is for.
        upto: seq of the last event it was made from; head: that event's digest.
        request: what the requester asked, in words.
        bindings (B), kept (K), entities and receipts (E), owed (O), effects (S), interfaces (A: tool names).
        words: digests of the user's messages whose values an argument may take up.
        free: [tool, argument] pairs whose text needs no source: a note, a summary. Named by the host.
    """

    run: str
    tenure: str
    upto: int
    head: str
    request: str = ""
    bindings: list[Binding] = []
    kept: list[Kept] = []
    entities: list[Entity] = []
    receipts: list[Evidence] = []
    words: list[str] = []
    owed: list[Owed] = []
    effects: list[Admissible] = []
    interfaces: list[str] = []
    free: list[list[str]] = []


class Node(Frozen, frozen=True, kw_only=True):
    """One typed call of the closed graph.

    Attributes:
        args: canonical JSON object; a dynamic value is `{"$from": node or receipt, "$at": pointer}`.
        after: ids of the calls it depends on: stated order and data together, without duplicates.
        covers: obligations it discharges as far as its typed effect says; computed, never taken from the proposal.
        keys: its effect keys; empty where a dynamic value is part of them, or for a read.
        entities: [kind, id] each that it addresses, as far as they are known.
        expect: [pointer, canonical JSON] pairs its live result must show, beside the contract's own `ok`.
    """

    id: str
    tool: str
    effect: Literal["read", "write", "preview"]
    args: str
    after: list[str] = []
    covers: list[str] = []
    keys: list[str] = []
    entities: list[list[str]] = []
    expect: list[list[str]] = []


class Terminal(Frozen, frozen=True, kw_only=True):
    """The terminal response: words, and the values of the answer slots; `{slot}` in the text stands for its value.

    `claims` are [slot, canonical JSON] pairs, dynamic values as in `Node.args`.
    """

    text: str = ""
    claims: list[list[str]] = []
    outcome: Literal["acted"] = "acted"


class Graph(Frozen, frozen=True, kw_only=True):
    """The whole remainder (H), closed: calls in dependency order, and the terminal response. Inspectable, untrusted."""

    residual: str  # sha256 of the contract it is closed against
    nodes: list[Node] = []
    terminal: Terminal


def json_text(value: Any) -> str:
    """Return the one JSON text a value has here: members sorted, numbers digit for digit as `jsontext` reads them.

    Raises:
        InputError: not a JSON value.
    """
    return jsontext.dumps(_sorted(value))


def _sorted(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _sorted(value[name]) for name in sorted(value)}
    if isinstance(value, (list, tuple)):
        return [_sorted(item) for item in value]
    return value


def residual_of(text: str) -> Residual:
    """Return the contract that `Residual.canonical` wrote.

    Raises:
        InputError: it is not one, or not in its canonical form.
    """
    return _read(text, Residual, "residual contract")


def graph_of(text: str) -> Graph:
    """Return the graph that `Graph.canonical` wrote.

    Raises:
        InputError: it is not one, or not in its canonical form.
    """
    return _read(text, Graph, "residual graph")


def _read(text: str, kind: type[S], name: str) -> S:
    try:
        found = msgspec.json.decode(text, type=kind)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as bad:
        raise InputError(f"not a {name}: {bad}") from None
    if found.canonical() != text:
        raise InputError(f"not a {name} in canonical form (RFC 8785)")
    return found
