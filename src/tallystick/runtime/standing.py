"""Where a run stands by its record, and beside it what the model last said: live in a run, or followed from outside."""

from __future__ import annotations

import logging
from collections.abc import Iterable
from datetime import datetime
from typing import Any, Final, Literal, get_args

import msgspec

from tallystick.contracts.types import Contract
from tallystick.errors import InputError, LedgerError
from tallystick.gates.stage import Stage, Standing, stage_of
from tallystick.model.events import Reported, Sealed, Started
from tallystick.progress import Agreement, Encoding, Report, Reports, Said, compared, parse_report
from tallystick.progress.agreement import reported
from tallystick.progress.report import ABSENT
from tallystick.runtime.journal import AGENT, HOST, Journal, stamp
from tallystick.runtime.metrics import Count
from tallystick.runtime.outcome import reasons_json
from tallystick.view import View
from tallystick.view.frozen import frozen_in
from tallystick.view.state import when

_LOG: Final = logging.getLogger(__name__)


class RunProgress(msgspec.Struct, frozen=True, kw_only=True):
    """Where a run stands: derived from contract, task and ledger; the model's report only beside it.

    Attributes:
        run: the run's id.
        status: its final status, None while it goes on.
        standing: stage, obligations done and open, what is missing and why.
        report: the model's last report and the stage as it was when it was made; None where there is none.
        agreement: how that report stood to the stage when it was made.
        now: how it stands to the stage now; the record may have moved on.
        counts: how many reports stood how, so far.
    """

    run: str
    status: Literal["CERTIFIED", "IN_DOUBT", "BLOCKED", "UNCERTIFIED"] | None
    standing: Standing
    report: Said | None = None
    now: Agreement | None = None
    counts: dict[str, int] = {}

    @property
    def stage(self) -> Stage:
        """The derived stage."""
        return self.standing.stage

    @property
    def agreement(self) -> Agreement | None:
        """How the last report stood to the stage when it was made."""
        return self.report.agreement if self.report is not None else None

    def to_json(self) -> dict[str, Any]:
        """Return plain JSON values; reasons as an agent is told them."""
        found = self.standing
        return {
            "run": self.run,
            "status": self.status,
            "stage": str(found.stage),
            "obligations": [
                {
                    "id": o.id,
                    "text": o.text,
                    "state": o.state,
                    "tool": o.tool,
                    "entity": o.entity,
                    "receipt": o.receipt,
                    "missing": reasons_json(o.missing),
                    "blocked": reasons_json(o.blocked),
                }
                for o in found.obligations
            ],
            "done": list(found.done),
            "open": list(found.open),
            "missing": reasons_json(found.missing),
            "duties": reasons_json(found.duties),
            "blocked": reasons_json(found.blocked),
            "unsettled": reasons_json(found.unsettled),
            "report": None if self.report is None else msgspec.to_builtins(self.report),
            "agreement": self.agreement,
            "agreement_now": self.now,
            "reports": dict(self.counts),
            "judged_upto": found.judged_upto,
        }


def progress_of(view: View, contract: Contract, reports: Reports, now: datetime | None = None) -> RunProgress:
    """Return where a run stands.

    Args:
        view: its record.
        contract: what it is judged by.
        reports: what its model reported.
        now: the instant to judge the age of evidence at; the end of time where None.
    """
    standing = stage_of(view, contract, now)
    last = reports.last
    again = None
    if last is not None:
        fixed = last.agreement in ("absent", "malformed")
        again = last.agreement if fixed else compared(Reported(stage=last.value), standing.stage)
    return RunProgress(
        run=view.run,
        status=view.ended.status if view.ended is not None else None,
        standing=standing,
        report=last,
        now=again,
        counts={k: v for k, v in reports.counts.items() if v},
    )


class Followed:
    """A run folded from its events by somebody who does not write it: view, and reports beside the stage of then.

    Attributes:
        view: folded up to the last event taken.
        reports: the model's reports up to there.
    """

    def __init__(self, view: View) -> None:
        self.view = view
        self.reports = Reports()

    def take(self, sealed: Sealed) -> Said | None:
        """Fold the next event; return the report it is, if it is one."""
        body = sealed.event.body
        said = None
        if isinstance(body, Reported) and self.view.ended is None:
            derived = stage_of(self.view, self.view.contract, when(sealed.event.at)).stage
            said = self.reports.take(body, sealed.event.seq, derived)
        self.view.apply(sealed)
        return said

    def progress(self, now: datetime | None = None) -> RunProgress:
        """Return where the run stands."""
        return progress_of(self.view, self.view.contract, self.reports, now)


def begun(first: Sealed) -> Followed:
    """Return a run that is followed from its first event on.

    Raises:
        InputError: it is no first event, it was judged by other semantics, or its contract cannot be read.
    """
    if not isinstance(first.event.body, Started):
        raise InputError("there is no run in it")
    contract, task = frozen_in(first.event.body)
    found = Followed(View(contract, task, run=first.event.run))
    found.take(first)
    return found


def followed(events: Iterable[Sealed]) -> Followed | None:
    """Return a run folded from its events; None where there are none.

    Raises:
        InputError: as `begun`.
    """
    found: Followed | None = None
    for sealed in events:
        if found is None:
            found = begun(sealed)
        else:
            found.take(sealed)
    return found


class Reporting:
    """The reports of a live run: recorded, compared with the stage at that very point, and counted.

    Args:
        encoding: how the host asked the agent to report; texts are then read for reports. None: nobody reads them.
        count: counts reports somewhere else too.
    """

    def __init__(self, journal: Journal, contract: Contract, encoding: Encoding | None, count: Count | None) -> None:
        self.encoding = encoding
        self._journal = journal
        self._contract = contract
        self._count = count
        # A later tenure takes up what an earlier one was told, once it is asked for.
        self._reports: Reports | None = Reports() if journal.lease.epoch == 1 else None
        self._said: tuple[str, int] | None = None  # words that were recorded, and receipts there were by then

    def record(self, body: Reported) -> None:
        """Append a report and compare it.

        Raises:
            InputError: the run has ended. LedgerError: the ledger cannot record it.
        """
        journal = self._journal
        with journal.lock:
            if journal.view.ended is not None or journal.broken:
                raise InputError("the run has ended, or its record cannot be continued", where=f"run `{journal.run}`")
            reports = self._so_far()
            now = journal.clock()
            derived = stage_of(journal.view, self._contract, now).stage
            absent = not body.stage and not body.text
            sealed = journal.append(body, HOST if absent else AGENT, durable=False, at=stamp(now))
            said = reports.take(body, sealed.event.seq, derived)
        if self._count is not None:
            try:
                self._count(said.agreement, derived)
            except Exception as bad:  # noqa: BLE001 - a meter of the host's never stops a run
                _LOG.warning("a report could not be counted: %s", type(bad).__name__)

    def hear(self, text: str, *, truncated: bool = False, said: bool = False, last: bool = False) -> Report:
        """Read a reply in natural language for a report, record it, and return it; absent where nobody asked for one.

        None is recorded where none was due: before any tool has answered, and after a true report of completion
        (equation 2 of the paper). A reply that was cut off may have been going to report, so nothing is missed there.

        Args:
            text: the reply.
            truncated: it was cut off.
            said: it was just recorded as words.
            last: it is being put to the stop gate. The very words just recorded are the same reply then, and counted.
        """
        if self.encoding is None or not text.strip():
            return ABSENT
        found = parse_report(text, self.encoding)
        view = self._journal.view
        here = (text, len(view.receipts))
        if not said and self._said == here:
            self._said = None if last else here
            return found
        self._said = here if said else None
        if not found.present and (truncated or not self._due()):
            return found
        try:
            self.record(reported(found, text))
        except (InputError, LedgerError) as bad:  # a report is diagnostic: whatever it came with goes on
            _LOG.warning("a report could not be recorded: %s", bad.message)
        return found

    def progress(self) -> RunProgress:
        """Return where the run stands."""
        with self._journal.lock:
            return progress_of(self._journal.view, self._contract, self._so_far(), self._journal.clock())

    def _due(self) -> bool:
        if not self._journal.view.receipts:
            return False
        last = self._so_far().last
        return last is None or not (last.agreement == "match" and last.derived is Stage.COMPLETED)

    def _so_far(self) -> Reports:
        if self._reports is None:
            told = followed(self._journal.store.events(self._journal.run))
            self._reports = told.reports if told is not None else Reports()
        return self._reports


def encoding_in(given: object) -> Encoding | None:
    """Return how reports are asked for.

    Raises:
        InputError: it is none of the encodings.
    """
    for known in get_args(Encoding):
        if given == known:
            return known  # type: ignore[no-any-return]  # a member of the literal
    if given is None:
        return None
    raise InputError(f"unknown encoding `{given}`", where="report", fix="one of: xml, json; None reads no reports")
