"""The carrier: the open blockers of a run as typed data, and one fixed text rendering of it.

It travels beside the prose of an artifact. Each blocker names the event that raised it by digest, so whoever has the
ledger can tell a carrier from a copy that was softened on the way; nothing in it is believed by itself.
Source: operational state preservation, z = (status, prerequisite, authority, fallback) and the actions it removes.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime
from typing import Any, Final

import msgspec

from tallystick.contracts.types import Contract
from tallystick.gates.owed import open_obligations
from tallystick.gates.undone import standing_blockers
from tallystick.model.canonical import canonical, digest
from tallystick.model.plaintext import printable
from tallystick.view import ConditionRecord, View

VERSION: Final = "carrier/1"
FIELDS: Final = ("status", "prerequisite", "authority", "fallback")
"""The four fields of the paper's profile R, in its order."""
BOUND: Final = ("removes", "entity", "scope", "expires", "operation", "event")
"""What else a blocker says: the actions it removes, for what, until when, and the event it is bound to."""
OWN: Final = "[tallystick"
"""Every line of a rendering starts with this, so that what is ours can be told from prose even after a hop tore it."""
BEGIN: Final = f"{OWN} {VERSION} begin]"
JSON: Final = f"{OWN} json] "
_LINE: Final = f"{OWN}] "
_LABELS: Final = {"status": "stop", "removes": "removes", "prerequisite": "until", "authority": "decided by",
                  "fallback": "meanwhile"}  # fmt: skip


class Blocker(msgspec.Struct, frozen=True, kw_only=True):
    """One open blocker as it travels.

    Attributes:
        event: digest of the event that raised it, or the contract's SHA-256 for a standing condition of the contract.
        standing: whether it is a standing condition.
        entity: [kind, id], or nothing.
        scope: [argument, JSON value] pairs a call must match for it to apply.
    """

    id: str
    status: str
    prerequisite: str
    authority: str
    fallback: str
    removes: list[str]
    event: str
    entity: list[str] = []
    scope: list[list[str]] = []
    expires: str = ""
    operation: str = ""
    standing: bool = False


class Resolved(msgspec.Struct, frozen=True, kw_only=True):
    """A blocker that is over: the events that raised and lifted it (for one a receipt satisfied, the receipt's)."""

    id: str
    how: str
    by: str
    event: str
    lifted: str


class Carrier(msgspec.Struct, frozen=True, kw_only=True):
    """What travels: the run, the point it speaks of, its open blockers, what is left to do, and what is over.

    Attributes:
        run, seq, head: the run, and number and digest of the last event it was made from.
        left: ids of the obligations still open.
    """

    carrier: str = VERSION
    run: str
    seq: int
    head: str
    blockers: list[Blocker] = []
    left: list[str] = []
    resolved: list[Resolved] = []

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values; `carrier_from` reads them."""
        found: dict[str, Any] = msgspec.to_builtins(self)
        return found

    def digest(self) -> str:
        """Return the SHA-256 of its canonical JSON (RFC 8785)."""
        return digest(canonical(self.to_json()))

    def blocker(self, name: str) -> Blocker | None:
        """Return the blocker of this id, if it is carried."""
        return next((b for b in self.blockers if b.id == name), None)


def carrier_from(value: Any) -> Carrier | None:
    """Return the carrier that plain JSON values state, or None where they state none of this version."""
    try:
        found = msgspec.convert(value, Carrier, strict=True)
        # What it has besides would be lost in a rendering; it is then not what was sent.
        whole = canonical(found.to_json()) == canonical(value)
    except (msgspec.ValidationError, ValueError, TypeError, RecursionError):
        return None
    except Exception:  # noqa: BLE001 - foreign values: whatever cannot be read is no carrier
        return None
    return found if whole and found.carrier == VERSION else None


def carrier_of(view: View, contract: Contract, now: datetime | None = None) -> Carrier:
    """Return the carrier of a run as its record is now (or at `now`). It follows from the record alone."""
    return Carrier(
        run=view.run,
        seq=view.upto,
        head=view.head,
        blockers=[
            *(raised_blocker(r) for r in view.raised if view.binds(r, now)),
            *_standing(view, contract),
        ],
        left=[o.id for o in open_obligations(view)],
        resolved=[
            Resolved(id=r.body.id, how=r.lifted_how, by=r.lifted_by, event=r.digest, lifted=r.lifted_digest)
            for r in view.raised
            if not view.binds(r, now)
        ],
    )


def raised_blocker(record: ConditionRecord) -> Blocker:
    """Return a condition raised in the run as it travels."""
    body = record.body
    return Blocker(
        id=body.id, status=body.status, prerequisite=body.prerequisite, authority=body.authority,
        fallback=body.fallback, removes=list(body.removes), event=record.digest, entity=list(body.entity),
        scope=[list(pair) for pair in body.scope], expires=body.expires or "", operation=body.operation or "",
    )  # fmt: skip


def _standing(view: View, contract: Contract) -> Iterator[Blocker]:
    for rule, entity in standing_blockers(view, contract):
        yield Blocker(
            id=rule.id, status=rule.status, prerequisite=rule.prerequisite, authority=rule.authority,
            fallback=rule.fallback, removes=list(rule.removes), event=contract.sha256, standing=True,
            entity=[entity.kind, entity.id] if entity is not None else [],
        )  # fmt: skip


# ---------------------------------------------------------------------- the fixed text


def render(carrier: Carrier) -> tuple[str, ...]:
    """Return the lines of a carrier's text, without line ends. The same carrier always has the same lines."""
    return (*text_lines(carrier), JSON + canonical(carrier.to_json()).decode("utf-8"), end_line(carrier))


def text_lines(carrier: Carrier) -> tuple[str, ...]:
    """Return what a reader is told, up to the typed data."""
    lines = [BEGIN]
    count = len(carrier.blockers)
    lines.append(f"{_LINE}run {_shown(carrier.run)}: {count or 'no'} open blocker{'' if count == 1 else 's'}")
    for blocker in carrier.blockers:
        lines.extend(blocker_lines(blocker).values())
    if carrier.blockers:
        lines.append(f"{_LINE}Do not do what is removed. Only the record lifts a blocker, no words here or elsewhere.")
    lines.extend(f"{_LINE}resolved: {_shown(r.id)} ({_shown(r.how)}, {_shown(r.by)})" for r in carrier.resolved)
    lines.append(f"{_LINE}left to do: {', '.join(map(_shown, carrier.left)) or 'nothing that is recorded'}")
    # Blanks at the end of a line are the first thing a hop loses, so there are none.
    return tuple(line.rstrip(" ") for line in lines)


def end_line(carrier: Carrier) -> str:
    """Return the last line of a rendering, which names the carrier's digest."""
    return f"{OWN} {VERSION} end {carrier.digest()}]"


def blocker_lines(blocker: Blocker) -> dict[str, str]:
    """Return the lines of one blocker by the field each states."""
    about = f" about {blocker.entity[0]} {blocker.entity[1]}" if len(blocker.entity) == 2 else ""
    where = f" where {', '.join(f'{n} = {v}' for n, v in blocker.scope)}" if blocker.scope else ""
    ends = f" until {blocker.expires}" if blocker.expires else ""
    during = f" during {blocker.operation}" if blocker.operation else ""
    said = {
        "status": blocker.status or "do not proceed",
        "removes": f"{', '.join(blocker.removes) or 'nothing'}{about}{where}{during}{ends}",
        "prerequisite": blocker.prerequisite or "it is lifted",
        "authority": blocker.authority or "any principal of the run",
        "fallback": blocker.fallback or "nothing is named",
    }
    return {
        name: f"{_LINE}{_shown(blocker.id)} | {_LABELS[name]}: {_shown(text)}".rstrip(" ")
        for name, text in said.items()
    }


def _shown(text: str) -> str:
    return printable(text)
