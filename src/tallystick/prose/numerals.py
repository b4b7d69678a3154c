"""Numbers as people write them: digits with either convention of separators, and English number words."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Final

NUMERAL: Final = (
    r"(?:[0-9]{1,3}(?:,[0-9]{3})+(?:\.[0-9]+)?|[0-9]{1,3}(?:\.[0-9]{3})+,[0-9]+|[0-9]{1,3}(?:\.[0-9]{3}){2,}"
    r"|[0-9]{1,3}(?:[\u00a0\u202f'][0-9]{3})+(?:\.[0-9]+)?|[0-9]+(?:[.,][0-9]+)?|\.[0-9]+)"
)
"""A numeral without sign: `1,234.50`, `1.234,50`, `1 234.50`, `52`, `.5`."""
_SCALES: Final = {"k": 3, "thousand": 3, "m": 6, "million": 6, "bn": 9, "billion": 9}
_UNITS: Final = {
    word: value
    for value, word in enumerate(
        [
            "zero",
            "one",
            "two",
            "three",
            "four",
            "five",
            "six",
            "seven",
            "eight",
            "nine",
            "ten",
            "eleven",
            "twelve",
            "thirteen",
            "fourteen",
            "fifteen",
            "sixteen",
            "seventeen",
            "eighteen",
            "nineteen",
        ]
    )
}
_TENS: Final = {
    word: 10 * value
    for value, word in enumerate(
        ["twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"], start=2
    )
}
_BIG: Final = {"hundred": 100, "thousand": 1_000, "million": 1_000_000, "billion": 1_000_000_000}
_SINGLE: Final = {"dozen": 12, "once": 1, "twice": 2, "both": 2, "half": None}
_ORDINALS: Final = {
    word: value
    for value, word in enumerate(
        [
            "first",
            "second",
            "third",
            "fourth",
            "fifth",
            "sixth",
            "seventh",
            "eighth",
            "ninth",
            "tenth",
            "eleventh",
            "twelfth",
        ],
        start=1,
    )
}
_WORD: Final = "|".join(sorted([*_UNITS, *_TENS, *_BIG], key=len, reverse=True))
NUMBER_WORDS: Final = rf"(?:(?:a|one) )?(?:{_WORD})(?:(?:[ -]| and )(?:{_WORD})){{0,16}}|a dozen|dozen|both|once|twice"
ORDINAL_WORDS: Final = "|".join(_ORDINALS)


def readings_of(text: str) -> tuple[Decimal, ...]:
    """Return the numbers that a numeral states: one, or both where its separator may be read either way."""
    digits = text.replace("\u00a0", "").replace("\u202f", "").replace("'", "")
    if "," not in digits:
        usual = Decimal(digits.replace(".", "") if digits.count(".") > 1 else digits)
        # `1.299` is a thousand in half of the world.
        other = Decimal(digits.replace(".", "")) if re.fullmatch(r"[1-9][0-9]{0,2}\.[0-9]{3}", digits) else usual
        return (usual,) if other == usual else (usual, other)
    if "." in digits:
        comma_last = digits.rfind(",") > digits.rfind(".")
        return (Decimal(digits.replace(".", "").replace(",", ".") if comma_last else digits.replace(",", "")),)
    if digits.count(",") > 1:
        return (Decimal(digits.replace(",", "")),)
    whole, _, part = digits.partition(",")
    if len(part) == 3 and whole.strip("0"):
        return (Decimal(whole + part), Decimal(f"{whole}.{part}"))
    return (Decimal(f"{whole}.{part}"),)


def scaled_by(word: str) -> int:
    """Return the power of ten of `k`, `thousand`, `million`, ..., 0 for no such word."""
    return _SCALES.get(word.lower(), 0)


def number_of_words(text: str) -> int | None:
    """Return the number that English words state (`twenty-one`, `two hundred and five`, `a dozen`), else None.

    Words that do not make one number (`four twenty`, `one two three`) state none.
    """
    total = part = 0
    scale = 0
    found = False
    for word in re.split(r"[ -]+", text.lower()):
        if word in ("a", "and", ""):
            continue
        if word in _SINGLE:
            return None if found else _SINGLE[word]
        value = _UNITS.get(word, _TENS.get(word, _BIG.get(word)))
        if value is None or (found and total + part == 0):
            return None
        if word in _UNITS or word in _TENS:
            # After hundreds, anything; after tens, one of the nine; after those, nothing.
            if part % 100 and not (part % 100 >= 20 and part % 10 == 0 and 0 < value < 10):
                return None
            if value == 0 and found:
                return None
            part += value
        elif word == "hundred":
            if part >= 100 or (part == 0 and found):
                return None
            part = (part or 1) * 100
        else:
            if (scale and value >= scale) or (part == 0 and found):
                return None
            total, part, scale = total + (part or 1) * value, 0, value
        found = True
    return total + part if found else None


def ordinal_of(text: str) -> int | None:
    """Return the rank that `first`, `2nd`, ... states, else None."""
    if text.lower() in _ORDINALS:
        return _ORDINALS[text.lower()]
    found = re.fullmatch(r"([0-9]{1,4})(?:st|nd|rd|th)", text.lower())
    return int(found[1]) if found else None
