"""The fast reader: the same values as the slow one, and never a dropped member."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tallystick.errors import InputError
from tallystick.model import jsontext
from tallystick.traces import exact

WORDS = st.text(max_size=8) | st.sampled_from(['":', "\\u003a", "a:b", '"', "\\", "\u2028", "€", ": ", "{", "[["])
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | WORDS
    | st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**9), max_value=10**9, places=4),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(WORDS, inner, max_size=4),
    max_leaves=20,
)  # fmt: skip


def written(value: Any, ascii_only: bool, space: str) -> str:
    """JSON as other programs write it: with or without escapes and whitespace."""
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=ascii_only)
    if isinstance(value, list):
        return "[" + f"{space},{space}".join(written(v, ascii_only, space) for v in value) + "]"
    if isinstance(value, dict):
        pairs = (
            f"{json.dumps(k, ensure_ascii=ascii_only)}{space}:{written(v, ascii_only, space)}" for k, v in value.items()
        )
        return "{" + f",{space}".join(pairs) + "}"
    return jsontext.dumps(value)


@given(VALUES, st.booleans(), st.sampled_from(["", " ", "\n\t"]))
def test_the_fast_reader_gives_the_values_of_the_slow_one(value: Any, ascii_only: bool, space: str) -> None:
    raw = written(value, ascii_only, space).encode()
    assert _same(exact.loads(raw), jsontext.loads(raw))


@given(st.dictionaries(WORDS, VALUES, min_size=1, max_size=4), st.data(), st.sampled_from(["", " ", "\n", "\t"]))
def test_a_member_that_appears_twice_is_always_noticed(members: dict[str, Any], data: Any, space: str) -> None:
    key = data.draw(st.sampled_from(sorted(members)))
    pairs = [*members.items(), (key, data.draw(VALUES))]
    body = ",".join(f"{jsontext.dumps(k)}{space}:{space}{jsontext.dumps(v)}" for k, v in pairs)
    with pytest.raises(InputError, match="twice"):
        exact.loads(f'{{"outer":[{{{body}}}]}}'.encode())


@given(st.binary(max_size=40) | st.text(alphabet='{}[]",:0123456789.eE+-ntruefalsN \\ud8', max_size=40).map(str.encode))
def test_both_readers_refuse_the_same_bytes(raw: bytes) -> None:
    try:
        slow: Any = jsontext.loads(raw)
    except InputError:
        with pytest.raises(InputError):
            exact.loads(raw)
    else:
        assert _same(exact.loads(raw), slow)


def _same(left: Any, right: Any) -> bool:
    if isinstance(left, dict):
        return (
            isinstance(right, dict) and list(left) == list(right) and all(_same(v, right[k]) for k, v in left.items())
        )
    if isinstance(left, list):
        return isinstance(right, list) and len(left) == len(right) and all(map(_same, left, right))
    if isinstance(left, Decimal):
        return type(right) is Decimal and str(left) == str(right)
    return type(left) is type(right) and bool(left == right)


@pytest.mark.parametrize(
    ("raw", "says"),
    [
        (b'{"a": NaN}', "NaN"),
        (b'{"a": "\\ud800"}', "surrogate"),
        (b'{"a": 1, "a": 2}', "twice"),
        (b"[" * 10_000 + b"]" * 10_000, "nested deeper"),
        (b"[" * 300 + b"]" * 300, "nested deeper"),
        (b'{"a": 1e999}', "out of range"),
        (b"\xff\xfe{}", "UTF-8"),
        (b"\xef\xbb\xbf{}", "byte order mark"),
        (b'{"a": 1', "not JSON"),
    ],
)
def test_what_is_not_exact_json_is_refused_with_a_reason(raw: bytes, says: str) -> None:
    with pytest.raises(InputError, match=says):
        exact.loads(raw)


def test_numbers_keep_every_digit() -> None:
    value = exact.loads(b'{"id":9223372036854775808,"big":123456789012345678901234567890,"price":1.10}')
    assert value == {"id": 2**63, "big": 123456789012345678901234567890, "price": Decimal("1.10")}
    assert str(value["price"]) == "1.10"


def test_a_document_beyond_the_limit_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(exact, "MAX_DOCUMENT", 10)
    with pytest.raises(InputError, match="larger than 10"):
        exact.loads(b'"aaaaaaaaaaaaaa"')
