"""`python -m tallystick.testing.reports FILE [--json]`: ask the report parser about every reply of a file.

One JSON object a line: `id`, `encoding`, `reply`, and what is expected of it under `strict` and `stripped`, each with
`present`, `well_formed` and `value`. Other fields are ignored. A row agrees when both readings do.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from tallystick.errors import InputError
from tallystick.model import jsontext
from tallystick.progress import ENCODINGS, Encoding, parse_report

_READINGS: Final = (("strict", False), ("stripped", True))


class Verdict(msgspec.Struct, frozen=True, kw_only=True):
    """What one reading of a reply says, or is expected to say."""

    present: bool
    well_formed: bool
    value: str | None


class Item(msgspec.Struct, frozen=True, kw_only=True):
    """One reply: what was expected, what the parser says, whether that is the same."""

    id: str
    encoding: Encoding
    agree: bool
    expected: dict[str, Verdict]
    got: dict[str, Verdict]


def load(path: str | Path) -> list[dict[str, Any]]:
    """Return the rows of a file, checked.

    Raises:
        InputError: the file cannot be read, or a line is not a row; names the line.
    """
    try:
        raw = Path(path).read_bytes()
    except OSError as bad:
        raise InputError(f"cannot read the file: {bad.strerror or bad}", where=str(path)) from None
    rows = [
        _row(jsontext.loads(line, where=f"{path}:{number}"), f"{path}:{number}")
        for number, line in enumerate(raw.split(b"\n"), 1)
        if line.strip()
    ]
    if not rows:
        raise InputError("holds no replies", where=str(path))
    return rows


def judge(rows: Sequence[dict[str, Any]]) -> list[Item]:
    """Return an item for every row that `load` gave."""
    items = []
    for row in rows:
        expected = {name: msgspec.convert(row[name], Verdict) for name, _ in _READINGS}
        got = {name: _said(row["reply"], row["encoding"], envelope=envelope) for name, envelope in _READINGS}
        items.append(Item(id=row["id"], encoding=row["encoding"], agree=expected == got, expected=expected, got=got))
    return items


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command. Returns 0, or 2 after one error line where the file cannot be used."""
    parser = argparse.ArgumentParser(prog="python -m tallystick.testing.reports", description=(__doc__ or "").strip())
    parser.add_argument("file", metavar="FILE", help="replies, one JSON object per line")
    parser.add_argument("--json", action="store_true", help="print one JSON object on stdout and nothing else")
    options = parser.parse_args(argv)
    try:
        items = judge(load(options.file))
    except InputError as bad:
        sys.stderr.write(f"error: {bad}\n".encode("utf-8", "backslashreplace").decode())
        return 2
    agree = sum(item.agree for item in items)
    if options.json:
        told = {"agree": agree, "disagree": len(items) - agree, "items": msgspec.to_builtins(items)}
        sys.stdout.write(json.dumps(told) + "\n")
    else:
        sys.stdout.write("".join(_shown(item) for item in items) + f"\n{agree} agree, {len(items) - agree} disagree\n")
    return 0


def _said(reply: str, encoding: Encoding, *, envelope: bool) -> Verdict:
    found = parse_report(reply, encoding, envelope=envelope)
    return Verdict(present=found.present, well_formed=found.well_formed, value=found.value)


def _row(value: Any, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise InputError("is not an object", where=where)
    for name in ("id", "reply"):
        if not isinstance(value.get(name), str):
            raise InputError(f"`{name}` is missing or not a string", where=where)
    if value.get("encoding") not in ENCODINGS:
        raise InputError("`encoding` is neither `xml` nor `json`", where=where)
    for name, _ in _READINGS:
        try:
            msgspec.convert(value.get(name), Verdict)
        except msgspec.ValidationError as bad:
            raise InputError(
                f"`{name}` is not usable: {bad}", where=where, fix='{"present": ..., "well_formed": ..., "value": ...}'
            ) from None
    return value


def _shown(item: Item) -> str:
    head = f"{'agree   ' if item.agree else 'DISAGREE'}  {item.id:<8}  {item.encoding}\n"
    if item.agree:
        return head
    wrong = [name for name, _ in _READINGS if item.expected[name] != item.got[name]]
    return head + "".join(f"{'':20}{n}: expected {item.expected[n]}, got {item.got[n]}\n" for n in wrong)


if __name__ == "__main__":
    sys.exit(main())
