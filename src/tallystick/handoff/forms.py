"""Artifacts: plain text, Markdown, chat messages and tickets, each with its place for a carrier block.

Author's prose is what is left when the block is taken out, byte for byte. A line belongs to a block if, blanks around
it aside, it has the form of a line of a rendering or of the start of one; a message that holds nothing else, and a
ticket's member `tallystick`, do too. A line that goes on after what a rendering has there (joined lines, a link) is an
author's. So does what is no longer on lines of its own (quoted, joined) where it is proven to be a whole rendering
(`loose`).
Everything here only takes such places out and puts one rendering in; nothing else is ever written.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, get_args

from tallystick.errors import InputError
from tallystick.handoff.carrier import BEGIN, JSON, OWN, VERSION, Carrier, carrier_from, end_line, render, text_lines
from tallystick.handoff.loose import Span, Trace, cut, parsed, spans, traces, unescaped
from tallystick.model import jsontext

Form = Literal["text", "markdown", "messages", "ticket", "ticket-text"]
FORMS: Final = get_args(Form)
MEMBER: Final = "tallystick"
"""A ticket's member that holds the block: `{"carrier": {…}, "text": [lines]}`."""
_FRONT: Final = re.compile(r"---[ \t]*\r?\n(?:.*\n)*?---[ \t]*\r?\n")
_BARE: Final = frozenset({"role", "content"})
_FIRST: Final = frozenset({"system", "developer"})
_SPACE: Final = " \t\r\n"
_LINE: Final = re.compile(r"[^\r\n]*(?:\r\n|\r|\n)|[^\r\n]+")
_OURS: Final = re.compile(
    r"\[tallystick(?:\](?: .*)?| json\](?: .*)?| carrier/\S*(?: (?:begin\S*|end(?: \S*)?))?)", re.DOTALL
)
_TORN: Final = (BEGIN, JSON, f"{OWN} {VERSION} end ")


@dataclass(frozen=True, slots=True)
class Block:
    """One block as found: its lines without blanks around them, and the typed data it states, if it can be read.

    `whole`: the lines are exactly the rendering of `carrier`. `named`: the run its data names, where it is no carrier.
    """

    lines: tuple[str, ...]
    carrier: Carrier | None
    whole: bool
    named: str = ""

    @property
    def said(self) -> tuple[Trace, ...]:
        """The runs it names, with what it states of each: more than one where pieces of several blocks were mixed."""
        if self.whole and self.carrier is not None:
            return (Trace(self.carrier.run, self.carrier),)
        found = {trace.run: trace for trace in traces("\n".join(self.lines)) if trace.run}
        if self.carrier is not None:
            found[self.carrier.run] = Trace(self.carrier.run, self.carrier)
        elif self.named:
            found.setdefault(self.named, Trace(self.named))
        return tuple(found.values())


def form_of(artifact: object, form: str | None = None) -> Form:
    """Return the form of an artifact: the one named, else what it is by its type.

    A text that is one JSON object is a ticket's, lest lines above it make it no JSON; any other is plain text unless a
    form is named. A list is messages; a mapping is a ticket.

    Raises:
        InputError: no such form, or the artifact does not have it.
    """
    if form is not None and form not in FORMS:
        raise InputError(f"`{form}` is no form of an artifact", where="form", fix=f"one of {', '.join(FORMS)}")
    by_type: Form
    if isinstance(artifact, str):
        by_type = "ticket-text" if form is None and _is_object(artifact) else "text"
    elif isinstance(artifact, Mapping):
        by_type = "ticket"
    elif isinstance(artifact, Sequence) and not isinstance(artifact, (bytes, bytearray)):
        by_type = "messages"
    else:
        raise InputError(
            f"a {type(artifact).__name__} is no artifact", where="artifact", fix="a text, a list of messages, a mapping"
        )
    if by_type == "messages":
        for at, message in enumerate(artifact):
            if not isinstance(message, Mapping):
                raise InputError(f"a {type(message).__name__} is no message", where=f"artifact/{at}",
                                 fix="mappings with `role` and `content`")  # fmt: skip
    if form is None or form == by_type:
        return by_type
    if by_type == "text" and form in ("markdown", "ticket-text"):
        if form == "ticket-text":
            _members(str(artifact))
        return form  # type: ignore[return-value]  # one of FORMS
    raise InputError(f"a {type(artifact).__name__} is not of the form `{form}`", where="form", fix=f"`{by_type}`")


def _is_object(text: str) -> bool:
    bare = text.strip(_SPACE)
    if not (bare.startswith("{") and bare.endswith("}")):
        return False
    try:
        _members(text)
    except InputError:
        return False
    return True


# ---------------------------------------------------------------------- reading


def blocks(artifact: Any, form: Form) -> tuple[Block, ...]:
    """Return the carrier blocks in an artifact, in order; pieces of one count."""
    if form in ("text", "markdown"):
        return _in_text(artifact)
    if form == "messages":
        return tuple(b for message in artifact for text in _texts(message) for b in _in_text(text))
    member = artifact.get(MEMBER) if form == "ticket" else _member(artifact)
    return () if member is None else (_in_member(member),)


def traces_in(artifact: Any, form: Form) -> tuple[Trace, ...]:
    """Return what in an artifact has the marks of a block, anywhere in it: pieces that are in no block, and blocks too.

    Where a tear goes through a block, the one half may be in lines of its own and the other among the words around it.
    """
    return traces(jsontext.loads(artifact) if form == "ticket-text" else artifact)


def prose(artifact: Any, form: Form) -> Any:
    """Return the artifact without any block: what its author wrote."""
    return _replaced(artifact, form, None)


def prose_text(artifact: Any, form: Form) -> str:
    """Return an artifact's prose as one text, for whoever reads it: messages and members under each other."""
    left = prose(artifact, form)
    if isinstance(left, str):
        return left
    if form == "messages":
        return "\n".join(text for message in left for text in _texts(message))
    return jsontext.dumps(jsontext.exact(left)[0])


def own(line: str) -> bool:
    """Return whether a line belongs to a block."""
    bare = line.strip(_SPACE)
    if not bare.startswith(OWN):
        return False
    if bare.startswith(JSON):
        return not _goes_on(bare)
    return _OURS.fullmatch(bare) is not None or any(whole.startswith(bare) for whole in _TORN)


def _goes_on(line: str) -> bool:
    """Whether something follows the typed data on its line; where that is torn, nothing does."""
    try:
        _, end = _SCAN.raw_decode(line, len(JSON))
    except (ValueError, RecursionError):
        return False
    return end < len(line)


def _lines(text: str) -> list[str]:
    return _LINE.findall(text)


def _loose(text: str) -> tuple[Span, ...]:
    """Return the proven blocks that are not made of lines of their own."""
    return tuple(span for span in spans(text) if not _of_own_lines(text, span))


def _of_own_lines(text: str, span: Span) -> bool:
    end = span.end
    if text[end - 1] not in "\r\n":  # what follows on its last line
        rest = _LINE.match(text, end)
        end = rest.end() if rest is not None else end
    return span.alone and all(own(line) for line in _lines(text[span.start : end]) if line.strip(_SPACE))


def _in_text(text: str) -> tuple[Block, ...]:
    groups: list[list[str]] = []
    if OWN not in text:
        return ()
    loose = _loose(text)
    text = cut(text, loose)
    proven = tuple(Block(render(span.carrier), span.carrier, whole=True) for span in loose)
    for line in _lines(text):
        if own(line):
            bare = line.strip(_SPACE)
            if bare == BEGIN or not groups:
                groups.append([])
            groups[-1].append(bare)
    return (*proven, *(_block(tuple(group)) for group in groups))


def _block(lines: tuple[str, ...]) -> Block:
    found = _as_it_stands(lines)
    if found.whole:
        return found
    again = _as_it_stands(tuple(map(unescaped, lines)))  # an escaper's work, proven by what comes of undoing it
    return again if again.whole else found


def _as_it_stands(lines: tuple[str, ...]) -> Block:
    typed = [line for line in lines if line.startswith(JSON)]
    carrier = parsed(typed[0][len(JSON) :]) if len(typed) == 1 else None
    return Block(lines, carrier, carrier is not None and lines == render(carrier))


def _in_member(member: Any) -> Block:
    inside: Mapping[str, Any] = member if isinstance(member, Mapping) else {}
    text = inside.get("text")
    lines = tuple(t for t in text if isinstance(t, str)) if isinstance(text, (list, tuple)) else ()
    typed = inside.get("carrier")
    carrier = carrier_from(dict(typed)) if isinstance(typed, Mapping) else None
    whole = carrier is not None and dict(inside) == _held(carrier)
    named = typed.get("run") if isinstance(typed, Mapping) else None
    return Block(lines, carrier, whole, named if isinstance(named, str) else "")


def _texts(message: Mapping[str, Any]) -> tuple[str, ...]:
    content = message.get("content")
    if isinstance(content, str):
        return (content,)
    if isinstance(content, (list, tuple)):
        parts = (p if isinstance(p, str) else p.get("text") if isinstance(p, Mapping) else None for p in content)
        return tuple(p for p in parts if isinstance(p, str))
    return ()


# ---------------------------------------------------------------------- writing


def with_block(artifact: Any, form: Form, carrier: Carrier, *, role: str = "system") -> Any:
    """Return the artifact with exactly one block, the rendering of `carrier`, in the place of any it had.

    Where it had none: text and Markdown get it at the top (Markdown after its front matter), messages as one message of
    `role` after the leading system messages, tickets as their first member. What the author wrote stays as it is.
    """
    return _replaced(artifact, form, carrier, role)


def _replaced(artifact: Any, form: Form, carrier: Carrier | None, role: str = "system") -> Any:
    if form in ("text", "markdown"):
        lines = None if carrier is None else _indented(render(carrier), form)
        return _text_with(artifact, lines, form)
    if form == "messages":
        return _messages_with(artifact, carrier, role)
    if form == "ticket":
        rest = {name: value for name, value in artifact.items() if name != MEMBER}
        return rest if carrier is None else {MEMBER: _held(carrier), **rest}
    return _ticket_text_with(artifact, carrier)


def _held(carrier: Carrier) -> dict[str, Any]:
    return {"carrier": carrier.to_json(), "text": [*text_lines(carrier), end_line(carrier)]}


def _indented(lines: Sequence[str], form: Form) -> str:
    # Four blanks make it a code block in Markdown (CommonMark 4.4), so that no renderer joins its lines.
    lead = "    " if form == "markdown" else ""
    return "".join(f"{lead}{line}\n" for line in lines)


def _text_with(text: str, block: str | None, form: Form = "text") -> str:
    out: list[str] = []
    placed = block is None
    for line in _lines(cut(text, _loose(text))):
        if not own(line):
            out.append(line)
        elif not placed:
            out.append(block or "")
            placed = True
    left = "".join(out)
    if placed:
        return left
    front = _FRONT.match(left) if form == "markdown" else None
    at = front.end() if front is not None else 0
    return f"{left[:at]}{block}{left[at:]}"


def _messages_with(messages: Sequence[Mapping[str, Any]], carrier: Carrier | None, role: str) -> list[Any]:
    block = None if carrier is None else _indented(render(carrier), "text")
    out: list[Any] = []
    for message in messages:
        texts = _texts(message)
        if not any(map(_has, texts)):
            out.append(message)
        elif set(message) <= _BARE and not any(map(_left, texts)) and _only_text(message):
            if block is not None:  # a message that is nothing but a block
                out.append({"role": role, "content": block})
                block = None
        else:
            changed = _message_with(message, block)
            block = None
            out.append(changed)
    if block is None:
        return out
    at = next((i for i, m in enumerate(out) if not _leads(m)), len(out))
    return [*out[:at], {"role": role, "content": block}, *out[at:]]


def _leads(message: Mapping[str, Any]) -> bool:
    role = message.get("role")
    return isinstance(role, str) and role in _FIRST


def _has(text: str) -> bool:
    return OWN in text and (any(own(line) for line in _lines(text)) or bool(_loose(text)))


def _left(text: str) -> str:
    return _text_with(text, None)


def _only_text(message: Mapping[str, Any]) -> bool:
    content = message["content"]
    return isinstance(content, str) or len(_texts(message)) == len(content)


def _message_with(message: Mapping[str, Any], block: str | None) -> dict[str, Any]:
    left = [block]

    def put(text: str) -> str:
        if not _has(text):
            return text
        new, left[0] = _text_with(text, left[0]), None
        return new

    content = message["content"]
    if isinstance(content, str):
        return {**message, "content": put(content)}
    parts = [
        put(p) if isinstance(p, str)
        else {**p, "text": put(p["text"])} if isinstance(p, Mapping) and isinstance(p.get("text"), str) else p
        for p in content
    ]  # fmt: skip
    return {**message, "content": parts}


# ---------------------------------------------------------------------- tickets as JSON text


_SCAN: Final = json.JSONDecoder()
_BLANK: Final = re.compile(r"[ \t\r\n]*")


def _members(text: str) -> list[tuple[str, int, int]]:
    """Return (name, start, end) of every member of a JSON object's text; values are not read here.

    Raises:
        InputError: it is no JSON object.
    """
    if not isinstance(jsontext.loads(text, where="artifact"), dict):
        raise InputError(
            "it is no JSON object", where="artifact", fix="a ticket is a JSON object; or name another form"
        )
    found: list[tuple[str, int, int]] = []
    at = _past(text, _past(text, 0) + 1)
    while text[at] != "}":
        start = at
        name, at = _SCAN.raw_decode(text, at)
        at = _past(text, _past(text, at) + 1)
        _, at = _SCAN.raw_decode(text, at)
        found.append((name, start, at))
        at = _past(text, at)
        if text[at] == ",":
            at = _past(text, at + 1)
    return found


def _past(text: str, at: int) -> int:
    found = _BLANK.match(text, at)
    return found.end() if found else at


def _member(text: str) -> Any:
    return jsontext.loads(text).get(MEMBER)


def _ticket_text_with(text: str, carrier: Carrier | None) -> str:
    members = _members(text)
    at = next((i for i, (name, _, _) in enumerate(members) if name == MEMBER), None)
    new = None if carrier is None else f'"{MEMBER}": {jsontext.dumps(_held(carrier))}'
    if at is not None:
        _, start, end = members[at]
        if new is not None:
            return text[:start] + new + text[end:]
        if at + 1 < len(members):
            return text[:start] + text[members[at + 1][1] :]
        return text[: members[at - 1][2] if at else start] + text[end:]
    if new is None:
        return text
    head = _past(text, 0) + 1
    if not members:
        return text[:head] + new + text[head:]
    # Before the first member, where taking it out again leaves every other byte as it was.
    first = members[0][1]
    return f"{text[:first]}{new}, {text[first:]}"
