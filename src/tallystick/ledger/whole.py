"""Files that are written whole or not at all."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

from tallystick.errors import InputError


@contextmanager
def whole(out: Path, what: str) -> Iterator[BinaryIO]:
    """A stream whose bytes appear at `out` all at once, at the end, or never.

    Args:
        out: the file; replaced in one step, if it exists.
        what: what is written, for the error: "the export".

    Raises:
        InputError: `out` cannot be written, or is no file that may be replaced: a folder, a device, an SQLite file, a
            private key.
    """
    draft = out.with_name(f".{out.name}.{secrets.token_hex(8)}.part")
    try:
        if out.is_dir():
            raise InputError("is a folder", where=str(out), fix="give the path of a file")
        if out.exists() and not out.is_file():
            raise InputError("is no regular file", where=str(out), fix="give the path of a file")
        if out.is_file():
            with out.open("rb") as old:
                lost = _irreplaceable(old.read(64))
            if lost:
                raise InputError(f"is {lost}, and would be lost", where=str(out), fix="give another path")
        try:
            with draft.open("xb") as stream:
                yield stream
                stream.flush()
                os.fsync(stream.fileno())
            draft.replace(out)
            _sync_folder(out.parent)
        finally:
            draft.unlink(missing_ok=True)
    except OSError as bad:
        raise InputError(f"{what} cannot be written: {bad.strerror}", where=str(out)) from bad


def _irreplaceable(head: bytes) -> str:
    """Return what a file is, by its first bytes, that nothing may be written over; "" where it is nothing such."""
    if head.startswith(b"SQLite format 3\x00"):
        return "an SQLite file"
    if head.lstrip().startswith(b"-----BEGIN ") and b"PRIVATE KEY-----" in head:
        return "a private key"  # without it, nothing can be signed again under the name that others have pinned
    return ""


def _sync_folder(folder: Path) -> None:
    """Make the new name durable; a rename alone may be lost in a power cut."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
