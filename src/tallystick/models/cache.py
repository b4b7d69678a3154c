"""Where weights are kept: one folder per model under the user's cache, never beside code and never in a repository."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path
from typing import BinaryIO, Final

from tallystick.errors import InputError
from tallystick.models.catalogue import Model

_CHUNK: Final = 1 << 20


def cache_folder() -> Path:
    """Return the cache folder: `TALLYSTICK_CACHE`, else `tallystick` in `XDG_CACHE_HOME` or `~/.cache`."""
    own = os.environ.get("TALLYSTICK_CACHE")
    if own:
        return Path(own).expanduser().absolute()
    shared = os.environ.get("XDG_CACHE_HOME")
    # The XDG base directory specification: a relative path is invalid and is ignored.
    base = Path(shared) if shared and Path(shared).is_absolute() else Path.home() / ".cache"
    return base / "tallystick"


def folder_of(model: Model) -> Path:
    """Return the model's folder in the cache."""
    return cache_folder() / "models" / model.name


def weights_of(model: Model) -> Path:
    """Return where the model's weights are once they are fetched."""
    return folder_of(model) / f"{model.name}.gguf"


def is_fetched(model: Model) -> bool:
    """Return whether the weights are there, by their size. The name appears only after the checksum agreed."""
    try:
        return weights_of(model).stat().st_size == model.size
    except OSError:
        return False


def sha256_of(stream: BinaryIO, size: int = -1) -> str:
    """Return the hexadecimal SHA-256 of the next `size` bytes of `stream`, or of all that is left."""
    digest = hashlib.sha256()
    left = size
    while left and (chunk := stream.read(_CHUNK if left < 0 else min(_CHUNK, left))):
        digest.update(chunk)
        left -= len(chunk) if left > 0 else 0
    return digest.hexdigest()


def checked_weights(model: Model) -> Path:
    """Return the path of the fetched weights after comparing their SHA-256 with the pinned one.

    Raises:
        InputError: they are not on this machine, or not the bytes that were pinned.
    """
    path = weights_of(model)
    fix = f"run `tallystick models fetch {model.name}`, or name another endpoint with --model and --base-url"
    if not is_fetched(model):
        raise InputError(f"the weights of `{model.name}` are not on this machine", where="--model", fix=fix)
    with path.open("rb") as file:
        if sha256_of(file) != model.sha256:
            raise InputError("the weights are not the bytes that were pinned", where=str(path), fix=fix)
    return path
