"""Whether a value was ever said by a user or a tool before it was used: exact search with boundaries, no rounding."""

from __future__ import annotations

import re
from decimal import Decimal, InvalidOperation
from typing import Any, Final

from tallystick.audit.case import Case
from tallystick.audit.step import Step
from tallystick.model.values import plain

_NUMBER: Final = re.compile(rb"\d[\d,]*(?:\.\d+)?")
_EDGE: Final = frozenset(b"0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
_DIGITS: Final = frozenset(b"0123456789")
MAX_NUMBERS: Final = 400
"""Distinct earlier numbers tried in pairs when a number was not said as such."""


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


def numbers_before(case: Case, upto: int) -> list[Decimal]:
    """Return the distinct numbers in the evidence before byte `upto`, latest first, at most `MAX_NUMBERS`."""
    found: dict[Decimal, None] = {}
    for text in reversed(_NUMBER.findall(case.evidence.text[:upto])):
        try:
            found[Decimal(text.replace(b",", b"").decode())] = None
        except InvalidOperation:  # pragma: no cover - the pattern yields numbers only
            continue
        if len(found) >= MAX_NUMBERS:
            break
    return list(found)


def derived(value: Decimal | int, parts: list[Decimal]) -> bool:
    """Return whether a number is the sum, difference, product or share (%) of two numbers, or a sum of three of few."""
    wanted = Decimal(value)
    known = set(parts)
    for part in parts:
        if wanted - part in known or wanted + part in known or part - wanted in known:
            return True
        if part and abs(part) != 1 and wanted % part == 0 and wanted / part in known:
            return True
    few = parts[:60]
    pairs = {a + b for i, a in enumerate(few) for b in few[i:]}
    return any(wanted - part in pairs or part - wanted in pairs for part in few)
