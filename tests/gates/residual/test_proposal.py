"""The published form of a proposal, and the parser of it, are one."""

from __future__ import annotations

import copy
import json
import random
from decimal import Decimal
from importlib.resources import files
from typing import Any

import jsonschema_rs
import pytest

from tallystick.errors import InputError
from tallystick.gates.residual import parse_proposal
from tallystick.gates.residual.proposal import MAX_BYTES, MAX_CALLS
from tallystick.gates.residual.refs import Ref, plain, refs_in
from tallystick.model import jsontext

SCHEMA = json.loads((files("tallystick.gates.residual") / "proposal.schema.json").read_text("utf-8"))
VALID = jsonschema_rs.validator_for(SCHEMA)
WHOLE: dict[str, Any] = {
    "calls": [
        {"id": "a", "tool": "t"},
        {"id": "b", "tool": "t", "args": {"x": {"$from": "a", "$at": "/y/0"}, "l": [{"$from": "task"}, {"$$from": 1}]},
         "after": ["a"], "covers": ["o"], "expect": {"/z": {"k": [1, None]}, "": 2}},
    ],
    "answer": {"text": "{s}", "claims": {"s": {"$from": "b", "$at": ""}, "n": 1}},
}  # fmt: skip
JUNK: tuple[Any, ...] = (
    None, 1, "", "x", [], {}, [1], {"$from": 1}, {"$from": "a", "$at": "y"}, {"$from": "a", "$at": "/~2"},
    {"$from": "a", "more": 1}, {"$at": "/x"}, {"$$from": "a"}, [{"$from": "a"}], {"/x": {"$from": "a"}}, ["a", ""],
    True,
)  # fmt: skip


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    found = [path] if path else []
    for key, item in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        found += places(item, (*path, key))
    return found


def spoilt(rng: random.Random) -> Any:
    value = copy.deepcopy(WHOLE)
    for _ in range(rng.choice((0, 1, 1, 2))):
        path = rng.choice(places(value))
        here = value
        for step in path[:-1]:
            here = here[step]
        act = rng.randrange(3)
        if act == 0:
            del here[path[-1]]
        elif act == 1:
            here[path[-1]] = copy.deepcopy(rng.choice(JUNK))
        elif isinstance(here, dict):
            here[rng.choice(("more", "$from", "$at", "args", "text", "/x", "x", "expect"))] = rng.choice(JUNK)
    return value


def test_the_schema_and_the_parser_accept_the_same_proposals() -> None:
    taken = refused = 0
    for seed in range(3_000):
        value = spoilt(random.Random(seed))
        raw = json.dumps(value)
        if VALID.is_valid(value):
            parse_proposal(raw)
            taken += 1
            continue
        with pytest.raises(InputError) as bad:
            parse_proposal(raw)
        assert bad.value.where, raw
        assert bad.value.fix, raw
        refused += 1
    assert min(taken, refused) > 300


def test_a_mapping_a_text_and_bytes_state_the_same_proposal_and_no_amount_becomes_a_float() -> None:
    text = '{"calls": [{"id": "a", "tool": "t", "args": {"x": 1.10}}]}'
    for raw in (text, text.encode(), {"calls": [{"id": "a", "tool": "t", "args": {"x": Decimal("1.10")}}]}):
        found = parse_proposal(raw)
        assert str(found.calls[0].args["x"]) == "1.10"
        assert isinstance(found.calls[0].args["x"], Decimal)


@pytest.mark.parametrize(
    "raw",
    [
        "", "[]", '{"calls": NaN}', '{"calls": [], "calls": []}', '{"calls": [{"id": "\\ud800", "tool": "t"}]}',
        "[" * 1_000 + "]" * 1_000, b"\xff", " " * (MAX_BYTES + 1),
        json.dumps({"calls": [{"id": str(i), "tool": "t"} for i in range(MAX_CALLS + 1)]}),
        {"calls": [{"id": "a", "tool": "t", "args": {"x": float("inf")}}]}, {"calls": {1, 2}}, {1: 2},
    ],
)  # fmt: skip
def test_what_is_no_proposal_is_one_clear_error(raw: Any) -> None:
    with pytest.raises(InputError):
        parse_proposal(raw)


def test_every_value_can_be_written_and_none_is_taken_for_a_reference() -> None:
    data = {"$from": "a", "$$from": 1, "x": [{"$from": {"$$$from": 2}}]}

    def escaped(value: Any) -> Any:
        if isinstance(value, dict):
            return {("$" + k if k.lstrip("$") == "from" and k[0] == "$" else k): escaped(v) for k, v in value.items()}
        return [escaped(v) for v in value] if isinstance(value, list) else value

    written = jsontext.loads(jsontext.dumps(escaped(data)))
    assert not list(refs_in(written))
    assert plain(written, lambda _: 1 / 0) == data
    nested = {"l": [{"d": {"$from": "a", "$at": "/b~1c"}}], "$$from": {"$from": "b"}}
    assert [ref for _, ref in refs_in(nested)] == [Ref("a", "/b~1c"), Ref("b")]
    assert plain(nested, lambda ref: ref.source) == {"l": [{"d": "a"}], "$from": "b"}
