"""Foreign JSON is read exactly or refused with one clear error."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tallystick.errors import InputError
from tallystick.model.jsontext import MAX_DEPTH, MAX_NUMBER_CHARS, depth_of, dumps, dumps_slow, exact, loads
from tallystick.model.values import decimal_of, same

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text()
    | st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**30), max_value=10**30),
    lambda x: st.lists(x, max_size=4) | st.dictionaries(st.text(), x, max_size=4),
    max_leaves=20,
)  # fmt: skip


def no_float(value: Any) -> bool:
    if isinstance(value, dict):
        return all(map(no_float, value.values()))
    return all(map(no_float, value)) if isinstance(value, list) else not isinstance(value, float)


@given(value=VALUES)
def test_what_is_written_is_read_back_exactly(value: Any) -> None:
    again = loads(dumps(value))
    assert same(again, value)
    assert no_float(again)
    assert dumps(again) == dumps(loads(dumps(again).encode()))


@given(value=VALUES | st.integers(-(2**64), 2**64) | st.text(st.characters(max_codepoint=0x2FF)))
def test_the_fast_writer_writes_what_the_slow_one_writes(value: Any) -> None:
    assert dumps(value) == dumps_slow(value)


@given(value=VALUES | st.lists(st.tuples(st.text(), st.floats(allow_nan=False, allow_infinity=False, width=16))))
def test_an_exact_copy_is_what_would_be_read_and_shares_nothing(value: Any) -> None:
    copy, text = exact(value)
    assert text == dumps(value)
    assert no_float(copy)
    assert same(copy, loads(text))
    assert copy is not value or not isinstance(value, (list, dict))


@given(
    value=st.recursive(
        st.none() | st.booleans() | st.integers() | st.text() | st.floats(allow_nan=False, allow_infinity=False),
        lambda x: st.lists(x, max_size=4) | st.dictionaries(st.text(), x, max_size=4),
        max_leaves=20,
    ),
    ascii_only=st.booleans(),
)
def test_no_float_ever_comes_out(value: Any, ascii_only: bool) -> None:
    assert no_float(loads(json.dumps(value, ensure_ascii=ascii_only)))


@given(raw=st.binary(max_size=60) | st.text(max_size=60).map(lambda t: t.encode("utf-8", "surrogatepass")))
def test_no_bytes_at_all_give_another_exception(raw: bytes) -> None:
    try:
        loads(raw)
    except InputError:
        return
    json.loads(raw)  # whatever we take, the standard library takes


@pytest.mark.parametrize(
    ("raw", "what"),
    [
        (b"", "not JSON"),
        (b"{", "not JSON at line 1"),
        (b"[1,]", "not JSON"),
        (b"{} {}", "not JSON"),
        (b"'a'", "not JSON"),
        (b"01", "not JSON"),
        (b"+1", "not JSON"),
        (b".5", "not JSON"),
        (b"1.", "not JSON"),
        (b'"\t"', "not JSON"),
        (b"\x00", "not JSON"),
        (b"NaN", "`NaN` is not JSON"),
        (b"[Infinity]", "`Infinity` is not JSON"),
        (b"-Infinity", "`-Infinity` is not JSON"),
        (b'{"a":1,"a":1}', "`a` appears twice"),
        (b'{"a":1,"\\u0061":2}', "`a` appears twice"),
        (b'[{"x":{"b":1,"c":2,"b":3}}]', "`b` appears twice"),
        (b'"\\ud800"', "lone surrogate U\\+D800"),
        (b'{"\\udc00":1}', "lone surrogate U\\+DC00"),
        (b'["\\udc00\\ud800"]', "lone surrogate"),
        (b"\xef\xbb\xbf{}", "byte order mark"),
        ("{}".encode("utf-16"), "not UTF-8 at byte 0"),
        (b'"\xff"', "not UTF-8 at byte 1"),
        (b'"\xed\xa0\x80"', "not UTF-8"),
        (b'"\xc0\xaf"', "not UTF-8"),
        (b"1e400", None),
        (b"1e401", "out of range"),
        (b"1E999999999999", "out of range"),
        (b"-1e-401", "out of range"),
        (b"1e99999999999999999999", "out of range"),
        (b"0e-999999", "out of range"),
        (b"[0e99999999999999999999]", "out of range"),
        (b"9" * (MAX_NUMBER_CHARS + 1), "longer than"),
        (b"0." + b"1" * MAX_NUMBER_CHARS, "longer than"),
        (b"[" * 10_000 + b"]" * 10_000, "nested deeper than 200"),
        (b'{"a":' * 10_000 + b"1" + b"}" * 10_000, "nested deeper"),
        (b"[" * 1_000_000, "nested deeper"),
        (b"[" * (MAX_DEPTH + 1) + b"]" * (MAX_DEPTH + 1), "nested deeper"),
        (b"[" * MAX_DEPTH + b"]" * MAX_DEPTH, None),
        (b'["' + b"[" * 10_000 + b'"]', None),
        (b'["' + b'\\"[' * 10_000 + b'"]', None),
    ],
    ids=range(41),
)  # fmt: skip
def test_odd_inputs(raw: bytes, what: str | None) -> None:
    if what is None:
        loads(raw)
    else:
        with pytest.raises(InputError, match=what) as refused:
            loads(raw, where="result.json")
        assert refused.value.where == "result.json"
        assert len(str(refused.value)) < 300


def test_numbers_keep_every_digit() -> None:
    assert loads("9223372036854775808") == 2**63
    assert loads("-9223372036854775809") == -(2**63) - 1
    assert loads("0.1") == Decimal("0.1")
    assert str(loads("420.00")) == "420.00"
    assert loads("1e400") == Decimal("1e400")
    assert loads("9" * MAX_NUMBER_CHARS) == 10**MAX_NUMBER_CHARS - 1
    assert type(loads("1")) is int
    assert type(loads("1.0")) is Decimal
    assert loads("-0.0") == 0


def test_a_paired_surrogate_is_one_character() -> None:
    assert loads('"\\ud83d\\ude00"') == "\U0001f600"


@pytest.mark.parametrize(
    "value", [float("nan"), float("inf"), Decimal("NaN"), Decimal("Infinity"), {1, 2}, {1: 2}, b"x", "\ud800",
              {"\ud800": 1}, 10**5_000, object()], ids=range(11),
)  # fmt: skip
def test_what_is_not_json_is_not_written(value: Any) -> None:
    with pytest.raises(InputError):
        dumps([value])


def test_too_deep_a_value_is_not_written() -> None:
    value: Any = 1
    for _ in range(10_000):
        value = [value]
    with pytest.raises(InputError, match="nested deeper"):
        dumps(value)


@given(text=st.text(alphabet='[]{}"\\a', max_size=30), filler=st.integers(0, 1))
def test_brackets_inside_strings_do_not_count_as_depth(text: str, filler: int) -> None:
    inside = json.dumps(text)
    wrapped = "[" * (MAX_DEPTH - filler) + inside + "]" * (MAX_DEPTH - filler)
    assert depth_of(wrapped) in (0, MAX_DEPTH - filler)
    assert loads(wrapped) is not None


def test_a_number_of_another_library_is_written_as_the_number_it_is() -> None:
    class Loud(float):
        def __repr__(self) -> str:  # as NumPy's scalars do
            return f"np.float64({float(self)})"

    class Named(int):
        def __str__(self) -> str:
            return "420"

    assert dumps({"a": Loud(1.5), "b": Named(9999)}) == '{"a":1.5,"b":9999}'
    assert exact([Loud(1.5)]) == ([Decimal("1.5")], "[1.5]")
    assert decimal_of(Loud(1.5)) == Decimal("1.5")
