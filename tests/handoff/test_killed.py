"""SIGKILL at every event boundary of a takeover of blockers: whoever goes on is bound by every one of them."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path

import pytest

from tallystick import Guard, InputError, Run
from tallystick.ledger.sqlite import SQLiteStore
from tallystick.ledger.store import Lease
from tallystick.model.events import Sealed
from tests.handoff.desk import CONTRACT, Clock, Desk, blocked, guarded

LEASE_SECONDS = 0.2
BOUNDARIES = range(1, 7)
"""Before the first append of the run that takes over, and after each of its appends."""


class DyingStore(SQLiteStore):
    """A ledger whose process is killed at the nth boundary of the appends to one run."""

    def __init__(self, path: Path, run: str, at: int) -> None:
        super().__init__(path)
        self._dying, self._left = run, at

    def append(self, lease: Lease, sealed: Sealed, durable: bool) -> None:
        if lease.run == self._dying:
            self._step()
            super().append(lease, sealed, durable)
            if self._left == 1:
                self._step()
        else:
            super().append(lease, sealed, durable)

    def _step(self) -> None:
        self._left -= 1
        if self._left == 0:
            os.kill(os.getpid(), signal.SIGKILL)


def killed(work: Callable[[], object]) -> bool:
    """Do the work in a process of its own; return whether it was killed."""
    pid = os.fork()
    if pid == 0:
        try:
            work()
        finally:
            os._exit(0)
    _, status = os.waitpid(pid, 0)
    return os.WIFSIGNALED(status)


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    if not hasattr(os, "fork"):
        pytest.skip("no fork on this system")
    return tmp_path / "l.db"


def parent_run(guard: Guard) -> Run:
    run = guard.run(run_id="parent")
    blocked(run)
    blocked(run, "external sharing", "b2")
    return run


def bound(run: Run) -> None:
    assert run.call("open_document", {"resource": "DOC-7"}).decision.codes == ("condition.open",)
    assert run.call("share_file", {"resource": "F-12"}).decision.codes == ("condition.open",)
    assert sorted(b.origin[0] for b in run.blockers()) == ["parent", "parent"]


@pytest.mark.parametrize("at", BOUNDARIES)
def test_a_child_whose_start_was_cut_short_is_bound_before_its_first_call(ledger: Path, at: int) -> None:
    desk, clock = Desk(), Clock()

    def start() -> None:
        guard = Guard(CONTRACT, DyingStore(ledger, "child", at), tools=desk.tools(), clock=clock)
        parent_run(guard).child(run_id="child")

    # Started, two blockers, the tenure: four appends, and no fifth boundary after them.
    assert killed(start) == (at <= 5)
    clock.move(120)
    with guarded(desk, clock, ledger) as guard:
        if at == 1:
            with pytest.raises(InputError, match="no run `child`"):
                guard.resume("child")
        else:
            bound(guard.resume("child"))
    assert desk.done == []


@pytest.mark.parametrize("at", BOUNDARIES)
def test_what_was_taken_before_a_kill_binds_and_what_was_not_was_never_received(ledger: Path, at: int) -> None:
    desk, clock = Desk(), Clock()

    def take() -> None:
        guard = Guard(CONTRACT, DyingStore(ledger, "taker", at + 2), tools=desk.tools(), clock=clock)
        parent = parent_run(guard)
        sent = parent.hand_off("taker", "go on").artifact
        guard.run(run_id="taker").receive(sent, source=parent)

    # After started and tenure: two blockers, then the artifact; a later boundary does not come.
    assert killed(take) == (at <= 4)
    clock.move(120)
    with guarded(desk, clock, ledger) as guard:
        run = guard.resume("taker")
        received = bool(run.provenance())
        assert received == (at >= 4)
        if not received:
            assert run.receive("go on", source="parent").accepted
        bound(run)
    assert desk.done == []


def test_a_child_whose_start_was_cut_short_needs_its_parents_record(tmp_path: Path) -> None:
    desk = Desk()
    with guarded(desk) as one, guarded(desk) as two:
        parent = parent_run(one)
        child = two.run(run_id="child", parent=parent)
        first = next(iter(two.store.events("child")))
        child.suspend()
        with guarded(desk) as third:
            lease = third.store.acquire("child", "x", third.clock(), 60)
            third.store.append(lease, first, True)
            third.store.release(lease)
            with pytest.raises(InputError, match="record of its parent `parent`"):
                third.resume("child")
            bound(third.resume("child", parent=parent))
