"""The finish tool: a schema made from the contract, and what is said through it, read without guessing."""

from __future__ import annotations

from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tallystick.contracts import load_task, parse
from tallystick.contracts.answer_schema import in_words, schema_of
from tallystick.contracts.typetext import type_of
from tallystick.errors import InputError
from tallystick.model.certificate import lexical
from tallystick.model.values import Type
from tallystick.runtime.finish_tool import finish_schema, said_in

CONTRACT = parse("""
contract: answers/1
entities:
  invoice: {id: id, amount_due: money(EUR)}
tools:
  read:
    effect: read
    args: {invoice: id}
    target: invoice(args.invoice)
    complete: always
task:
  inputs: {invoice: id}
  answer:
    - {slot: due, type: money(EUR), scope: invoice, derive: read./due}
    - {slot: cents, type: money(USD minor), derive: read./cents}
    - {slot: weight, type: quantity(kg), derive: read./weight, required: false}
    - {slot: open_items, type: integer, quantifier: count, derive: count(read./items/*)}
    - {slot: ids, type: set(id), quantifier: all, derive: set(read./items/*/id)}
    - {slot: at, type: instant, derive: read./at}
    - {slot: day, type: date, derive: read./day}
    - {slot: settled, type: boolean, derive: read./settled}
    - {slot: closed_by, type: optional string, derive: read./closed_by}
    - {slot: line, type: "record(id: id, price: money(EUR), note: optional string)", derive: read./line}
""")
TASK = load_task({"bindings": {"invoice": "I-7"}}, CONTRACT)
GOOD: dict[str, Any] = {
    "due": "420.00 EUR",
    "cents": "4.20 USD",
    "weight": "2.5 kg",
    "open_items": 3,
    "ids": ["a", "b"],
    "at": "2026-03-11T15:30:00Z",
    "day": "2026-03-11",
    "settled": True,
    "closed_by": None,
    "line": {"id": "L-1", "price": "1.00 EUR"},
}


def test_every_slot_has_its_place_and_its_type() -> None:
    schema = finish_schema(CONTRACT, TASK)
    claims = schema["inputSchema"]["properties"]["claims"]["properties"]
    assert list(claims) == list(GOOD)
    assert claims["due"]["type"] == "string"
    assert "of invoice I-7" in claims["due"]["description"]
    assert "`read./due`" in claims["due"]["description"]
    assert claims["open_items"] == {"type": "integer", "minimum": 0, "description": claims["open_items"]["description"]}
    assert claims["ids"]["uniqueItems"] is True
    assert claims["closed_by"]["type"] == ["string", "null"]
    assert "may be left out" in claims["weight"]["description"]
    assert claims["line"]["required"] == ["id", "price"]


def test_good_values_fit_the_schema_and_are_read_as_claims() -> None:
    schema = finish_schema(CONTRACT, TASK)["inputSchema"]
    args = {"text": "done", "claims": GOOD, "cites": {"due": ["r1"]}, "outcome": "acted"}
    jsonschema.validate(args, schema)
    said = said_in(CONTRACT, args)
    assert said.claims is not None
    assert {c.slot: c.value for c in said.claims} == GOOD
    assert said.claims[0].cites == ("r1",)
    assert next(c for c in said.claims if c.slot == "open_items").quantifier == "count"


def _strict_objects(schema: Any) -> None:
    if isinstance(schema, dict):
        if "properties" in schema:
            assert schema["additionalProperties"] is False
            assert sorted(schema["required"]) == sorted(schema["properties"])
        assert not schema.keys() & {"uniqueItems", "if", "then", "oneOf", "allOf", "minimum"}
        for inner in schema.values():
            _strict_objects(inner)


def test_the_strict_form_requires_every_member_closes_every_object_and_takes_null_for_nothing() -> None:
    schema = finish_schema(CONTRACT, TASK, strict=True)["inputSchema"]
    _strict_objects(schema)
    nothing: dict[str, Any] = {"text": "no", "outcome": "declined", "claims": dict.fromkeys(GOOD), "cites": None}
    jsonschema.validate(nothing, schema)
    said = said_in(CONTRACT, nothing)
    assert said.claims == ()
    acted = said_in(CONTRACT, {**nothing, "outcome": "acted"})
    assert [c.slot for c in acted.claims or ()] == ["closed_by"]  # only where nothing is a value of the type


@pytest.mark.parametrize(
    ("args", "where", "says"),
    [
        ([], "finish", "object"),
        ({"claim": {}}, "finish", "no argument `claim`"),
        ({"text": 7}, "text", "a number is no text"),
        ({"outcome": "success"}, "outcome", "`success` is no outcome"),
        ({"outcome": ["acted"]}, "outcome", "`a list` is no outcome"),
        ({"claims": []}, "claims", "one object"),
        ({"claims": {"dew": 1}}, "claims", "no value `dew` is asked for"),
        ({"claims": {"due": True}}, "claims.due", "not a money(EUR)"),
        ({"claims": {"due": "420.00 USD"}}, "claims.due", "expected EUR, got USD"),
        ({"claims": {"due": 420.1}}, "claims.due", "may not be the number"),
        ({"claims": {"cents": 420}}, "claims.cents", "does not say its unit"),
        ({"claims": {"cents": "420"}}, "claims.cents", "does not say its unit"),
        ({"claims": {"open_items": "3"}}, "claims.open_items", "not a integer"),
        ({"claims": {"ids": ["a", "a"]}}, "claims.ids", "one item twice"),
        ({"claims": {"at": "2026-03-11T15:30:00"}}, "claims.at", "no time zone"),
        ({"claims": {"day": "2026-02-30"}}, "claims.day", "not a date"),
        ({"claims": {"line": {"id": "L", "price": "1 EUR", "x": 1}}}, "claims.line", "unknown member"),
        ({"cites": {"due": ["r1"]}}, "cites", "no value"),
        ({"claims": {"due": "1 EUR"}, "cites": {"due": "r1"}}, "cites.due", "list of their ids"),
        ({"claims": {"due": "1 EUR"}, "cites": {"dew": ["r1"]}}, "cites", "no value `dew`"),
    ],
)
def test_what_is_wrong_is_said_with_its_place_and_what_would_be_right(args: Any, where: str, says: str) -> None:
    with pytest.raises(InputError) as told:
        said_in(CONTRACT, args)
    assert told.value.where == where
    assert says in told.value.message
    assert told.value.fix


def test_a_value_nested_without_end_is_refused_like_any_other() -> None:
    within: dict[str, Any] = {}
    within["id"] = within
    deep: list[Any] = []
    for _ in range(5_000):
        deep = [deep]
    for slot in ("due", "ids", "line"):
        for value in (within, deep):
            with pytest.raises(InputError) as told:
                said_in(CONTRACT, {"claims": {slot: value}})
            assert told.value.where == f"claims.{slot}"
            assert told.value.fix


def test_saying_nothing_about_claims_differs_from_stating_none() -> None:
    assert said_in(CONTRACT, {"text": "done"}).claims is None
    assert said_in(CONTRACT, {"text": "done", "claims": None}).claims is None
    assert said_in(CONTRACT, {"text": "done", "claims": {}}).claims == ()


TYPES = ["string", "id", "integer", "decimal", "boolean", "money(EUR)", "money(USD minor)", "money", "quantity(kg)",
         "quantity(kg, scale 3)", "quantity(/unit)", "money(/currency)", "instant", "date", "json", "optional date",
         "list(money(EUR))", "set(id)", "record(id: id, at: optional instant)"]  # fmt: skip


def _values(type_: Type) -> st.SearchStrategy[Any]:
    """JSON values as the schema asks for them."""
    text = st.from_regex(r"[+-]?[0-9]{1,9}(\.[0-9]{1,4})?", fullmatch=True, alphabet="0123456789.+-")
    simple: dict[str, st.SearchStrategy[Any]] = {
        "string": st.text(max_size=9),
        "id": st.text(max_size=9),
        "integer": st.integers(),
        "boolean": st.booleans(),
        "decimal": text,
        "money": text.map(lambda t: f"{t} {type_.unit or 'CHF'}"),
        "quantity": text.map(lambda t: f"{t} {type_.unit or 'g'}"),
        "date": st.dates().map(str),
        "instant": st.datetimes().map(lambda d: d.isoformat() + "Z"),
        "json": st.booleans() | st.text(max_size=4),
    }
    if type_.item is not None:
        found: st.SearchStrategy[Any] = st.lists(_values(type_.item), unique=type_.name == "set", max_size=4)
    elif type_.name == "record":
        found = st.fixed_dictionaries({n: _values(t) for n, t in type_.fields.items()})
    else:
        found = simple[type_.name]
    return found | st.none() if type_.optional else found


@given(st.data(), st.sampled_from(TYPES), st.booleans())
def test_what_fits_a_types_schema_is_read_and_reads_back_from_its_certificate_form(
    data: st.DataObject, text: str, strict: bool
) -> None:
    type_ = type_of(text)
    value = data.draw(_values(type_))
    jsonschema.validate(value, schema_of(type_, strict=strict))
    parsed = type_.parse(value)
    assert in_words(type_)
    if type_.name not in ("json", "record", "integer"):
        assert type_.parse(lexical(parsed)) == parsed


@given(st.data(), st.sampled_from(TYPES))
def test_a_value_of_another_kind_never_fits(data: st.DataObject, text: str) -> None:
    type_ = type_of(text)
    if type_.name in ("json", "string", "id"):
        return
    wrong = data.draw(st.sampled_from([{"x": 1}, "soon", "420,00", "1e3 EUR", "12 EUR USD"]))
    assert not jsonschema.Draft202012Validator(schema_of(type_)).is_valid(wrong)
    with pytest.raises(ValueError):
        type_.parse(wrong)
