"""The fast path writes the same bytes as the `rfc8785` package, or leaves the value to it."""

from __future__ import annotations

from typing import Any

import pytest
import rfc8785
from hypothesis import given
from hypothesis import strategies as st

from tallystick.errors import InputError
from tallystick.model.canonical import MAX_INTEGER, canonical, canonical_slow, digest

# Everything JSON strings may hold: controls, quotes, U+007F, U+2028, astral characters, noncharacters, normal forms.
ODD = st.sampled_from(["\x00", "\x1f", "\x7f", "\x80", '"', "\\", "/", "</script>", "\u2028", "\ufeff", "\uffff",
                       "\U0001f600", "\U0010ffff", "e\u0301", "é", "ﬁ", "\ud7ff", "\ue000", "\n\r\t\b\f"])  # fmt: skip
TEXT = st.text(max_size=10) | ODD | st.lists(ODD, max_size=4).map("".join)
SCALARS = st.one_of(st.none(), st.booleans(), st.integers(-MAX_INTEGER, MAX_INTEGER), TEXT)
PLAIN = st.recursive(SCALARS, lambda x: st.lists(x, max_size=4) | st.dictionaries(TEXT, x, max_size=4), max_leaves=25)
ANY = st.recursive(
    SCALARS | st.floats() | st.integers() | st.text(st.characters(), max_size=4),
    lambda x: st.lists(x, max_size=3) | st.dictionaries(TEXT, x, max_size=3) | st.tuples(x, x),
    max_leaves=15,
)


@given(value=PLAIN)
def test_the_fast_path_is_rfc_8785_byte_for_byte(value: Any) -> None:
    assert canonical(value) == rfc8785.dumps(value)


@given(value=ANY)
def test_any_value_is_written_like_the_reference_or_refused_like_it(value: Any) -> None:
    try:
        expected = rfc8785.dumps(value)
    except (rfc8785.CanonicalizationError, UnicodeError):
        with pytest.raises(InputError):
            canonical(value)
    else:
        assert canonical(value) == canonical_slow(value) == expected


def test_keys_are_ordered_by_utf_16_and_not_by_code_point() -> None:
    # RFC 8785 section 3.2.3: U+FB33 sorts after U+1F600, whose first UTF-16 unit is D83D.
    assert canonical({"\ufb33": 1, "\U0001f600": 2}) == '{"\U0001f600":2,"\ufb33":1}'.encode()


def test_the_rfcs_own_example() -> None:
    value = {
        "numbers": [333333333.33333329, 1e30, 4.50, 2e-3, 0.000000000000000000000000001],
        "string": '\u20ac$\u000f\nA\'B"\\\\"/',
        "literals": [None, True, False],
    }
    expected = (
        '{"literals":[null,true,false],"numbers":[333333333.3333333,1e+30,4.5,0.002,1e-27],'
        '"string":"€$\\u000f\\nA\'B\\"\\\\\\\\\\"/"}'
    )
    assert canonical(value) == expected.encode()


def deep(levels: int) -> Any:
    value: Any = "x"
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    "value",
    [2**53, -(2**53), 2**63, float("nan"), float("inf"), "\ud800", {"\udfff": 1}, {"a": {1, 2}}, {1: 2}, b"bytes",
     object(), deep(10_000), {"a": deep(100_000)}],
    ids=range(13),
)  # fmt: skip
def test_what_has_no_canonical_form_is_one_clear_error(value: Any) -> None:
    with pytest.raises(InputError, match="cannot be written canonically"):
        canonical(value)


def test_digest_is_sha_256() -> None:
    assert digest(b"abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
