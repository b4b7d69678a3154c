"""Recordings commands read by turns: runs of a ledger or an export, and conversations in a file or folder."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Annotated, Final

import typer

from tallystick.certificates.envelope import looks_like_envelope
from tallystick.cli.sources import choose, is_sqlite, reading
from tallystick.contracts import EMPTY, Contract, Task, load, load_task
from tallystick.errors import DamagedError, InputError
from tallystick.ledger.exported import exported
from tallystick.model.events import Sealed, Started
from tallystick.model.trace import Trace
from tallystick.progress import ENCODINGS, Encoding
from tallystick.runtime.standing import Followed
from tallystick.traces.files import ENDINGS, read
from tallystick.traces.formats import AUTO, FORMATS
from tallystick.traces.to_events import Chain, to_events
from tallystick.view import View
from tallystick.view.frozen import frozen_in

RUN: Final = "run"
"""The kind of a recording that is a run of ours."""
_HEAD: Final = 4_096
"""Bytes of a file by which a certificate is known."""
_EXPORT: Final = b'{"format":"tallystick-export/'

ContractOption = Annotated[
    Path | None,
    typer.Option("--contract", metavar="FILE", help="For conversations: the contract that the stage is derived by."),
]
TaskOption = Annotated[
    Path | None,
    typer.Option("--task", metavar="FILE", help="For conversations: what they owed (a task file of that contract)."),
]
FormatOption = Annotated[
    str,
    typer.Option("--format", metavar="NAME", help=f"How conversations are written: {', '.join((AUTO, *FORMATS))}."),
]
EncodingOption = Annotated[
    str,
    typer.Option("--encoding", metavar="E", help="How reports in texts are written: xml or json."),
]


@dataclass(frozen=True, kw_only=True, slots=True)
class Recording:
    """One recording.

    Attributes:
        name: run id, or the conversation's name.
        kind: `run`, or the format of the conversation.
        events: reads its events, from the first.
        follow: returns an empty view of it to fold them into.
        staged: whether the stage can be derived: there is a contract, and what was called is known.
        why_not: why it cannot.
    """

    name: str
    kind: str
    events: Callable[[], Iterator[Sealed]]
    follow: Callable[[], Followed]
    staged: bool = True
    why_not: str = ""


def encoding_named(given: str, *, where: str = "--encoding") -> Encoding:
    """Return an encoding by name.

    Raises:
        InputError: it is none.
    """
    for known in ENCODINGS:
        if given == known:
            return known
    raise InputError(f"unknown encoding `{given}`", where=where, fix="one of: xml, json")


def is_run(source: Path) -> bool:
    """Return whether `source` holds runs of ours: a ledger, or an export."""
    if source.is_dir():
        return False
    if is_sqlite(source):
        return True
    with source.open("rb") as stream:
        return stream.readline(4096).startswith(_EXPORT)


def recordings(
    source: Path, run: str | None, contract: Path | None, task: Path | None, format_: str
) -> Iterator[Recording]:
    """Yield the recordings of a ledger, an export, a conversation file or a folder of them.

    Args:
        source: where they are.
        run: only this run of a ledger, or this conversation by name.
        contract: what conversations are judged by; runs bring their own.
        task: what conversations owed.
        format_: how conversations are written.

    Raises:
        InputError: nothing that can be read, or options that do nothing here.
    """
    if is_run(source):
        for name, given in (("--contract", contract), ("--task", task)):
            if given is not None:
                raise InputError("a run brings its own contract and task", where=name, fix="leave it out")
        yield from _runs(source, run)
        return
    if task is not None and contract is None:
        raise InputError("a task is read under a contract", where="--task", fix="give `--contract` too")
    known = load(contract) if contract is not None else None
    owed = load_task(task, known) if task is not None and known is not None else Task()
    found = False
    try:
        for trace in read(source, format_):
            if run is None or trace.id == run:
                found = True
                yield _conversation(trace, known, owed)
    except InputError:
        if not found and source.is_file():
            _was_meant_as_a_run(source, format_)
        raise
    if not found:
        what = f"no conversation `{run}`" if run is not None else "no conversation"
        raise InputError(f"there is {what}", where=str(source), fix="name a file that holds it")


def _was_meant_as_a_run(source: Path, format_: str) -> None:
    """Raise what there is to say about `source` as an export, where it was one, or is not even named like a trace.

    A certificate is named, too: it stands beside the export, and is easily taken for it.
    """
    with source.open("rb") as stream:
        if looks_like_envelope(stream.read(_HEAD)):
            fix = f"`tallystick verify {source} --ledger EXPORT`, or `show` the export"
            raise InputError("this is a certificate", where=str(source), fix=fix)
    try:
        next(exported(source), None)
    except DamagedError:
        raise
    except InputError:
        if format_ == AUTO and source.suffix not in ENDINGS:
            raise


def _runs(source: Path, run: str | None) -> Iterator[Recording]:
    if is_sqlite(source):
        with reading(source) as store:
            names = [choose(store, run, source)] if run is not None else [row.run for row in store.runs()]
        for name in names:
            yield _run(name, partial(_stored, source, name))
        return
    name = next((sealed.event.run for sealed in exported(source)), "")
    if run is not None and run != name:
        raise InputError(f"the export is of the run `{name}`", where=str(source), fix="leave RUN out")
    yield _run(name, lambda: exported(source))


def _stored(ledger: Path, run: str) -> Iterator[Sealed]:
    with reading(ledger) as store:
        yield from store.events(run)


def _run(name: str, events: Callable[[], Iterator[Sealed]]) -> Recording:
    def follow() -> Followed:
        first = next(events(), None)
        if first is None or not isinstance(first.event.body, Started):
            raise InputError("there is no run in it")
        contract, task = frozen_in(first.event.body)
        return Followed(View(contract, task, run=name))

    return Recording(name=name, kind=RUN, events=events, follow=follow)


def _conversation(trace: Trace, contract: Contract | None, task: Task) -> Recording:
    why = ""
    if contract is None:
        why = "the stage needs a contract"
    elif trace.quarantined:
        why = "calls and results cannot be paired without guessing"
    chosen = contract or EMPTY
    return Recording(
        name=trace.id,
        kind=trace.format,
        events=lambda: Chain(trace, contract).all(to_events(trace, contract)),
        follow=lambda: Followed(View(chosen, task, run=Chain(trace, contract).run)),
        staged=not why,
        why_not=why,
    )
