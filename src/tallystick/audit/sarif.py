"""Findings as SARIF 2.1.0 (OASIS, errata 01), which code hosts show beside the files. Written as they come."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any, Final

import msgspec

from tallystick import __version__
from tallystick.audit import places
from tallystick.audit.catalogue import Rule, catalogue
from tallystick.audit.findings import Finding, Report, Severity
from tallystick.audit.run import BadFile, SkippedFile
from tallystick.audit.summary import BAD_INPUT, Summary
from tallystick.model.plaintext import printable

SCHEMA: Final = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
LEVELS: Final[dict[Severity, str]] = {"error": "error", "warning": "warning", "info": "note"}
_ROOT: Final = "%SRCROOT%"
_GUESS: Final = (
    "Where `guess` is set, the finding rests on what a tool's name or a sentence suggests: name the tools that write "
    "with --writes, --tools or --contract to settle it."
)
_ENCODER: Final = msgspec.json.Encoder()


class Sarif:
    """One SARIF log with one run, written piece by piece to `stream`."""

    def __init__(self, stream: IO[bytes]) -> None:
        self._stream = stream
        self._rules = {code: index for index, code in enumerate(catalogue())}
        driver = {
            "name": "tallystick",
            "version": __version__,
            "rules": [_rule(rule) for rule in catalogue().values()],
        }
        head = _ENCODER.encode({"$schema": SCHEMA, "version": "2.1.0"})[:-1]
        stream.write(head + b',"runs":[{"tool":' + _ENCODER.encode({"driver": driver}) + b',"results":[')
        self._first = True

    def report(self, report: Report) -> None:
        """Add a result for each finding of a report."""
        met: Counter[tuple[str, ...]] = Counter()
        source = places.uri(report.source) if report.source else ""
        for finding in report.findings:
            key = (finding.code, source, report.trace, _at(finding), finding.pointer)
            result = self._result(report, finding, source, _digest((*key, str(met[key]))))
            met[key] += 1
            self._stream.write((b"\n" if self._first else b",\n") + _ENCODER.encode(result))
            self._first = False

    def _result(self, report: Report, finding: Finding, source: str, digest: str) -> dict[str, Any]:
        location: dict[str, Any] = {"logicalLocations": [_logical(report, finding)]}
        if source:
            location = {"physicalLocation": {"artifactLocation": _artifact(source)}, **location}
        found: dict[str, Any] = {
            "ruleId": finding.code,
            "level": LEVELS[finding.severity],
            "message": {"text": _text(finding.message)},
            "locations": [location],
            # The second is the one that code hosts compare; they work it out themselves only where there is a line.
            "partialFingerprints": {"tallystickFinding/v1": digest, "primaryLocationLineHash": f"{digest}:1"},
            "properties": {
                "trace": printable(report.trace),
                "format": report.format,
                "sha256": report.sha256,
                "guess": finding.guess,
                "quarantined": bool(report.quarantined),
                **({"messageIndex": finding.at} if finding.at is not None else {}),
                **({"call": finding.call} if finding.call else {}),
                **({"pointer": printable(finding.pointer)} if finding.pointer else {}),
                **({"evidence": finding.evidence} if finding.evidence else {}),
                **({"reasons": finding.reasons} if finding.reasons else {}),
            },
        }
        if finding.code in self._rules:
            found["ruleIndex"] = self._rules[finding.code]
        return found

    def bad(self, bad: BadFile) -> None:
        """Do nothing yet: a run's notifications come after its results."""

    def close(self, summary: Summary, bad: Sequence[BadFile], skipped: Sequence[SkippedFile]) -> None:
        """Write what was not audited and why, the counts, and the end.

        Args:
            summary: the counts.
            bad: files that could not be used.
            skipped: files of a folder that are no conversations.
        """
        invocation = {
            "executionSuccessful": summary.code != BAD_INPUT,
            "exitCode": summary.code,
            "toolExecutionNotifications": [
                *(_notification("error", b.source, f"{b.message} (fix: {b.fix})" if b.fix else b.message) for b in bad),
                *([_notification("error", "", _more(summary.bad - len(bad)))] if summary.bad > len(bad) else []),
                *(_notification("note", s.source, f"passed over: {s.message}") for s in skipped),
            ],
        }
        tail = {
            "invocations": [invocation],
            "originalUriBaseIds": {_ROOT: {"description": {"text": "The folder that the audit was run in."}}},
            "properties": {"summary": summary.to_json()},
        }
        self._stream.write(b"]," + _ENCODER.encode(tail)[1:] + b"]}\n")


def _rule(rule: Rule) -> dict[str, Any]:
    short = f"{rule.text.partition('. ')[0].rstrip('.')}."
    text = f"{rule.text}\n\n{rule.fix}\n\n{_GUESS}"
    return {
        "id": rule.code,
        "name": "".join(part.title() for part in rule.code.replace("_", ".").split(".")),
        "shortDescription": {"text": short},
        "fullDescription": {"text": rule.text},
        "help": {"text": text, "markdown": text},
        "defaultConfiguration": {"level": LEVELS[rule.severities[0]]},
        "properties": {"tags": ["agent-traces", rule.code.partition(".")[0]]},
    }


def _more(count: int) -> str:
    return f"{count} more that could not be used"


def _at(finding: Finding) -> str:
    return finding.call or (f"m{finding.at}" if finding.at is not None else "")


def _logical(report: Report, finding: Finding) -> dict[str, Any]:
    """The call, message or value spoken about: `trace/m2.c0/args/order_id`, the JSON Pointer (RFC 6901) at its end."""
    at = _at(finding)
    place = printable(report.trace + (f"/{at}" if at else "") + finding.pointer)
    name = printable(finding.pointer.rpartition("/")[2] or at or report.trace)
    return {"name": name, "fullyQualifiedName": place, "kind": "value" if finding.pointer else "object"}


def _artifact(uri: str) -> dict[str, str]:
    return {"uri": uri} if uri.startswith("file://") else {"uri": uri, "uriBaseId": _ROOT}


def _notification(level: str, source: str, message: str) -> dict[str, Any]:
    text = _text(f"{source}: {message}" if source else message)
    found: dict[str, Any] = {"level": level, "message": {"text": text}}
    if source and Path(source).is_file():  # some name a line as well, or several paths
        found["locations"] = [{"physicalLocation": {"artifactLocation": _artifact(places.uri(source))}}]
    return found


def _text(text: str) -> str:
    """Foreign text for a message: no controls, and no `[words](address)`, which would become a link (SARIF 3.11.6)."""
    return printable(text, keep="\n\t").replace("](", "] (")


def _digest(parts: tuple[str, ...]) -> str:
    """Of the rule and the place, never of the sentence: it stays the same while the finding does."""
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).hexdigest()[:32]
