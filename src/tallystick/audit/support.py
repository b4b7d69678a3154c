"""Whether a value was ever said by a user or a tool before it was used: exact search with boundaries, no rounding."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from decimal import Decimal
from functools import lru_cache
from typing import Any, Final

from tallystick.audit.case import Case
from tallystick.audit.step import Step
from tallystick.model.values import plain

_KEYED: Final = re.compile(rb'"(\w+)":"?-?(\d+(?:\.\d+)?)')
_DOLLARS: Final = re.compile(rb"\$ ?(\d[\d,]*(?:\.\d+)?)")
_SIGNED: Final = re.compile(rb"[\xa3\xa5\xac] ?(\d[\d,]*(?:\.\d+)?)")
"""After the last byte of the signs of pound, yen and euro."""
_NAMED: Final = re.compile(rb"(\d[\d,]*(?:\.\d+)?) ?(?:USD|EUR|GBP|CHF|dollars|euros|\xe2\x82\xac)")
_CURRENCIES: Final = (b"USD", b"EUR", b"GBP", b"CHF", b"dollars", b"euros", b"\xe2\x82\xac")
RECENT: Final = 2_500
"""Bytes of evidence searched first for the parts of an amount."""
_AMOUNT_STEMS: Final = (b"amount", b"price", b"fee", b"total", b"cost", b"differ", b"refund", b"discount", b"balance",
                        b"charge", b"credit", b"paid", b"tax", b"rate", b"value", b"fare", b"point", b"sum", b"deposit",
                        b"tip", b"quantity", b"qty")  # fmt: skip
_EDGE: Final = frozenset(b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
_DIGITS: Final = frozenset(b"0123456789")
_NUMBER: Final = re.compile(rb"\d[\d,]*(?:\.\d+)?")
SCALE: Final = 10_000
MAX_NUMBERS: Final = 400
"""Amounts are compared in ten-thousandths; at most so many distinct numbers are tried in pairs."""


def spellings(value: Decimal | int) -> tuple[bytes, ...]:
    """Return the ways a number is written: with and without cents, with and without thousands separators."""
    number = Decimal(value)
    if number == number.to_integral_value():
        whole = plain(number.to_integral_value())
        texts = [whole, f"{whole}.0", f"{whole}.00"]
    else:
        text = plain(number.normalize())
        texts = [text, f"{text}0"] if len(text.partition(".")[2]) == 1 else [text]
    if abs(number) >= 1000:
        texts += [f"{Decimal(t):,f}" for t in texts]
    return tuple(t.lstrip("-").encode() for t in texts)


def _is_number_at(text: bytes, start: int, end: int) -> bool:
    """Return whether the digits at `start:end` are a number of their own, not part of a longer one or of a name."""
    if start and (text[start - 1] in _EDGE or (text[start - 1] in b".," and start > 1 and text[start - 2] in _DIGITS)):
        return False
    if end < len(text):
        after = text[end]
        if after in _DIGITS or (after in b".," and end + 1 < len(text) and text[end + 1] in _DIGITS):
            return False
    return True


def _is_word_at(text: bytes, start: int, end: int) -> bool:
    before = start == 0 or text[start - 1] not in _EDGE
    return before and (end >= len(text) or text[end] not in _EDGE)


def _echoes(owner: Step | None, value: Any) -> bool:
    """Return whether the result of `owner` merely repeats a value of its own arguments (only a write's may)."""
    if owner is None or not owner.writes:
        return False
    return any(v == value or (isinstance(v, list) and value in v) for v in owner.args.values())


def stands(text: bytes, needle: bytes, upto: int, *, number: bool) -> bool:
    """Return whether `needle` stands in `text` before `upto` as a word or number of its own, whoever said it."""
    size = len(needle)
    at = text.rfind(needle, 0, upto)
    while at != -1:
        if _is_number_at(text, at, at + size) if number else _is_word_at(text, at, at + size):
            return True
        at = text.rfind(needle, 0, at + size - 1)
    return False


def _found(case: Case, text: bytes, needle: bytes, upto: int, value: Any, number: bool) -> bool:
    # From the latest back: what an agent uses it has mostly just read.
    size = len(needle)
    at = text.rfind(needle, 0, upto)
    while at != -1:
        whole = _is_number_at(text, at, at + size) if number else _is_word_at(text, at, at + size)
        if whole and not _echoes(case.evidence.owner_at(at), value):
            return True
        at = text.rfind(needle, 0, at + size - 1)
    return False


def said(case: Case, value: Any, upto: int) -> bool:
    """Return whether the text `value` or number `value` stands in the evidence before byte `upto`.

    Identifiers are compared as written, then without regard to the case of ASCII letters.
    """
    evidence = case.evidence
    # Before the first write nothing can be an echo of a write's own argument; nearly everything is found there.
    early = case.writes[0].upto if case.writes and case.writes[0].upto < upto else upto
    if type(value) is str:
        if stands(evidence.text, value.encode("utf-8", "surrogatepass"), early, number=False):
            return True
    elif type(value) is int and stands(evidence.text, b"%d" % abs(value), early, number=True):
        return True
    if type(value) is int:
        return _found(case, evidence.text, b"%d" % value, upto, value, True) or any(
            _found(case, evidence.text, s, upto, value, True) for s in spellings(value)[1:]
        )
    if isinstance(value, str):
        needle = value.encode("utf-8", "surrogatepass")
        if _found(case, evidence.text, needle, upto, value, False):
            return True
        low = needle.lower()
        for form in {low, low.replace(b"_", b" "), low.replace(b"_", b"-")}:
            if _found(case, evidence.lowered, form, upto, value, False):
                return True
        return False
    if isinstance(value, Decimal):
        return any(_found(case, evidence.text, s, upto, value, True) for s in spellings(value))
    return True


def scaled(value: Decimal | int) -> int | None:
    """Return a number in ten-thousandths, exactly, or None where that is not a whole number of them."""
    number = Decimal(value) * SCALE
    return int(number) if number == number.to_integral_value() else None


class Arithmetic:
    """Whether numbers follow from what was said before byte `upto`; what is expensive is worked out once, when needed.

    All in ten-thousandths, so the arithmetic is exact.
    """

    def __init__(self, case: Case, upto: int, near: Iterable[int] = ()) -> None:
        self._text = case.evidence.text
        self._upto = upto
        self._near = list(dict.fromkeys(near))
        self._recent: set[int] | None = None
        self._all: set[int] | None = None

    def follows(self, value: int) -> bool:
        """Return whether an amount follows by simple arithmetic from the `near` amounts and those in the evidence.

        A sum of several of the nearest; or a sum, difference or product of two, of which the evidence may give one or
        both. Only amounts count: any number is the sum of some two of a few hundred.
        """
        sums = {0}
        for part in [n for n in self._near if n != value][:8]:
            sums |= {total + part for total in sums}
        if value in sums or _in_two_steps(value, set(self._near)):
            return True
        start = max(0, self._upto - RECENT)
        if self._recent is None:
            self._recent = {*self._near, *_amounts(self._text, start, self._upto)}
        if _in_two_steps(value, self._recent):
            return True
        if start == 0:
            return False
        if self._all is None:
            self._all = {*self._near, *_amounts(self._text, 0, self._upto)}
        return _in_two_steps(value, self._all)

    def reachable(self, value: int) -> bool:
        """Return whether a number is a sum, difference or product of any two numbers in the evidence.

        A weak sign (digits inside names and dates count too), good only for being milder.
        """
        found = dict.fromkeys(reversed(_NUMBER.findall(self._text, 0, self._upto)))
        return _in_two_steps(value, {scaled_text(text) for text in list(found)[:MAX_NUMBERS]})


def _in_two_steps(value: int, known: set[int]) -> bool:
    for part in known:
        if part <= 0 or part == value:
            continue  # nothing follows from itself
        if value - part in known or value + part in known or part - value in known:
            return True
        if part > SCALE and value * SCALE % part == 0 and value * SCALE // part in known:
            return True
    return False


def scaled_text(text: bytes) -> int:
    """Return a number as written in ten-thousandths, or -1 for one too long or too fine."""
    whole, _, part = text.replace(b",", b"").partition(b".")
    if len(whole) >= 16 or len(part) > 4:
        return -1
    return int(whole) * SCALE + (int(part.ljust(4, b"0")) if part else 0)


@lru_cache(maxsize=4096)
def _is_amount_key(key: bytes) -> bool:
    return any(stem in key for stem in _AMOUNT_STEMS)


def _amounts(text: bytes, start: int, upto: int) -> Iterator[int]:
    """Yield the amounts in `text` between two offsets: with a currency, or under a name of an amount."""
    for digits in {digits for key, digits in _KEYED.findall(text, start, upto) if _is_amount_key(key)}:
        yield scaled_text(digits)
    for digits in set(_DOLLARS.findall(text, start, upto)):
        yield scaled_text(digits)
    if not text.isascii():
        for digits in set(_SIGNED.findall(text, start, upto)):
            yield scaled_text(digits)
    if any(text.find(name, start, upto) != -1 for name in _CURRENCIES):
        for digits in _NAMED.findall(text, start, upto):
            yield scaled_text(digits)
