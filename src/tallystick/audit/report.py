"""What `tallystick audit` prints: a table for people, or one JSON object, both written while the audit runs."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Final

import msgspec
from rich.console import Console
from rich.progress import MofNCompleteColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from tallystick.audit.findings import SEVERITIES, Finding, Report
from tallystick.audit.junit import Junit
from tallystick.audit.outputs import STDOUT, check_targets, written
from tallystick.audit.run import Audited, BadFile, Setup, SkippedFile, audit_files
from tallystick.audit.sarif import Sarif
from tallystick.audit.summary import Summary
from tallystick.audit.survey import check_contract, check_writes, tools_called
from tallystick.audit.tools import declared_in
from tallystick.contracts import load
from tallystick.errors import InputError
from tallystick.model.plaintext import printable
from tallystick.traces.formats import AUTO, FORMATS

_STYLE: Final = {"error": "bold red", "warning": "yellow", "info": "cyan"}
_ENCODER: Final = msgspec.json.Encoder()


def run_audit(
    paths: Sequence[str | Path],
    contract: str | Path | None,
    format: str,  # noqa: A002 - the option's name
    json: bool,
    writes: Iterable[str] | None,
    tools: str | Path | None,
    jobs: int,
    out: IO[str],
    err: IO[str],
    *,
    sarif: str | Path | None = None,
    junit: str | Path | None = None,
) -> int:
    """Audit everything under `paths`, print it, and return the exit code.

    Args:
        paths: files and folders.
        contract: a contract file whose act gate judges the calls too.
        format: one of `traces.FORMATS`, or `auto`.
        json: write one JSON object to `out` instead of text.
        writes: names of tools that write; the others then read.
        tools: a JSON file of tool schemas that says which tools write.
        jobs: processes.
        out: results.
        err: progress, and one line for each file that could not be used.
        sarif: a file to write a SARIF log to, or `-` for `out`, which then holds nothing else.
        junit: the same for a JUnit document.

    Returns:
        0 clean, 1 findings of severity error or warning, 2 some file could not be used (the rest was audited).

    Raises:
        InputError: nothing can be audited at all: a bad option, contract or tools file. Or a report cannot be written.
    """
    if format != AUTO and format not in FORMATS:
        raise InputError(f"unknown format `{format}`", fix=f"one of: {AUTO}, {', '.join(FORMATS)}")
    if jobs < 1:
        raise InputError(f"`{jobs}` processes", where="--jobs", fix="1 or more")
    sarif_to = str(sarif) if sarif is not None else None
    junit_to = str(junit) if junit is not None else None
    check_targets(sarif_to, junit_to, json=json)
    setup = Setup(
        format=format,
        contract=str(contract) if contract is not None else None,
        writes=tuple(writes) if writes is not None else None,
        declared=declared_in(tools) if tools is not None else {},
    )
    summary = Summary()
    console = Console(file=err, highlight=False, soft_wrap=True)
    if setup.writes:
        for name in check_writes(setup.writes, tools_called(paths, format)):
            console.print(
                Text.assemble(("warning: ", "yellow"), f"no trace calls `{printable(name)}`, named by --writes")
            )
    if contract is not None:
        check_contract(load(contract), str(contract), tools_called(paths, format))
    shown: list[_Json | _Words] = []
    if STDOUT not in (sarif_to, junit_to):  # a report on stdout is alone there
        shown.append(_Json(out) if json else _Words(out))
    ci: list[Sarif | Junit] = []
    skipped: list[SkippedFile] = []
    bad_files: list[BadFile] = []
    outcomes = audit_files(paths, setup, jobs=jobs)
    first = next(outcomes, None)  # processes start before the progress bar's thread does
    progress = Progress(
        SpinnerColumn(),
        TextColumn("auditing"),
        MofNCompleteColumn(),
        TextColumn("traces, {task.fields[flagged]} flagged"),
        TimeElapsedColumn(),
        console=console,
        transient=True,
        disable=not console.is_terminal,
    )
    with ExitStack() as drafts:
        if sarif_to is not None:
            ci.append(Sarif(drafts.enter_context(written(sarif_to, "the SARIF report", out))))
        if junit_to is not None:
            ci.append(Junit(drafts.enter_context(written(junit_to, "the JUnit report", out))))
        with progress:
            bar = progress.add_task("audit", total=None, flagged=0)
            outcome = first
            while outcome is not None:
                if isinstance(outcome, Audited):
                    summary.add(outcome.report)
                    if not outcome.report.messages:
                        console.print(Text.assemble(("error: ", "bold red"), printable(_unusable(outcome.report))))
                    for each in (*shown, *ci):
                        each.report(outcome.report)
                    progress.update(bar, advance=1, flagged=summary.flagged)
                elif isinstance(outcome, BadFile):
                    summary.bad += 1
                    for kept in ci:
                        kept.bad(outcome)
                    if len(bad_files) < 1000:
                        bad_files.append(outcome)
                    console.print(Text.assemble(("error: ", "bold red"), printable(str(outcome))))
                else:
                    summary.skipped += 1
                    if len(skipped) < 1000:
                        skipped.append(outcome)
                outcome = next(outcomes, None)
        if summary.skipped:
            example = printable(skipped[0].source)
            files = (
                "1 JSON file that is no conversation:"
                if summary.skipped == 1
                else (f"{summary.skipped} JSON files that are no conversations, e.g.")
            )
            console.print(Text(f"passed over {files} {example}"))
        if not summary.traces and not summary.unusable and not summary.bad:
            summary.bad += 1
            bad_files.append(BadFile(source=", ".join(map(str, paths))[:200], message="no trace was found"))
            for kept in ci:
                kept.bad(bad_files[-1])
            console.print(Text.assemble(("error: ", "bold red"), printable(str(bad_files[-1]))))
        for each in (*shown, *ci):
            each.close(summary, bad_files, skipped)
    return summary.code


def _unusable(report: Report) -> str:
    """Return one line about a line of a log that holds no conversation."""
    what = report.findings[0].message if report.findings else "a line that holds no conversation"
    return f"{report.source}: {what}; the rest is audited"


class _Json:
    """One JSON object in UTF-8, written piece by piece: `reports`, then `summary`, `errors`, `skipped`."""

    def __init__(self, out: IO[str]) -> None:
        self._out = out
        self._first = True

    def _put(self, data: bytes) -> None:
        binary = getattr(self._out, "buffer", None)
        if binary is None:  # a text-only stand-in for stdout
            self._out.write(data.decode())
        else:
            binary.write(data)

    def report(self, report: Report) -> None:
        self._put((b'{"reports":[\n' if self._first else b",\n") + _ENCODER.encode(report))
        self._first = False

    def close(self, summary: Summary, bad: list[BadFile], skipped: list[SkippedFile]) -> None:
        tail = {
            "summary": summary.to_json(),
            "errors": [{"source": b.source, "message": b.message, "fix": b.fix} for b in bad],
            "skipped": [{"source": s.source, "message": s.message} for s in skipped],
        }
        self._put((b'{"reports":[' if self._first else b"\n") + b"]," + _ENCODER.encode(tail)[1:] + b"\n")
        self._out.flush()


class _Words:
    """A block for each trace with something to look at, then one table of rules."""

    def __init__(self, out: IO[str]) -> None:
        self._console = Console(file=out, highlight=False, soft_wrap=True)

    def report(self, report: Report) -> None:
        serious = [f for f in report.findings if f.severity != "info"]
        if not serious:
            return
        counts = ", ".join(f"{report.count(s)} {s}" for s in SEVERITIES if report.count(s))
        head = Text.assemble((printable(report.source or report.trace), "bold"), f"  {counts}")
        if report.quarantined:
            head.append("  quarantined", style="magenta")
        self._console.print(head)
        for finding in serious:
            self._console.print(_line(finding))
        self._console.print()

    def close(self, summary: Summary, _bad: list[BadFile], _skipped: list[SkippedFile]) -> None:
        if summary.rules:
            table = Table(box=None, pad_edge=False, header_style="dim")
            for name, justify in (("severity", "left"), ("rule", "left"), ("findings", "right"), ("traces", "right")):
                table.add_column(name, justify=justify)  # type: ignore[arg-type]  # literals, as rich wants them
            order = {s: i for i, s in enumerate(SEVERITIES)}
            rows = sorted(summary.rules.items(), key=lambda r: (order[r[0][1]], -r[1][1], r[0][0]))  # type: ignore[index]
            for (code, severity), (n, traces) in rows:
                table.add_row(Text(severity, style=_STYLE[severity]), code, str(n), str(traces))
            self._console.print(table)
            self._console.print()
        if summary.guessed:
            names = ", ".join(sorted(summary.guessed))
            self._console.print(Text(f"guessed from their names to write: {printable(names)}", style="dim"))
            self._console.print(Text("name them with --writes or --tools to settle it", style="dim"))
        if not summary.traces and not summary.unusable:
            return  # what was wrong stands on stderr
        parts = [f"{counted(summary.traces, 'trace')}, {summary.flagged} flagged"]
        parts[0] += f", {summary.noted} with warnings only" if summary.noted else ""
        parts.append(f"{summary.paired} of {counted(summary.calls, 'call')} {_have(summary.calls)} result")
        if summary.quarantined:
            parts.append(f"{summary.quarantined} quarantined")
        if summary.unusable:
            parts.append(f"{counted(summary.unusable, 'line')} of a log unusable")
        self._console.print(Text("; ".join(parts)))


def _have(count: int) -> str:
    return "has its" if count == 1 else "have their"


def counted(count: int, noun: str) -> str:
    """Return a count with its noun: `1 trace`, `2 traces`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def _line(finding: Finding) -> Text:
    where = finding.call or (f"m{finding.at}" if finding.at is not None else "")
    text = Text.assemble(
        "  ",
        (f"{finding.severity:7}", _STYLE[finding.severity]),
        f" {where:8} ",
        (finding.code, "bold"),
        f"  {printable(finding.message)}",
    )
    if finding.guess:
        text.append("  [guess]", style="dim")
    if finding.reasons:
        text.append(f"  {', '.join(finding.reasons)}", style="dim")
    return text
