"""Reading an artifact as statements: prose, lists, tables, chats, footnotes and tickets become sentences of clauses.

A ticket's object is one sentence: its members are the clauses, its keys the words before the colon. A table's row is
one, too. Every clause keeps the words of the artifact it came from, and whether it is a task line or a footnote.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from tallystick.errors import TallystickError
from tallystick.model import jsontext

CJK: Final = re.compile(r"[\u3400-\u9fff]")
_ITEM: Final = re.compile(
    r"^\s*(?:>\s*)*(?:[-*•–—+·]\s+|\(?\d{1,2}[.)、]\s*|[一二三四五六七八九十]{1,2}[、.]\s*|\[[ xX✓]?\]\s*|→\s*)+"
)
_NOTE: Final = re.compile(
    r"^\s*(?:[¹²³⁴†‡]|\[\d\]|\(\*\)|(?:ps|p\.s\.|footnote|fu(?:ß|ss)note|nota al pie|脚注|注)\s*[:：])", re.IGNORECASE
)
_STAR: Final = re.compile(r"^\s*\*+\s*(?=[^\s*])(?!.*\*\*)")
_SENTENCE: Final = re.compile(
    r"(?<=[.!?…])[\"')\]”»*_]*\s+(?=\S)|(?<=[。!?；;])|(?<=[\u3400-\u9fff]\.)\s*|(?<=[！？])|\s*\n\s*|;\s+|(?<=\D)\s\|\s"
)
_ABBREVIATION: Final = re.compile(
    r"\b(?:dr|mr|mrs|ms|e\.g|i\.e|z\.b|sr|sra|vs|approx|ca)\.$|"
    r"\b(?:no|nr|núm|art|sec|ch|cap|kap|p|pp|fig|vol|para|abs)\. *(?=\d)",
    re.IGNORECASE,
)
"""What ends in a dot and ends no sentence: titles, and what a number comes after."""
_CLAUSE: Final = re.compile(
    r",\s+|[，、]|(?<=[\u3400-\u9fff])[,:]\s*|\s+[–—-]{1,2}\s+|—|\s*(?:→|=>|⇒)\s*|:\s+|：|\s+\(|\)\s*|"
    r"\s+(?=(?:but|however|though|although|yet|so|because|since|pero|aunque|sino|y|o|aber|jedoch|und|oder|weil|sondern|and|or|nor|ni)\s)|"
    r"(?=但|不过|然而|因为|所以|并且|同时)",
    re.IGNORECASE,
)
_CONJUNCTION: Final = re.compile(
    r"(?:but|however|though|although|yet|so|because|since|and|or|nor|pero|aunque|sino|ni|y|o|aber|jedoch|und|oder|weil|sondern)\b|但|不过|然而",
    re.IGNORECASE,
)
_LONGEST: Final = 600
"""Characters of a sentence; those people write are shorter by half."""
_RULE_ROW: Final = re.compile(r"^\s*\|?[\s:|-]+\|?\s*$")


@dataclass(frozen=True, slots=True)
class Clause:
    """A piece of a sentence. `said` is how it reads, `joint` the mark or conjunction before it."""

    said: str
    joint: str = ""


@dataclass(frozen=True, slots=True)
class Sentence:
    """One statement.

    Attributes:
        said: its words.
        clauses: its pieces, in order.
        shape: where it stands: prose, an item of a list, a footnote, a member of a ticket or table, a heading.
        under: the keys or headings above it, outermost first.
        beside: of a ticket's list, the plain members of the object that holds it.
    """

    said: str
    clauses: tuple[Clause, ...]
    shape: str
    under: tuple[str, ...] = ()
    beside: str = ""


def sentences(artifact: str) -> tuple[Sentence, ...]:
    """Return the statements of an artifact, in its order; one without an end in reach is cut into several."""
    return tuple(part for s in _sentences(artifact) if s.clauses for part in _bounded(s))


def _bounded(sentence: Sentence) -> Iterator[Sentence]:
    # The cues look ahead and back over what they are given, which takes the square of its length and more.
    if len(sentence.said) <= _LONGEST:
        yield sentence
        return
    held: list[Clause] = []
    size = 0
    for clause in sentence.clauses:
        for n, said in enumerate(_chunks(clause.said)):
            if held and size + len(said) > _LONGEST:
                yield Sentence(" ".join(c.said for c in held), tuple(held), sentence.shape, sentence.under)
                held, size = [], 0
            held.append(Clause(said, "" if n else clause.joint))
            size += len(said)
    if held:
        yield Sentence(" ".join(c.said for c in held), tuple(held), sentence.shape, sentence.under)


def _chunks(said: str) -> Iterator[str]:
    while len(said) > _LONGEST:
        cut = said.rfind(" ", 0, _LONGEST)
        cut = cut if cut > 0 else _LONGEST
        if said[:cut].strip():
            yield said[:cut].strip()
        said = said[cut:].strip()
    if said:
        yield said


def _sentences(artifact: str) -> Iterator[Sentence]:
    stripped = artifact.strip()
    ticket = _ticket(stripped)
    if ticket is not None:
        yield from _members(ticket, ())
        return
    heading: str = ""
    columns: tuple[str, ...] = ()
    note = False
    starred = sum(_STAR.match(line) is not None for line in stripped.split("\n")) == 1
    for line in stripped.replace("\r\n", "\n").split("\n"):
        bare = line.strip()
        if not bare or set(bare) <= set("-_=*~ "):
            note = note or (bool(bare) and set(bare) <= set("_ ") and len(bare) > 2)
            if not bare:
                columns = ()
            continue
        if bare.startswith(("{", "[{")):
            inner = _ticket(bare)
            if isinstance(inner, dict | list):
                yield from _members(inner, ())
                continue
        if bare.count("|") >= 2 or (bare.startswith("|") and len(bare) > 1):
            if _RULE_ROW.match(bare):
                continue
            cells = tuple(c.strip() for c in bare.strip("|").split("|"))
            if not columns:
                columns = cells
                if len(cells) > 1:
                    continue
            yield _row(cells)
            continue
        columns = ()
        if bare.startswith("#") or re.fullmatch(r"\*\*[^*]+\*\*:?|__[^_]+__:?", bare):
            heading = _plain(bare)
            yield Sentence(heading, _clauses(heading), "heading")
            continue
        if bare.startswith("[tallystick"):
            if " json]" in bare or " begin]" in bare or " end " in bare:
                continue
            line = bare.partition("] ")[2]  # noqa: PLW2901 - the rest of this line is what is read
        shape = (
            "note"
            if note or _NOTE.match(line) or (starred and _STAR.match(line))
            else "item"
            if _ITEM.match(line)
            else "prose"
        )
        body = _plain(_ITEM.sub("", line) if shape == "item" else line)
        done = re.match(r"^\s*[-*]?\s*\[[xX✓]\]", line) is not None
        for said in _split(body):
            yield Sentence(said, _clauses(said), "done" if done else shape, (heading,) if heading else ())


def _ticket(text: str) -> Any:
    fenced = re.fullmatch(r"```(?:json)?\s*\n(.*)\n```", text, re.DOTALL)
    text = fenced[1] if fenced else text
    if not text.startswith(("{", "[")):
        return None
    try:
        made = jsontext.loads(text)
    except TallystickError:
        return None
    return made if isinstance(made, dict | list) else None


def _members(value: Any, under: tuple[str, ...], beside: str = "") -> Iterator[Sentence]:
    """Yield an object's plain members as one sentence, then what is nested in it."""
    if isinstance(value, list):
        plain = [v for v in value if not isinstance(v, dict | list)]
        if plain:
            yield _joined([_word(v) for v in plain], under, beside)
        for v in value:
            if isinstance(v, dict | list):
                yield from _members(v, under)
        return
    pairs: list[str] = []
    nested: list[tuple[str, Any]] = []
    for key, v in value.items():
        if isinstance(v, Mapping):
            nested.append((key, v))
        elif isinstance(v, list):
            if any(isinstance(x, dict | list) for x in v):
                nested.append((key, v))
            elif not v:
                pairs.append(f"{_name(key)}: none")
            else:
                nested.append((key, v))
        else:
            pairs.append(f"{_name(key)}: {_word(v)}")
    if pairs:
        yield _joined(pairs, under)
    for key, v in nested:
        yield from _members(v, (*under, _name(key)), "; ".join(pairs) if isinstance(v, list) else "")


def _joined(pieces: list[str], under: tuple[str, ...], beside: str = "") -> Sentence:
    # A member is not cut at its own colon: `allowed: no` says one thing.
    clauses = [c for piece in pieces for c in _clauses(piece, r"(?<=\w): ")]
    return Sentence("; ".join(pieces), tuple(clauses), "member", under, beside)


def _row(cells: tuple[str, ...]) -> Sentence:
    pieces = [cell for cell in cells if cell]
    said = _plain(" — ".join(pieces))
    return Sentence(said, tuple(c for p in pieces for c in _clauses(_plain(p))), "row")


def _name(key: str) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", key.replace("_", " ").replace("-", " ")).strip()


def _word(value: Any) -> str:
    if value is True:
        return "yes"
    if value is False:
        return "no"
    if value is None:
        return "none"
    return _spaced(str(value))


def _spaced(said: str) -> str:
    return re.sub(r"(?<=[A-Za-z0-9])_(?=[A-Za-z0-9])", " ", said)


def _plain(line: str) -> str:
    """Take Markdown's emphasis out; a struck-out passage is marked as withdrawn."""
    line = re.sub(r"~~(.+?)~~", r"withdrawn \1,", line)
    line = re.sub(r"\*\*|__|`", "", line)
    line = re.sub(r"(?<!\w)\*(\S[^*]*\S|\S)\*(?!\w)", r"\1", line)
    return _spaced(line.lstrip("#> ").strip())


def _split(body: str) -> Iterator[str]:
    held = ""
    pieces = [p.strip() for p in _SENTENCE.split(body) if p and p.strip()]
    for piece, after in zip(pieces, [*pieces[1:], ""], strict=False):
        held = f"{held} {piece}" if held else piece
        short = _ABBREVIATION.search(f"{held} {after[:1]}".strip(), max(0, len(held) - 6))
        if short and after:
            continue
        yield held
        held = ""
    if held:
        yield held


def _clauses(said: str, whole: str = "") -> tuple[Clause, ...]:
    out, at, joint = [], 0, ""
    kept = re.search(whole, said) if whole else None
    for cut in _CLAUSE.finditer(said):
        if kept and cut.start() == kept.start():
            continue
        if cut.start() > at and said[at : cut.start()].strip(" .,;*"):
            out.append(Clause(said[at : cut.start()].strip(), joint))
            joint = ""
        joint = (joint + cut[0].strip()) or joint
        at = cut.end()
    if said[at:].strip(" .,;*"):
        out.append(Clause(said[at:].strip(), joint))
    return tuple(Clause(c.said, c.joint or _joint(c.said)) if n else c for n, c in enumerate(out))


def _joint(said: str) -> str:
    first = _CONJUNCTION.match(said)
    return first[0].lower() if first else ""
