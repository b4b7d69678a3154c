"""Every invalid field is reported, all at once, at its line and column, with what would be right."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tallystick import contracts
from tallystick.errors import ContractError, InputError, Problem

FILES = sorted((Path(__file__).parent / "invalid").glob("*.yaml"))


def expected(text: str) -> list[tuple[int, int, str, str]]:
    found = re.findall(r"# expect: (\d+):(\d+) (\S+) (.*)", text)
    return [(int(line), int(column), pointer, words) for line, column, pointer, words in found]


@pytest.mark.parametrize("path", FILES, ids=[p.stem for p in FILES])
def test_every_problem_of_a_file_is_found_where_it_stands(path: Path) -> None:
    """The file says after each line what is wrong with it; `check` says the same and nothing else."""
    problems = contracts.check(path)
    wanted = expected(path.read_text(encoding="utf-8"))
    assert [(p.line, p.column, p.pointer) for p in problems] == sorted((li, c, p) for li, c, p, _ in wanted)
    for line, column, pointer, words in wanted:
        assert any(words in p.message for p in problems if (p.line, p.column, p.pointer) == (line, column, pointer))


def problems_of(text: str | bytes) -> tuple[Problem, ...]:
    with pytest.raises(ContractError) as caught:
        contracts.parse(text, "x.yaml")
    assert str(caught.value).startswith("x.yaml: ")
    return caught.value.problems


@pytest.mark.parametrize(
    ("text", "place", "words"),
    [
        ("contract: a/1\ncontract: b/1", (2, 1), "appears twice"),
        ("contract: a/1\ntools:\n\tpay: {effect: read}", (3, 1), "'\\t'"),
        ("contract: a/1\ntools: &all {}\nentities: *all", (2, 8), "anchor"),
        ("contract: a/1\nentities: {<<: {}}", (2, 12), "merge key"),
        ("contract: !!python/object:os.system a/1", (1, 11), "tag"),
        ("contract: a/1\n---\ncontract: b/1", (2, 1), "second document"),
        ("contract: a/1\nentities: {invoice", (2, 19), "flow mapping"),
        ("contract: 'a/1", (1, 15), "quoted scalar"),
        ("[" * 10_000, (1, 65), "nested deeper"),
        ('{"contract": ' + '{"a": ' * 10_000, (1, 392), "nested deeper"),
        ("contract: a/1\nx: " + "- " * 10_000 + "1", None, ""),
        (b"contract: a/1 # \xff", (1, 17), "not UTF-8"),
        (b"contract: a/1 # \x00", (1, 17), ""),
        ("contract: .nan", (1, 11), "not a number"),
        ("contract: 1e999", (1, 11), "out of range"),
        ("? [a]\n: 1", (1, 3), "not a plain name"),
        ("- a", (1, 1), "expected a mapping"),
        ("just words", (1, 1), "expected a mapping"),
        ("", None, None),
        ("# nothing", None, "expected a mapping"),
        ("contract: a/1\n" + "#" * 1_000_001, (1, 1), "at most"),
        ('{"contract": "a/1", "contract": "b/1"}', None, "twice"),
        ("contract: a/1\nclosed: no", (2, 9), "expected true or false"),
        ("contract: 2026", (1, 11), "expected text"),
        ("contract: a/1\nentities: {1: {}}", (2, 12), "not allowed as a name"),
    ],
    ids=range(25),
)
def test_a_text_that_is_no_contract_is_one_clear_error(
    text: str, place: tuple[int, int] | None, words: str | None
) -> None:
    if words is None:  # the empty text is the empty contract, as a run without a contract stores it
        assert contracts.parse(text) is contracts.EMPTY
        return
    problems = problems_of(text)
    if place is not None:
        assert (problems[0].line, problems[0].column) == place
    assert words in problems[0].message


def test_a_missing_file_a_folder_and_an_unreadable_name_are_input_errors(tmp_path: Path) -> None:
    for path in (tmp_path / "none.yaml", tmp_path, "bad\0name"):
        with pytest.raises(InputError) as caught:
            contracts.load(path)
        assert "\n" not in str(caught.value)


def test_an_empty_file_is_no_contract(tmp_path: Path) -> None:
    path = tmp_path / "empty.yaml"
    path.write_text("\n", encoding="utf-8")
    assert [p.message for p in contracts.check(path)] == ["the file is empty"]


def test_python_values_are_checked_by_the_same_rules_without_line_numbers() -> None:
    with pytest.raises(ContractError) as caught:
        contracts.build({"contract": "a/1", "tools": {"pay": {"effect": "write", "ok": "result.x > 1"}}})
    (problem,) = caught.value.problems
    assert (problem.line, problem.pointer) == (0, "/tools/pay/ok")
    assert str(problem).startswith("/tools/pay/ok: nothing was declared")
    for bad in ({"contract": {1, 2}}, {1: 2}, {"contract": float("nan")}):
        with pytest.raises(ContractError):
            contracts.build(bad)  # type: ignore[arg-type]  # what a caller may get wrong


def test_a_broken_json_contract_is_placed_as_well(tmp_path: Path) -> None:
    path = tmp_path / "c.json"
    path.write_text('{"contract": "a/1",\n "tools": {"pay": {"effect": "wite"}}}', encoding="utf-8")
    (problem,) = contracts.check(path)
    assert (problem.line, problem.column, problem.pointer) == (2, 30, "/tools/pay/effect")
