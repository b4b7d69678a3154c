"""`tallystick eval termination --closed-loop`, as a user starts it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tallystick.cli.app import run
from tallystick.model import jsontext


def test_it_prints_keeps_and_goes_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["eval", "termination", "--closed-loop", "--limit", "2", "--repetitions", "1", "--out", str(tmp_path)]
    assert run([*command, "--json"]) == 0
    told = jsontext.loads(capsys.readouterr().out)
    assert told["trajectories"] == 16
    kept = (tmp_path / "trajectories.jsonl").read_bytes()
    assert len(kept.splitlines()) == 16
    assert run(command) == 0
    shown = capsys.readouterr().out
    assert "scripted agents of stated behaviour" in shown.splitlines()[0]
    assert (tmp_path / "trajectories.jsonl").read_bytes() == kept
    assert (tmp_path / "report.txt").read_text("utf-8").rstrip() == shown.rstrip()


def test_other_settings_in_the_same_folder_are_one_clear_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command = ["eval", "termination", "--closed-loop", "--limit", "1", "--repetitions", "1", "--out", str(tmp_path)]
    assert run(command) == 0
    assert run([*command, "--seed", "another"]) == 2
    assert "other settings: seed" in capsys.readouterr().err
