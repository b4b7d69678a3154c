"""What a start has to look at in the ledger: whether a run owes what is asked now, and what other runs left open."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from tallystick.contracts import load_task, task_text
from tallystick.errors import InputError, LedgerError
from tallystick.model.events import Started
from tallystick.runtime.guard import Guard
from tallystick.runtime.listing import Listed, listed, standing_text, unanswered
from tallystick.view import View
from tallystick.view.frozen import frozen_in


def check_same_task(guard: Guard, run: str, task: Path) -> None:
    """Let a run that exists be named together with its task, so that one command line both starts and resumes it.

    Under another contract than the run's nothing is compared: `Guard.resume` refuses such a run in words of its own.

    Raises:
        InputError: the file states another task than the one the run was started with, or cannot be read.
        LedgerError: the ledger cannot be read.
    """
    first = next(iter(guard.store.events(run)), None)
    body = first.event.body if first is not None else None
    if not isinstance(body, Started) or body.contract_sha256 != guard.contract.sha256:
        return
    _, owed = frozen_in(body, guard.contract)
    if task_text(load_task(task, guard.contract)) != task_text(owed):
        raise InputError(
            f"the run `{run}` exists, and what it owes was settled at its start; this is another task",
            where="--task",
            fix="give the task it was started with or leave it out, or start a new run under another `--run`",
        )


def unfinished(guard: Guard, but: str) -> tuple[str, ...]:
    """Return a sentence for each other run of this contract whose effects this run knows nothing about, oldest first.

    These are the runs that are live or lost, and those left or ended with a call in doubt. What they did may be done
    again here, because a gate judges by the record of its own run. Contracts are the same by their name: a revised
    version still stands for the same tools.

    Args:
        guard: the guard with the contract and the ledger.
        but: the run that was just started or taken up.

    Raises:
        LedgerError: the ledger's list of runs cannot be read.
    """
    said = []
    for one in listed(guard.store, datetime.now(UTC)):
        if one.row.run == but or one.row.status not in (None, "IN_DOUBT"):
            continue
        try:
            view = _view(guard, one.row.run)
        except LedgerError as bad:
            said.append(f"the run `{one.row.run}` cannot be read: {bad.message}")
            continue
        except InputError:
            continue  # other semantics, or a contract this version cannot read: nobody can say whether it is this one
        if view is None:
            continue
        calls = {id_: view.calls[id_].tool for id_ in view.doubts}
        if one.row.status is None:
            calls |= {c.call: c.tool for c in unanswered(guard.store, one.row.run)}
        if calls or one.standing in ("live", "lost"):
            said.append(_sentence(one, calls))
    return tuple(said)


def _view(guard: Guard, run: str) -> View | None:
    """Return the view of a run of this guard's contract, None for one of another's."""
    view: View | None = None
    for sealed in guard.store.events(run):
        if view is None:
            body = sealed.event.body
            if not isinstance(body, Started):
                return None
            contract, task = frozen_in(body, guard.contract)
            if contract.name != guard.contract.name:
                return None
            view = View(contract, task, run=run)
        view.apply(sealed)
    return view


def _sentence(one: Listed, calls: dict[str, str]) -> str:
    if one.standing == "ended":
        stands = f"ended {one.row.status}"
    elif one.standing == "left":
        stands = "was left"
    else:
        stands = f"is {standing_text(one)}"
    told = ", ".join(f"{tool} ({id_})" for id_, tool in calls.items())
    calls_told = f"; nobody knows whether these calls took effect: {told}" if calls else ""
    help_ = f"; `--run {one.row.run}` goes on with it" if one.row.status is None else ""
    return f"the run `{one.row.run}` under this contract {stands}{calls_told}{help_}"
