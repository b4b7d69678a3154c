"""Where a report was read from, as CI systems want it: relative to the current folder, with slashes."""

from __future__ import annotations

import os
from pathlib import Path
from urllib.parse import quote


def is_inside(path: str) -> bool:
    """Return whether a path from `shown` is inside the current folder, and so relative."""
    return not path.startswith("/")


def shown(source: str) -> str:
    """Return `source` relative to the current folder, or absolute where it lies elsewhere; always with slashes."""
    path = Path(os.path.abspath(source))  # noqa: PTH100 - `resolve` would follow links, and name another file
    try:
        return path.relative_to(Path.cwd()).as_posix()
    except ValueError:
        return path.as_posix()


def uri(source: str) -> str:
    """Return `source` as a URI reference (RFC 3986): relative where it is inside the current folder, else `file://`."""
    path = shown(source)
    if is_inside(path):
        escaped = quote(os.fsencode(path), safe="/")
        return escaped if ":" not in escaped.partition("/")[0] else f"./{escaped}"
    return f"file://{quote(os.fsencode(path), safe='/')}"
