"""A run's certificate, found in its events: stop, certificate and end, side by side as one writer appended them.

A stop that was accepted and a certificate that was bound count for nothing by themselves: a process may die before the
run has ended, and whoever takes the run up goes on. Only the three together, nothing between, are a certified end.
Where a successor's tenure proposed the stop, that it is complete stands right before the end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import msgspec

from tallystick.errors import InputError
from tallystick.model.canonical import digest
from tallystick.model.certificate import Certificate, certificate_of
from tallystick.model.decision import decision_of
from tallystick.model.events import SEMANTICS, Ended, Issued, ResidualEnded, Sealed, Started, StopDecided
from tallystick.view import View
from tallystick.view.frozen import frozen_in
from tallystick.view.state import when


@dataclass(frozen=True, kw_only=True, slots=True)
class Ending:
    """How a run's record ends.

    Attributes:
        started: the run's first event, or None where it is something else.
        stop: the stop that was decided right before the end (or before the certificate), else None.
        issued: the certificate between the two; None also for a run of a version that issued none.
        ended: the run's first end, or None while it has none.
        stop_seq: seq of the stop, 0 for none.
        before: digest of the event before the stop: the point everything was judged at.
        later: events after the end; only words and late receipts can be there, and nothing that changes it.
    """

    started: Started | None
    stop: StopDecided | None = None
    issued: Issued | None = None
    ended: Ended | None = None
    stop_seq: int = 0
    before: str = ""
    later: int = 0


def ending_of(events: Iterable[Sealed]) -> Ending:
    """Return how the record ends. Only what the runtime itself said counts."""
    started: Started | None = None
    found: dict[str, Any] = {}
    ended: Ended | None = None
    head, later = "", 0
    for sealed in events:
        body = sealed.event.body
        own = sealed.event.actor.role == "runtime"
        if ended is not None:
            later += 1
        elif isinstance(body, Started) and sealed.event.seq == 1:
            started = body
        elif isinstance(body, StopDecided) and own:
            found = {"stop": body, "stop_seq": sealed.event.seq, "before": head}
        elif isinstance(body, Issued) and own and "stop" in found and "issued" not in found:
            found["issued"] = body
        elif isinstance(body, Ended):
            ended = body
            if not own:
                found = {}
        elif isinstance(body, ResidualEnded) and own and body.status == "complete":
            pass  # said by the same stop; it changes nothing that was judged
        else:
            found = {}
        head = sealed.digest
    return Ending(started=started, ended=ended, later=later, **found)


def issued_in(ending: Ending, run: str) -> Certificate:
    """Return the certificate of a run that ended CERTIFIED.

    Raises:
        InputError: the run has not ended so, its record has no certificate, or the one in it is none.
    """
    where = f"run `{run}`"
    if ending.ended is None:
        raise InputError("the run has not ended, so nothing is certified", where=where, fix="finish it first")
    if ending.ended.status != "CERTIFIED":
        raise InputError(f"the run ended {ending.ended.status}; only a CERTIFIED run has a certificate", where=where)
    if ending.stop is None or not _accepted(ending.stop):
        raise InputError("the record has no accepted stop right before its end", where=where)
    if ending.issued is None:
        raise InputError(
            "the record has no certificate: the run was made by a version that issued none",
            where=where,
            fix="`tallystick recheck` says whether its decisions come out again",
        )
    text = ending.issued.statement.encode("utf-8")
    if digest(text) != ending.issued.statement_sha256:
        raise InputError("the certificate's text does not match its SHA-256", where=where)
    return certificate_of(text)


def _accepted(stop: StopDecided) -> bool:
    try:
        return decision_of(stop.decision).positive
    except (msgspec.DecodeError, RecursionError):
        return False


def view_at(events: Iterable[Sealed], upto: int) -> View:
    """Return the view of a run's first `upto` events, judged by the contract and task in the first of them.

    Raises:
        InputError: there are fewer, the first is no start, or its contract, task or semantics cannot be used.
    """
    view: View | None = None
    for sealed in events:
        if view is None:
            if not isinstance(sealed.event.body, Started):
                raise InputError("the first event is not `run.started`", where="event 1")
            view = View(*frozen_in(sealed.event.body), run=sealed.event.run)
        if sealed.event.seq > upto:
            break
        view.apply(sealed)
        if sealed.event.seq == upto:
            return view
    raise InputError(f"the record has no event {upto}")


def misplaced(certificate: Certificate, ending: Ending, run: str) -> Iterator[tuple[str, str]]:
    """Yield (code, sentence) for each way a certificate is not of this run, this point of its chain, and its texts."""
    started = ending.started
    if started is None:
        yield "chain.start", "the first event is not `run.started`"
        return
    if certificate.run != run:
        yield "certificate.run", f"it is of run `{certificate.run}`, and the record is of run `{run}`"
    if certificate.semantics != started.semantics:
        yield "certificate.semantics", f"judged by `{certificate.semantics}`, and the run by `{started.semantics}`"
    elif certificate.semantics != SEMANTICS:
        yield "certificate.semantics", f"judged by `{certificate.semantics}`; this version implements `{SEMANTICS}`"
    if certificate.contract != started.contract_sha256:
        yield "certificate.contract", "made under another contract than the run's"
    if certificate.task != started.task_sha256:
        yield "certificate.task", "made for another task than the run's"
    if ending.stop_seq != certificate.upto + 1:
        yield "certificate.upto", f"event {certificate.upto} is not the last before the stop that ended the run"
    elif ending.before != certificate.head:
        yield "certificate.head", f"event {certificate.upto} of the record has another digest"


def unrecorded(certificate: Certificate, ending: Ending) -> Iterator[tuple[str, str]]:
    """Yield (code, sentence) for each way stop, certificate and end of the record do not agree with a certificate."""
    try:
        issued = issued_in(ending, certificate.run)
    except InputError as bad:
        yield "certificate.record", bad.message
        return
    stop, ended = ending.stop, ending.ended
    if issued != certificate:
        yield "certificate.record", "the record has another certificate"
    if stop is not None and (stop.outcome != certificate.outcome or when(stop.now) != when(certificate.now)):
        yield "certificate.record", "outcome or instant are not those of the stop"
    if ended is not None and ended.outcome != certificate.outcome:
        yield "certificate.record", f"the run ended as `{ended.outcome}`, not as `{certificate.outcome}`"


def recorded(events: Callable[[], Iterable[Sealed]], run: str) -> tuple[View, Certificate]:
    """Return the certificate of a run that ended CERTIFIED, and the view it was bound to.

    Args:
        events: gives the run's events from the first, each time it is called.
        run: its id.

    Raises:
        InputError: there is none, or the record does not agree with it.
    """
    ending = ending_of(events())
    certificate = issued_in(ending, run)
    wrong = [message for _, message in (*misplaced(certificate, ending, run), *unrecorded(certificate, ending))]
    if wrong:
        raise InputError(f"the record does not agree with its certificate: {'; '.join(wrong)}", where=f"run `{run}`")
    return view_at(events(), certificate.upto), certificate
