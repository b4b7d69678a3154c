"""`tallystick check`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Cli

GOOD = "contract: tiny/1\ntools:\n  look: {effect: read}\n  change: {effect: write}\n"
BROKEN = {
    "no YAML": b"tools: [\n",
    "unknown field": b"contract: a/1\nnonsense: 1\n",
    "expression of the wrong type": b"contract: a/1\ntools:\n  t:\n    effect: write\n    ok: 1 + 'x'\n",
    "empty": b"",
    "wrong encoding": "contract: a/1 # \u00e9\n".encode("latin-1"),
    "deep": b"[" * 10_000,
    "duplicate key": b"contract: a/1\ncontract: b/1\n",
}


def test_valid_contracts_are_summed_up(cli: Cli, tmp_path: Path, root: Path) -> None:
    """Name, version and counts for each file."""
    file = tmp_path / "tiny.yaml"
    file.write_text(GOOD, encoding="utf-8")
    done = cli("check", file)
    assert done.code == 0
    assert done.out == f"{file}: tiny/1, 2 tools (1 write), 0 conditions, 0 obligations, 0 answer slots\n"
    examples = sorted((root / "examples").rglob("*.yaml"))
    assert cli("check", *examples, "--json").json["ok"] is True


@pytest.mark.parametrize("content", BROKEN.values(), ids=BROKEN.keys())
def test_an_invalid_contract_is_placed_lines_and_exit_2(cli: Cli, tmp_path: Path, content: bytes) -> None:
    """Each problem is one line with file, line and column; stdout stays empty; the JSON has the same problems."""
    file = tmp_path / "bad.yaml"
    file.write_bytes(content)
    done = cli("check", file)
    assert (done.code, done.out) == (2, "")
    lines = done.err.splitlines()
    assert lines
    assert all(line.startswith(f"error: {file}:") for line in lines)
    found = cli("check", file, "--json")
    assert (found.code, found.err) == (2, "")
    [entry] = found.json["files"]
    assert len(entry["problems"]) == len(lines)
    assert all(p["line"] >= 1 and p["column"] >= 1 for p in entry["problems"])


def test_every_problem_is_told_at_once(cli: Cli, tmp_path: Path) -> None:
    """Two mistakes are two lines, and a good file beside them is still summed up."""
    bad, good = tmp_path / "bad.yaml", tmp_path / "good.yaml"
    bad.write_text("contract: a/1\none: 1\ntools:\n  t: {effect: banana}\n", encoding="utf-8")
    good.write_text(GOOD, encoding="utf-8")
    done = cli("check", bad, good)
    assert done.code == 2
    errors = [line for line in done.err.splitlines() if line.startswith("error: ")]
    assert [line.split(":")[2] for line in errors] == ["2", "4"]
    assert "tiny/1" in done.out


def test_a_missing_file_is_bad_input(cli: Cli, tmp_path: Path) -> None:
    """One line, exit 2."""
    done = cli("check", tmp_path / "none.yaml")
    assert (done.code, done.out, done.err.count("\n")) == (2, "", 1)


LISTING = "task:\n  answer: [{slot: names, type: set(string), derive: set(look./names/*)}]\n"
OWING = "task:\n  owes: [{id: changed, by: change}]\n"
CERTAIN = GOOD.replace("{effect: write}", "{effect: write, ok: result.done}")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (GOOD, ["it owes nothing", "`change` writes without `ok`"]),
        (GOOD + OWING, ["`change` writes without `ok`"]),
        (CERTAIN, ["it owes nothing"]),
        (CERTAIN + OWING, []),
        (CERTAIN + "task:\n  answer: [{slot: sum, type: string, derive: look./sum}]\n", []),
        (CERTAIN + LISTING, ["no claim of `names` can be accepted"]),
        (CERTAIN.replace("{effect: read}", "{effect: read, complete: always}") + LISTING, []),
        (
            GOOD.replace("effect: write", "effect: {write: args.force, otherwise: read}, args: {force: boolean}")
            + OWING,
            ["`change` writes without `ok`"],
        ),
    ],
)
def test_what_a_valid_contract_leaves_open_is_a_note(cli: Cli, tmp_path: Path, text: str, said: list[str]) -> None:
    """On stderr, one line each, and a list in the JSON; the contract is valid and the exit code 0."""
    file = tmp_path / "c.yaml"
    file.write_text(text, encoding="utf-8")
    done = cli("check", file)
    assert (done.code, len(done.err.splitlines())) == (0, len(said))
    for line, begins in zip(done.err.splitlines(), said, strict=True):
        assert line.startswith(f"{file}: note: {begins}")
    found = cli("check", file, "--json")
    assert (found.code, found.err) == (0, "")
    [entry] = found.json["files"]
    assert entry["ok"] is True
    assert [f"{file}: note: {note}" for note in entry["notes"]] == done.err.splitlines()
