"""Where a statement stands: its sentence, its line, the headings over it, the lines before it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

_SENTENCE: Final = re.compile(r"(?<=[.!?])(?<!\b[A-Z]\.)[)\"'*\u201d]*\s+(?=[A-Z0-9*\"'(\u201c$-])")
_CLAUSE: Final = re.compile(
    r"[;,()\u2014|\u2022]|\s[\u2013-]\s|:\s(?=\S+.*[,;])|\band\b|\bbut\b|\bso\b|\bwith\b|\bplus\b"
)
_BULLET: Final = re.compile(r"\s*(?:[-*\u2022\u2013]\s+|\d+[.)]\s+)")
_HEADING: Final = re.compile(r"\s*(?:#{1,6}\s+.*|\*\*[^*]+\*\*:?\s*|[^.!?]*:\s*\**\s*)$")


@dataclass(frozen=True, slots=True)
class Line:
    """One line of a message: offsets, how deep it stands, and whether it heads what follows."""

    start: int
    end: int
    depth: int
    bullet: bool
    heading: bool
    blank: bool


@dataclass(frozen=True, slots=True)
class Setting:
    """A span in its message."""

    text: str
    start: int
    end: int
    lines: tuple[Line, ...]

    @property
    def span(self) -> str:
        """The statement's own words."""
        return self.text[self.start : self.end]

    def line_at(self, offset: int) -> int:
        """Return the number of the line an offset is in."""
        return next((i for i, line in enumerate(self.lines) if line.start <= offset <= line.end), len(self.lines) - 1)

    def sentence(self) -> tuple[int, int]:
        """Return the offsets of the sentence the span begins in, extended over the whole span."""
        line = self.lines[self.line_at(self.start)]
        start, end = line.start, line.end
        for cut in _SENTENCE.finditer(self.text, line.start, line.end):
            if cut.end() <= self.start:
                start = cut.end()
            elif cut.start() >= self.end:
                end = cut.start()
                break
        return start, max(end, self.end)

    def line(self) -> tuple[int, int]:
        """Return the offsets of the line."""
        line = self.lines[self.line_at(self.start)]
        return line.start, max(line.end, self.end)

    def clause(self, start: int, end: int) -> tuple[int, int]:
        """Return the offsets of the clause around a mention, within its line."""
        line = self.lines[self.line_at(start)]
        low, high = line.start, line.end
        for cut in _CLAUSE.finditer(self.text, line.start, line.end):
            if cut.end() <= start:
                low = cut.end()
            elif cut.start() >= end:
                high = cut.start()
                break
        for cut in _SENTENCE.finditer(self.text, low, high):
            if cut.end() <= start:
                low = cut.end()
            elif cut.start() >= end:
                high = min(high, cut.start())
        return low, high

    def headings(self) -> Iterator[tuple[int, int]]:
        """Yield the offsets of the lines that head the span's line, the nearest first."""
        at = self.line_at(self.start)
        depth = self.lines[at].depth
        for before in range(at - 1, -1, -1):
            line = self.lines[before]
            if line.blank:
                continue
            if line.depth < depth or (
                line.heading and line.depth <= depth and not (line.bullet and self.lines[at].bullet)
            ):
                yield line.start, line.end
                depth = min(depth, line.depth)
                if line.heading and not line.bullet and line.depth == 0:
                    return

    def column(self, at: int) -> tuple[int, int] | None:
        """Return the offsets of the cell that heads the column of a table an offset is in; None outside of tables."""
        line = self.line_at(at)
        row = self.lines[line]
        first = line
        while first > 0 and self.text[self.lines[first - 1].start : self.lines[first - 1].end].lstrip().startswith("|"):
            first -= 1
        if first == line or not self.text[row.start : row.end].lstrip().startswith("|"):
            return None
        bars = self.text.count("|", row.start, at)
        head = self.lines[first]
        cuts = [head.start + m.start() for m in re.finditer(r"\|", self.text[head.start : head.end])]
        return (cuts[bars - 1] + 1, cuts[bars]) if 0 < bars < len(cuts) else None

    def block(self) -> tuple[int, int]:
        """Return the offsets of the lines around the span's without a blank line between."""
        low = high = self.line_at(self.start)
        while low > 0 and not self.lines[low - 1].blank:
            low -= 1
        while high + 1 < len(self.lines) and not self.lines[high + 1].blank:
            high += 1
        return self.lines[low].start, self.lines[high].end

    def before(self, start: int = 0) -> Iterator[tuple[int, int]]:
        """Yield the offsets of the lines before the span's and from `start` on, the nearest first."""
        for line in reversed(self.lines[: self.line_at(self.start)]):
            if not line.blank and line.start >= start:
                yield line.start, line.end

    def following_list(self) -> list[tuple[int, int]]:
        """Return the offsets of the list that the span's line introduces, if it does."""
        at = self.line_at(self.start)
        found: list[tuple[int, int]] = []
        for line in self.lines[at + 1 :]:
            if line.blank and not found:
                continue
            if line.blank or not (line.bullet or line.depth > self.lines[at].depth):
                break
            found.append((line.start, line.end))
        return found

    def at(self, start: int, end: int) -> Setting:
        """Return the setting of another span of the same message."""
        return Setting(self.text, start, end, self.lines)


def setting_of(text: str, start: int, end: int) -> Setting:
    """Return a span of a text in its setting."""
    lines: list[Line] = []
    offset = 0
    for raw in text.split("\n"):
        bullet = _BULLET.match(raw)
        indent = len(raw) - len(raw.lstrip(" \t"))
        body = raw.strip()
        heading = bool(body) and _HEADING.match(raw) is not None
        if body and not heading and not bullet and indent == 0 and len(body) < 50 and body[-1] not in ".!?,":
            heading = True
        depth = (indent + 2 if bullet else indent) if body else 0
        lines.append(Line(offset, offset + len(raw), depth, bullet is not None, heading, not body))
        offset += len(raw) + 1
    return Setting(text, start, end, tuple(lines))
