"""Endpoint controls as adapters: what a guard may be told to ask before a consequential call, beside the act gate.

The act gate alone is the default: it refuses an action that an open blocker removes. A control comes after it and can
only refuse. Lookups run outside the run's critical section; one that fails, is late, or says anything but yes is a no.
"""

from __future__ import annotations

import inspect
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as FutureTimeout
from contextlib import closing
from dataclasses import dataclass
from typing import Any, Final, Protocol
from urllib.parse import urlsplit

from tallystick.contracts.types import Contract
from tallystick.errors import InputError
from tallystick.gates.evidence import scope_of
from tallystick.handoff import Form, carrier_of
from tallystick.handoff.controls import Hardness, Permission, approved, concerning, looked_up, visible_in
from tallystick.model import jsontext
from tallystick.model.decision import Decision, Verdict
from tallystick.model.proposal import Call
from tallystick.runtime.known import names_in, seconds_in, tool_named, typed
from tallystick.view import View

LOOKUP_SECONDS: Final = 10.0
MAX_ANSWER: Final = 65536
"""Bytes of a permission service's answer that are read."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Asked:
    """What a permission service is told.

    Attributes:
        args: the call's arguments; secret fields hold marks.
        entities: [kind, id] of what the call is about.
        blockers: ids of the blockers ever raised against this very call.
    """

    run: str
    tool: str
    args: Mapping[str, Any]
    entities: tuple[tuple[str, str], ...] = ()
    blockers: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values."""
        return {"run": self.run, "tool": self.tool, "args": dict(self.args), "blockers": list(self.blockers),
                "entities": [list(pair) for pair in self.entities]}  # fmt: skip


class Permissions(Protocol):
    """A permission service: anything that can be asked. What it raises is no answer."""

    def __call__(self, asked: Asked, /) -> Permission | bool:
        """Return its answer; a plain `True` allows, a plain `False` does not."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Control:
    """One endpoint control. Make it with `visible_authorisation`, `permission_lookup` or `human_approval`.

    Attributes:
        name: for people and records.
        tools: the tools it is asked about; None every consequential call.
        hardness: of a visible authorisation; permissions: of a lookup; role: of a human approval.
        timeout: seconds a lookup may take.
    """

    name: str
    tools: frozenset[str] | None = None
    hardness: Hardness | None = None
    permissions: Permissions | None = None
    role: str | None = None
    timeout: float = LOOKUP_SECONDS

    def recorded(self) -> list[str]:
        """Return how a run records that it is under this control: name, role, tools."""
        return [self.name, self.role or "", *sorted(self.tools or ())]

    def applies(self, tool: str, *, write: bool) -> bool:
        """Return whether it is asked about a call."""
        return write if self.tools is None else tool in self.tools

    def ask(self, asked: Asked) -> Permission:
        """Ask the permission service. Anything but its plain yes or no is no answer; nothing is raised."""
        assert self.permissions is not None
        future: Future[Any] = Future()
        service = self.permissions

        def work() -> None:
            try:
                future.set_result(service(asked))
            except BaseException as bad:  # noqa: BLE001 - handed to whoever waits
                future.set_exception(bad)

        # A thread of its own and a daemon, as for tools: a service that hangs blocks no exit.
        threading.Thread(target=work, name="tallystick-lookup", daemon=True).start()
        try:
            bad = future.exception(self.timeout)  # what it raised, an exit too; an interrupt of ours goes through
        except FutureTimeout:
            return Permission(allow=None, reason=f"nothing within {self.timeout:g} s")
        if bad is not None:
            said = bad.message if isinstance(bad, InputError) else type(bad).__name__
            return Permission(allow=None, reason=said)
        answer = future.result()
        if isinstance(answer, Permission):
            return answer
        return Permission(allow=answer if isinstance(answer, bool) else None)


def visible_authorisation(*, hard: bool = True, tools: Iterable[str] | None = None) -> Control:
    """Return the control that asks whether what this run received shows that the action's blockers are resolved.

    Args:
        hard: only the record's own block, received with `Run.receive`, shows it; else plain words do too.
        tools: tools it is asked about; None every consequential call. Calls nothing ever blocked need show nothing.
    """
    return Control(name="visible-hard" if hard else "visible-soft", tools=_tools(tools),
                   hardness="hard" if hard else "soft")  # fmt: skip


def permission_lookup(
    permissions: Permissions, *, tools: Iterable[str] | None = None, timeout: float = LOOKUP_SECONDS
) -> Control:
    """Return the control that asks a permission service: a callable, `http_permissions` or `sql_permissions`.

    Raises:
        InputError: it cannot be called or is a coroutine function, or the timeout is out of range.
    """
    if not callable(permissions) or inspect.iscoroutinefunction(permissions):
        raise InputError("a permission service is a plain callable", where="permissions", fix="def ask(asked): …")
    return Control(name="lookup", tools=_tools(tools), permissions=permissions, timeout=seconds_in("timeout", timeout))


def human_approval(*, role: str = "", tools: Iterable[str] | None = None) -> Control:
    """Return the control that asks for a principal's signed approval of this very call.

    The call is then pending (`tallystick approve`), also after a restart, until a principal has decided.

    Args:
        role: role or id of who may; "" any principal of the run.
        tools: tools it is asked about; None every consequential call.
    """
    typed("role", role, str)
    return Control(name="human", tools=_tools(tools), role=role)


def _tools(given: Iterable[str] | None) -> frozenset[str] | None:
    if given is None:
        return None
    found = frozenset(names_in("tool", given, "tools")) if given not in ((), []) else frozenset()
    if not found:
        raise InputError("a control of no tools is asked about nothing", where="tools", fix="name one, or leave it out")
    return found


# ---------------------------------------------------------------------- asking


def asked_of(view: View, contract: Contract, call: Call) -> Asked:
    """Return what a permission service is told about a call."""
    tool = contract.tools.get(call.tool)
    refs = scope_of(view, contract, tool, call).entities.values() if tool is not None else ()
    return Asked(
        run=view.run,
        tool=call.tool,
        args=call.args,
        entities=tuple((ref.kind, ref.id) for ref in refs),
        blockers=tuple(dict.fromkeys(r.body.id for r in concerning(view, contract, call))),
    )


def controlled(
    control: Control,
    view: View,
    contract: Contract,
    call: Call,
    received: tuple[Any, Form] | None,
    permission: Permission | None,
) -> tuple[Decision, str | None]:
    """Return a control's answer about a call the act gate admits, and the digest of an approval it would use up.

    A lookup that was not made is one that gave no answer. Pure.
    """
    if control.hardness is not None:
        names = tuple(r.body.id for r in concerning(view, contract, call))
        nothing: tuple[Any, Form] = ("", "text")
        artifact, form = received or nothing
        record = carrier_of(view, contract, call.now)
        return visible_in(artifact, form, record, names, hardness=control.hardness, view=view), None
    if control.role is not None:
        return approved(view, call, control.role)
    return looked_up(permission or Permission(allow=None)), None


@dataclass(frozen=True, kw_only=True, slots=True)
class Checked:
    """What the controls of a guard say about a call the act gate admits.

    Attributes:
        refusal: why it does not run, or None.
        lookup: the control that has to ask its service first, and what it asks; or None.
        approvals: ids of approvals that running it uses up.
    """

    refusal: Decision | None = None
    lookup: tuple[Control, Asked] | None = None
    approvals: tuple[str, ...] = ()


def check(
    controls: Iterable[Control],
    view: View,
    contract: Contract,
    call: Call,
    *,
    write: bool,
    received: tuple[Any, Form] | None,
    answers: Mapping[str, Permission],
) -> Checked:
    """Return what the controls say, the first that refuses last. Pure; `answers` are those of lookups made, by name."""
    used: list[str] = []
    for control in controls:
        if not control.applies(call.tool, write=write):
            continue
        if control.permissions is not None and control.name not in answers:
            return Checked(lookup=(control, asked_of(view, contract, call)))
        decision, approval = controlled(control, view, contract, call, received, answers.get(control.name))
        if decision.verdict is not Verdict.ADMIT:
            return Checked(refusal=decision)
        if approval is not None:
            used.extend(r.body.id for r in view.approvals_of(call.tool) if r.digest == approval)
    return Checked(approvals=tuple(used))


class _NoRedirect(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        return None  # a permission is not something another address can give


def http_permissions(
    url: str, *, headers: Mapping[str, str] | None = None, timeout: float = LOOKUP_SECONDS
) -> Permissions:
    """Return a permission service behind HTTP: the question is POSTed as JSON, `{"allow": true}` allows.

    Args:
        url: http or https; redirects are not followed.
        headers: sent with each request, e.g. an authorisation.
        timeout: seconds for each step of the connection.

    Raises:
        InputError: no http(s) address.
    """
    if not _is_http(url):
        raise InputError(f"`{url}` is no http address", where="url", fix="https://…")
    opener = urllib.request.build_opener(_NoRedirect)
    sent = {"Content-Type": "application/json", "Accept": "application/json", **(headers or {})}

    def ask(asked: Asked) -> Permission:
        body = jsontext.dumps(jsontext.exact(asked.to_json())[0]).encode("utf-8")
        request = urllib.request.Request(url, data=body, headers=sent, method="POST")  # noqa: S310 - scheme checked
        try:
            with opener.open(request, timeout=timeout) as answer:
                status, raw = answer.status, answer.read(MAX_ANSWER + 1)
        except urllib.error.HTTPError as bad:
            return Permission(allow=None, reason=f"HTTP {bad.code}")
        except OSError as bad:
            return Permission(allow=None, reason=type(bad).__name__)
        if status != 200 or len(raw) > MAX_ANSWER:
            return Permission(allow=None, reason=f"HTTP {status}" if status != 200 else "its answer is too long")
        try:
            value = jsontext.loads(raw.decode("utf-8"))  # no member twice: which of two answers counts is not known
        except (InputError, UnicodeDecodeError):
            return Permission(allow=None, reason="its answer is no JSON")
        allow = value.get("allow") if isinstance(value, dict) else None
        why = value.get("reason") if isinstance(value, dict) else None
        return Permission(allow=allow if isinstance(allow, bool) else None, reason=str(why)[:200] if why else "")

    return ask


def _is_http(url: object) -> bool:
    try:
        parts = urlsplit(url) if isinstance(url, str) else None
    except ValueError:
        return False
    return parts is not None and parts.scheme in ("http", "https") and bool(parts.netloc)


SQL_NAMES: Final = ("run", "tool", "kind", "entity", "args")
"""What a permission query can be given: the run, the tool, kind and id of the one entity, and the arguments as JSON."""


def sql_permissions(connect: Callable[[], Any], query: str, params: Sequence[str] = ("tool", "entity")) -> Permissions:
    """Return a permission service in a database (DB-API 2.0): the query's one row and column must say 1 or true.

    No row is a no; several rows are no answer, because it is not known which of them counts.

    Args:
        connect: returns a connection, used for one question and closed.
        query: SQL with as many positional parameters as `params`, in the driver's own style.
        params: which values they get: run, tool, kind, entity, args.

    Raises:
        InputError: a parameter of another name.
    """
    for name in params:
        if name not in SQL_NAMES:
            raise InputError(f"`{name}` is nothing a permission query can be given", where="params",
                             fix=f"one of {', '.join(SQL_NAMES)}")  # fmt: skip

    def ask(asked: Asked) -> Permission:
        if {"kind", "entity"} & set(params) and len(asked.entities) != 1:
            return Permission(allow=None, reason=f"the call is about {len(asked.entities)} entities, not one")
        kind, entity = asked.entities[0] if asked.entities else ("", "")
        values = {"run": asked.run, "tool": asked.tool, "kind": kind, "entity": entity}
        if "args" in params:
            values["args"] = jsontext.dumps(jsontext.exact(dict(asked.args))[0])
        with closing(connect()) as connection, closing(connection.cursor()) as cursor:
            cursor.execute(query, tuple(values[name] for name in params))
            rows = cursor.fetchmany(2)
        if len(rows) > 1:
            return Permission(allow=None, reason="several rows answer")
        if not rows:
            return Permission(allow=False, reason="nothing permits it")
        value = rows[0][0]
        if isinstance(value, (bool, int)) and value in (0, 1):
            return Permission(allow=bool(value))
        return Permission(allow=None, reason="its answer is neither 0 nor 1")

    return ask


def controls_in(given: object, contract: Contract) -> tuple[Control, ...]:
    """Return the controls of a guard.

    Raises:
        InputError: something else, or a control of a tool that a closed contract does not have: it would ask nothing.
    """
    listed = (given,) if isinstance(given, Control) else given
    if isinstance(listed, (str, bytes, Mapping)) or not isinstance(listed, Iterable):
        raise InputError(f"a {type(given).__name__} is no endpoint control", where="controls",
                         fix="`human_approval()`, `permission_lookup(…)` or `visible_authorisation()`")  # fmt: skip
    found = tuple(listed)
    names = [one.name for one in found if isinstance(one, Control)]
    if len(set(names)) != len(names):
        raise InputError("two controls of one kind", where="controls", fix="one, over the tools of both")
    for one in found:
        if not isinstance(one, Control):
            raise InputError(f"a {type(one).__name__} is no endpoint control", where="controls",
                             fix="`human_approval()`, `permission_lookup(…)` or `visible_authorisation()`")  # fmt: skip
        for name in one.tools or () if contract.closed else ():
            tool_named(contract, name, f"controls: {one.name}")
    return found
