"""Folders, processes, bad files, output and exit codes."""

from __future__ import annotations

import io
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tallystick.audit import Report, audit_files, audit_paths, run_audit
from tallystick.audit.run import Setup
from tallystick.errors import InputError
from tests.audit.build import ASK, agent, did, user

CANCEL = did("cancel_order", {"order_id": "O-17"}, {"status": "cancelled"})
CLEAN = {"conversation": [user("Hi"), agent("Hello.")]}
TWICE = {"conversation": [ASK, agent("Done.", CANCEL, CANCEL)]}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for n in range(150):
        path = tmp_path / f"{n % 7}" / f"{n:03}.json"
        path.parent.mkdir(exist_ok=True)
        path.write_text(json.dumps(TWICE if n % 10 == 0 else CLEAN))
    return tmp_path


def run(*paths: Path, **more: Any) -> tuple[int, str, str]:
    out, err = io.StringIO(), io.StringIO()
    options: dict[str, Any] = {"contract": None, "format": "auto", "json": False, "writes": None, "tools": None,
                               "jobs": 1, **more}  # fmt: skip
    code = run_audit(list(paths), out=out, err=err, **options)
    return code, out.getvalue(), err.getvalue()


def test_reports_come_in_a_fixed_order_whatever_the_number_of_processes(folder: Path) -> None:
    one = list(audit_paths([folder]))
    assert len(one) == 150
    assert [r.source for r in one] == sorted(r.source for r in one)
    assert list(audit_paths([folder], jobs=2)) == one


def test_a_bad_file_costs_only_itself(folder: Path) -> None:
    (folder / "3" / "bad.json").write_bytes(b'{"conversation": [')
    for jobs in (1, 2):
        code, out, err = run(folder, json=True, jobs=jobs)
        result = json.loads(out)
        assert code == 2
        assert len(result["reports"]) == 150
        assert [Path(e["source"]).name for e in result["errors"]] == ["bad.json"]
        assert err.count("error:") == 1
    reports = []
    with pytest.raises(InputError, match=r"bad\.json"):
        reports.extend(audit_paths([folder]))


def test_exit_codes(tmp_path: Path) -> None:
    (tmp_path / "clean.json").write_text(json.dumps(CLEAN))
    (tmp_path / "twice.json").write_text(json.dumps(TWICE))
    assert run(tmp_path / "clean.json")[0] == 0
    assert run(tmp_path / "twice.json")[0] == 1
    assert run(tmp_path / "missing.json")[0] == 2
    assert run(tmp_path / "missing.json", tmp_path / "twice.json")[0] == 2


def test_info_alone_is_clean(tmp_path: Path) -> None:
    order = did("get_order", {"order_id": "O-17"}, {"total": 40})
    (tmp_path / "x.json").write_text(json.dumps({"conversation": [ASK, agent("Hm.", order, order, order)]}))
    code, out, _ = run(tmp_path / "x.json", json=True)
    assert code == 0
    assert json.loads(out)["summary"]["findings"] == {"error": 0, "warning": 0, "info": 1}


def test_json_is_one_object_and_says_what_was_guessed(folder: Path) -> None:
    _, out, err = run(folder, json=True)
    result = json.loads(out)
    assert err == ""
    assert sorted(result) == ["errors", "reports", "skipped", "summary"]
    assert result["summary"]["traces"] == 150
    assert result["summary"]["flagged"] == 15
    assert list(result["summary"]["guessed_writes"]) == ["cancel_order"]
    finding = next(f for r in result["reports"] for f in r["findings"])
    assert finding["code"] == "write.repeated"
    assert finding["guess"] is True
    assert finding["call"] == "m1.c1"
    _, empty, _ = run(folder / "nothing", json=True)
    assert json.loads(empty)["reports"] == []


def test_text_marks_guesses_and_foreign_text_never_reaches_the_terminal_raw(tmp_path: Path) -> None:
    twice = did("cancel_\x1b[31morder", {"order_id": "O-17\x07"}, {"status": "cancelled"})
    (tmp_path / "x.json").write_text(json.dumps({"conversation": [user("O-17\x07"), agent("Done.", twice, twice)]}))
    code, out, _ = run(tmp_path)
    assert code == 1
    assert "\x1b" not in out
    assert "\x07" not in out
    assert "write.repeated" in out
    assert "[guess]" in out
    assert "guessed from their names to write" in out


def test_files_that_are_no_conversations_are_passed_over_and_said_so(folder: Path) -> None:
    (folder / "config.json").write_text('{"debug": true}')
    code, out, err = run(folder, json=True)
    assert code == 1
    assert [Path(s["source"]).name for s in json.loads(out)["skipped"]] == ["config.json"]
    assert "passed over 1" in err
    assert run(folder / "config.json")[0] == 2


def test_a_file_named_twice_or_reached_twice_is_audited_once(folder: Path) -> None:
    inside = folder / "3"
    (folder / "again").symlink_to(inside, target_is_directory=True)
    assert len(list(audit_paths([folder, inside, folder]))) == 150
    count = len(list(audit_paths([inside])))
    assert len(list(audit_paths([min(inside.iterdir()), inside]))) == count


def test_bad_options_are_refused_before_anything_is_read(tmp_path: Path) -> None:
    for more, says in (
        ({"format": "word"}, "unknown format `word`"),
        ({"jobs": 0}, "processes"),
        ({"tools": tmp_path / "missing"}, "cannot be read"),
        ({"contract": tmp_path / "missing.yaml"}, "missing.yaml"),
    ):
        with pytest.raises(InputError, match=says):
            run(tmp_path, **more)


def test_the_generator_is_lazy(folder: Path) -> None:
    (folder / "zz.json").write_bytes(b"broken")
    first = next(iter(audit_files([folder], Setup())))
    assert isinstance(getattr(first, "report", None), Report)


def test_a_folder_twenty_times_as_large_takes_no_more_memory(tmp_path: Path) -> None:
    script = (
        "import resource, sys; from tallystick.audit.__main__ import main; main(sys.argv[1:]);"
        "sys.stderr.write(str(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss))"
    )
    body = json.dumps({"conversation": [user("x" * 20_000), agent("Hello.")] * 5})
    peaks = []
    for size in (20, 400):
        folder = tmp_path / str(size)
        folder.mkdir()
        for n in range(size):
            (folder / f"{n}.json").write_text(body)
        done = subprocess.run(
            [sys.executable, "-c", script, str(folder), "--json"], check=False, capture_output=True, text=True
        )
        assert json.loads(done.stdout)["summary"]["traces"] == size
        peaks.append(int(done.stderr))
    assert peaks[1] < peaks[0] * 1.15  # 40 MB of input more
