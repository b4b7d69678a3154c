"""Receipts: what came back for a call, in words the record keeps, and what that settles about calls in doubt."""

from __future__ import annotations

from typing import Any, Final

import msgspec

from tallystick.contracts.types import Contract
from tallystick.errors import InputError, LedgerError
from tallystick.gates.settle import settled_by
from tallystick.model.decision import Decision
from tallystick.model.events import Blob, DoubtSettled, Receipt, blob
from tallystick.model.redact import redact
from tallystick.runtime.execution import Ran
from tallystick.runtime.journal import EXECUTOR, RUNTIME, Journal, stamp
from tallystick.runtime.results import (
    MAX_ERROR_CHARS,
    MAX_RESULT_BYTES,
    UNREAD,
    NotJsonError,
    ToolResult,
    error_text,
    result_bytes,
)
from tallystick.runtime.secrets import secret_in
from tallystick.view import ReceiptRecord
from tallystick.view.fold_calls import reading

LARGE_BYTES: Final = 1024 * 1024
"""A result above this may itself be why an append failed; one receipt without it is then tried."""


class Receipts:
    """Makes and appends the receipts of one run in one tenure. Every method is called under the journal's lock.

    Attributes:
        unfinished: calls that were given up on while their threads are still at work.
        unwritten: receipts the ledger would not take; appended when the run is left.
        not_json: by call, why what it returned could not be kept; whoever answers the caller takes it out.
    """

    def __init__(self, journal: Journal, contract: Contract, key: bytes | None) -> None:
        self.journal = journal
        self.contract = contract
        self.key = key
        self.unfinished: set[str] = set()
        self.unwritten: list[Receipt] = []
        self.not_json: dict[str, NotJsonError] = {}

    def holds(self, call_id: str) -> bool:
        """Return whether a receipt of this call is in hand and only the ledger would not take it."""
        return any(body.call == call_id for body in self.unwritten)

    def record(self, call_id: str, ran: Ran, *, interrupted: bool = False, late: bool = False) -> ReceiptRecord | None:
        """Append the receipt; None where the ledger would not take it, which ends what this tenure may do."""
        journal = self.journal
        try:
            body = self._receipt(call_id, ran, interrupted=interrupted, late=late)
        except Exception as bad:  # noqa: BLE001 - our own fault must not lose the receipt of a call that ran
            text = f"the guard could not read what came back: {type(bad).__name__}"
            body = Receipt(id="", call=call_id, result=None, error=text, observed_at=stamp(ran.at), late=late)
        try:
            journal.ready()
            try:
                return self.write(body)
            except (InputError, LedgerError) as bad:
                if isinstance(bad, LedgerError) and (journal.broken == "lease.lost" or not _is_large(body)):
                    raise
                # The event itself is the trouble. A receipt that says so is better than none: the call did run.
                text = f"the result cannot be recorded: {bad.message}"[:MAX_ERROR_CHARS]
                journal.ready()
                return self.write(_without_result(body, text))
        except LedgerError:
            # Row "ledger cannot write", after the tool: the result is in hand and the record out of reach. It is kept,
            # to be appended when the run is left; until then nothing else runs, and this run is never CERTIFIED.
            self.unwritten.append(body)
            journal.broken = journal.broken or "ledger.broken"
            return None

    def write(self, body: Receipt) -> ReceiptRecord | None:
        """Append a receipt under the next receipt id.

        Raises:
            InputError, LedgerError: it cannot be appended.
        """
        view = self.journal.view
        body = msgspec.structs.replace(body, id=f"r{len(view.receipts) + 1}")
        call = view.calls.get(body.call or "")
        self.journal.append(body, EXECUTOR, durable=call is None or call.effect == "write")
        return self.journal.view.receipt(body.id)

    def _receipt(self, call_id: str, ran: Ran, *, interrupted: bool, late: bool) -> Receipt:
        view = self.journal.view
        call = view.calls.get(call_id)
        tool = self.contract.tools.get(call.tool) if call is not None else None
        secrets = secret_in(tool, "result")
        given = ran.value if isinstance(ran.value, ToolResult) else ToolResult(value=ran.value)
        error = None
        result = structured = None
        truncated = given.truncated
        if ran.error is not None:
            # An exception's text can repeat an argument, so of a tool with secret fields only its kind is kept.
            open_ = tool is None or not tool.secrets
            said = error_text(ran.error) if open_ else type(ran.error).__name__
            error = ("interrupted: " if interrupted else "") + said
        else:
            try:
                raw, value = result_bytes(given.value, wire=isinstance(ran.value, ToolResult))
                beside = result_bytes(given.structured)[0] if given.structured is not None else None
            except NotJsonError as bad:  # the call ran; what it returned can be told to nobody
                error = bad.message[:MAX_ERROR_CHARS]
                self.not_json[call_id] = bad
            else:
                if len(raw) > MAX_RESULT_BYTES:
                    error = f"the result has {len(raw):,} bytes, more than {MAX_RESULT_BYTES:,}: not kept"
                    truncated = True
                else:
                    result = self.kept(raw, secrets)
                    view.known_json = (result, value) if value is not UNREAD and not secrets else None
                if beside is not None:
                    structured = self.kept(beside, secrets)
        body = Receipt(
            id="",  # given when it is written
            call=call_id,
            result=result,
            structured=structured,
            flag="error" if ran.error is not None else given.flag,
            error=error,
            observed_at=stamp(ran.at),
            native_id=given.native_id,
            late=late,
            dry_run=given.dry_run,
            truncated=truncated,
        )
        if call is None:
            return body
        _, _, judged = reading(view, call, tool, body)
        return msgspec.structs.replace(body, outcome=judged.outcome)

    def kept(self, raw: bytes, secrets: tuple[tuple[str, ...], ...]) -> Blob:
        """Return foreign bytes as the record keeps them: secrets replaced by marks."""
        return redact(raw, secrets, self.key) if secrets and self.key is not None else blob(raw)

    def settle_from(self, record: ReceiptRecord, decision: Decision | None) -> None:
        """Settle what this receipt shows about calls in doubt: by the contract's status query, or our own retry."""
        view = self.journal.view
        if not view.doubts:
            return
        found: list[DoubtSettled] = []
        if decision is not None and record.outcome == "ok" and "effect.retry_same_key" in decision.codes:
            found.extend(self._carried_by_retry(record))
        for doubtful in list(view.doubts.values()):
            shown = settled_by(view, self.contract, doubtful, record)
            if shown is None:
                continue
            if shown.outcome == "no_effect" and doubtful.id in self.unfinished:
                continue  # its thread is still at work here: not yet is not never
            found.append(shown)
        for body in found:
            if body.call in view.doubts:
                try:
                    self.journal.append(body, RUNTIME, durable=True)
                except LedgerError:
                    return  # still in doubt; asked again next time
                view = self.journal.view

    def _carried_by_retry(self, record: ReceiptRecord) -> list[DoubtSettled]:
        """The tool deduplicates by key, so of a doubtful call and its retry exactly one effect exists: the retry's."""
        call = record.call
        assert call is not None
        note = f"the retry {call.id} under the same idempotency key carried the effect"
        return [
            DoubtSettled(call=other.id, outcome="no_effect", by="query", evidence=[record.id], note=note)
            for other in self.journal.view.doubts.values()
            if other.id != call.id and other.tool == call.tool and other.idempotency_key == call.idempotency_key
        ]


def _is_large(body: Receipt) -> bool:
    return sum(b.size for b in (body.result, body.structured) if b is not None) > LARGE_BYTES


def _without_result(body: Receipt, why: str) -> Receipt:
    outcome: Any = "no_effect" if body.outcome == "no_effect" else "unknown"
    return msgspec.structs.replace(
        body, result=None, structured=None, native_id=None, error=why, truncated=True, outcome=outcome
    )
