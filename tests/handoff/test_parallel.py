"""Artifacts passed on and taken from several threads at once: one chain of hops, each judged again alike."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

from tallystick.model.values import EntityRef
from tallystick.runtime.recheck import recheck
from tests.handoff.desk import CONTRACT, Desk, blocked, guarded


def test_hops_of_several_threads_make_one_chain_that_rechecks() -> None:
    guard = guarded(Desk())
    run = guard.run(run_id="here")
    blocked(run)
    failed: list[BaseException] = []

    def work(at: int) -> None:
        try:
            artifact: Any = "go on\n"
            for n in range(8):
                artifact = run.hand_off("x", artifact).artifact
                artifact = run.receive(artifact if n % 3 else "lost on the way").artifact
                if n % 4 == 0:
                    run.block(f"c{at}-{n}", "use_public", prerequisite="x", entity=EntityRef("resource", f"{at}{n}"))
        except BaseException as bad:
            failed.append(bad)

    threads = [threading.Thread(target=work, args=(at,)) for at in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    hops = run.provenance()
    assert failed == []
    assert [hop.number for hop in hops] == list(range(1, 4 * 16 + 1))
    assert all(hop.verdict != "reject" for hop in hops)
    assert run.receive(run.hand_off("x", "go on").artifact, repair=False).state == "complete"
    assert recheck(guard.store.events("here"), CONTRACT).differences == ()


def test_two_runs_that_take_from_each_other_without_blocking_the_loop_hold_each_blocker_once() -> None:
    guard = guarded(Desk())
    here, there = guard.run(run_id="here"), guard.run(run_id="there")
    blocked(here)
    blocked(there, "external sharing")

    async def work() -> None:
        await asyncio.gather(
            *(here.areceive("go on", source=there) for _ in range(8)),
            *(there.areceive("go on", source=here) for _ in range(8)),
            *(here.ahand_off("x", "go on") for _ in range(8)),
        )

    asyncio.run(work())
    assert [len(run.blockers()) for run in (here, there)] == [2, 2]
