"""Audit traces: one, the bytes of a file, or everything under some paths, on one core or several."""

from __future__ import annotations

import multiprocessing
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from itertools import islice
from pathlib import Path
from typing import Any, Final

import msgspec

from tallystick.audit.case import Case
from tallystick.audit.contract import judge
from tallystick.audit.findings import Finding, Report
from tallystick.audit.rules import ALWAYS, OF_WRITES
from tallystick.audit.rules_contract import tempered
from tallystick.audit.tools import Tools
from tallystick.contracts import load
from tallystick.contracts.types import Contract
from tallystick.errors import InputError
from tallystick.model.trace import Trace
from tallystick.traces.files import find, read_file
from tallystick.traces.formats import AUTO, NotATrace, parse

CHUNK: Final = 64
"""Files handed to a process at a time."""


class BadFile(msgspec.Struct, frozen=True, kw_only=True, tag="bad"):
    """A file that could not be used: what is wrong, where, and what would be right."""

    source: str
    message: str
    fix: str = ""

    def __str__(self) -> str:
        text = f"{self.source}: {self.message}" if self.source else self.message
        return f"{text} (fix: {self.fix})" if self.fix else text


class SkippedFile(msgspec.Struct, frozen=True, kw_only=True, tag="skipped"):
    """A file of a folder that is sound JSON but no conversation."""

    source: str
    message: str


class Audited(msgspec.Struct, frozen=True, kw_only=True, tag="report"):
    """A report on its way from another process."""

    report: Report


Outcome = BadFile | SkippedFile | Audited


def audit_trace(
    trace: Trace, *, contract: Contract | None = None, writes: Iterable[str] | None = None, tools: Tools | None = None
) -> Report:
    """Return the report of one trace.

    Args:
        trace: an imported conversation.
        contract: judge each consequential call by its act gate as well, before its receipt.
        writes: names of tools that write; the others then read. Without it, `tools` or a guess from names decides.
        tools: what each tool is; made from `contract` and `writes` where not given.
    """
    tools = tools or Tools(writes=writes, contract=contract)
    case = Case(trace, tools)
    for rule in ALWAYS:
        rule(case)
    if case.writes:
        for rule in OF_WRITES:
            rule(case)
    if contract is not None:
        case.findings = [*tempered(case.findings, trace, contract), *judge(trace, contract, tools)]
    return Report(
        trace=trace.id,
        source=trace.source,
        format=trace.format,
        sha256=trace.sha256,
        messages=len(trace.messages),
        calls=len(case.steps),
        paired=len(case.steps) - case.open,
        quarantined=tuple([d.message for d in trace.damage if d.code.startswith("pairing.")]),
        tools=case.used,
        findings=tuple(sorted(case.findings, key=_place)) if case.findings else (),
    )


def _place(finding: Finding) -> tuple[int, int, str]:
    call = finding.call.partition(".c")[2]
    return (finding.at if finding.at is not None else -1, int(call) if call else sys.maxsize, finding.code)


def audit_bytes(data: bytes, name: str, *, tools: Tools, format: str = AUTO) -> Iterator[Report]:  # noqa: A002
    """Yield the reports of the traces in the bytes of one file.

    Raises:
        InputError: the bytes cannot be used.
    """
    for trace in parse(data, name=name, format=format):
        yield audit_trace(trace, tools=tools)


class Setup(msgspec.Struct, frozen=True, kw_only=True):
    """How to audit; plain values, so that it can be handed to another process."""

    format: str = AUTO
    contract: str | None = None
    writes: tuple[str, ...] | None = None
    declared: dict[str, bool] = {}

    def ready(self) -> Callable[[Path, bool], Iterator[Outcome]]:
        """Return a function that audits one file (and whether it was named on its own)."""
        contract = load(self.contract) if self.contract is not None else None
        tools = Tools(writes=self.writes, declared=self.declared, contract=contract)

        def audit(path: Path, named: bool) -> Iterator[Outcome]:
            try:
                for trace in read_file(path, self.format):
                    yield Audited(report=audit_trace(trace, contract=contract, tools=tools))
            except NotATrace as bad:
                if named:
                    yield BadFile(source=bad.where or str(path), message=bad.message, fix=bad.fix or "")
                else:
                    yield SkippedFile(source=bad.where or str(path), message=bad.message)
            except InputError as bad:
                yield BadFile(source=bad.where or str(path), message=bad.message, fix=bad.fix or "")

        return audit


def audit_files(paths: Sequence[str | Path], setup: Setup, *, jobs: int = 1) -> Iterator[Outcome]:
    """Yield what came of every trace and file under `paths`, in a fixed order whatever the number of processes.

    A bad file costs only itself. Nothing is kept, so memory does not grow with the number of files.
    """
    if jobs > 1:
        yield from _in_processes(_listed(paths), setup, jobs)
        return
    audit = setup.ready()
    for item in _listed(paths):
        if isinstance(item, BadFile):
            yield item
        else:
            yield from audit(*item)


_Item = BadFile | tuple[Path, bool]


def _listed(paths: Sequence[str | Path]) -> Iterator[_Item]:
    """Yield every file to read once, with whether it was named on its own; what cannot be listed as `BadFile`."""
    seen: set[Path] = set()
    for given in paths:
        start = Path(given)
        try:
            resolved = start.resolve()
            if any(resolved == other or other in resolved.parents for other in seen):
                continue  # named twice, or inside a folder named before
            for found in find(start):
                if any(other in found.resolve().parents or other == found.resolve() for other in seen):
                    continue
                yield found, found == start
            seen.add(resolved)
        except InputError as bad:
            yield BadFile(source=bad.where or str(start), message=bad.message, fix=bad.fix or "")
        except (OSError, RuntimeError) as bad:  # RuntimeError: a loop of links, before Python 3.13
            yield BadFile(source=str(start), message=f"cannot be read: {_why(bad)}")


def _why(bad: Exception) -> str:
    return str(getattr(bad, "strerror", None) or bad).lower()


_AUDIT: Callable[[Path, bool], Iterator[Outcome]] | None = None
_PACK: Final = msgspec.msgpack.Encoder()
_UNPACK: Final = msgspec.msgpack.Decoder(list[Outcome])


def _begin(setup: Setup) -> None:
    global _AUDIT  # noqa: PLW0603 - one per worker process, set when it starts
    _AUDIT = setup.ready()


def _work(items: list[tuple[str, bool]]) -> bytes:
    assert _AUDIT is not None
    return _PACK.encode([outcome for path, named in items for outcome in _AUDIT(Path(path), named)])


def _in_processes(items: Iterator[_Item], setup: Setup, jobs: int) -> Iterator[Outcome]:
    setup.ready()  # a bad contract is one error here, not one for each process
    # Forking is a tenth of the price of starting afresh, and safe as long as no other thread holds a lock.
    alone = threading.active_count() == 1 and sys.platform == "linux"
    context = multiprocessing.get_context("fork" if alone else "spawn")
    waiting: deque[Future[bytes] | BadFile] = deque()
    with ProcessPoolExecutor(jobs, mp_context=context, initializer=_begin, initargs=(setup,)) as pool:
        for chunk in _chunks(items):
            files = [(str(i[0]), i[1]) for i in chunk if not isinstance(i, BadFile)]
            if files:
                waiting.append(pool.submit(_work, files))
            waiting.extend(i for i in chunk if isinstance(i, BadFile))
            while len(waiting) > 4 * jobs:
                yield from _outcomes(waiting.popleft())
        while waiting:
            yield from _outcomes(waiting.popleft())


def _chunks(items: Iterator[_Item]) -> Iterator[list[_Item]]:
    while chunk := list(islice(items, CHUNK)):
        yield chunk


def _outcomes(done: Future[bytes] | BadFile) -> Iterator[Outcome]:
    if isinstance(done, BadFile):
        yield done
    else:
        yield from _UNPACK.decode(done.result())


def audit_paths(
    paths: Sequence[str | Path],
    *,
    format: str = AUTO,  # noqa: A002 - the option's name
    contract: str | Path | None = None,
    writes: Iterable[str] | None = None,
    declared: dict[str, bool] | None = None,
    jobs: int = 1,
) -> Iterator[Report]:
    """Yield the report of every trace under `paths`, in a fixed order.

    Args:
        paths: files and folders.
        format: one of `traces.FORMATS`, or `auto`.
        contract: a contract file; see `audit_trace`.
        writes: names of tools that write.
        declared: name -> whether it writes, e.g. from `tools.declared_in`.
        jobs: processes.

    Raises:
        InputError: after every report: the first file that could not be used. Before any: an invalid contract.
    """
    setup = Setup(
        format=format,
        contract=str(contract) if contract is not None else None,
        writes=tuple(writes) if writes is not None else None,
        declared=declared or {},
    )
    bad: BadFile | None = None
    for outcome in audit_files(paths, setup, jobs=jobs):
        if isinstance(outcome, Audited):
            yield outcome.report
        elif isinstance(outcome, BadFile) and bad is None:
            bad = outcome
    if bad is not None:
        raise InputError(bad.message, where=bad.source or None, fix=bad.fix or None)


def tallied(reports: Iterable[Report]) -> dict[str, Any]:
    """Return counts over reports: traces (with a message), calls, flagged traces, findings by severity."""
    total: dict[str, Any] = {"traces": 0, "calls": 0, "paired": 0, "flagged": 0, "quarantined": 0}
    by: dict[str, int] = {"error": 0, "warning": 0, "info": 0}
    for report in reports:
        total["traces"] += report.messages > 0
        total["calls"] += report.calls
        total["paired"] += report.paired
        total["flagged"] += report.flagged
        total["quarantined"] += bool(report.quarantined)
        for finding in report.findings:
            by[finding.severity] += 1
    return {**total, "findings": by}
