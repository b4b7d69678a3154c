"""Blocks that do not stand on lines of their own: quoted, joined to one line, indented, escaped, told inside a ticket.

Where the bytes prove it, such a block is read as what it is: quote marks, indentation and kinds of white space aside,
it has to be the rendering of the very data it states, character for character. Everything else that has the marks of a
block is a trace: it proves nothing, and keeps an artifact from passing as one that never had a block.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from tallystick.errors import InputError
from tallystick.handoff.carrier import OWN, Carrier, carrier_from, render
from tallystick.model import jsontext

_AROUND: Final = " \t\r\n\v\f\u00a0>|*#-\u2022"
"""What mail, chat and ticket systems put before a line: blanks, quote marks, bullets, the bars of a table."""
_BEGIN: Final = re.compile("\\[tallystick[ \t\u00a0]+carrier/1[ \t\u00a0]+begin\\]")
_END: Final = re.compile("\\[tallystick[ \t\u00a0]+carrier/1[ \t\u00a0]+end[ \t\u00a0]+[0-9a-f]{64}\\]")
# On one line each, and of several beginnings the first: taking blocks out never makes a new one of what is left.
_JSON: Final = "[tallystick json] "
_QUOTES: Final = str.maketrans(
    dict.fromkeys("\u201c\u201d\u201e\u2033\u00ab\u00bb", '"') | dict.fromkeys("\u2018\u2019\u201a\u2032", "'")
)
_ENTITIES: Final = {"&quot;": '"', "&#34;": '"', "&#x22;": '"', "&apos;": "'", "&#39;": "'", "&#x27;": "'",
                    "&lt;": "<", "&gt;": ">", "&nbsp;": " ", "&#91;": "[", "&#93;": "]", "&amp;": "&"}  # fmt: skip
_ENTITY: Final = re.compile("|".join(map(re.escape, _ENTITIES)))
_UNSEEN: Final = re.compile("[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u2069\ufeff]")
_FIELDS: Final = r"(?:stop|removes|until|decided by|meanwhile):"
_MARK: Final = re.compile(
    r"\[\s{0,9}tallystick(?:\s{0,9}\]\s{1,9}(?:run\s|[^\n\[]{1,400}?\|\s{1,9}" + _FIELDS + r")|\s{1,9}json\s{0,9}\]"
    r"|\s{1,9}carrier/1\s{1,9}(?:begin|end)\b)" + r'|"carrier"\s{0,9}:\s{0,9}"carrier/\d',
    re.IGNORECASE,
)
_RUN_LINE: Final = re.compile(
    r"\]\s{1,9}run\s{1,9}(.{1,400}?):\s{1,9}(?:no|\d{1,9})\s{1,9}open\s{1,9}blockers?\b",
    re.IGNORECASE | re.DOTALL,
)
_RUN_TORN: Final = re.compile(
    r"begin\s{0,9}\][\s>|*#\-\u2022]{1,40}\[\s{0,9}tallystick\s{0,9}\]\s{1,9}run\s{1,9}([^\s\[]{1,400}?)(?::?(?=[\s\[]|$))",
    re.IGNORECASE,
)
_RUN_MEMBER: Final = re.compile(r'"run"\s{0,9}:\s{0,9}"([^"]{1,400})"\s{0,9},\s{0,9}"seq"', re.IGNORECASE)
_CODE: Final = re.compile(r"(?<!\\)\\+u([0-9a-fA-F]{4})")
_BLANKS: Final = re.compile(r"(?<!\\)\\+[nrt]")
_SLASHED: Final = re.compile(r'(?<!\\)\\+"')


@dataclass(frozen=True, slots=True)
class Span:
    """A block found by its marks and proven: where it is in the text, with what only stood around it.

    `alone`: nothing of an author's is before it on its line.
    """

    start: int
    end: int
    alone: bool
    carrier: Carrier


@dataclass(frozen=True, slots=True)
class Trace:
    """Marks of a block that prove nothing. `run` is the run they name, "" where they name none."""

    run: str
    carrier: Carrier | None = None

    def of(self, run: str) -> bool:
        """Return whether they name that run, or so much of its name as a tear left."""
        return self.run == run or (self.carrier is None and run.startswith(self.run))


def unescaped(text: str) -> str:
    """Return a text with typographic quotes made plain and the character entities that escapers write resolved, once.

    No others: an entity for a plain letter is written by nobody but somebody who hides it.
    """
    return _ENTITY.sub(lambda found: _ENTITIES[found[0]], text).translate(_QUOTES)


def normal(text: str) -> str:
    """Return a text without what stands before its lines and before each mark of a block, its white space joined."""
    lines = [line.lstrip(_AROUND) if OWN in line else line for line in text.splitlines()]
    parts = "\n".join(lines).split(OWN)
    return " ".join(f" {OWN}".join([*(part.rstrip(_AROUND) for part in parts[:-1]), parts[-1]]).split())


def spans(text: str) -> tuple[Span, ...]:
    """Return the proven blocks of a text, in order."""
    found: list[Span] = []
    at = 0
    while (begin := _BEGIN.search(text, at)) is not None:
        end = _END.search(text, begin.end())
        if end is None:
            break
        at = end.end()
        carrier = _proven(text[begin.start() : at])
        place = _around(text, begin.start(), at, found[-1] if found else None) if carrier is not None else None
        if carrier is not None and place is not None:
            found.append(Span(*place, carrier))
    return tuple(found)


def _proven(piece: str) -> Carrier | None:
    said = normal(piece)
    head, _, rest = said.partition(_JSON)
    typed, mark, _ = rest.rpartition(f" {OWN}")
    if not head or not mark:
        return None
    carrier = parsed(typed)
    return carrier if carrier is not None and normal("\n".join(render(carrier))) == said else None


def parsed(text: str) -> Carrier | None:
    """Return the carrier that a JSON text states, or None."""
    try:
        return carrier_from(jsontext.loads(text))
    except InputError:
        return None


def _around(text: str, start: int, end: int, last: Span | None) -> tuple[int, int, bool] | None:
    """Return where to cut, so that half a quote mark does not stay; None where what is before could make a mark."""
    line = max(text.rfind("\n", 0, start), text.rfind("\r", 0, start)) + 1
    first = line if last is None else max(line, last.end)
    before = text[first:start]
    if before.strip(_AROUND):
        return None if "[" in before else (start, end, False)
    alone = first == line or (last is not None and last.alone)
    if not alone:
        return start, end, False
    while end < len(text) and text[end] in " \t\u00a0":
        end += 1
    ends = text[end : end + 2]
    if ends[:1] in ("\r", "\n"):
        end += 2 if ends == "\r\n" else 1
    return first, end, True


def cut(text: str, found: Sequence[Span]) -> str:
    """Return a text without these blocks."""
    out, at = [], 0
    for span in found:
        out.append(text[at : span.start])
        at = span.end
    return "".join((*out, text[at:]))


def traces(value: Any) -> tuple[Trace, ...]:
    """Return the traces of blocks in whatever is left of an artifact: in each of its texts, at any depth."""
    found: dict[tuple[str, str], Trace] = {}
    for one in everything(value):
        for trace in _in_text(one) if isinstance(one, str) else _in_mapping(one):
            found.setdefault((trace.run, trace.carrier.digest() if trace.carrier is not None else ""), trace)
    return tuple(found.values())


def everything(value: Any) -> Iterator[str | Mapping[Any, Any]]:
    """Yield every text and mapping in a value, without recursion; each container once, so that a circle ends."""
    stack, seen = [value], set()
    while stack:
        here = stack.pop()
        if isinstance(here, str):
            yield here
            continue
        if id(here) in seen:
            continue
        if isinstance(here, Mapping):
            seen.add(id(here))
            yield here
            stack.extend(here.keys())
            stack.extend(here.values())
        elif isinstance(here, (list, tuple)):
            seen.add(id(here))
            stack.extend(here)


def _in_mapping(value: Mapping[Any, Any]) -> Iterator[Trace]:
    run, version = value.get("run"), value.get("carrier")
    if isinstance(run, str) and isinstance(version, str) and version.startswith("carrier/"):
        yield Trace(run, carrier_from(dict(value)))


def _in_text(text: str) -> Iterator[Trace]:
    if "tallystick" not in (low := text.casefold()) and "carrier/" not in low:
        return
    said = _plain(text)
    if _MARK.search(said) is None:
        return
    found: dict[str, Carrier] = {}
    for match in _MARK.finditer(said):
        carrier = _stated(said, match.end()) if "json" in match[0].lower() else None
        if carrier is not None:
            found[carrier.digest()] = carrier
    named = {carrier.run for carrier in found.values()}
    # Lines are wrapped anywhere, in the middle of a name too.
    joined = "".join(line.strip(_AROUND) for line in said.splitlines())
    others = {
        " ".join(match[1].split()): None
        for pattern, text in ((_RUN_LINE, said), (_RUN_TORN, said), (_RUN_MEMBER, said), (_RUN_MEMBER, joined))
        for match in pattern.finditer(text)
    }
    yield from (Trace(carrier.run, carrier) for carrier in found.values())
    yield from (Trace(run) for run in others if run not in named)
    if not found and not others:
        yield Trace("")


def _plain(text: str) -> str:
    said = unescaped(unescaped(text))
    if "\\" in said:  # a JSON text within a text
        said = _BLANKS.sub(" ", _SLASHED.sub('"', _CODE.sub(lambda found: _letter(found[1]), said)))
    return _UNSEEN.sub("", unicodedata.normalize("NFKC", said))


def _letter(code: str) -> str:
    letter = chr(int(code, 16))
    return " " if "\ud800" <= letter <= "\udfff" else letter


def _stated(said: str, at: int) -> Carrier | None:
    """Return the carrier in the JSON text that starts here, if it can be read up to the next mark or the line's end."""
    end = said.find(f"{OWN} ", at)
    piece = said[at : end if end >= 0 else len(said)].strip(_AROUND)
    return parsed(piece) or parsed(piece.partition("\n")[0].rstrip())
