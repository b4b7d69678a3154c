"""What the host, the user, principals and the model say during a run: each as a typed event by its own speaker.

None of these is a receipt. What the host records about the user (confirmations, stated values, wishes) and what
principals sign has force; what the model says is kept and compared, never believed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any, Final, Literal, get_args

from msgspec import UNSET

from tallystick.contracts.types import Contract, Effect, Tool
from tallystick.errors import InputError
from tallystick.model import jsontext
from tallystick.model.canonical import canonical, digest
from tallystick.model.events import (
    Actor,
    AnyBody,
    Confirmation,
    Lifted,
    Obliged,
    OperationClosed,
    Raised,
    Reported,
    Said,
    SchemaChanged,
    Settled,
    Stated,
    Wish,
)
from tallystick.model.exact import tagged
from tallystick.model.values import EntityRef, instant_of
from tallystick.progress import Report
from tallystick.runtime.blocking import Shown, instant_in, rows_of
from tallystick.runtime.claims import exact_value
from tallystick.runtime.journal import AGENT, HOST, Journal, stamp
from tallystick.runtime.known import args_named, entity_named, kind_named, names_in, one_of, text_of, tool_named
from tallystick.runtime.letters import Signed, send
from tallystick.runtime.standing import Reporting, RunProgress

USER = Actor(role="user", id="user")
LeftAside = Literal["fallback", "expired"]
ROLES: Final = ("user", "assistant", "agent", "system", "developer", "tool")
"""Who a transport can say spoke."""


class Statements:
    """The part of a `Run` that records what somebody said.

    Every method raises `LedgerError` where the ledger cannot record it, and `InputError` once the run has ended, and
    for a tool, argument, kind of entity, condition, obligation or operation that is not known here: a misspelt name
    would block, ask or owe nothing.
    """

    def __init__(self, journal: Journal, contract: Contract, reporting: Reporting) -> None:
        self._journal = journal
        self._contract = contract
        self._registered: Mapping[str, Callable[..., Any]] = {}
        self._reporting = reporting

    # --- the host, about the user

    def confirm(self, kind: str, id: str, name: str = "", value: Any = None) -> None:  # noqa: A002 - an entity's id
        """Record that the user chose the entity `kind`/`id`, or confirmed `value` for its field `name`."""
        kind_named(self._contract, kind, "confirm")
        text_of("id", id, "confirm")
        if name:
            one_of(f"field of {kind}", name, self._contract.entities[kind].fields, "confirm")
        self._say(
            Confirmation(entity_kind=kind, entity_id=id, name=name, value=_text(value, name) if name else ""), HOST
        )

    def state(self, field: str, value: Any, *, entity: EntityRef | None = None, text: str = "") -> None:
        """Record a value the user stated, e.g. an amount or a date; `withdrawn`, true takes the request back."""
        self._say(Stated(field=field, value=_text(value, field), entity=_entity(entity), text=text), HOST)

    def wish(self, text: str = "", *, tool: str | None = None, id: str | None = None) -> str:  # noqa: A002
        """Record that the user asks (again): an effect equal to an earlier one is no duplicate then. Returns its id."""
        if tool is not None:
            self._tool(tool, "wish: tool")
        with self._journal.lock:
            name = id or f"w{len(self._journal.view.wishes) + 1}"
            self._say(Wish(id=name, text=text, tool=tool), HOST)
        return name

    # --- the host, about the work

    def oblige(
        self,
        id: str,  # noqa: A002 - an obligation's id
        text: str = "",
        *,
        tool: str | None = None,
        args: Mapping[str, Any] | None = None,
        entity: EntityRef | None = None,
    ) -> None:
        """Record something owed that was added after the start: by a call of `tool` with these arguments, if given."""
        text_of("id", id, "oblige")
        if tool is not None:
            self._tool(tool, "oblige: tool")
            known = self._contract.tools.get(tool)
            if known is not None and known.effect == "read" and not known.effect_cases:
                raise InputError(f"`{tool}` only reads, so no call of it can discharge this", where="oblige: tool",
                                 fix="name the tool whose effect is owed")  # fmt: skip
        elif args:
            raise InputError("arguments are given, but no tool", where="oblige", fix="name the tool that is owed")
        args_named(self._declared((tool,) if tool is not None else ()), args or {}, "oblige: args")
        entity_named(self._contract, entity, "oblige: entity")
        if id in self._journal.view.obligations:
            raise InputError(f"`{id}` is owed already", where="oblige", fix="another id for another obligation")
        pairs = [[name, jsontext.dumps(exact_value(value, name))] for name, value in (args or {}).items()]
        self._say(Obliged(id=id, text=text, tool=tool, args=pairs, entity=_entity(entity)), HOST)

    def impossible(self, obligation: str, receipts: Iterable[str] | str) -> None:
        """Record that receipts (their ids, or one id) show an obligation to be impossible."""
        view = self._journal.view
        one_of("obligation", obligation, view.obligations, "impossible")
        shown = names_in("receipt", receipts, "impossible: receipts")
        for ref in shown:
            if view.receipt(ref) is None:
                one_of("receipt", ref, [r.id for r in view.receipts], "impossible: receipts")
        self._say(Settled(id=obligation, how="impossible", by=HOST.id, evidence=list(shown)), HOST)

    def block(
        self,
        id: str,  # noqa: A002 - a condition's id
        removes: Iterable[str] | str,
        *,
        status: str = "",
        prerequisite: str = "",
        authority: str = "",
        fallback: str = "",
        entity: EntityRef | None = None,
        args: Mapping[str, Any] | None = None,
        operation: str | None = None,
        by: str = "host",
        expires: datetime | None = None,
        evidence: Iterable[str] | str = (),
        until: Shown | None = None,
    ) -> None:
        """Raise a condition: the tools in `removes` do not run until it is lifted.

        Its authority's signed event lifts it, or a receipt that shows `until` for this very entity and these very
        arguments. Left aside through its fallback, it still removes them.

        Args:
            id: name of the condition.
            removes: tools it removes, or the name of one.
            status: the stop status, e.g. `do not pay`.
            prerequisite: what has to be established.
            authority: the role or principal that can say so.
            fallback: what may be done meanwhile.
            entity: only calls about this entity are removed.
            args: only calls with these argument values are removed.
            operation: the condition ends with this operation.
            by: who raised it.
            expires: instant from which it removes nothing any more; None never.
            evidence: ids of the receipts it was raised on, if any.
            until: what a receipt has to show for its prerequisite to be satisfied; None leaves that to its authority.
        """
        text_of("id", id, "block")
        tools = [self._tool(name, "block: removes") for name in names_in("tool", removes, "block: removes")]
        args_named(self._declared(tools), args or {}, "block: args")
        entity_named(self._contract, entity, "block: entity")
        if operation is not None:
            text_of("operation", operation, "block: operation")
        shown = names_in("receipt", evidence, "block: evidence") if evidence else ()
        for ref in shown:
            if self._journal.view.receipt(ref) is None:
                one_of("receipt", ref, [r.id for r in self._journal.view.receipts], "block: evidence")
        scope = [[name, jsontext.dumps(exact_value(value, name))] for name, value in (args or {}).items()]
        self._say(
            Raised(
                id=id, removes=tools, scope=scope, entity=_entity(entity), status=status,
                prerequisite=prerequisite, authority=authority, fallback=fallback, operation=operation, by=by,
                expires=UNSET if expires is None else stamp(instant_in("expires", expires)),
                evidence=list(shown) or UNSET,
                until=UNSET if until is None else rows_of(self._contract, until, entity, args or {}),
            ),
            HOST,
        )  # fmt: skip

    def leave_aside(self, condition: str, how: LeftAside = "fallback") -> None:
        """Record that a condition was left aside through its fallback, or expired. Resolving it takes its authority.

        Left aside, it no longer bars the end of the run; what it removes stays removed. One that has a time is over
        when that has come, and one that an authority decides does not run out unless it was raised with a time.
        """
        one_of("raised condition", condition, self._journal.view.conditions, "leave_aside")
        one_of("way to leave a condition aside", how, get_args(LeftAside), "leave_aside: how")
        body = self._journal.view.conditions[condition].body
        if how == "fallback" and not body.fallback:
            raise InputError(f"`{condition}` names no fallback, so it cannot be left aside", where="leave_aside",
                             fix=f"its authority resolves it: {body.authority or 'any principal'}")  # fmt: skip
        if how == "expired" and not body.expires and body.authority:
            raise InputError(f"`{condition}` was raised without a time, so it does not run out", where="leave_aside",
                             fix=f"its authority resolves it: {body.authority}")  # fmt: skip
        if how == "expired" and body.expires and self._journal.clock() < instant_of(body.expires):
            raise InputError(f"`{condition}` is not over before {body.expires}", where="leave_aside",
                             fix="wait, or let its authority resolve it")  # fmt: skip
        self._say(Lifted(id=condition, how=how, by=HOST.id), HOST)

    def close_operation(self, operation: str) -> None:
        """Record that a named operation is over; conditions limited to it end."""
        raised = [record.body.operation for record in self._journal.view.conditions.values()]
        one_of("operation", operation, [name for name in raised if name is not None], "close_operation")
        self._say(OperationClosed(operation=operation), HOST)

    def schema_changed(self, tool: str, schema: Mapping[str, Any] | None, *, effect: str | None = None) -> None:
        """Record that a live tool's schema, or its effect class, is not what the contract was reviewed against."""
        one_of("tool", tool, self._contract.tools, "schema_changed")
        if effect is not None:
            one_of("effect", effect, get_args(Effect), "schema_changed: effect")
        text = jsontext.dumps(dict(schema)) if schema is not None else ""
        sha256 = digest(canonical(tagged(jsontext.loads(text))) if text else b"")
        self._say(SchemaChanged(tool=tool, sha256=sha256, schema=text, effect=effect), HOST)

    # --- principals

    def deliver(self, body: Signed) -> None:
        """Hand over an event a principal signed (`runtime.principals`). Another process posts it to the store instead.

        It is taken in before the next decision; only its signature gives it force.

        Raises:
            InputError: it is not signed.
        """
        send(self._journal.store, self._journal.run, body)

    # --- words

    def says(self, role: str, text: str, *, native_id: str | None = None, truncated: bool = False) -> None:
        """Record words. `role` is who the transport says spoke; words are claims, whoever says them."""
        one_of("role", role, ROLES, "says: role")
        actor = USER if role == "user" else AGENT
        self._say(Said(role=role, text=text, native_id=native_id, truncated=truncated), actor)
        if role in ("assistant", "agent"):
            self._reporting.hear(text, truncated=truncated, said=True)

    def report(self, stage: str = "", text: str = "") -> None:
        """Record the model's own report of where it stands. Compared with the record, never believed.

        Args:
            stage: what it names; "" where the report is not well formed.
            text: its words; where both are empty, a report was due and there is none.
        """
        self._reporting.record(Reported(stage=stage, text=text))

    def hear(self, text: str, *, truncated: bool = False) -> Report:
        """Read a report out of the agent's words, record and return it; for turns that `says` and `finish` do not see.

        Absent, and nothing recorded, unless the guard was told how the agent was asked to report (`Guard(report=…)`).
        """
        return self._reporting.hear(text, truncated=truncated)

    def progress(self) -> RunProgress:
        """Return where the run stands by its record, and beside it the model's last report and whether it was true."""
        return self._reporting.progress()

    # --- inside

    def _tool(self, name: str, where: str) -> str:
        return tool_named(self._contract, name, where, self._registered)

    def _declared(self, names: Iterable[str]) -> list[Tool]:
        return [self._contract.tools[name] for name in names if name in self._contract.tools]

    def _say(self, body: AnyBody, actor: Actor) -> None:
        with self._journal.lock:
            if self._journal.view.ended is not None or self._journal.broken:
                raise InputError(
                    "the run has ended, or its record cannot be continued", where=f"run `{self._journal.run}`"
                )
            self._journal.append(body, actor, durable=False)


def _entity(ref: EntityRef | None) -> list[str]:
    return [ref.kind, ref.id] if ref is not None else []


def _text(value: Any, where: str) -> str:
    return jsontext.dumps(exact_value(value, where))
