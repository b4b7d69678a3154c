"""What a run was started with, read back from its first event."""

from __future__ import annotations

from tallystick.contracts import EMPTY, Contract, Task, load_task, parse
from tallystick.errors import InputError
from tallystick.model.canonical import digest
from tallystick.model.events import SEMANTICS, Started


def frozen_in(started: Started, known: Contract | None = None) -> tuple[Contract, Task]:
    """Return the contract and task a run was started with, from its first event.

    Args:
        started: the run's first event.
        known: used in place of compiling the text again, where it is the same contract.

    Raises:
        InputError: other semantics, or texts that do not match their digests or cannot be compiled.
    """
    if started.semantics != SEMANTICS:
        raise InputError(
            f"the run is judged by `{started.semantics}`, this version implements `{SEMANTICS}`",
            fix="use the version of tallystick that wrote it",
        )
    if known is not None and known.sha256 == started.contract_sha256:
        contract = known
    elif not started.contract:
        contract = EMPTY
    else:
        if digest(started.contract.encode("utf-8")) != started.contract_sha256:
            raise InputError("the contract's text does not match its digest", where="run.started")
        contract = parse(started.contract)
    if digest(started.task.encode("utf-8")) != started.task_sha256:
        raise InputError("the task's text does not match its digest", where="run.started")
    return contract, load_task(started.task, contract)
