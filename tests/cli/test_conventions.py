"""What holds for every command: one error line and exit 2 for bad input, JSON alone on stdout, no traceback."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import typer.main

from tallystick import __version__
from tallystick.cli.app import app
from tests.cli.conftest import Cli

COMMANDS = sorted(typer.main.get_command(app).commands)  # type: ignore[attr-defined]
TALLYSTICK = [sys.executable, "-c", "from tallystick.cli import main; main()"]


def test_the_version_is_printed(cli: Cli) -> None:
    """`--version` prints name and version and nothing else."""
    assert cli("--version").out == f"tallystick {__version__}\n"


def test_without_a_command_the_help_is_shown(cli: Cli) -> None:
    """A newcomer who types only the name sees what there is."""
    done = cli()
    assert done.code == 0
    assert all(name in done.out for name in COMMANDS)


def test_the_list_of_commands_cuts_no_sentence(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """On eighty columns each command has a whole sentence."""
    monkeypatch.setenv("COLUMNS", "80")
    rows = cli("--help").out.split("Commands:\n")[1].splitlines()
    assert len(rows) == len(COMMANDS)
    assert all(row.endswith(".") and not row.endswith("...") for row in rows)


@pytest.mark.parametrize(
    "args",
    [
        ["nonsense"],
        ["--nonsense"],
        ["runs"],
        ["runs", "--ledger"],
        ["show"],
        ["demo", "--faults", "gremlins"],
        ["demo", "--model", "m"],
        ["demo", "--api-key-env", "NO_SUCH_VARIABLE_IS_SET"],
    ],
    ids=" ".join,
)
def test_misuse_is_one_line_on_stderr_and_exit_2(cli: Cli, args: list[str]) -> None:
    """Whatever is mistyped, there is one clear line and nothing on stdout."""
    done = cli(*args)
    assert done.code == 2
    assert done.out == ""
    assert re.fullmatch(r"error: [^\n]+\n", done.err)


BAD_FILES = {
    "missing": None,
    "empty": b"",
    "text": b"hello\n",
    "binary": bytes(range(256)) * 20,
    "cut sqlite": b"SQLite format 3\x00" + b"\x00" * 40,
}


@pytest.mark.parametrize("content", BAD_FILES.values(), ids=BAD_FILES.keys())
@pytest.mark.parametrize("args", [["runs", "--ledger", "FILE"], ["show", "FILE"]], ids=lambda a: a[0])
def test_a_file_that_is_no_ledger_is_one_line_and_left_alone(
    cli: Cli, tmp_path: Path, args: list[str], content: bytes | None
) -> None:
    """Reading commands refuse what is no ledger, create nothing and change nothing."""
    file = tmp_path / "it.db"
    if content is not None:
        file.write_bytes(content)
    done = cli(*[str(file) if a == "FILE" else a for a in args])
    assert done.code == 2, done
    assert done.out == ""
    assert re.fullmatch(r"error: [^\n]+\n", done.err)
    assert sorted(tmp_path.iterdir()) == ([] if content is None else [file])
    assert content is None or file.read_bytes() == content


def test_a_defect_of_ours_is_one_line_with_a_hint(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    """An unexpected exception exits with 3 and says how to see more; with TALLYSTICK_DEBUG it is raised."""

    def broken(*_: object, **__: object) -> None:
        raise ZeroDivisionError("planted")

    monkeypatch.setattr("tallystick.cli.sources.SQLiteStore", broken)
    done = cli("runs", "--ledger", "x.db")
    assert done.code == 3
    assert done.out == ""
    assert done.err.splitlines() == [
        "error: a defect in tallystick: ZeroDivisionError: planted",
        "set TALLYSTICK_DEBUG=1 to see the traceback",
    ]
    monkeypatch.setenv("TALLYSTICK_DEBUG", "1")
    with pytest.raises(ZeroDivisionError):
        cli("runs", "--ledger", "x.db")


def test_a_reader_that_goes_away_is_no_error(tmp_path: Path) -> None:
    """`tallystick ... | head` ends quietly."""
    script = f"{' '.join(map(repr, TALLYSTICK[:2]))} {TALLYSTICK[2]!r} --help | true; exit ${{PIPESTATUS[0]}}"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert done.stderr == ""
    assert done.returncode in {0, 141}  # 0 where all was written before the reader left


@pytest.mark.parametrize("wanted", [True, False], ids=["colour", "NO_COLOR"])
def test_no_color_is_honoured(wanted: bool) -> None:
    """With NO_COLOR even a forced terminal gets no colour."""
    env = {**os.environ, "FORCE_COLOR": "1", "TERM": "xterm"}
    env.pop("NO_COLOR", None)
    if not wanted:
        env["NO_COLOR"] = "1"
    done = subprocess.run([*TALLYSTICK, "runs"], env=env, capture_output=True, text=True, check=False)
    assert ("\x1b[1;31m" in done.stderr) is wanted
    assert "error" in done.stderr
