"""Text as a reader sees it: references decoded once, compatibility forms folded, nothing invisible, lower case."""

from __future__ import annotations

import html
import re
import unicodedata
from typing import Final

_INVISIBLE: Final = re.compile("[\u200b-\u200d\u2060\ufeff\u00ad]+")
_NUMBER: Final = re.compile(r"&#0*+([0-9]{8,}+);?|&#[xX]0*+([0-9a-fA-F]{7,}+);?|&#0+(?=[0-9])|&#[xX]0+(?=[0-9a-fA-F])")
_LONG: Final = 2_000
"""Characters above which marks are sorted before they are composed; below, the library's own sort is fast enough."""


def readable(text: str) -> str:
    """Return `text` with character references decoded once, NFKC, invisible characters deleted, in lower case.

    Linear in the text, and defined for every text: lone surrogates stay as they are.
    """
    if "&" in text:
        text = html.unescape(_NUMBER.sub(_short, text))
    if not text.isascii():
        text = _INVISIBLE.sub("", unicodedata.normalize("NFKC", _sorted_marks(text)))
    return text.lower()


def _short(found: re.Match[str]) -> str:
    """A numeric reference without leading zeros; one beyond Unicode as U+FFFD, which is what HTML makes of it.

    The library reads the digits as an integer, and Python refuses integers of thousands of digits.
    """
    if found[1] or found[2]:
        return "\ufffd"
    return "&#x" if found[0][2] in "xX" else "&#"


def _sorted_marks(text: str) -> str:
    """Return a canonically equivalent text whose long runs of combining marks are in order already.

    `unicodedata` puts marks in order by insertion, in quadratic time on a hostile run of them.
    """
    if len(text) <= _LONG:
        return text
    apart = {ord(c): unicodedata.normalize("NFKD", c) for c in set(text)}
    text = text.translate(apart)
    marks = {c for c in set(text) if unicodedata.combining(c)}
    if not marks:
        return text
    run = re.compile("[" + "".join(map(re.escape, sorted(marks))) + "]{3,}")
    return run.sub(lambda found: "".join(sorted(found[0], key=unicodedata.combining)), text)
