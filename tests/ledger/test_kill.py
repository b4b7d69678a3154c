"""A writer killed at any moment loses nothing it acknowledged and leaves a valid chain."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tallystick.errors import StaleWriterError
from tallystick.ledger.fsck import fsck
from tallystick.ledger.sqlite import SQLiteStore
from tallystick.model.events import Said
from tests.ledger.samples import NOW, chain


def killed(path: Path, mode: str, after: int, root: Path) -> int:
    """Let a child append, kill it right after its `after`-th acknowledgement, and return the last one it gave."""
    command = [sys.executable, "-m", "tests.ledger.kill_child", str(path), mode]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=root) as child:
        assert child.stdout is not None
        for _ in range(after):
            acknowledged = child.stdout.readline()
        child.send_signal(signal.SIGKILL)
        rest = child.stdout.read()  # what it wrote between the last line read and its death
    assert child.returncode == -signal.SIGKILL
    # A line cut in the middle was not acknowledged.
    lines = [line for line in (acknowledged + rest).split(b"\n")[:-1] if line]
    return int(lines[-1])


@pytest.mark.parametrize("mode", ["durable", "normal", "batch"])
def test_every_acknowledged_append_is_there_after_sigkill(tmp_path: Path, root: Path, mode: str) -> None:
    """The same ledger is killed over and over, so recovery itself is interrupted too."""
    path = tmp_path / "ledger.sqlite"
    draw = random.Random(f"tallystick {mode}")
    epoch = 0
    for round_ in range(7):
        acknowledged = killed(path, mode, 1 if round_ == 0 else draw.randrange(1, 150), root)
        reader = SQLiteStore(path, read_only=True)
        length = len(list(reader.events("r")))  # checks every digest and link
        reader.close()
        # At most the append in flight may be there beyond what was acknowledged.
        assert acknowledged <= length <= acknowledged + (7 if mode == "batch" else 1)
        assert [(r.ok, r.events) for r in fsck(path)] == [(True, length)]
        epoch += 1
    survivor = SQLiteStore(path)
    lease = survivor.acquire("r", "survivor", NOW, 60, force=True)
    assert lease.epoch == epoch + 1
    last = list(survivor.events("r"))[-1]
    survivor.append(lease, chain("r", (Said(role="user", text="after"),), after=last)[0], durable=True)


def test_a_batch_is_there_whole_or_not_at_all_after_sigkill(tmp_path: Path, root: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    for after in (1, 2, 30, 3, 61):
        killed(path, "batch", after, root)
        assert SQLiteStore(path, read_only=True).head("r").seq % 7 == 1


def test_a_writer_that_lost_its_lease_to_another_process_stops(tmp_path: Path, root: Path) -> None:
    path = tmp_path / "ledger.sqlite"
    command = [sys.executable, "-m", "tests.ledger.kill_child", str(path), "durable"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=root) as child:
        assert child.stdout is not None
        for _ in range(20):
            child.stdout.readline()
        store = SQLiteStore(path)
        lease = store.acquire("r", "successor", NOW, 60, force=True)
        head = store.head("r")
        out, err = child.communicate(timeout=60)
    assert StaleWriterError.__name__.encode() in err
    acknowledged = int(out.split(b"\n")[-2]) if out else 20
    assert acknowledged <= head.seq == store.head("r").seq
    last = list(store.events("r"))[-1]
    store.append(lease, chain("r", (Said(role="user", text="after"),), after=last)[0], durable=True)
    assert [r.ok for r in fsck(path)] == [True]
