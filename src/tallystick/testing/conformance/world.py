"""A lending desk small enough to see whole: look a book up, lend it once. Everything it does is counted."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from typing import Any, Final

from tallystick.contracts import parse

CONTRACT: Final = parse("""
contract: lending-desk/1
entities:
  book: {id: id, state: string}
tools:
  look:
    effect: read
    args: {book: id}
    target: book(args.book)
    yields: {book: {id: /id, state: /state}}
  lend:
    effect: write
    args: {book: id, days: integer}
    target: book(args.book)
    once_per: args.book
    ok: result.state == "lent"
    requires:
      - {id: free, fact: book.state == "free", fresh: since last write}
task:
  inputs: {book: id}
  owes:
    - {id: lent, by: lend}
  answer:
    - {slot: days, type: integer, derive: lend./days}
""")
"""Lending needs a look at that very book first; one loan a book; the answer states for how long."""
TASK: Final[Mapping[str, Any]] = {"request": "Lend book A for 7 days.", "bindings": {"book": "A"}}


class World:
    """The desk.

    Attributes:
        ran: every call that really ran: tool and arguments, in order.
        broken: while True, `lend` raises after the book was lent.
    """

    def __init__(self) -> None:
        self.ran: list[tuple[str, dict[str, Any]]] = []
        self.broken = False
        self._lock = threading.Lock()

    def look(self, book: str) -> dict[str, Any]:
        """Say whether a book is free."""
        with self._lock:
            lent = any(tool == "lend" and args["book"] == book for tool, args in self.ran)
            self.ran.append(("look", {"book": book}))
        return {"id": book, "state": "lent" if lent else "free"}

    def lend(self, book: str, days: int) -> dict[str, Any]:
        """Lend a book. Nothing stops a second loan of it."""
        with self._lock:
            self.ran.append(("lend", {"book": book, "days": days}))
        if self.broken:
            raise ConnectionError("the line went dead")
        return {"id": book, "state": "lent", "days": days}

    def tools(self) -> Mapping[str, Callable[..., Any]]:
        """The desk's tools by name."""
        return {"look": self.look, "lend": self.lend}

    def count(self, tool: str) -> int:
        """How often a tool really ran."""
        return sum(name == tool for name, _ in self.ran)
