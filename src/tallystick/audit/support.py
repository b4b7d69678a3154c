"""Whether a value was ever said by a user or a tool before it was used: exact search with boundaries, no rounding."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any, Final

from tallystick.audit.case import Case
from tallystick.audit.step import Step
from tallystick.model.values import plain

_NUMBER: Final = re.compile(rb"\d[\d,]*(?:\.\d+)?")
_EDGE: Final = frozenset(b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
_DIGITS: Final = frozenset(b"0123456789")
SCALE: Final = 10_000
RECENT: Final = 2_000
MAX_NUMBERS: Final = 400
"""Bytes of evidence searched first, and distinct numbers tried in pairs, when a number was not said as such."""


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


def follows(case: Case, value: int, near: list[int], upto: int) -> bool:
    """Return whether a number follows by simple arithmetic from `near` numbers and those in the evidence before `upto`.

    All in ten-thousandths. What was said last is tried first; nearly every derived number is found there.
    """
    if near and (derived(value, near) or value == sum(near) - value):
        return True
    recent = max(0, upto - RECENT)
    if derived(value, near + _numbers(case, recent, upto)):
        return True
    return recent > 0 and derived(value, near + _numbers(case, 0, upto))


def _numbers(case: Case, start: int, upto: int) -> list[int]:
    """Return the distinct numbers in the evidence between two offsets, latest first, at most `MAX_NUMBERS`.

    Digits inside names count too, which can only make an audit milder.
    """
    found: dict[int, None] = {}
    for text in dict.fromkeys(reversed(_NUMBER.findall(case.evidence.text, start, upto))):
        whole, _, part = text.replace(b",", b"").partition(b".")
        if len(whole) < 16 and len(part) <= 4:
            found[int(whole) * SCALE + (int(part.ljust(4, b"0")) if part else 0)] = None
            if len(found) >= MAX_NUMBERS:
                break
    return list(found)


def derived(value: int, parts: list[int]) -> bool:
    """Return whether a number is a sum, difference or product of two others, or a sum of three of the first two dozen.

    All in ten-thousandths (`scaled`), so the arithmetic is exact.
    """
    known = set(parts)
    known.discard(value)
    for part in known:
        if value - part in known or value + part in known or part - value in known:
            return True
        if part > SCALE and value * SCALE % part == 0 and value * SCALE // part in known:
            return True
    few = list(dict.fromkeys(parts))[:24]
    pairs = {a + b for i, a in enumerate(few) for b in few[i:]}
    return any(value - part in pairs for part in few)
