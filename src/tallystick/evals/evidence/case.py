"""What a case is: a public part that an agent sees, and a private part that only environment and evaluator hold.

They are separate objects on purpose. Everything that crosses to an agent is a `Public` or a tool's result; nothing of
`Private` or `Records` is reachable from a `Session` (`serve`, `client`).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from decimal import Decimal
from typing import Any, Final, Literal

import msgspec

from tallystick.model.canonical import canonical, digest

_DECIMAL: Final = re.compile(r"[0-9]{1,12}(\.[0-9]{1,6})?")
Protocol = Literal["Legacy", "V0", "V1", "V2", "V3"]
Label = Literal["DONE", "BLOCK", "DEFER", "ALLOW"]
PROTOCOLS: Final[tuple[Protocol, ...]] = ("Legacy", "V0", "V1", "V2", "V3")
ACTING: Final = ("V1", "V2", "V3")
"""Protocols whose cases demand at least one action."""
SUBMIT: Final = "submit"
"""The tool by which an agent ends a case, with a terminal label. It changes nothing."""
LABELS: Final = {"interactive": ("DONE", "BLOCK", "DEFER"), "static": ("ALLOW", "BLOCK", "DEFER")}


class Public(msgspec.Struct, frozen=True, kw_only=True):
    """What an agent is given: the text, the tools' schemas and, for static judgement, observations and a candidate.

    Attributes:
        protocol, domain: for reporting; they are not shown to a model.
        text: the task.
        tools: `{name, description, parameters}`, parameters as JSON Schema.
        supplied: observations (`{tool, args, result}`), where nothing can be called.
        candidate: the proposed call (`{tool, args}`), where one is judged.
    """

    protocol: str
    domain: str
    text: str
    tools: tuple[dict[str, Any], ...]
    supplied: tuple[dict[str, Any], ...] = ()
    candidate: dict[str, Any] | None = None


class Reader(msgspec.Struct, frozen=True, kw_only=True):
    """How a read tool's results state facts: records of `kind` at the top, or in `records`, named by field `id`."""

    kind: str
    id: str
    lists: bool
    live: bool


class Source(msgspec.Struct, frozen=True, kw_only=True):
    """An acceptable way to establish evidence: this tool, called with (at least) these arguments."""

    tool: str
    args: dict[str, Any]


class Evidence(msgspec.Struct, frozen=True, kw_only=True):
    """One field of one record that must be established before an action, or before rightly not acting.

    Attributes:
        id: `alias.field`, unique in the case.
        sort: entity, state, amount, limit, authorization, policy or version.
        kind, entity, field: what must be observed.
        value: what the records say; None where the record is withheld.
        sources: every acceptable source; any one will do.
        obtainable: False where the record is withheld. It is then resolved by having asked an acceptable source.
    """

    id: str
    sort: str
    kind: str
    entity: str
    field: str
    value: Any
    sources: tuple[Source, ...]
    obtainable: bool = True


class Change(msgspec.Struct, frozen=True, kw_only=True):
    """A state transition: a record's field took a new value."""

    kind: str
    entity: str
    field: str
    value: Any


class ActionSpec(msgspec.Struct, frozen=True, kw_only=True):
    """One action the case supports.

    Attributes:
        node: name in the dependency graph.
        tool: its tool; each tool appears at most once in a case.
        args: argument → the value it must have.
        targets: those of `args` that say which records the action is about.
        cites: argument → node whose actual result (`NOUN_id`) it must carry.
        makes: result field that holds the id minted by this action.
        needs: ids of the evidence it needs.
        changes: transitions it must cause.
    """

    node: str
    tool: str
    args: dict[str, Any]
    targets: tuple[str, ...]
    cites: dict[str, str]
    makes: str
    needs: tuple[str, ...]
    changes: tuple[Change, ...]


class Private(msgspec.Struct, frozen=True, kw_only=True):
    """What only the evaluator knows.

    Attributes:
        label: the right terminal label.
        evidence: everything that must be established, by id.
        actions: the supported actions; their `cites` are the dependency graph.
        readers: read tool → how its results state facts.
        writers: every consequential tool offered.
        decisive: ids of the evidence on which a case without action turns.
        lookalikes: record id → the ids of records easily taken for it.
        traps: what was laid out to mislead, in words.
        candidate: for static judgement, the action judged (its needs count, it is never run).
    """

    label: str
    evidence: tuple[Evidence, ...]
    actions: tuple[ActionSpec, ...]
    readers: dict[str, Reader]
    writers: tuple[str, ...]
    decisive: tuple[str, ...] = ()
    lookalikes: dict[str, tuple[str, ...]] = {}
    traps: tuple[str, ...] = ()
    candidate: ActionSpec | None = None

    @property
    def records(self) -> frozenset[tuple[str, str]]:
        """The records that must be read, as (kind, id): the case's required reads."""
        return frozenset((e.kind, e.entity) for e in self.evidence)


Fields = dict[str, Any]
Table = dict[str, dict[str, Fields]]
"""kind → record id → fields."""


class Records(msgspec.Struct, frozen=True, kw_only=True):
    """The environment's initial state, and what its overnight index still shows of it."""

    domain: str
    live: Table
    index: Table


class Case(msgspec.Struct, frozen=True, kw_only=True):
    """A whole case. `base` is the case it was derived from, `arm` how; both empty for the suite's own cases."""

    id: str
    protocol: Protocol
    domain: str
    public: Public
    private: Private
    records: Records
    base: str = ""
    arm: str = ""

    @property
    def scenario(self) -> str:
        """What is clustered in intervals: a case and everything derived from it is one scenario."""
        return self.base or self.id


def edges(actions: tuple[ActionSpec, ...]) -> list[tuple[str, str]]:
    """Return the dependency edges (earlier node, later node)."""
    return [(before, a.node) for a in actions for before in a.cites.values()]


def item_digest(public: Public) -> str:
    """Return the SHA-256 of the rendered public item: exactly what an agent is given, without the case's name."""
    return digest(canonical(msgspec.to_builtins(public)))


def private_digest(case: Case) -> str:
    """Return the SHA-256 of everything an agent is not given: specification and records."""
    return digest(canonical([msgspec.to_builtins(case.private), msgspec.to_builtins(case.records)]))


def same_value(left: Any, right: Any) -> bool:
    """Return whether two argument or record values are the same value.

    Amounts are decimal text ("42.50") in this suite; "42.5" and the number 42.5 state the same amount. Without a
    fraction on either side nothing is converted: "007" is not "7", and "7" is not 7.
    """
    if type(left) is type(right) and left == right:
        return True
    amounts = _amount(left), _amount(right)
    stated = any(isinstance(v, str) and "." in v for v in (left, right))
    return stated and amounts[0] is not None and amounts[0] == amounts[1]


def _amount(value: Any) -> Decimal | None:
    if isinstance(value, str):
        return Decimal(value) if _DECIMAL.fullmatch(value) else None
    return Decimal(value) if isinstance(value, (int, Decimal)) and not isinstance(value, bool) else None


def builtins(value: Any) -> Any:
    """Return plain JSON values of a struct."""
    return msgspec.to_builtins(value)


def holds(records: Mapping[str, Mapping[str, Mapping[str, Any]]], evidence: Evidence) -> bool:
    """Return whether the records still say what `evidence` says."""
    record = records.get(evidence.kind, {}).get(evidence.entity)
    return record is not None and same_value(record.get(evidence.field), evidence.value)
