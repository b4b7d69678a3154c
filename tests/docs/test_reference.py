"""Every public name, command, option and setting is documented, and the generated pages are in step."""

from __future__ import annotations

import inspect
import re
from pathlib import Path

import pytest
import typer.main

import tallystick
from tallystick.cli.app import app
from tests.docs.generate import commands, pages

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("path", list(pages()), ids=lambda p: p.name)
def test_generated_pages_are_in_step(path: Path) -> None:
    """The page is what `make docs` writes now."""
    assert path.read_text(encoding="utf-8") == pages()[path], "run `make docs` and commit the result"


def test_every_command_and_option_has_a_help_text() -> None:
    """Nothing on the command line is left unexplained."""
    silent = []
    for name, command in commands(typer.main.get_command(app)):
        if not command.help:
            silent.append(name)
        silent += [f"{name} {p.name}" for p in command.params if not getattr(p, "help", None)]
    assert not silent


def test_every_public_name_has_a_docstring() -> None:
    """`tallystick.__all__` is documented, each public method of its classes too."""
    silent = []
    for name in tallystick.__all__:
        thing = getattr(tallystick, name)
        if callable(thing) and not inspect.getdoc(thing):
            silent.append(name)
        if inspect.isclass(thing):
            silent += [
                f"{name}.{key}"
                for key, value in vars(thing).items()
                if not key.startswith("_") and inspect.isfunction(value) and not inspect.getdoc(value)
            ]
    assert not silent


def test_every_setting_is_documented() -> None:
    """Each environment variable the source reads has a row in docs/reference/settings.md, and no other has."""
    source = "\n".join(p.read_text(encoding="utf-8") for p in (ROOT / "src").rglob("*.py"))
    read = set(re.findall(r"\bTALLYSTICK_[A-Z_]+\b", source))
    read |= set(re.findall(r"environ(?:\.get\(|\[)\s*[\"']([A-Z_]+)[\"']", source))
    page = (ROOT / "docs" / "reference" / "settings.md").read_text(encoding="utf-8")
    documented = set(re.findall(r"^\| `([A-Z_]+)` \|", page, re.MULTILINE))
    assert documented - {"NO_COLOR"} == read
