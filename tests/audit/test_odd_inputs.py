"""Odd files through the command: one clear line each, exit 2, no traceback, the good file beside them still audited."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.audit.build import ASK, agent, did

TWICE = did("cancel_order", {"order_id": "O-17"}, {"status": "cancelled"})


def _large(path: Path) -> None:
    huge = did("get_file", {"name": "a"}, "x" * 50_000_000)
    path.write_text(json.dumps({"conversation": [ASK, agent("Done.", huge)]}))


def _loop(path: Path) -> None:
    path.symlink_to(path)


ODD: dict[str, tuple[Callable[[Path], object], str]] = {
    "50 MB result": (_large, "a document of more than 33,554,432 bytes"),
    "nesting": (lambda p: p.write_text('{"conversation":' + "[" * 10_000 + "]" * 10_000 + "}"), "nested deeper"),
    "NaN": (lambda p: p.write_text('{"conversation": [{"role": "user", "content": NaN}]}'), "NaN"),
    "duplicate keys": (lambda p: p.write_text('{"conversation": [], "conversation": []}'), "appears twice"),
    "lone surrogate": (lambda p: p.write_text('{"conversation": ["\\ud800"]}'), "lone surrogate"),
    "latin-1": (lambda p: p.write_bytes('{"conversation": ["é"]}'.encode("latin-1")), "not UTF-8"),
    "utf-16": (lambda p: p.write_bytes('{"conversation": []}'.encode("utf-16")), "UTF-16"),
    "empty": (lambda p: p.write_bytes(b""), "empty"),
    "truncated": (lambda p: p.write_text('{"conversation": [{"role": "us'), "not JSON"),
    "binary": (lambda p: p.write_bytes(os.urandom(8) + b"\0" + os.urandom(500)), "binary"),
    "link loop": (_loop, "cannot be read"),
    "a folder without traces": (lambda p: p.mkdir(), "holds no trace"),
    "not a conversation": (lambda p: p.write_text('{"a": 1}'), "not a conversation"),
}


def audit(*args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "tallystick.audit", *args], check=False, capture_output=True, text=True, timeout=120
    )


@pytest.mark.parametrize("name", ODD)
def test_an_odd_file_is_one_clear_line(tmp_path: Path, name: str) -> None:
    make, says = ODD[name]
    odd = tmp_path / "odd.json"
    make(odd)
    good = tmp_path / "good.json"
    good.write_text(json.dumps({"conversation": [ASK, agent("Done.", TWICE, TWICE)]}))
    done = audit(str(odd), str(good), "--json")
    assert done.returncode == 2, done.stderr
    (line,) = done.stderr.splitlines()
    assert line.startswith("error: ")
    assert "odd.json" in line
    assert says in line
    result = json.loads(done.stdout)
    assert [r["trace"] for r in result["reports"]] == ["good"]
    assert len(result["errors"]) == 1


def test_large_integers_are_read_exactly_and_are_other_ids(tmp_path: Path) -> None:
    read = did("find_user", {"name": "z"}, {"id": 2**63})
    same = did("delete_user", {"id": 2**63}, {"status": "deleted"})
    rounded = did("delete_user", {"id": float(2**63 + 1)}, {"status": "deleted"})
    off = did("delete_user", {"id": 2**63 + 1}, {"status": "deleted"})
    path = tmp_path / "x.json"
    for write, wanted in ((same, []), (off, ["args.unsupported_id"])):
        path.write_text(json.dumps({"conversation": [ASK, agent("Done.", read, write)]}))
        result = json.loads(audit(str(path), "--json").stdout)
        assert [f["code"] for f in result["reports"][0]["findings"]] == wanted
    path.write_text(json.dumps({"conversation": [ASK, agent("Done.", read, rounded)]}))
    assert audit(str(path), "--json").returncode in (0, 1)


def test_a_broken_contract_is_one_error_before_anything_else(tmp_path: Path) -> None:
    (tmp_path / "c.yaml").write_text("contract: [")
    (tmp_path / "good.json").write_text(json.dumps({"conversation": [ASK]}))
    done = audit(str(tmp_path / "good.json"), "--contract", str(tmp_path / "c.yaml"))
    assert done.returncode == 2
    assert "Traceback" not in done.stderr
    assert done.stdout == ""
