"""Letters: signed events of principals on their way into a run that another process is writing.

A letter is the canonical JSON of the event's body. Whoever can reach the store can post one; only the signature inside
gives it force, and the same signature never counts twice.
"""

from __future__ import annotations

from typing import Final

import msgspec

from tallystick.errors import InputError
from tallystick.ledger.store import Store
from tallystick.model.canonical import canonical
from tallystick.model.events import Actor, Approval, Damage, DoubtSettled, Lifted, Settled
from tallystick.runtime.journal import RUNTIME, Journal
from tallystick.view.fold_authority import signature_problem

Signed = Approval | Lifted | Settled | DoubtSettled
_DECODER: Final = msgspec.json.Decoder(Approval | Lifted | Settled | DoubtSettled)


def write_letter(body: Signed) -> bytes:
    """Return the letter that carries `body`."""
    return canonical(msgspec.to_builtins(body))


def read_letter(raw: bytes) -> Signed:
    """Return the event a letter carries.

    Raises:
        InputError: it is none a principal may send, or it is not signed.
    """
    try:
        body: Signed = _DECODER.decode(raw)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as bad:
        raise InputError(f"not an event of a principal: {bad}") from None
    if not body.signature:
        raise InputError("it is not signed", fix="sign it with the principal's key")
    if isinstance(body, DoubtSettled) and body.by != "principal":
        raise InputError("a principal's letter settles a doubt as `principal`, not as `query`")
    if write_letter(body) != raw:
        raise InputError("not in canonical form (RFC 8785), or it has fields this version does not know")
    return body


def sender(body: Signed) -> str:
    """Return the id of the principal a signed event names."""
    return body.by if isinstance(body, Lifted | Settled) else body.principal


def _check_signature(journal: Journal, body: Signed) -> None:
    """Refuse a letter whose signature is not its sender's.

    An approval passes: the view gives an untrusted one no force, and the agent is told why it has none.
    """
    if isinstance(body, Approval):
        return
    problem = signature_problem(journal.view, body, sender(body), Actor(role="principal", id=sender(body)))
    if problem:
        raise InputError(problem)


def send(store: Store, run: str, body: Signed) -> int:
    """Post a signed event for the writer of `run`, and return the letter's number.

    Raises:
        InputError: not signed. LedgerError: no such run, or the store cannot be written.
    """
    raw = write_letter(body)
    read_letter(raw)
    return store.post(run, raw)


def collect(journal: Journal) -> int:
    """Append what principals posted, in order, and return how many events that were.

    A letter that is no principal's event becomes `Damage`: recorded, never dropped silently. Letters are removed only
    after their events are in the record; one that is read again after a crash in between is recognised and not counted
    twice.

    Raises:
        LedgerError: the store cannot be read or written.
    """
    letters = journal.store.posted(journal.run)
    if not letters:
        return 0
    appended = 0
    for letter in letters:
        try:
            body = read_letter(letter.raw)
            _check_signature(journal, body)
        except InputError as bad:
            text = f"letter {letter.number} was rejected: {bad.message}"
            journal.append(Damage(code="letter.rejected", text=text[:500]), RUNTIME, durable=False)
            continue
        if body.signature in journal.signatures:
            continue
        journal.append(body, Actor(role="principal", id=sender(body)), durable=True)
        appended += 1
    journal.store.drop(journal.lease, letters[-1].number)
    return appended
