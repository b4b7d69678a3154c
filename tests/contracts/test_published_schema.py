"""The JSON Schema for editors and the loader accept the same structure, because both come from one description."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema_rs
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tallystick.contracts.problems import Report
from tallystick.contracts.schemas import schema_texts
from tallystick.contracts.structure import CONTRACT, TASK_FILE
from tallystick.contracts.yamltext import Text, read

FOLDER = Path(__file__).parents[2] / "src/tallystick/contracts"
EXAMPLES = sorted((Path(__file__).parents[2] / "examples").rglob("*.yaml"))
SCHEMA = jsonschema_rs.validator_for(schema_texts()["contract.schema.json"])
TASK_SCHEMA = jsonschema_rs.validator_for(schema_texts()["task.schema.json"])


def structure_problems(value: Any, shape: Any = CONTRACT) -> list[str]:
    report = Report(Text(value), None)
    shape.check(value, (), report)
    return [str(p) for p in report.problems]


@pytest.mark.parametrize("name", ["contract.schema.json", "task.schema.json"])
def test_the_published_file_is_the_one_the_structure_writes(name: str) -> None:
    """After a change of the structure: `python -m tallystick.contracts.schemas`."""
    assert (FOLDER / name).read_text(encoding="utf-8") == schema_texts()[name]
    jsonschema_rs.meta.validate(json.loads(schema_texts()[name]))


@pytest.mark.parametrize("path", EXAMPLES, ids=[p.stem for p in EXAMPLES])
def test_every_example_fits_the_schema(path: Path) -> None:
    value = read(path.read_text(encoding="utf-8")).value
    assert structure_problems(value) == []
    assert SCHEMA.is_valid(value)


KEYS = sorted(
    {
        key
        for path in EXAMPLES
        for key in json.dumps(read(path.read_text(encoding="utf-8")).value, default=str).replace('"', " ").split()
        if key.isidentifier()
    }
    | {"any", "equals", "arg", "with", "at", "id", "fresh", "batch", "secrets", "lag", "otherwise", "terminal", "per"}
)
SCALARS: list[Any] = [
    None, True, 0, 3, -1, "", "x", "/a/b", "/a/*", "read", "write unless x", "preview unless args.c",
    "since last write",
    "10m", "invoice(args.id)", "a/1", "always", "get shows x", "args.id", "money(EUR)", "event", "one", "f" * 64, "any",
]  # fmt: skip
values = st.recursive(
    st.sampled_from(SCALARS),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=3),
    max_leaves=6,
)


def mutated(draw: st.DrawFn, value: Any) -> Any:
    """Change one place of a document: drop it, replace it, or add a field."""
    if isinstance(value, (dict, list)) and value and draw(st.integers(0, 4)):
        keys = list(value) if isinstance(value, dict) else list(range(len(value)))
        key = draw(st.sampled_from(keys))
        copy: Any = value.copy()
        copy[key] = mutated(draw, value[key])
        return copy
    if isinstance(value, dict) and draw(st.booleans()):
        changed = dict(value)
        if value and draw(st.booleans()):
            del changed[draw(st.sampled_from(list(value)))]
        else:
            changed[draw(st.sampled_from(KEYS))] = draw(values)
        return changed
    return draw(values)


@st.composite
def documents(draw: st.DrawFn) -> Any:
    value = read(draw(st.sampled_from(EXAMPLES)).read_text(encoding="utf-8")).value
    for _ in range(draw(st.integers(1, 3))):
        value = mutated(draw, value)
    return value


@settings(max_examples=400)
@given(documents())
def test_the_loader_and_the_schema_agree_on_structure(value: Any) -> None:
    assert SCHEMA.is_valid(value) is not bool(structure_problems(value)), structure_problems(value)


@settings(max_examples=150)
@given(
    st.dictionaries(
        st.sampled_from(["request", "bindings", "principals", "need_answer", "x"]),
        values
        | st.just([{"id": "ann", "role": "finance", "public_key": "0" * 64}])
        | st.just([{"id": "ann", "role": "finance", "public_key": "0" * 63}]),
    )
)
def test_tasks_agree_as_well(value: Any) -> None:
    assert TASK_SCHEMA.is_valid(value) is not bool(structure_problems(value, TASK_FILE))
