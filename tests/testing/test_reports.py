"""`python -m tallystick.testing.reports`: a file of replies scored against what its rows expect."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tallystick.testing.reports import main

ABSENT = {"present": False, "well_formed": False, "value": None}
FOUND = {"present": True, "well_formed": True, "value": "completed"}
ROW = {"id": "r1", "encoding": "xml", "reply": "<stage>completed</stage>", "strict": FOUND, "stripped": FOUND}


def written(folder: Path, *rows: object) -> str:
    path = folder / "replies.jsonl"
    path.write_text("\n".join(json.dumps(r) for r in rows), encoding="utf-8")
    return str(path)


def test_rows_that_expect_otherwise_disagree(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One reading that differs is enough."""
    wrong = {**ROW, "id": "r2", "stripped": ABSENT}
    assert main([written(tmp_path, ROW, wrong), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert (told["agree"], told["disagree"]) == (1, 1)
    assert [i["agree"] for i in told["items"]] == [True, False]
    assert told["items"][1]["got"]["stripped"] == FOUND
    assert main([written(tmp_path, ROW, wrong)]) == 0
    assert "1 agree, 1 disagree" in capsys.readouterr().out


@pytest.mark.shared
def test_the_published_file_agrees_throughout(shared: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """All 60 rows."""
    assert main([str(shared / "data" / "reports" / "replies.jsonl"), "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["disagree"] == 0
    assert told["agree"] == len(told["items"]) == 60


@pytest.mark.parametrize(
    "row",
    [
        [], {}, {**ROW, "encoding": "yaml"}, {**ROW, "reply": 1}, {**ROW, "strict": None},
        {**ROW, "stripped": {"present": 1}},
    ],
)  # fmt: skip
def test_a_row_that_cannot_be_used_is_named(row: object, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With its line, and exit code 2."""
    assert main([written(tmp_path, ROW, row), "--json"]) == 2
    told = capsys.readouterr()
    assert told.out == ""
    assert "replies.jsonl:2" in told.err


def test_a_missing_or_empty_file_is_an_error(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing read is not agreement."""
    assert main([str(tmp_path / "none")]) == 2
    assert main([written(tmp_path)]) == 2
    assert "error: " in capsys.readouterr().err
