"""Odd input: one clear error, or a contract that `check` accepts; never anything else."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tallystick import contracts
from tallystick.contracts.yamltext import read as read_yaml
from tallystick.drafting import draft, mine, read_labels
from tallystick.drafting.draft import sheet_of
from tallystick.drafting.labels import chosen
from tallystick.drafting.sheet import as_mapping
from tallystick.drafting.specs import source_of
from tallystick.drafting.yaml import write
from tallystick.errors import InputError
from tallystick.model import jsontext
from tallystick.traces import parse
from tests.drafting.shop import good

BAD = {
    "empty": (b"", "the file is empty"),
    "blank": (b" \n", "the file is empty"),
    "text": (b"hello", "not JSON"),
    "cut": (b'{"tools": [', "not JSON"),
    "binary": (bytes(range(256)), ""),
    "a number": (b"7", "no tools are declared"),
    "a string": (b'"tools"', "no tools are declared"),
    "no tools": (b'{"tools": []}', "no tools are declared"),
    "nameless": (b'{"tools": [{"parameters": {}}]}', "entry 1 of the tools has no name"),
    "no object": (b'{"tools": [7]}', "entry 1 of the tools has no name"),
    "swagger": (b'{"swagger": "2.0", "paths": {}}', "OpenAPI `2.0` is not read"),
    "openapi of a number": (b'{"openapi": 3}', "OpenAPI `3` is not read"),
    "openapi without paths": (b'{"openapi": "3.0.0"}', "no operations"),
    "openapi with odd paths": (b'{"openapi": "3.0.0", "paths": {"/x": 7}}', "no operations"),
    "twice": (b'{"tools": [{"name": "a", "parameters": {"type": "object"}}, {"name": "a"}]}', "two different tools"),
}


@pytest.mark.parametrize(("raw", "message"), BAD.values(), ids=BAD.keys())
def test_a_source_that_declares_nothing_is_one_error(tmp_path: Path, raw: bytes, message: str) -> None:
    """The error says what is wrong and where."""
    file = tmp_path / "x.json"
    file.write_bytes(raw)
    with pytest.raises(InputError) as bad:
        draft([file])
    assert message in str(bad.value)
    assert str(file) in str(bad.value)


def test_missing_files_folders_and_bad_yaml_are_one_error(tmp_path: Path) -> None:
    """So is whatever is no file, and YAML that means more than it says."""
    (tmp_path / "a.yaml").write_text("openapi: &x 3.0.0\n")
    (tmp_path / "b.yaml").write_bytes(b"\xff\xfe")
    for name, message in (("nope.json", "not a file"), ("", "not a file"), ("a.yaml", "anchor"), ("b.yaml", "UTF-8")):
        with pytest.raises(InputError, match=message):
            draft([tmp_path / name])


def test_a_schema_that_contains_itself_ends(tmp_path: Path) -> None:
    """A tree of twenty kinds of children, each a tree, is cut off and still drafted."""
    tree = {"type": "object", "properties": {f"c{i}": {"$ref": "#/components/schemas/T"} for i in range(20)}}
    node = {"type": "object", "properties": {"id": {"type": "string"}, "next": {"$ref": "#/components/schemas/N0"}}}
    many = {f"N{i}": {"type": "object", "properties": {f"p{j}": {"$ref": f"#/components/schemas/N{i + 1}"}
                                                      for j in range(6)}} for i in range(12)}  # fmt: skip
    document = {
        "openapi": "3.0.0",
        "paths": {"/t": {"get": {"operationId": "get_t", "responses": {"200": {"content": {"application/json": {
            "schema": {"allOf": [{"$ref": "#/components/schemas/T"}, node]}}}}}}}},
        "components": {"schemas": {"T": tree, **many}},
    }  # fmt: skip
    file = tmp_path / "x.json"
    file.write_text(json.dumps(document))
    assert list(contracts.parse(draft([file]).text).tools) == ["get_t"]


NAMES = st.one_of(
    st.sampled_from(["id", "item_id", "at", "args", "result", "confirm", "dry_run", "amount", "in", "as", "if", "a-b",
                     "*", "a/b", "~", "", "task_id", "call", "status", "no", "true", "1", "get_x", "refund"]),
    st.text(max_size=8),
)  # fmt: skip
SCHEMAS: Any = st.recursive(
    st.one_of(
        st.sampled_from([{}, {"type": "string"}, {"type": "integer"}, {"type": "number"}, {"type": "boolean"},
                         {"type": ["string", "null"]}, {"enum": ["a", 1]}, {"type": "string", "format": "date"},
                         {"$ref": "#/nowhere"}, {"$ref": "#"}, {"type": 7}, {"anyOf": []}, {"properties": 7}]),
        st.just({"anyOf": [{"type": "null"}, {"type": "string"}]}),
    ),
    lambda inner: st.one_of(
        st.dictionaries(NAMES, inner, max_size=4).map(
            lambda p: {"type": "object", "properties": p, "required": [*p][:1]}
        ),
        inner.map(lambda i: {"type": "array", "items": i}),
        st.lists(inner, max_size=2).map(lambda i: {"allOf": i}),
    ),
    max_leaves=8,
)  # fmt: skip
TOOLS = st.lists(
    st.fixed_dictionaries(
        {"name": NAMES, "description": st.text(max_size=40)},
        optional={
            "inputSchema": SCHEMAS,
            "outputSchema": SCHEMAS,
            "annotations": st.fixed_dictionaries(
                {}, optional={"readOnlyHint": st.booleans(), "destructiveHint": st.booleans()}
            ),
        },
    ),
    min_size=1, max_size=4,
)  # fmt: skip


@settings(max_examples=300)
@given(TOOLS)
def test_whatever_is_declared_becomes_a_valid_contract_or_one_error(tools: list[dict[str, Any]]) -> None:
    """The text that is written reads back as exactly the values it was written from, and compiles."""
    try:
        source = source_of(tools, "x", "x")
        sheet, _ = sheet_of({t.name: t for t in source.tools}, source.title)
    except InputError:
        return
    text = write(sheet)
    contracts.parse(text)
    assert read_yaml(text).value == as_mapping(sheet)


JSON = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-5, 10**20), st.text(max_size=6), NAMES),
    lambda inner: st.one_of(st.lists(inner, max_size=3), st.dictionaries(NAMES, inner, max_size=4)),
    max_leaves=10,
)
CALLS = st.fixed_dictionaries(
    {"name": st.sampled_from(["get_item", "refund", "do it", "x.y", "list_orders"])},
    optional={"arguments": st.one_of(JSON, st.dictionaries(NAMES, JSON, max_size=4)), "result": JSON},
)
TALKS = st.lists(
    st.fixed_dictionaries(
        {"role": st.sampled_from(["user", "assistant"]), "content": st.text(max_size=10)},
        optional={"tool_calls": st.lists(CALLS, max_size=4)},
    ),
    max_size=5,
)


@settings(max_examples=150)
@given(st.lists(TALKS, min_size=1, max_size=5))
def test_whatever_is_recorded_is_mined_into_a_valid_contract_or_one_error(talks: list[list[dict[str, Any]]]) -> None:
    """Arguments and results of any shape, names of any kind: what is written reads back and compiles."""
    traces = []
    for n, talk in enumerate(talks):
        raw = jsontext.dumps({"conversation": talk, "n": n}).encode("utf-8", "surrogatepass")
        try:
            traces += parse(raw, name=f"t{n}")
        except InputError:
            continue
    try:
        mined = mine(traces, name="x", min_support=1)
    except InputError:
        return
    assert contracts.parse(mined.text).sha256 == mined.contract.sha256
    assert jsontext.loads(jsontext.dumps(mined.report))["format"] == "tallystick-mining/1"


BAD_LABELS = {
    "nothing": ("[]", "no labels"),
    "no verdict": ('{"trajectory": "t"}', "no a verdict"),
    "no name": ('[{"ok": true}, {"good": 1}]', "is not"),
    "both ways": ('{"trace": "a", "ok": true}\n{"trace": "a", "ok": false}', "labelled both ways"),
    "not objects": ("[1]", "a label is not an object"),
    "broken": ('{"trace": "a", "ok": true}\n{"trace"', "not JSON"),
}


@pytest.mark.parametrize(("text", "message"), BAD_LABELS.values(), ids=BAD_LABELS.keys())
def test_labels_that_cannot_be_used_are_one_error(tmp_path: Path, text: str, message: str) -> None:
    """Which line or item is at fault is said."""
    file = tmp_path / "labels.jsonl"
    file.write_text(text)
    with pytest.raises(InputError) as bad:
        read_labels(file)
    assert message in str(bad.value) or message == "is not"


@pytest.mark.parametrize(
    "text",
    [
        '{"trajectory": "t000", "state_ok": true}\n{"trajectory": "t001", "state_ok": false}\n',
        '[{"id": "t000", "good": true}, {"id": "t001", "good": false}]',
        '{"t000": true, "t001": false}',
        '{"name": "t000", "passed": true}',
    ],
)
def test_labels_in_any_of_their_forms_choose_the_good(tmp_path: Path, text: str) -> None:
    """A trace without a label, or with a bad one, is left out."""
    file = tmp_path / "labels"
    file.write_text(text)
    assert [t.id for t in chosen(good(), read_labels(file), None)] == ["t000"]


def test_a_label_with_a_domain_speaks_of_that_folder_only(tmp_path: Path) -> None:
    """Names repeat across folders; a label that names one does not speak of the other."""
    file = tmp_path / "labels"
    file.write_text('{"domain": "a", "trajectory": "t", "ok": true}\n{"domain": "b", "trajectory": "t", "ok": false}')
    raw = b'{"conversation": [{"role": "user", "content": "hi"}]}'
    traces = [next(parse(raw, name="t", source=f"x/{d}/t.json")) for d in ("a", "b")]
    assert [t.source for t in chosen(traces, read_labels(file), None)] == ["x/a/t.json"]


def test_ids_that_name_no_trace_are_an_error() -> None:
    """A slip in `--good-only` is not silently an empty choice."""
    assert [t.id for t in chosen(good(), None, ["t003"])] == ["t003"]
    with pytest.raises(InputError, match="no trace is called `t999`"):
        chosen(good(), None, ["t999"])
    with pytest.raises(InputError, match="no good trajectory is left"):
        chosen(good(), {("", "t000"): False}, None)
