"""A trace as the events of a run, so that a view can be folded from it and gates asked after the fact.

Receipts made here say `imported`: they prove what the trace recorded, no more. Native call ids are kept beside the
minted ones, and what could not be paired becomes a receipt without a call, so it certifies nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any, Final

from tallystick.contracts.types import Contract
from tallystick.errors import InputError
from tallystick.model import jsontext
from tallystick.model.canonical import digest
from tallystick.model.events import (
    ENVELOPE_VERSION,
    GENESIS,
    SEMANTICS,
    Actor,
    AnyBody,
    Blob,
    Damage,
    Event,
    Intent,
    Receipt,
    Said,
    Sealed,
    Started,
    blob,
    seal,
)
from tallystick.model.trace import Trace, TraceCall, TraceResult
from tallystick.view.keys import effect_of, targets_of
from tallystick.view.outcome import judge

UNDATED: Final = "1970-01-01T00:00:00Z"
"""`at` of events of a trace that states no instant."""
_ZONE: Final = re.compile(r"(?:Z|[+-]\d\d:\d\d)$", re.IGNORECASE)


def instant_text(trace: Trace) -> str:
    """Return the trace's `now` as RFC 3339 text. One without a zone is taken as UTC; none gives `UNDATED`."""
    if not trace.now:
        return UNDATED
    return trace.now if _ZONE.search(trace.now) else f"{trace.now}Z"


def _blob(text: str | None, value: Any) -> Blob:
    if text is None:
        try:
            text = jsontext.dumps(value)
        except InputError as bad:
            text = f"unwritable: {bad.message}"
    return blob(text.encode("utf-8", "backslashreplace"))


def _intent(call: TraceCall, now: str) -> Intent:
    args = _blob(call.args_text if call.args is None else None, call.args)
    raw = _blob(call.args_text, None) if call.args_text is not None and call.args is not None else None
    return Intent(
        call=call.id,
        tool=call.tool,
        args=args,
        raw_args=raw if raw is not None and raw.sha256 != args.sha256 else None,
        native_id=call.native_id,
        turn=call.turn,
        now=now,
    )


def _receipt(result: TraceResult, call: TraceCall | None, number: int, contract: Contract | None, at: str) -> Receipt:
    outcome = "unknown"
    if call is not None:
        tool = contract.tools.get(call.tool) if contract is not None else None
        args = call.args if isinstance(call.args, dict) else {}
        effect = effect_of(tool, args) if tool is not None else "write"
        ids = tuple(ref.id for ref in targets_of(tool, args)) if tool is not None else ()
        value = result.structured if result.structured is not None else result.body
        outcome = judge(tool, effect, args, value, flag=result.flag, text=result.text, target_ids=ids).outcome
    return Receipt(
        id=f"r{number}",
        call=call.id if call is not None else None,
        result=_blob(result.text, result.body),
        structured=_blob(None, result.structured) if result.structured is not None else None,
        flag=result.flag,
        outcome=outcome,  # type: ignore[arg-type]  # `judge` yields the same literals
        observed_at=at if at != UNDATED else "",
        source="imported",
        native_id=result.native_id,
        late=result.late,
        truncated=result.truncated,
    )


def to_events(trace: Trace, contract: Contract | None = None) -> Iterator[AnyBody]:
    """Yield the bodies of `trace` in time order: damage first, then intents, receipts and words.

    Args:
        trace: an imported conversation.
        contract: judges each receipt's outcome by its declarations; without one every tool may be a write, so a
            result without positive evidence is *unknown*.
    """
    at = instant_text(trace)
    for lost in trace.damage:
        yield Damage(code=lost.code, text=f"{lost.where}: {lost.message}")
    number = 0
    timed: list[tuple[int, int, TraceCall | None, TraceResult | None, AnyBody | None]] = []
    for message in trace.messages:
        for made in message.calls:
            timed.append((message.index, 0, made, None, None))
            if made.result is not None:
                inline = made.result.index == message.index
                timed.append((made.result.index, 0 if inline else 2, made, made.result, None))
        if message.text or not message.calls:
            said = Said(role=message.role, text=_sayable(message.text), truncated=message.truncated)
            timed.append((message.index, 1, None, None, said))
    timed.extend((result.index, 2, None, result, None) for result in trace.orphans)
    timed.sort(key=lambda item: (item[0], item[1]))
    for _, _, call, result, body in timed:
        if body is not None:
            yield body
        elif result is not None:
            number += 1
            yield _receipt(result, call, number, contract, at)
        elif call is not None:
            yield _intent(call, at if at != UNDATED else "")


def _sayable(text: str) -> str:
    """Return `text` with lone surrogates escaped: an event is UTF-8."""
    return text.encode("utf-8", "backslashreplace").decode("utf-8")


class Chain:
    """Seals bodies into the hash chain of one imported run."""

    def __init__(self, trace: Trace, contract: Contract | None = None) -> None:
        self.run = f"import-{trace.sha256[:16] or digest(trace.id.encode('utf-8', 'backslashreplace'))[:16]}"
        self.at = instant_text(trace)
        self._format = trace.format
        self._contract = contract
        self._seq = 0
        self._prev = GENESIS

    def start(self) -> Sealed:
        """Return the run's first event."""
        text = self._contract.text if self._contract is not None else ""
        sha = self._contract.sha256 if self._contract is not None else ""
        return self.add(
            Started(
                semantics=SEMANTICS, contract=text, contract_sha256=sha, task="", task_sha256="", format=self._format
            )
        )

    def add(self, body: AnyBody) -> Sealed:
        """Return `body` as the run's next event."""
        self._seq += 1
        actor = Actor(role="importer", id=self._format)
        event = Event(
            v=ENVELOPE_VERSION, run=self.run, seq=self._seq, at=self.at, actor=actor, body=body, prev=self._prev
        )
        sealed = seal(event)
        self._prev = sealed.digest
        return sealed

    def all(self, bodies: Iterable[AnyBody]) -> Iterator[Sealed]:
        """Yield the start, then every body, sealed."""
        yield self.start()
        for body in bodies:
            yield self.add(body)
