"""What users and tools said, in order, as one text; searched by byte offset, so "before this call" is a bound."""

from __future__ import annotations

from bisect import bisect_right

from tallystick.audit.step import Step


class Evidence:
    """Pieces in order (`starts` are their byte offsets), each with the call whose result it is, or None for words."""

    __slots__ = ("_joined", "_lowered", "owners", "pieces", "size", "starts")

    def __init__(self, pieces: list[bytes], owners: list[Step | None], starts: list[int], size: int) -> None:
        self.pieces = pieces
        self.owners = owners
        self.starts = starts
        self.size = size
        self._joined: bytes | None = None
        self._lowered: bytes | None = None

    @property
    def text(self) -> bytes:
        """All of it, a line feed between pieces."""
        if self._joined is None:
            self._joined = b"\n".join(self.pieces)
        return self._joined

    @property
    def lowered(self) -> bytes:
        """All of it in lower case (ASCII letters)."""
        if self._lowered is None:
            self._lowered = self.text.lower()
        return self._lowered

    def owner_at(self, offset: int) -> Step | None:
        """Return the call whose result stands at `offset`, or None for a user's or the system's words."""
        return self.owners[bisect_right(self.starts, offset) - 1]
