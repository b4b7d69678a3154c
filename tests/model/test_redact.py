"""Secrets never reach storage, and equality is all that is left of them."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from tallystick.errors import InputError
from tallystick.model import jsontext
from tallystick.model.canonical import digest
from tallystick.model.pointer import resolve, resolve_each, split
from tallystick.model.redact import redact, redact_value

KEY = b"k" * 32
NAMES = st.sampled_from(["a", "b", "card", "*", "0", "1", "", "pass word", "é", "~/"])
SCALARS = st.one_of(
    st.none(), st.booleans(), st.integers(), st.text(max_size=8),
    st.decimals(allow_nan=False, allow_infinity=False, places=2),
)  # fmt: skip
JSON = st.recursive(
    SCALARS, lambda x: st.lists(x, max_size=4) | st.dictionaries(NAMES | st.text(max_size=4), x, max_size=4),
    max_leaves=15,
)  # fmt: skip
POINTERS = st.lists(st.lists(NAMES, max_size=3).map(tuple), max_size=3)
LAYOUTS = st.sampled_from([(",", ":"), (", ", ": "), (" , ", "\t:\n ")])


def secret(*pointers: str) -> list[tuple[str, ...]]:
    return [split(p) for p in pointers]


@given(value=JSON, pointers=POINTERS)
def test_redacted_bytes_say_what_the_redacted_value_says(value: Any, pointers: list[tuple[str, ...]]) -> None:
    raw = jsontext.dumps(value).encode()
    assert jsontext.loads(redact(raw, pointers, KEY).raw) == redact_value(jsontext.loads(raw), pointers, KEY)


@given(value=JSON, pointers=POINTERS, layout=LAYOUTS, ascii_only=st.booleans())
def test_spelling_and_layout_do_not_matter(
    value: Any, pointers: list[tuple[str, ...]], layout: Any, ascii_only: bool
) -> None:
    value = jsontext.loads(jsontext.dumps(value))
    plain = json.dumps(value, default=float, ensure_ascii=False).encode()
    spaced = json.dumps(value, default=float, separators=layout, ensure_ascii=ascii_only).encode()
    one, two = redact(plain, pointers, KEY), redact(spaced, pointers, KEY)
    assert one.redacted == two.redacted
    assert jsontext.loads(one.raw) == jsontext.loads(two.raw)


@given(value=JSON, pointers=POINTERS)
def test_nothing_but_the_named_places_changes(value: Any, pointers: list[tuple[str, ...]]) -> None:
    raw = json.dumps(jsontext.loads(jsontext.dumps(value)), default=float, separators=(" ,", ": ")).encode()
    done = redact(raw, pointers, KEY)
    assert done.sha256 == digest(done.raw)
    text, rest = raw.decode(), done.raw.decode()
    # Cutting the marks out of the result leaves pieces that are found, in order, in the original.
    marks = [resolve(jsontext.loads(done.raw), split(p)) for p in done.redacted]
    at = 0
    for mark in marks:
        piece, _, rest = rest.partition(f'"{mark}"')
        found = text.index(piece, at)
        assert found == at or at > 0
        at = found + len(piece)
    assert text.endswith(rest)
    if not done.redacted:
        assert done.raw == raw


@given(value=JSON, pointers=POINTERS)
def test_every_named_value_is_gone(value: Any, pointers: list[tuple[str, ...]]) -> None:
    raw = jsontext.dumps(value).encode()
    redacted = redact_value(jsontext.loads(raw), pointers, KEY)
    for tokens in pointers:
        for _, found in resolve_each(redacted, tokens):
            assert isinstance(found, str)
            assert found.startswith("hmac:")


@given(secret_text=st.text(alphabet="0123456789abcdefXYZ-", min_size=8, max_size=30), other=JSON)
def test_a_secret_string_is_nowhere_in_the_stored_bytes(secret_text: str, other: Any) -> None:
    rest = jsontext.dumps(other)
    assume(secret_text not in rest)
    raw = f'{{"x":{rest},"card":{{"number":{json.dumps(secret_text)}}}}}'.encode()
    done = redact(raw, secret("/card/number"), KEY)
    assert secret_text.encode() not in done.raw
    assert done.redacted == ["/card/number"]


@given(left=SCALARS, right=SCALARS)
def test_marks_are_equal_exactly_where_values_are_the_same(left: Any, right: Any) -> None:
    from tallystick.model.values import same

    marks = [redact_value({"a": v}, secret("/a"), KEY)["a"] for v in (left, right)]
    assert (marks[0] == marks[1]) is same(left, right)


def test_another_run_gives_another_mark() -> None:
    one, two = (redact(b'{"pin":"1234"}', secret("/pin"), key).raw for key in (KEY, b"l" * 32))
    assert one != two


@pytest.mark.parametrize(
    ("raw", "pointers", "redacted"),
    [
        (b'{"a": 1, "b": 2}', ["/a"], ["/a"]),
        (b'{"a": {"b": 1}, "c": 2}', ["/a", "/a/b"], ["/a"]),
        (b'[{"t": 1}, {"t": null}, {}]', ["/*/t"], ["/0/t", "/1/t"]),
        (b'{"x": {"t": 1}, "y": {"t": 2}}', ["/*/t"], ["/x/t", "/y/t"]),
        (b'{"a": [1, 2]}', ["/a/1"], ["/a/1"]),
        (b'{"a": [1, 2]}', ["/a/01", "/a/-", "/a/2", "/b"], []),
        (b'{"a": 7}', ["/a/b"], []),
        (b' "s" ', [""], [""]),
        (b'{"pass\\u0077ord": "x"}', ["/password"], ["/password"]),
        (b'{"a~/": "x"}', ["/a~0~1"], ["/a~0~1"]),
        (b'{"card": "{\\"number\\": 1}"}', ["/card/number"], ["/card"]),
        (b'"{\\"number\\": 1}"', ["/number"], [""]),
    ],
)
def test_which_places_are_replaced(raw: bytes, pointers: list[str], redacted: list[str]) -> None:
    assert redact(raw, secret(*pointers), KEY).redacted == redacted


def test_the_rest_of_the_bytes_is_kept_as_it_was() -> None:
    raw = b'{ "amount":420.00,\n "pin" : "12\\u00e94" , "note":"\\u00e9\xc3\xa9" }\n'
    mark = redact_value({"pin": "12é4"}, secret("/pin"), KEY)["pin"]
    expected = b'{ "amount":420.00,\n "pin" : "%s" , "note":"\\u00e9\xc3\xa9" }\n' % mark.encode()
    assert redact(raw, secret("/pin"), KEY).raw == expected


@pytest.mark.parametrize(
    "raw",
    [
        b"",
        b"password is hunter2",
        b'{"pin": "hunter2"',
        b'{"pin": "hunter2", "pin": 1}',
        b'{"pin": "hunter2", "x": NaN}',
        b'{"pin": "hunter2", "x": "\\ud800"}',
        b'\xef\xbb\xbf{"pin": "hunter2"}',
        b'{"pin": "hunter2\xff"}',
        b'{"pin": "hunter2"} {"pin": 1}',
        b"[" * 10_000 + b"hunter2",
        '{"pin": "hunter2"}'.encode("utf-16"),
    ],
    ids=range(11),
)
def test_what_cannot_be_read_is_replaced_whole_where_secrets_are_declared(raw: bytes) -> None:
    done = redact(raw, secret("/pin"), KEY)
    assert done.redacted == [""]
    assert b"hunter2" not in done.raw
    assert jsontext.loads(done.raw).startswith("hmac:")
    assert redact(raw, secret("/pin"), KEY) == done
    assert redact(raw + b" ", secret("/pin"), KEY) != done


def test_without_secrets_bytes_stay_whatever_they_are() -> None:
    for raw in (b"\xff\x00", b"{", b'{"a": 1}'):
        assert redact(raw, [], KEY).raw == raw
        assert redact(raw, [], KEY).redacted == []


def test_numbers_are_equal_by_value_and_large_ones_exactly() -> None:
    marks = {redact(b'{"a":%s}' % n, secret("/a"), KEY).raw for n in (b"1", b"1.0", b"1e0", b"10E-1")}
    assert len(marks) == 1
    marks = {redact(b'{"a":%s}' % n, secret("/a"), KEY).raw for n in (b"1" * 40, b"1" * 39 + b"2")}
    assert len(marks) == 2
    assert redact_value({"a": 1}, secret("/a"), KEY) != redact_value({"a": "1"}, secret("/a"), KEY)
    assert redact_value({"a": Decimal("1.0")}, secret("/a"), KEY) == redact_value({"a": 1}, secret("/a"), KEY)


def test_a_short_key_and_a_value_that_is_not_json_are_refused() -> None:
    with pytest.raises(InputError, match="32 random bytes"):
        redact(b"{}", [], b"short")
    with pytest.raises(InputError, match="not a JSON value"):
        redact_value({"a": {1, 2}}, secret("/a"), KEY)
    with pytest.raises(InputError, match="not a JSON value"):
        redact_value({"a": float("nan")}, secret("/a"), KEY)
