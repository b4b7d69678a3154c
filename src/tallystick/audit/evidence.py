"""What users and tools said, in order, as one text; searched by byte offset, so "before this call" is a bound."""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate

from tallystick.audit.step import Step


class Evidence:
    """Grows while a trace is read, then is searched. `size` is how much there is so far, in bytes."""

    def __init__(self) -> None:
        self.size = 0
        self._pieces: list[bytes] = []
        self._owners: list[Step | None] = []
        self._starts: list[int] = []
        self._joined: bytes | None = None
        self._lowered: bytes | None = None

    def add(self, piece: bytes, owner: Step | None) -> None:
        """Append what a user (no owner) or the result of a call said."""
        self._owners.append(owner)
        self._pieces.append(piece)
        self.size += len(piece) + 1

    @property
    def text(self) -> bytes:
        """All of it, a line feed between pieces."""
        if self._joined is None:
            self._joined = b"\n".join(self._pieces)
        return self._joined

    @property
    def lowered(self) -> bytes:
        """All of it in lower case (ASCII letters)."""
        if self._lowered is None:
            self._lowered = self.text.lower()
        return self._lowered

    def owner_at(self, offset: int) -> Step | None:
        """Return the call whose result stands at `offset`, or None for a user's or the system's words."""
        if not self._starts:
            self._starts = list(accumulate((len(p) + 1 for p in self._pieces), initial=0))
        return self._owners[bisect_right(self._starts, offset) - 1]
