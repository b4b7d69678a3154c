"""What a host may take from words: names, ids, repeated wishes. Guesses, and marked as such in the record."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

_TOKEN: Final = re.compile(r"[^\s,;:!?\"'()\[\]{}]+")
_AGAIN: Final = frozenset({"again", "another", "once more", "second time", "repeat"})
_IRREGULAR: Final = {
    "send": "sent", "pay": "paid", "make": "made", "write": "written", "build": "built", "run": "run", "set": "set",
    "do": "done", "give": "given", "take": "taken", "put": "put", "buy": "bought", "sell": "sold",
}  # fmt: skip


def tokens(text: str) -> list[str]:
    """Return the words of a text as written, without punctuation around them; `tmp.sh.` gives `tmp.sh`."""
    return [t for t in (found.rstrip(".…").lstrip("…") for found in _TOKEN.findall(text)) if t]


def parts(name: str) -> list[str]:
    """Return the words of an identifier, in lower case: `order_cancel` gives `order`, `cancel`."""
    return [p for p in re.split(r"[^0-9a-z]+", name.lower()) if p]


def names_tool(name: str, words: Iterable[str]) -> bool:
    """Return whether a text names a tool: every word of its name occurs."""
    said = {w.lower() for w in words}
    wanted = parts(name)
    return bool(wanted) and all(w in said for w in wanted)


def names_action(name: str, others: Iterable[str], words: Iterable[str]) -> bool:
    """Return whether a text names what a tool does: a word of its name that no other tool shares.

    Beside `event_create`, only `update` says what `event_update` does.
    """
    said = {w.lower() for w in words}
    shared = {p for other in others if other != name for p in parts(other)}
    return any(w in said for w in parts(name) if w not in shared)


def asks_again(text: str) -> bool:
    """Return whether a user's words ask for the same once more."""
    low = f" {' '.join(tokens(text.lower()))} "
    return any(f" {word} " in low for word in _AGAIN)


def inflections(verb: str) -> frozenset[str]:
    """Return the forms in which a claim may say that a verb was done, or how often: `created`, `deposits`."""
    found = {f"{verb}ed", f"{verb}s", _IRREGULAR.get(verb, f"{verb}ed")}
    if verb.endswith("e"):
        found.add(f"{verb}d")
    if verb.endswith("y"):
        found |= {f"{verb[:-1]}ied", f"{verb[:-1]}ies"}
    if len(verb) > 2 and verb[-1] not in "aeiouwxy" and verb[-2] in "aeiou":
        found.add(f"{verb}{verb[-1]}ed")
    return frozenset(found)


def says_done(field: str, tool: str) -> bool:
    """Return whether a claimed field is a form of a word of the tool's name: `created` of `event_create`."""
    return any(p in inflections(verb) for verb in parts(tool) for p in parts(field))
