"""A recorded conversation in neutral form: what every importer yields and `audit` reads.

Calls get an id of their own per occurrence, because native ids repeat, collide or are missing. Nothing is guessed: what
cannot be read or paired becomes `Damage` with a code. `gc=False`: JSON values make no cycles, so none need be looked
for.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

import msgspec


class TraceResult(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """What came back for one call: the envelope's flag and both channels, exactly as recorded."""

    body: Any
    flag: Literal["ok", "error", "unset"] = "unset"
    text: str | None = None  # the raw text, where the format carries text
    structured: Any = None
    native_id: str | None = None
    index: int = 0  # position of the message it came in
    truncated: bool = False
    cached_from: str | None = None
    late: bool = False


class TraceCall(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """One tool call. `id` is minted: `m<message>.c<call>`, 0-based. `result` is None when nothing came back."""

    id: str
    message: int
    index: int
    tool: str
    args: Any
    args_text: str | None = None
    native_id: str | None = None
    result: TraceResult | None = None
    turn: int | None = None


class TraceMessage(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Words by `role` (system, user, assistant). `calls` come before `text` in time, as models emit them."""

    index: int
    role: str
    text: str
    calls: tuple[TraceCall, ...] = ()
    truncated: bool = False


class TraceDamage(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """Something unreadable or unpairable, with a stable code such as `result.orphan` or `pairing.ambiguous`."""

    code: str
    message: str
    where: str


class Trace(msgspec.Struct, frozen=True, kw_only=True):
    """One conversation.

    Attributes:
        id: stable name (file name without ending, or conversation id).
        source: where it was read from.
        format: importer name.
        now: RFC 3339 instant the run took place at, if the format or a side file says so.
        sha256: of the bytes it was read from; importing the same bytes again gives the same trace.
    """

    id: str
    source: str
    format: str
    messages: tuple[TraceMessage, ...]
    damage: tuple[TraceDamage, ...] = ()
    orphans: tuple[TraceResult, ...] = ()
    now: str | None = None
    sha256: str = ""
    meta: Mapping[str, Any] = {}

    @property
    def calls(self) -> tuple[TraceCall, ...]:
        """All calls in order."""
        return tuple(c for m in self.messages for c in m.calls)

    @property
    def quarantined(self) -> bool:
        """Whether pairing is ambiguous, so no evidence may be taken from this trace."""
        return any(d.code.startswith("pairing.") for d in self.damage)
