"""Each guarantee on the page names tests that exist and a limit."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
ROW = re.compile(r"^\| (?P<guarantee>[^|]+) \| (?P<tests>[^|]+) \| (?P<limit>[^|]+) \|$", re.MULTILINE)
TEST = re.compile(r"`(tests/[\w/]+\.py)::(test_\w+)`")


def test_every_guarantee_names_tests_that_exist_and_a_limit() -> None:
    """A row without a real test, or without a limit, is a promise and not a guarantee."""
    page = (ROOT / "docs" / "guarantees.md").read_text(encoding="utf-8")
    rows = [m for m in ROW.finditer(page) if not set(m["guarantee"]) <= {"-", " "} and m["guarantee"] != "guarantee"]
    assert len(rows) >= 15
    for row in rows:
        named = TEST.findall(row["tests"])
        assert named, f"no test for: {row['guarantee']}"
        assert row["limit"].strip(), f"no limit for: {row['guarantee']}"
        for file, name in named:
            path = ROOT / file
            assert path.is_file(), f"{file} does not exist (for: {row['guarantee']})"
            tree = ast.parse(path.read_text(encoding="utf-8"))
            names = {n.name for n in ast.walk(tree) if isinstance(n, ast.FunctionDef | ast.AsyncFunctionDef)}
            assert name in names, f"{file} has no {name} (for: {row['guarantee']})"
