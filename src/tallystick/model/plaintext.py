"""Foreign text made safe to show. What models and tools said is not ours, and a terminal obeys more than letters."""

from __future__ import annotations


def printable(text: str, *, keep: str = "") -> str:
    """Return `text` with everything that a terminal might obey (controls, direction overrides) written as escapes.

    Args:
        text: any text, lone surrogates included.
        keep: characters to leave as they are, such as a line feed.
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() or c in keep else c.encode("unicode_escape").decode("ascii") for c in text)
