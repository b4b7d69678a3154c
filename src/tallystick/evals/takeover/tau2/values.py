"""Where the values of a call come from: the leaves of its arguments, and who said them before.

This is the evaluator's own look, kept apart from the gates: it counts what a gold call takes from receipts, from the
user's words, from reads that could be made, and from nowhere.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from tallystick.model.pointer import join, leaves
from tallystick.model.values import same


def place_in(result: Any, wanted: Any) -> str | None:
    """Return the JSON Pointer at which a result says a value first, or None. Numbers are compared by their value."""
    for at, value in leaves(result):
        if isinstance(value, bool) == isinstance(wanted, bool) and same(value, wanted):
            return join(at)
    return None


def said(words: str, value: Any) -> bool:
    """Whether words contain a value as a word of its own. Short numbers are said by any text that counts something."""
    if isinstance(value, bool) or value is None or value == "":
        return False
    whole = rf"(?<![\w-])(?<![0-9][.,]){re.escape(str(value))}(?![\w-])(?![.,][0-9])"
    return re.search(whole, words) is not None


def replaced(value: Any, path: Sequence[str | int], new: Any) -> Any:
    """Return a JSON value with another one at a path."""
    if not path:
        return new
    if isinstance(value, Mapping):
        return {name: replaced(item, path[1:], new) if name == path[0] else item for name, item in value.items()}
    return [replaced(item, path[1:], new) if n == path[0] else item for n, item in enumerate(value)]
