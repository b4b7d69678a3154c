"""Which result answers which call, where ids may repeat, be constant, or be missing.

A call is paired with a result only where exactly one call can be meant; anything else is damage, and damage named
`pairing.*` keeps the whole trace from counting as evidence. Ids are unique only while a call is open, so a call that
has its result no longer competes for the next one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tallystick.model.trace import TraceCall, TraceDamage, TraceResult


@dataclass(slots=True)
class Draft:
    """A call that may still get its result."""

    message: int
    index: int
    tool: str
    args: Any
    args_text: str | None
    native_id: str | None
    result: TraceResult | None = None

    @property
    def id(self) -> str:
        """The id minted for this occurrence."""
        return f"m{self.message}.c{self.index}"

    def finished(self) -> TraceCall:
        """Return the immutable call."""
        return TraceCall(
            id=self.id,
            message=self.message,
            index=self.index,
            tool=self.tool,
            args=self.args,
            args_text=self.args_text,
            native_id=self.native_id,
            result=self.result,
            turn=self.message,
        )


class Pairing:
    """Takes turns of calls and results in order; `damage` and `orphans` collect what could not be paired."""

    def __init__(self) -> None:
        self.damage: list[TraceDamage] = []
        self.orphans: list[TraceResult] = []
        self._last: list[Draft] = []
        self._open: dict[str, list[Draft]] = {}
        self._said_since = False

    def turn(self, calls: list[Draft]) -> None:
        """An assistant message made these calls together."""
        if calls:
            self._last = calls
            self._said_since = False
        for call in calls:
            if call.native_id is not None:
                self._open.setdefault(call.native_id, []).append(call)

    def words(self) -> None:
        """Somebody said something without calling a tool; results from here on are late."""
        self._said_since = True

    def result(self, result: TraceResult, tool: str | None) -> None:
        """A result arrived; `tool` is the name it carries, if any."""
        where = f"m{result.index}"
        native = result.native_id
        if native is None:
            candidates = [d for d in self._last if d.result is None and tool in (None, d.tool)]
        else:
            candidates = self._open.get(native, [])
            if len(candidates) > 1 and tool is not None:
                candidates = [d for d in candidates if d.tool == tool] or candidates
        if len(candidates) > 1:
            named = f"the id `{native}`" if native is not None else "a result without an id"
            self._lost(result, "pairing.ambiguous", f"{named} could answer {len(candidates)} open calls", where)
        elif not candidates:
            self._unmatched(result, where)
        else:
            self._pair(candidates[0], result, where)

    def _pair(self, call: Draft, result: TraceResult, where: str) -> None:
        if call.native_id is not None:
            if result.native_id is None:
                note = f"the result has no id; {call.id} was the only open call"
                self.damage.append(TraceDamage(code="result.unaddressed", message=note, where=where))
            still = self._open[call.native_id]
            still[:] = [d for d in still if d is not call]
        if self._said_since or not any(d is call for d in self._last):
            result = TraceResult(
                body=result.body,
                flag=result.flag,
                text=result.text,
                structured=result.structured,
                native_id=result.native_id,
                index=result.index,
                truncated=result.truncated,
                late=True,
            )
        call.result = result

    def _unmatched(self, result: TraceResult, where: str) -> None:
        native = result.native_id
        if native is not None and native in self._open:
            self._lost(result, "result.repeated", f"every call with the id `{native}` already has its result", where)
        elif native is not None:
            self._lost(result, "result.orphan", f"no call has the id `{native}`", where)
        else:
            self._lost(result, "result.orphan", "the result has no id and no open call precedes it", where)

    def _lost(self, result: TraceResult, code: str, message: str, where: str) -> None:
        self.orphans.append(result)
        self.damage.append(TraceDamage(code=code, message=message, where=where))
