"""What principals do: approve, deny, waive, lift, settle. Each is a signed event, made where the key is.

The key must be out of the agent's reach. These functions therefore run in another process than the guard's: they sign,
and post a letter that the run's writer takes in before its next decision; where nobody is writing the run, they take it
in themselves.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from datetime import datetime
from typing import Any, Literal

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

from tallystick.errors import InputError, LeaseHeldError
from tallystick.ledger.store import Store
from tallystick.model.events import Approval, DoubtSettled, Lifted, Settled, Started, Tenure
from tallystick.model.exact import args_digest
from tallystick.model.signing import sign
from tallystick.model.values import EntityRef
from tallystick.runtime.journal import RUNTIME, Clock, Journal, stamp
from tallystick.runtime.letters import Signed, collect, send
from tallystick.runtime.pending import Pending, pending
from tallystick.runtime.proposals import exact_args
from tallystick.view import View
from tallystick.view.frozen import frozen_in

TAKE_SECONDS = 30.0


def signed_approval(
    run: str,
    principal: str,
    key: Ed25519PrivateKey,
    tool: str,
    args: Mapping[str, Any] | None = None,
    *,
    args_sha256: str | None = None,
    decision: Literal["approve", "deny"] = "approve",
    expires: datetime | None = None,
    condition: str | None = None,
    entity: EntityRef | None = None,
    id: str | None = None,  # noqa: A002 - an approval's id
) -> Approval:
    """Return a signed approval (or denial) of one call in one run: good once, for these very arguments.

    Args:
        run: the run's id.
        principal: id of the principal, as the task names it.
        key: its private key.
        tool: the tool.
        args: the call's arguments, exactly; or give `args_sha256`, their digest (`Pending.args_sha256`).
        args_sha256: see `args`.
        decision: approve or deny; the newest decision about a call wins.
        expires: instant from which it has no force; None never.
        condition: id of the condition it lifts, if any.
        entity: with `condition`, it speaks for every call about this entity, once.
        id: its id; random where None.

    Raises:
        InputError: neither or both of `args` and `args_sha256`, or arguments that are no JSON object.
    """
    if (args is None) == (args_sha256 is None):
        raise InputError("an approval is for exactly one call", fix="give its arguments, or their digest")
    if args is not None:
        exact, _, problem, _ = exact_args(args, None)
        if problem is not None:
            raise InputError(f"the arguments cannot be approved: {problem}")
        args_sha256 = args_digest(exact)
    body = Approval(
        id=id or f"a-{secrets.token_hex(8)}",
        principal=principal,
        decision=decision,
        tool=tool,
        args_sha256=args_sha256 or "",
        run=run,
        expires=stamp(expires) if expires is not None else "",
        for_condition=condition,
        entity=[entity.kind, entity.id] if entity is not None else [],
    )
    return sign(body, run, key)


def signed_settlement(
    run: str, principal: str, key: Ed25519PrivateKey, call: str, outcome: Literal["ok", "no_effect"], note: str = ""
) -> DoubtSettled:
    """Return a principal's signed word on what a call in doubt came to: it took effect, or it did not."""
    body = DoubtSettled(call=call, outcome=outcome, by="principal", principal=principal, note=note)
    return sign(body, run, key)


def signed_waiver(run: str, principal: str, key: Ed25519PrivateKey, obligation: str) -> Settled:
    """Return a principal's signed waiver of an obligation."""
    return sign(Settled(id=obligation, how="waived", by=principal), run, key)


def signed_lift(run: str, principal: str, key: Ed25519PrivateKey, condition: str) -> Lifted:
    """Return its authority's signed word that a condition is resolved."""
    return sign(Lifted(id=condition, how="resolved", by=principal), run, key)


def view_of(store: Store, run: str) -> View:
    """Return the run's view as of now, folded from a store this process does not write.

    Raises:
        InputError: no such run, or its contract cannot be read. LedgerError: the store cannot be read.
    """
    view: View | None = None
    for sealed in store.events(run):
        if view is None:
            if not isinstance(sealed.event.body, Started):
                break
            contract, task = frozen_in(sealed.event.body)
            view = View(contract, task, run=run)
        view.apply(sealed)
    if view is None:
        raise InputError(f"there is no run `{run}` in the ledger", fix="list the runs with `tallystick runs`")
    return view


def waiting(store: Store, run: str) -> tuple[Pending, ...]:
    """Return the calls of `run` that wait for a principal."""
    view = view_of(store, run)
    return pending(view, view.contract)


def deliver(store: Store, run: str, body: Signed, *, clock: Clock, holder: str, take_expired: bool = False) -> bool:
    """Post a signed event, and return whether it is in the record already.

    A live writer takes it in before its next decision (then this returns False). Where nobody holds the run, it is
    taken in here, under a lease of its own.

    Args:
        store: the ledger, opened for writing.
        run: the run's id.
        body: the signed event.
        clock: the present instant.
        holder: who this is, for the lease.
        take_expired: also take over from a writer whose lease has expired (its process was killed). Its calls without a
            receipt are in doubt from then on.

    Raises:
        InputError: no such run, or not signed. LedgerError: the store cannot be written.
    """
    first = next(iter(store.events(run)), None)
    if first is None or not isinstance(first.event.body, Started):
        raise InputError(f"there is no run `{run}` in the ledger", fix="list the runs with `tallystick runs`")
    contract, task = frozen_in(first.event.body)
    send(store, run, body)
    if store.lease(run) is not None and not take_expired:
        return False
    try:
        lease = store.acquire(run, holder, clock(), TAKE_SECONDS)
    except LeaseHeldError:
        return False
    try:
        journal = Journal(store, lease, contract, task, clock)
        journal.load()
        journal.append(Tenure(epoch=lease.epoch, holder=holder), RUNTIME, durable=True)
        collect(journal)
    finally:
        store.release(lease)
    return body.signature in journal.signatures
