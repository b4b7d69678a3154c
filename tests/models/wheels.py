"""Tiny wheels in a folder, which pip's own settings make the only index: fetching is real, and needs no network."""

from __future__ import annotations

import base64
import hashlib
import zipfile
from pathlib import Path

import pytest

from tallystick.models.catalogue import Model, Part

VERSION = "1.0"


def build(folder: Path, package: str, member: str, content: bytes) -> Path:
    """Write a valid wheel of `package` that holds `content` at `member`."""
    stem = package.replace("-", "_")
    wheel = folder / f"{stem}-{VERSION}-py3-none-any.whl"
    folder.mkdir(parents=True, exist_ok=True)
    meta = f"{stem}-{VERSION}.dist-info"
    about = f"Metadata-Version: 2.1\nName: {package}\nVersion: {VERSION}\nRequires-Dist: absent\n"
    files = {
        member: content,
        f"{meta}/METADATA": about.encode(),
        f"{meta}/WHEEL": b"Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    rows = [f"{name},sha256={_digest(data)},{len(data)}" for name, data in files.items()]
    files[f"{meta}/RECORD"] = "\n".join([*rows, f"{meta}/RECORD,,", ""]).encode()
    with zipfile.ZipFile(wheel, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return wheel


def _digest(data: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


def model_of(contents: list[bytes]) -> Model:
    """A model in as many parts."""
    parts = tuple(
        Part(
            package=f"tiny-weights-part{n}",
            version=VERSION,
            member=f"tiny_weights_part{n}/data.bin",
            size=len(content),
            sha256=hashlib.sha256(content).hexdigest(),
            wheel_size=len(content),
        )
        for n, content in enumerate(contents, 1)
    )
    return Model(
        name="tiny",
        title="Tiny",
        licence="Apache-2.0",
        credit="nobody",
        sha256=hashlib.sha256(b"".join(contents)).hexdigest(),
        parts=parts,
        context=128,
        about="a test",
    )


def only_index(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """Make `folder` all that pip looks at."""
    folder.mkdir(parents=True, exist_ok=True)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
