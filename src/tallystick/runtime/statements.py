"""What the host, the user, principals and the model say during a run: each as a typed event by its own speaker.

None of these is a receipt. What the host records about the user (confirmations, stated values, wishes) and what
principals sign has force; what the model says is kept and compared, never believed.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

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
    tagged,
)
from tallystick.model.values import EntityRef
from tallystick.runtime.claims import exact_value
from tallystick.runtime.journal import AGENT, HOST, Journal
from tallystick.runtime.letters import Signed, send

USER = Actor(role="user", id="user")


class Statements:
    """The part of a `Run` that records what somebody said.

    Every method raises `LedgerError` where the ledger cannot record it, and `InputError` once the run has ended.
    """

    def __init__(self, journal: Journal) -> None:
        self._journal = journal

    # --- the host, about the user

    def confirm(self, kind: str, id: str, name: str = "", value: Any = None) -> None:  # noqa: A002 - an entity's id
        """Record that the user chose the entity `kind`/`id`, or confirmed `value` for its field `name`."""
        self._say(
            Confirmation(entity_kind=kind, entity_id=id, name=name, value=_text(value, name) if name else ""), HOST
        )

    def state(self, field: str, value: Any, *, entity: EntityRef | None = None, text: str = "") -> None:
        """Record a value the user stated, e.g. an amount or a date; `withdrawn`, true takes the request back."""
        self._say(Stated(field=field, value=_text(value, field), entity=_entity(entity), text=text), HOST)

    def wish(self, text: str = "", *, tool: str | None = None, id: str | None = None) -> str:  # noqa: A002
        """Record that the user asks (again): an effect equal to an earlier one is no duplicate then. Returns its id."""
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
        pairs = [[name, jsontext.dumps(exact_value(value, name))] for name, value in (args or {}).items()]
        self._say(Obliged(id=id, text=text, tool=tool, args=pairs, entity=_entity(entity)), HOST)

    def impossible(self, obligation: str, receipts: tuple[str, ...]) -> None:
        """Record that receipts show an obligation to be impossible. Without a receipt it has no force."""
        self._say(Settled(id=obligation, how="impossible", by=HOST.id, evidence=list(receipts)), HOST)

    def block(
        self,
        id: str,  # noqa: A002 - a condition's id
        removes: tuple[str, ...],
        *,
        status: str = "",
        prerequisite: str = "",
        authority: str = "",
        fallback: str = "",
        entity: EntityRef | None = None,
        args: Mapping[str, Any] | None = None,
        operation: str | None = None,
        by: str = "host",
    ) -> None:
        """Raise a condition: the tools in `removes` do not run until it is lifted.

        Args:
            id: name of the condition.
            removes: tools it removes.
            status: the stop status, e.g. `do not pay`.
            prerequisite: what has to be established.
            authority: the role or principal that can say so.
            fallback: what may be done meanwhile.
            entity: only calls about this entity are removed.
            args: only calls with these argument values are removed.
            operation: the condition ends with this operation.
            by: who raised it.
        """
        scope = [[name, jsontext.dumps(exact_value(value, name))] for name, value in (args or {}).items()]
        self._say(
            Raised(
                id=id, removes=list(removes), scope=scope, entity=_entity(entity), status=status,
                prerequisite=prerequisite, authority=authority, fallback=fallback, operation=operation, by=by,
            ),
            HOST,
        )  # fmt: skip

    def leave_aside(self, condition: str, how: Literal["fallback", "expired"] = "fallback") -> None:
        """Record that a condition was left aside through its fallback, or expired. Resolving it takes its authority."""
        self._say(Lifted(id=condition, how=how, by=HOST.id), HOST)

    def close_operation(self, operation: str) -> None:
        """Record that a named operation is over; conditions limited to it end."""
        self._say(OperationClosed(operation=operation), HOST)

    def schema_changed(self, tool: str, schema: Mapping[str, Any] | None, *, effect: str | None = None) -> None:
        """Record that a live tool's schema, or its effect class, is not what the contract was reviewed against."""
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
        actor = USER if role == "user" else AGENT
        self._say(Said(role=role, text=text, native_id=native_id, truncated=truncated), actor)

    def report(self, stage: str = "", text: str = "") -> None:
        """Record the model's own report of where it stands. Compared with the record, never believed."""
        self._say(Reported(stage=stage, text=text), AGENT)

    # --- inside

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
