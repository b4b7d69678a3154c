"""A reply that is one JSON text as a whole, read without recursion: its message, or that it carries none.

Source: unreliable-progress-bar, appendix G (envelope-stripped reading); RFC 8259. The library's decoder recurses, so
how deep it reads depends on the interpreter; here any depth is read, and only the message is ever built.
"""

from __future__ import annotations

import json
import re
from typing import Final

_SPACE: Final = " \t\n\r"
_STRING: Final = r'"[^"\\\x00-\x1f]*+(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4})[^"\\\x00-\x1f]*+)*+"'
_TOKEN: Final = re.compile(
    rf"[ \t\n\r]*+(?:(?P<text>{_STRING})|(?P<mark>[\[\]{{}},:])"
    r"|(?P<word>true|false|null|-?(?:0|[1-9][0-9]*+)(?:\.[0-9]++)?+(?:[eE][+-]?[0-9]++)?+))"
)


def unwrapped(reply: str) -> str | None:
    """Return the text under a reply's envelope.

    Returns:
        The `message` of a JSON object (the last one, where the key repeats) if it is a string; the content of a JSON
        string; None for any other JSON; and the reply itself, unchanged, where it is not JSON as a whole.
    """
    start = reply.lstrip(_SPACE)[:1]
    if not start or start not in '{["-0123456789tfn':
        return reply
    read = _read(reply)
    if read is None:
        return reply
    literal = read[0]
    if literal is None:
        return None
    told = json.loads(literal)
    return told if isinstance(told, str) else None


def _read(reply: str) -> tuple[str | None] | None:
    """Return the literal of the message in a tuple, (None,) where there is none, or None where this is not JSON.

    A table of what may come next: `value`, `first` (a value or the end of an empty list), `key`, `key?` (a key or the
    end of an empty object), `:`, and `,` (a comma or the end of what is open).
    """
    stack: list[str] = []
    expect, at, end = "value", 0, len(reply.rstrip(_SPACE))
    message: str | None = None
    key = ""
    while at < end:
        token = _TOKEN.match(reply, at, end)
        if token is None:
            return None
        at = token.end()
        text, mark = token["text"], token["mark"]
        if expect in ("key", "key?"):
            if text is not None:
                if len(stack) == 1:
                    key = text
                expect = ":"
                continue
            if mark != "}" or expect == "key":
                return None
            stack.pop()
        elif expect == ":":
            if mark != ":":
                return None
            expect = "value"
            continue
        elif expect == ",":
            if not stack or mark is None:
                return None
            if mark == ",":
                expect = "key" if stack[-1] == "{" else "value"
                continue
            if mark != ("}" if stack[-1] == "{" else "]"):
                return None
            stack.pop()
        else:
            here = len(stack) == 1 and stack[0] == "{" and json.loads(key) == "message"
            if here or not stack:
                message = text
            if mark in ("{", "["):
                stack.append(mark)
                expect = "key?" if mark == "{" else "first"
                continue
            if mark is not None and not (mark == "]" and expect == "first"):
                return None
            if mark == "]":
                stack.pop()
        expect = ","
    return (message,) if expect == "," and not stack else None
