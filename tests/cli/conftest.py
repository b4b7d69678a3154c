"""The command line called in this process, with what it prints on both streams."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from tallystick.cli.app import run


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """Exit code and both streams."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        """What stdout holds, which must be one JSON text and nothing else."""
        return json.loads(self.out)


Cli = Callable[..., Outcome]


@pytest.fixture
def cli(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Cli:
    """Call with the arguments as on a command line."""
    monkeypatch.setenv("COLUMNS", "200")

    def call(*args: object) -> Outcome:
        capsys.readouterr()
        code = run([str(a) for a in args])
        printed = capsys.readouterr()
        return Outcome(code=code, out=printed.out, err=printed.err)

    return call
