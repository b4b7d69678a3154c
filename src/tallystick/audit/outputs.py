"""Reports for CI systems go to files of their own: appearing whole or not at all, over nothing but such a report."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Final

from tallystick.errors import InputError
from tallystick.ledger.whole import whole

STDOUT: Final = "-"
_KINDS: Final = {
    "--sarif": ("SARIF report", re.compile(rb'\s*\{\s*"(?:\$schema|version|runs)".*?(?:sarif|2\.1\.0)', re.DOTALL)),
    "--junit": ("JUnit report", re.compile(rb"\s*(?:<\?xml[^>]*>\s*)?(?:<!--.*?-->\s*)*<testsuite", re.DOTALL)),
}
"""Option -> what it writes, and how the beginning of a file of that kind looks."""


def check_targets(sarif: str | None, junit: str | None, *, json: bool) -> None:
    """Hold that the reports asked for can be written, before anything is read.

    Raises:
        InputError: two outputs in one place, or a path that is no place for a report. A file that holds anything but
            a report of the same kind would be lost, so it is not replaced: a recording, a contract, a ledger, a key.
    """
    given = [(option, target) for option, target in (("--sarif", sarif), ("--junit", junit)) if target is not None]
    if len(given) == 2 and os.path.realpath(given[0][1]) == os.path.realpath(given[1][1]):
        raise InputError("`--sarif` and `--junit` name the same place", fix="give each a file of its own")
    for option, target in given:
        if target == STDOUT:
            if json:
                raise InputError(f"`--json` and `{option} -` both want stdout", fix=f"give `{option}` a file")
        else:
            _check(option, Path(target))


def _check(option: str, target: Path) -> None:
    kind, looks = _KINDS[option]
    where = f"{option} {target}"
    try:
        if target.is_dir():
            raise InputError("is a folder", where=where, fix="give the path of a file")
        if target.exists():
            if not target.is_file():
                raise InputError("is no regular file", where=where, fix="give the path of a file, or `-` for stdout")
            with target.open("rb") as old:
                head = old.read(4096)
            if head and looks.match(head) is None:
                raise InputError(
                    f"holds something that is no {kind}, and would be lost",
                    where=where,
                    fix="give another path, or remove the file",
                )
        elif not target.parent.is_dir():
            raise InputError("there is no such folder", where=where, fix=f"make `{target.parent}` first")
        if not os.access(target.parent, os.W_OK | os.X_OK):
            raise InputError("the folder cannot be written to", where=where)
    except OSError as bad:
        raise InputError(f"cannot be read: {(bad.strerror or str(bad)).lower()}", where=where) from None


@contextmanager
def written(target: str, what: str, out: IO[str]) -> Iterator[IO[bytes]]:
    """A stream for a report that, once it is complete, becomes the file `target`, or goes to `out` for `-`.

    Until then it is a temporary file, so memory does not grow with it and nobody reads half of it.

    Raises:
        InputError: the file cannot be written.
    """
    with tempfile.TemporaryFile() as draft:
        yield draft
        draft.seek(0)
        if target != STDOUT:
            with whole(Path(target), what) as stream:
                shutil.copyfileobj(draft, stream)
            return
        binary = getattr(out, "buffer", None)
        if binary is not None:
            out.flush()
            shutil.copyfileobj(draft, binary)
        else:  # a text-only stand-in for stdout
            out.write(draft.read().decode("utf-8"))
        out.flush()
