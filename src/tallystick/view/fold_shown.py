"""Folding evidence that satisfies a blocker's prerequisite: a receipt for the same entity and the same scope.

An approval of another entity or another scope, one that is over, one from before the blocker, words in a result beside
the places it names: none of them does. A newer receipt that says otherwise opens the blocker again.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from tallystick.model import jsontext
from tallystick.model.events import Raised, Sealed
from tallystick.model.pointer import MISSING, resolve, split
from tallystick.model.values import EntityRef, instant_of, same
from tallystick.view.records import ConditionRecord, ReceiptRecord
from tallystick.view.state import State, when

EVIDENCE = "evidence"


def receipt(state: State, sealed: Sealed) -> None:
    """Fold what the newest receipt shows about the blockers that wait for it."""
    if not state.receipts or state.receipts[-1].seq != sealed.event.seq:
        return
    found = state.receipts[-1]
    if found.call is None:
        return
    for record in state.index.conditions_shown.get(found.call.tool, ()):
        if record.over:
            continue  # its authority, or its end, decided already
        if not speaks_of(record, found):
            continue
        shown, until = shows(record.body, found, when(sealed.event.at))
        if shown:
            record.end(EVIDENCE, found.id, found.digest)
            record.shown, record.shown_until = found, until
        elif record.shown is not None:
            record.open, record.lifted_how, record.lifted_by, record.lifted_digest = True, "", "", ""
            record.shown = record.shown_until = None
        state.evidence_seq = sealed.event.seq


def speaks_of(record: ConditionRecord, found: ReceiptRecord) -> bool:
    """Return whether a receipt is about the blocker: good, observed after it was raised, same entity, same scope."""
    call, body = found.call, record.body
    if call is None or not found.good or found.observed_seq <= record.seq:
        return False
    if len(body.entity) == 2 and EntityRef(body.entity[0], body.entity[1]) not in call.targets:
        return False
    return all(_names(call.args, found.value, name, text) for name, text in body.scope)


def _names(args: Mapping[str, Any], value: Any, name: str, text: str) -> bool:
    wanted = jsontext.loads(text)
    if name in args:
        return same(args[name], wanted)
    return isinstance(value, Mapping) and name in value and same(value[name], wanted)


def shows(body: Raised, found: ReceiptRecord, at: datetime | None) -> tuple[bool, datetime | None]:
    """Return whether a receipt has every value the prerequisite names, and until when."""
    ends: datetime | None = None
    for _, place, text in body.until or ():
        value = resolve(found.value, split(place))
        if value is MISSING:
            return False, None
        if text:
            if not same(value, jsontext.loads(text)):
                return False, None
            continue
        try:
            end = instant_of(value)
        except ValueError:
            return False, None
        if at is None or end <= at:
            return False, None
        ends = end if ends is None else min(ends, end)
    return True, ends
