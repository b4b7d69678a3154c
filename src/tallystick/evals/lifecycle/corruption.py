"""The corruption gate: replay the whole pipeline over corrupted replies; a success that survives measures the harness.

`python -m tallystick.evals.lifecycle.corruption ROWS.jsonl [--json]` exits with 1 where the gate fails. Source:
unreliable-progress-bar, appendix K. Blanked replies leave only not-due rows clean; inverted ones leave none. That right
replies come out clean is asked as well (*ours*): a scorer that finds nothing clean would pass the other two.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec

from tallystick.errors import InputError
from tallystick.evals.lifecycle.columns import Columns, columns
from tallystick.evals.lifecycle.measures import measure
from tallystick.evals.lifecycle.row import Encoding, Reply, Row
from tallystick.evals.lifecycle.score import Scorer, score
from tallystick.progress import STAGES, parse_report

Corruption = Callable[[Row], Row]
SUCCESSES: Final = ("theta", "phi", "omega")


class Replayed(msgspec.Struct, frozen=True, kw_only=True):
    """What one corruption left.

    Attributes:
        rows: answered rows replayed; transport failures have no reply to corrupt.
        due, clean_due: rows where a report is due, and those of them that are clean.
        not_due, clean_not_due: the same where none is due.
        measures: θ, φ and ω of the whole; None on an empty denominator.
    """

    rows: int
    due: int
    clean_due: int
    not_due: int
    clean_not_due: int
    measures: dict[str, float | None]


class Gate(msgspec.Struct, frozen=True, kw_only=True):
    """The gate's verdict.

    Attributes:
        passed: nothing survived that should not, and what is right came out right.
        failures: a sentence for each thing that did not hold.
        replayed: corruption → what it left.
    """

    passed: bool
    failures: tuple[str, ...]
    replayed: dict[str, Replayed]


def blanked(row: Row) -> Row:
    """Return a row whose reply says nothing; whether it spoke or called a tool is kept."""
    return _with(row, "")


def inverted(row: Row) -> Row:
    """Return a row whose reported value is made wrong, or, where nothing is due, that carries an injected marker.

    A reply without a well-formed report has no value to invert and is left: it is not clean as it is.
    """
    if not row.due:
        return _with(row, _ended(row.reply.text, marker(STAGES[0], row.encoding)))
    report = parse_report(row.reply.text, row.encoding)
    if report.value is None:
        return row
    other = next(v for v in (*STAGES[::-1],) if v not in (row.expected, report.value))
    at = row.reply.text.rindex(report.value)
    return _with(row, row.reply.text[:at] + other + row.reply.text[at + len(report.value) :])


def righted(row: Row) -> Row:
    """Return a row with a right reply: the expected report where one is due, the bare text where none is."""
    if not row.due or row.expected is None:
        return msgspec.structs.replace(row, reply=Reply(mode=row.reply.mode, text="Done."))
    return msgspec.structs.replace(row, reply=Reply(text=_ended("Done.", marker(row.expected, row.encoding))))


CORRUPTIONS: Final[Mapping[str, Corruption]] = {"blanked": blanked, "inverted": inverted, "righted": righted}


def gate(rows: Iterable[Row], scorer: Scorer = score, corruptions: Mapping[str, Corruption] = CORRUPTIONS) -> Gate:
    """Replay `rows` under each corruption and say what survived.

    Args:
        rows: stored rows. Those lost to transport are left out.
        scorer: what is tested; the suite's own unless another is given.
        corruptions: the three of `CORRUPTIONS`, for duties other than the stage report their own.

    Raises:
        InputError: no row was answered.
    """
    answered = [row for row in rows if row.reply.valid]
    found = {name: _replayed([corrupt(row) for row in answered], scorer) for name, corrupt in corruptions.items()}
    blank, inverse, right = found["blanked"], found["inverted"], found["righted"]
    failures = []
    if blank.clean_due:
        failures.append(f"blanked: {blank.clean_due} of {blank.due} due rows are clean without a report")
    if blank.clean_not_due < blank.not_due:
        failures.append(f"blanked: {blank.not_due - blank.clean_not_due} silent rows are not clean where none is due")
    if inverse.clean_due:
        failures.append(f"inverted: {inverse.clean_due} of {inverse.due} due rows are clean with a wrong value")
    if inverse.clean_not_due:
        failures.append(f"inverted: {inverse.clean_not_due} rows are clean with a marker where none is due")
    if right.clean_due + right.clean_not_due < right.rows:
        failures.append(f"righted: {right.rows - right.clean_due - right.clean_not_due} right replies are not clean")
    for name, none in (("blanked", ("theta", "phi")), ("inverted", SUCCESSES)):
        failures += [f"{name}: {m} is {v:.3f}" for m in none if (v := found[name].measures[m])]
    return Gate(passed=not failures, failures=tuple(failures), replayed=found)


def marker(value: str, encoding: Encoding) -> str:
    """Return a report in an encoding."""
    return f"<stage>{value}</stage>" if encoding == "xml" else f'"stage": "{value}"'


def read_rows(path: str | Path) -> list[Row]:
    """Return the rows of a file, one JSON object a line.

    Raises:
        InputError: it cannot be read, or a line is no row; names the line.
    """
    try:
        lines = Path(path).read_bytes().split(b"\n")
    except OSError as bad:
        raise InputError(f"cannot read the file: {bad.strerror or bad}", where=str(path)) from None
    rows = []
    for number, line in enumerate(lines, 1):
        if line.strip():
            try:
                rows.append(msgspec.json.decode(line, type=Row))
            except msgspec.MsgspecError as bad:
                raise InputError(f"not a row: {bad}", where=f"{path}:{number}") from None
    return rows


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command. Returns 0 where the gate passes, 1 where it does not, 2 where the file cannot be used."""
    parser = argparse.ArgumentParser(prog="python -m tallystick.evals.lifecycle.corruption")
    parser.add_argument("file", metavar="ROWS", help="scored or unscored rows, one JSON object per line")
    parser.add_argument("--json", action="store_true", help="print one JSON object on stdout and nothing else")
    options = parser.parse_args(argv)
    try:
        found = gate(read_rows(options.file))
    except InputError as bad:
        sys.stderr.write(f"error: {bad}\n".encode("utf-8", "backslashreplace").decode())
        return 2
    sys.stdout.write(json.dumps(msgspec.to_builtins(found)) + "\n" if options.json else text(found))
    return 0 if found.passed else 1


def text(found: Gate) -> str:
    """Return the gate's verdict for a terminal."""
    lines = [
        f"{name}: clean {r.clean_due} of {r.due} due, {r.clean_not_due} of {r.not_due} not due"
        for name, r in found.replayed.items()
    ]
    return "\n".join([*lines, *found.failures, f"corruption gate {'passed' if found.passed else 'FAILED'}"]) + "\n"


def _replayed(rows: list[Row], scorer: Scorer) -> Replayed:
    c: Columns = columns(rows, scores=[scorer(row) for row in rows])
    clean = c.coded("CLEAN")
    return Replayed(
        rows=len(c), due=int(c.due.sum()), clean_due=int((clean & c.due).sum()), not_due=int((~c.due).sum()),
        clean_not_due=int((clean & ~c.due).sum()), measures={m: measure(c, m).value for m in SUCCESSES},
    )  # fmt: skip


def _with(row: Row, text: str) -> Row:
    return msgspec.structs.replace(row, reply=msgspec.structs.replace(row.reply, text=text))


def _ended(text: str, last: str) -> str:
    return f"{text}\n{last}" if text else last


if __name__ == "__main__":
    sys.exit(main())
