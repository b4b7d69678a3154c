"""Findings as JUnit XML, which CI systems show as tests: a case for each trace, failed by findings of severity error.

A suite for each folder and format. A suite's counts stand at its beginning, so its cases wait in a temporary file until
the audit has left the folder; what is held in memory grows with the depth of the folders, not with what is in them.
"""

from __future__ import annotations

import html
import shutil
import tempfile
from collections.abc import Sequence
from typing import IO, Final

from tallystick.audit import places
from tallystick.audit.findings import Finding, Report
from tallystick.audit.run import BadFile, SkippedFile
from tallystick.audit.summary import Summary
from tallystick.model.plaintext import printable

UNUSABLE: Final = "unusable"
"""In place of a format, for files that could not be used."""
_SMALL: Final = 1 << 16


class Junit:
    """One JUnit document, written piece by piece to `stream`."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._open: dict[tuple[str, str], _Suite] = {}
        stream.write(b'<?xml version="1.0" encoding="UTF-8"?>\n<testsuites name="tallystick audit">\n')

    def report(self, report: Report) -> None:
        """Add the case of a report."""
        path = places.shown(report.source) if report.source else report.trace
        folder, _, file = path.rpartition("/")
        suite = self._suite(folder or ".", report.format)
        stem = file.rpartition(".")[0] or file  # a trace is `stem`, or `stem#line` where the file holds several
        name = file + report.trace.removeprefix(stem) if report.trace.startswith(stem) else f"{file} {report.trace}"
        errors = [f for f in report.findings if f.severity == "error"]
        warnings = [f for f in report.findings if f.severity == "warning"]
        body = ""
        if not report.messages:  # a line of a log that holds no conversation
            what = report.findings[0].message if report.findings else "no conversation"
            body = f"<error type={_quoted(UNUSABLE)} message={_quoted(what)}>{_xml(_lines(report.findings))}</error>\n"
            suite.add(name, path, body, error=True)
            return
        if errors:
            more = f" (and {len(errors) - 1} more)" if len(errors) > 1 else ""
            body += (
                f"<failure type={_quoted(errors[0].code)} message={_quoted(errors[0].message + more)}>"
                f"{_xml(_lines(errors))}</failure>\n"
            )
        if warnings:
            body += f"<system-out>{_xml(_lines(warnings))}</system-out>\n"
        suite.add(name, path, body, failed=bool(errors))

    def bad(self, bad: BadFile) -> None:
        """Add a case in error for a file that could not be used."""
        path = places.shown(bad.source) if bad.source else "."
        folder, _, file = path.rpartition("/")
        text = f"{bad.message} (fix: {bad.fix})" if bad.fix else bad.message
        body = f"<error type={_quoted(UNUSABLE)} message={_quoted(bad.message)}>{_xml(text)}</error>\n"
        self._suite(folder or ".", UNUSABLE).add(file or path, path, body, error=True)

    def close(self, _summary: Summary, _bad: Sequence[BadFile], _skipped: Sequence[SkippedFile]) -> None:
        """Write what still waits, and the end."""
        for suite in self._open.values():
            suite.write(self._stream)
        self._stream.write(b"</testsuites>\n")

    def _suite(self, folder: str, kind: str) -> _Suite:
        for key in [key for key in self._open if not _holds(key[0], folder)]:
            self._open.pop(key).write(self._stream)
        if (folder, kind) not in self._open:
            self._open[folder, kind] = _Suite(folder, kind)
        return self._open[folder, kind]


class _Suite:
    """The cases of one folder and format, until it is known how many they are."""

    def __init__(self, folder: str, kind: str) -> None:
        self._folder = folder
        self._name = f"{folder} ({kind})"
        self._cases = tempfile.SpooledTemporaryFile(_SMALL)  # noqa: SIM115 - closed in `write`
        self._tests = self._failures = self._errors = 0

    def add(self, name: str, path: str, body: str, *, failed: bool = False, error: bool = False) -> None:
        self._tests += 1
        self._failures += failed
        self._errors += error
        head = f"<testcase classname={_quoted(self._folder)} name={_quoted(name)} file={_quoted(path)}"
        self._cases.write((f"{head}>\n{body}</testcase>\n" if body else f"{head}/>\n").encode())

    def write(self, stream: IO[bytes]) -> None:
        stream.write(
            f'<testsuite name={_quoted(self._name)} tests="{self._tests}" failures="{self._failures}"'
            f' errors="{self._errors}" skipped="0">\n'.encode()
        )
        self._cases.seek(0)
        shutil.copyfileobj(self._cases, stream)
        self._cases.close()
        stream.write(b"</testsuite>\n")


def _holds(folder: str, other: str) -> bool:
    """Return whether `other` is `folder` or inside it, so that more of `folder` may come after it."""
    return folder == other or other.startswith(f"{folder}/") or (folder == "." and places.is_inside(other))


def _lines(findings: Sequence[Finding]) -> str:
    return "\n".join(_line(f) for f in findings)


def _line(finding: Finding) -> str:
    where = finding.call + finding.pointer or (f"m{finding.at}" if finding.at is not None else "")
    marks = [", ".join(finding.reasons)] if finding.reasons else []
    marks += ["guess"] if finding.guess else []
    parts = (finding.severity, where, finding.code, finding.message, *(f"[{mark}]" for mark in marks))
    return " ".join(part for part in parts if part)


def _xml(text: str) -> str:
    """Foreign text as XML character data. What XML 1.0 cannot hold (2.2, Char) is written as an escape."""
    return html.escape(printable(text, keep="\n\t"))


def _quoted(text: str) -> str:
    return f'"{html.escape(printable(text))}"'
