"""The scripted agent without a guard: each fault alone and all together, judged by the desk's database."""

from __future__ import annotations

from pathlib import Path

import pytest

from tallystick.demo.agents import Job, ScriptedAgent
from tallystick.demo.desk import Desk, Faults, faults_of
from tallystick.demo.ports import UnguardedPort

JOB = Job(request="Pay invoice I-7 (420.00 EUR) and send its receipt.", invoice="I-7", amount="420.00")


@pytest.mark.parametrize(
    ("faults", "paid", "deliveries", "seen_first"),
    [
        ("none", "420.00", 1, True),
        ("timeout", "840.00", 1, True),
        ("nested-error", "420.00", 0, True),
        ("second-page", "420.00", 1, False),
        ("stale-read", "840.00", 1, True),
        ("all", "840.00", 0, False),
    ],
)
def test_unguarded_each_fault_does_its_harm_and_done_is_believed(
    tmp_path: Path, faults: str, paid: str, deliveries: int, seen_first: bool
) -> None:
    desk = Desk.create(tmp_path / "desk.db", faults_of(faults))
    port = UnguardedPort(desk.tools())
    ScriptedAgent().run(port, JOB)
    truth = desk.truth("I-7")
    assert (str(truth.paid), truth.deliveries, truth.seen_first) == (paid, deliveries, seen_first)
    assert port.exchanges[-1].answer is not None
    assert port.exchanges[-1].answer.accepted


def test_the_same_desk_gives_the_same_run(tmp_path: Path) -> None:
    agent = ScriptedAgent()
    runs = []
    for name in ("a.db", "b.db"):
        desk = Desk.create(tmp_path / name, Faults(timeout=True))
        agent.run(UnguardedPort(desk.tools()), JOB)
        runs.append(desk.accesses())
    assert runs[0] == runs[1]
