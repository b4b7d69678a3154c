"""What is new in a record: the difference between an agent that waits and one that goes round in a circle.

New is whatever the record did not hold before: an effect, a statement of the host or of a principal, a read never made,
a repeated read that answers something else. A repeated read with the same answer is nothing new. It is no circle either
where waiting is what the record asks for: the contract calls the tool volatile; the answer is not a final state; a call
is in doubt and this is the query that settles it; or the read comes at least the poll interval after the last.
Whether something new is also relevant is not judged: looking around is how evidence is found, and the budgets bound it.
Source: evidence-carrying termination, F8 (legitimate repeated polling) and "STUCK (budget, no progress)".
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from tallystick.contracts.types import Contract, Tool
from tallystick.errors import ExpressionError, InputError
from tallystick.gates.settle import status_query
from tallystick.model import jsontext
from tallystick.model.events import Receipt, Sealed
from tallystick.model.exact import args_digest
from tallystick.model.pointer import MISSING, resolve
from tallystick.model.values import same
from tallystick.view import CallRecord, ReceiptRecord, View
from tallystick.view.outcome import markers


class Progress:
    """A fold over a run's events.

    Attributes:
        unchanged: reads in a row that said what they had said before, waiting or not.
    """

    def __init__(self) -> None:
        self.unchanged = 0
        self._moved = 0
        self._repeats: list[tuple[int, float]] = []  # (seq, seconds since it was last asked) since then
        self._answers: dict[tuple[str, str], tuple[tuple[str, ...], datetime | None]] = {}

    def take(self, sealed: Sealed, view: View) -> None:
        """Fold the next event, which `view` has folded already."""
        body = sealed.event.body
        if isinstance(body, Receipt):
            record = view.receipt(body.id)
            if record is not None and record.call is not None:
                self._receipt(record, record.call, view)
                return
        if view.evidence_seq == sealed.event.seq:
            self._new(sealed.event.seq)

    def moved(self, interval: float | None = None) -> int:
        """Return the seq of the last event that was new, or was legitimate waiting.

        Args:
            interval: seconds after which the same read may be asked again without counting as a circle; None: never.
        """
        spaced = (seq for seq, gap in reversed(self._repeats) if interval is not None and gap >= interval)
        return next(spaced, self._moved)

    def _new(self, seq: int) -> None:
        self._move(seq)
        self.unchanged = 0

    def _move(self, seq: int) -> None:
        self._moved = seq
        self._repeats.clear()

    def _receipt(self, record: ReceiptRecord, call: CallRecord, view: View) -> None:
        if call.effect == "write" and record.outcome in ("ok", "partial"):
            self._new(record.seq)  # something was changed, whatever the answer's words
            return
        asked = (call.tool, _asked(call))
        before = self._answers.get(asked)
        said = _said(record)
        self._answers[asked] = (said, record.observed_at)
        if before is None or before[0] != said:
            self._new(record.seq)
            return
        self.unchanged += 1
        if is_waiting(view, view.contract, call, record):
            self._move(record.seq)
        elif before[1] is not None and record.observed_at is not None:
            self._repeats.append((record.seq, (record.observed_at - before[1]).total_seconds()))


def is_waiting(view: View, contract: Contract, call: CallRecord, record: ReceiptRecord) -> bool:
    """Return whether asking this again is waiting for something that the contract or the record says is under way."""
    tool = contract.tools.get(call.tool)
    if tool is not None and (tool.volatile or _not_final(tool, call.args, record.value)):
        return True
    if any(kind == "pending" for kind, _, _ in markers(record.value)):
        return True  # the answer itself says that it is not the last word
    return any(_settles(contract, doubtful, call) for doubtful in view.doubts.values())


def _not_final(tool: Tool, args: Mapping[str, Any], value: Any) -> bool:
    if tool.pending is not None:
        try:
            if tool.pending.evaluate({"args": args, "result": value}) is True:
                return True
        except ExpressionError:
            return False
    if not tool.terminal:
        return False
    status = resolve(value, tool.status_at or ("status",))
    return status is not MISSING and status not in tool.terminal


def _settles(contract: Contract, doubtful: CallRecord, call: CallRecord) -> bool:
    query = status_query(contract, doubtful)
    if query is None or query.tool != call.tool:
        return False
    wanted = jsontext.loads(query.args)
    return all(same(call.args.get(name), value) for name, value in wanted.items())


def _asked(call: CallRecord) -> str:
    try:
        return args_digest(call.args)
    except InputError:
        return call.digest  # arguments with no canonical form are like no others


def _said(record: ReceiptRecord) -> tuple[str, ...]:
    body = record.body
    parts = [blob.sha256 if blob is not None else "" for blob in (body.result, body.structured)]
    return (record.outcome, body.error or "", *parts)
