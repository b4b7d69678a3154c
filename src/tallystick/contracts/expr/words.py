"""Whether a text names a value: `talk.user.mentions(args.amount)`, `talk.heard.covers(product.name)`.

Both look for whole words and whole numbers as they are written, ignoring case; nothing is guessed or rounded.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from decimal import Decimal
from functools import lru_cache
from typing import Any, Final

from tallystick.model.values import Money, Quantity, plain

_WORD: Final = re.compile(r"[^\W_]+")
_SMALL: Final = frozenset({"a", "an", "and", "at", "by", "for", "from", "in", "of", "on", "or", "the", "to", "with"})


def mentions(text: str, value: Any) -> bool:
    """Return whether `text` contains `value` as a word, a phrase or a number of its own.

    A number is found with and without cents and thousands separators (`1250`, `1,250`, `$1,250.00`), whatever its
    sign; a text also with spaces or hyphens for its underscores (`next_day` in `next-day`).

    Raises:
        TypeError: `value` is neither text nor a number.
    """
    if isinstance(value, (Money, Quantity)):
        value = value.amount
    if isinstance(value, str):
        if not value.strip():
            return False
        return _phrases((value,)).search(text) is not None
    if isinstance(value, bool) or not isinstance(value, (int, Decimal)):
        raise TypeError
    return any(
        re.search(rf"(?<![\w.,])(?<![\w]-){re.escape(form)}(?![\w]|[.,]\d|-\w)", text) for form in _spellings(value)
    )


def mentions_any(text: str, phrases: Iterable[Any]) -> bool:
    """Return whether `text` contains one of `phrases`; one that ends in `*` stands for every word that begins so.

    Raises:
        TypeError: one of them is not text.
    """
    wanted = tuple(phrases)
    if not all(type(phrase) is str for phrase in wanted):
        raise TypeError
    return bool(wanted) and _phrases(wanted, stars=True).search(text) is not None


@lru_cache(maxsize=1024)
def _phrases(phrases: tuple[str, ...], stars: bool = False) -> re.Pattern[str]:
    """Return a pattern of literal words only, so that a search takes time linear in the text."""
    options = []
    for phrase in phrases:
        open_ = stars and phrase.endswith("*")
        written = phrase.rstrip("*") if open_ else phrase
        words = [re.escape(word) for word in re.split(r"[\s_]+", written) if word]
        if words:
            options.append(r"[\s_-]+".join(words) + ("" if open_ else r"(?![^\W_])"))
    return re.compile(rf"(?<![^\W_])(?:{'|'.join(options) or '(?!)'})", re.IGNORECASE)


def _spellings(value: int | Decimal) -> list[str]:
    number = abs(Decimal(value))
    if number == number.to_integral_value():
        whole = plain(number.to_integral_value())
        forms = [whole, f"{whole}.0", f"{whole}.00"]
    else:
        text = plain(number).rstrip("0")
        forms = [text, f"{text}0"] if len(text.partition(".")[2]) == 1 else [text]
    return [*forms, *(f"{Decimal(form):,f}" for form in forms if number >= 1000)]


def covers(text: str, name: str) -> int:
    """Return how many per cent of the words of `name` occur in `text` (0 where `name` has none), rounded down.

    Words are compared without case and without a plural `s`; articles and prepositions do not count.
    """
    wanted = {_stem(word) for word in _WORD.findall(name.lower())} - _SMALL
    if not wanted:
        return 0
    found = {_stem(word) for word in _WORD.findall(text.lower())}
    return 100 * len(wanted & found) // len(wanted)


def _stem(word: str) -> str:
    return word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word
