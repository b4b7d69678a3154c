"""Exact values in canonical form: what digests of arguments, and everything else with numbers, are taken over.

JSON keeps integers to 2^53 and no decimals, so other numbers are tagged strings here.
Source: RFC 8785, section 3.2.2.3.
"""

from __future__ import annotations

from typing import Any

from tallystick.errors import InputError
from tallystick.model.canonical import MAX_INTEGER, canonical, digest
from tallystick.model.values import decimal_of, plain


def args_digest(args: Any) -> str:
    """Return the SHA-256 of a call's arguments in canonical form; what approvals are bound to.

    Numbers are compared by value and exactly: integers beyond 2^53 and decimals are tagged strings here.

    Raises:
        InputError: the arguments hold NaN, a lone surrogate, something that is not JSON, or nest too deep.
    """
    try:
        return digest(canonical(tagged(args)))
    except (ValueError, RecursionError) as bad:
        raise InputError(f"arguments have no canonical form: {bad}") from None


def tagged(value: Any) -> Any:
    """Return `value` with every number that JSON may not keep exactly written as `{"$num": "digits"}`.

    Different values never look the same afterwards: a member itself called `$num`, `$$num`, … gets one more `$`.

    Raises:
        ValueError: a number is not finite, or something is not a JSON value.
    """
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return value
    if isinstance(value, dict):
        return {_escaped(k): tagged(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [tagged(v) for v in value]
    if isinstance(value, int) and -MAX_INTEGER <= value <= MAX_INTEGER:
        return value
    number = decimal_of(value)
    if number == number.to_integral_value() and number.copy_abs() <= MAX_INTEGER:
        return int(number)
    # Not `normalize()`: it rounds to the thread's decimal context.
    digits = plain(number)
    return {"$num": digits.rstrip("0").rstrip(".") if "." in digits else digits}


def _escaped(key: Any) -> Any:
    return "$" + key if isinstance(key, str) and key.startswith("$") and key.lstrip("$") == "num" else key
