"""JSON Pointers as RFC 6901 says."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tallystick.model.pointer import MISSING, join, leaves, resolve, resolve_each, split

# RFC 6901 section 5.
DOCUMENT = {"foo": ["bar", "baz"], "": 0, "a/b": 1, "c%d": 2, "e^f": 3, "g|h": 4, "i\\j": 5, 'k"l': 6, " ": 7, "m~n": 8}
EXAMPLES = {
    "": DOCUMENT, "/foo": ["bar", "baz"], "/foo/0": "bar", "/": 0, "/a~1b": 1, "/c%d": 2, "/e^f": 3, "/g|h": 4,
    "/i\\j": 5, '/k"l': 6, "/ ": 7, "/m~0n": 8,
}  # fmt: skip


@pytest.mark.parametrize("pointer", EXAMPLES)
def test_the_rfcs_examples(pointer: str) -> None:
    assert resolve(DOCUMENT, split(pointer)) == EXAMPLES[pointer]


@given(tokens=st.lists(st.text(), max_size=5).map(tuple))
def test_joining_and_splitting_are_inverse(tokens: tuple[str, ...]) -> None:
    assert split(join(tokens)) == tokens


@pytest.mark.parametrize("bad", ["foo", " /a", "/~", "/a~2", "/~~", "/~~01", "/~0~", "/a/~x/b", "#/a"])
def test_a_malformed_pointer_is_refused(bad: str) -> None:
    with pytest.raises(ValueError, match="JSON Pointer"):
        split(bad)


@pytest.mark.parametrize("token", ["-", "01", "00", "-1", "+1", "1.0", " 1", "2", "\u0661", "²", "9" * 5_000, "", "x"])
def test_what_is_no_index_of_an_item_names_nothing(token: str) -> None:
    assert resolve(["a", "b"], (token,)) is MISSING


def test_null_is_something_and_a_scalar_has_no_members() -> None:
    assert resolve({"a": None}, ("a",)) is None
    assert resolve({"a": "text"}, ("a", "0")) is MISSING
    assert resolve({"a": None}, ("a", "b")) is MISSING


JSON = st.recursive(
    st.integers(), lambda x: st.lists(x, max_size=3) | st.dictionaries(st.text(max_size=2), x, max_size=3)
)


@given(value=JSON, tokens=st.lists(st.sampled_from(["*", "0", "1", "a", ""]), max_size=3).map(tuple))
def test_every_place_a_star_names_is_where_its_pointer_says(value: Any, tokens: tuple[str, ...]) -> None:
    places = list(resolve_each(value, tokens))
    assert len({p for p, _ in places}) == len(places)
    for pointer, found in places:
        assert resolve(value, split(pointer)) == found
    if "*" not in tokens:
        assert [f for _, f in places] == [f for f in [resolve(value, tokens)] if f is not MISSING]


def test_a_star_yields_every_item_in_order() -> None:
    document = {"rows": [{"id": 1}, {"x": 0}, {"id": None}], "more": {"b": {"id": 3}, "a": {"id": 4}}}
    assert list(resolve_each(document, split("/rows/*/id"))) == [("/rows/0/id", 1), ("/rows/2/id", None)]
    assert list(resolve_each(document, split("/more/*/id"))) == [("/more/b/id", 3), ("/more/a/id", 4)]


def test_leaves_are_everything_that_holds_nothing_else_in_order() -> None:
    value = {"b": [1, {"c": None}], "a": "x", "empty": {}, "none": []}
    assert list(leaves(value)) == [(("b", 0), 1), (("b", 1, "c"), None), (("a",), "x")]
    assert list(leaves("x")) == [((), "x")]
    deep: object = "end"
    for _ in range(2_000):
        deep = [deep]
    assert [found for _, found in leaves(deep)] == ["end"]
