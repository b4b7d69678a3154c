"""Words and bodies as chat formats carry them: text, lists of content parts, JSON inside text."""

from __future__ import annotations

from typing import Any

from tallystick.errors import InputError
from tallystick.traces.exact import loads


def text_of(content: Any) -> str | None:
    """Return the words of a `content` field: a string, null, or a list of parts. `None` where it is none of these.

    Parts that carry no text (images, audio, files) are named in square brackets, so that nothing vanishes.
    """
    if isinstance(content, str):
        return content
    if content is None:
        return ""
    if not isinstance(content, list):
        return None
    words = []
    for part in content:
        if isinstance(part, str):
            words.append(part)
        elif isinstance(part, dict):
            said = part.get("text", part.get("refusal"))
            words.append(said if isinstance(said, str) else f"[{part.get('type', 'part')}]")
        else:
            return None
    return "\n".join(words)


def body_of(text: str) -> Any:
    """Return what a tool's text says: the JSON value where it is JSON, else the text itself.

    Text that only resembles JSON (cut off, two values in a row, a key twice) stays text; nothing is repaired.
    """
    if not text or text[0] not in '{["-0123456789tfn \n\t\r':
        return text
    try:
        return loads(text.encode("utf-8"))
    except (InputError, UnicodeEncodeError):
        return text
