"""From what a caller hands over to what a gate judges and a ledger keeps."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from weakref import WeakKeyDictionary

from tallystick.contracts.types import Tool
from tallystick.errors import InputError
from tallystick.handoff.controls import Permission
from tallystick.model import jsontext
from tallystick.model.canonical import canonical, digest
from tallystick.model.decision import Decision
from tallystick.model.events import Blob, Refusal, blob
from tallystick.model.proposal import Call
from tallystick.model.redact import redact, redact_value
from tallystick.runtime.copies import copied
from tallystick.runtime.outcome import refusal
from tallystick.runtime.secrets import secret_in
from tallystick.view import View, effect_keys


@dataclass(slots=True)
class Proposal:
    """One call somebody wants to run, before it is judged.

    Attributes:
        exact: the arguments as exact JSON values; empty where they are no JSON object. `text` is their JSON text.
        dispatch: the values the callable gets: the caller's own, or the exact ones read from the text; its containers
            are nobody else's.
        problem: why the arguments are no JSON object, else None.
        fn: callable given with the call; the registered one where None.
        timeout: seconds to wait for the tool; None waits for ever.
    """

    tool: str
    exact: dict[str, Any]
    text: str
    dispatch: dict[str, Any]
    args_text: str | None
    problem: str | None
    fn: Callable[..., Any] | None
    timeout: float | None
    native_id: str | None = None
    turn: int | None = None
    wish: str = ""
    idempotency_key: str | None = None
    complete: bool = True
    own: bool = False  # the runtime's status query: refused, it says nothing about whether the agent is stuck
    tenure: str = ""  # the successor's tenure whose admitted graph this call is part of
    tries: set[str] = field(default_factory=set)  # doubts a status query was already made for
    answers: dict[str, Permission] = field(default_factory=dict)  # of permission lookups made, by control

    @classmethod
    def of(
        cls,
        tool: str,
        args: Mapping[str, Any] | str,
        *,
        timeout: float | None,
        wish: str = "",
        own: bool = False,
        tenure: str = "",
    ) -> Proposal:
        """Return the proposal of a call the runtime itself makes, of a registered tool: arguments as values or text."""
        exact, text, problem, dispatch = exact_args(None, args) if isinstance(args, str) else exact_args(args, None)
        return cls(
            tool=tool, exact=exact, text=text, dispatch=dispatch, args_text=None, problem=problem, fn=None,
            timeout=timeout, wish=wish, own=own, tenure=tenure,
        )  # fmt: skip


def exact_args(args: object, args_text: str | None) -> tuple[dict[str, Any], str, str | None, dict[str, Any]]:
    """Return (arguments as exact JSON values, their text, problem, what the callable gets).

    Floats become decimals of their shortest form where they are judged; the callable gets the caller's own values, in
    containers that nobody else holds. Both are taken in one go, so what the caller, or a tool, changes later changes
    neither.
    """
    if args is not None and type(args) is not dict and not isinstance(args, Mapping):
        return {}, "{}", f"the arguments are a {type(args).__name__}, not one JSON object", {}
    try:
        if args is not None:
            given = copied(dict(args))
            value, text = jsontext.exact(given)
        else:
            value = jsontext.loads(args_text or "{}")
            text = jsontext.dumps(value)
            given = copied(value)
    except InputError as bad:
        return {}, "{}", bad.message, {}
    except Exception as bad:  # noqa: BLE001 - a foreign mapping's own code; nothing was proposed
        return {}, "{}", f"the arguments cannot be read: {type(bad).__name__}", {}
    if not isinstance(value, dict):
        return {}, "{}", "the arguments are not one JSON object", {}
    return value, text, None, given


def minted_key(view: View, tool: Tool, proposal: Proposal, key: bytes | None) -> str:
    """Return the idempotency key of this effect: a retry of a doubtful call has the same one, a new wish does not.

    It is stored and sent, so it is made over the marks of secrets under the run's `key`: over the secrets themselves,
    anybody who reads it could try guesses.
    """
    args, secrets = proposal.exact, secret_in(tool, "args")
    if secrets and key is not None:
        args = redact_value(args, secrets, key)
    keys = effect_keys(tool, args)
    over = sum(e.status in ("done", "no_effect") for key in keys for e in view.effects(key))
    return digest(canonical([view.run, list(keys), proposal.wish, over]))[:32]


def call_of(proposal: Proposal, tool: Tool | None, now: Any, key: bytes | None) -> tuple[Call, Blob, Blob | None]:
    """Return the call a gate judges, its arguments as the ledger keeps them, and the model's own text if it differs.

    Where the contract marks arguments secret, all three hold marks in their place: gates, keys and digests never see
    the values, and a later recheck sees what the gate saw.
    """
    args, text, raw_text = proposal.exact, proposal.text, proposal.args_text
    secrets = secret_in(tool, "args")
    if secrets and key is not None:
        args = redact_value(args, secrets, key)
        kept = redact(text.encode("utf-8"), secrets, key)
        raw = None
        if raw_text is not None:
            raw = redact(raw_text.encode("utf-8", "surrogatepass"), secrets, key)
            raw_text = raw.text
    else:
        kept = blob(text.encode("utf-8"))
        raw = None
        if raw_text is not None and raw_text != text:
            raw = blob(raw_text.encode("utf-8", "surrogatepass"))
    call = Call(
        tool=proposal.tool,
        args=args,
        args_text=raw_text,
        now=now,
        native_id=proposal.native_id,
        turn=proposal.turn,
        wish=proposal.wish,
        idempotency_key=proposal.idempotency_key,
        complete=proposal.complete,
    )
    return call, kept, raw if raw is not None and raw.sha256 != kept.sha256 else None


def unusable(proposal: Proposal) -> Decision:
    """Return the refusal of arguments that are no JSON object; no gate is asked about a call that is none."""
    return refusal(
        "args.not_json", f"the arguments of {proposal.tool} cannot be used: {proposal.problem}", "one JSON object"
    )


# What is known of a callable, for as long as somebody else holds it: a tool made anew for each request, with all that
# it closes over, is not kept alive here. A bound method is a new object each time, so its function stands for it.
_COROUTINES: Final[WeakKeyDictionary[Callable[..., Any], bool]] = WeakKeyDictionary()
_FITS: Final[WeakKeyDictionary[Callable[..., Any], dict[tuple[bool, frozenset[str]], str | None]]] = WeakKeyDictionary()
_UNASKED: Final = "\0"
_MOST_FITS: Final = 64  # sets of argument names remembered for one callable


def is_coroutine(fn: Callable[..., Any] | None) -> bool:
    """Return whether `fn` is a coroutine function."""
    if fn is None:
        return False
    plain: Callable[..., Any] = getattr(fn, "__func__", fn)
    try:
        known = _COROUTINES.get(plain)
        if known is None:
            known = _COROUTINES[plain] = inspect.iscoroutinefunction(fn)
    except TypeError:  # a callable that cannot be hashed or weakly held
        return inspect.iscoroutinefunction(fn)
    return known


def misfit(fn: Callable[..., Any], args: Mapping[str, Any]) -> str | None:
    """Return why `fn` cannot be called with `args`, or None. Found before anything runs, so nothing is in doubt."""
    plain: Callable[..., Any] = getattr(fn, "__func__", fn)
    names = frozenset(args)
    try:
        known = _FITS.setdefault(plain, {})
    except TypeError:  # a callable that cannot be hashed or weakly held
        return _misfit(fn, names)
    question = (plain is fn, names)
    answer = known.get(question, _UNASKED)
    if answer == _UNASKED:
        answer = _misfit(fn, names)
        if len(known) >= _MOST_FITS:
            known.clear()
        known[question] = answer
    return answer


def _misfit(fn: Callable[..., Any], names: frozenset[str]) -> str | None:
    try:
        signature = inspect.signature(fn)
    except (TypeError, ValueError):  # some builtins tell nothing about themselves
        return None
    try:
        signature.bind(**dict.fromkeys(names))
    except TypeError as bad:
        return str(bad)
    return None


def refusal_body(proposal: Proposal, args: Blob, raw: Blob | None, decision: Decision, mark: str, now: str) -> Refusal:
    """Return the event that records a proposal that was not admitted."""
    return Refusal(
        tool=proposal.tool,
        args=args,
        native_id=proposal.native_id,
        wish=proposal.wish,
        decision=decision.text(),
        fingerprint=mark,
        now=now,
        turn=proposal.turn,
        raw_args=raw,
        idempotency_key=proposal.idempotency_key,
        complete=proposal.complete,
    )
