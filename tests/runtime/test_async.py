"""The same path in asynchronous code: nothing blocks the loop, order is kept, cancellation leaves no gap."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from tallystick import Guard, Refusal
from tallystick.ledger.memory import MemoryStore
from tallystick.model.events import Intent, Receipt
from tests.runtime.shop import CONTRACT, PAY, TASK, Clock, Faulty, Shop, events_of, kinds

READ = {"invoice_id": "I-7"}


def test_coroutine_tools_and_plain_ones_run_under_guard(guard: Guard, shop: Shop) -> None:
    async def get_invoice(invoice_id: str) -> dict[str, Any]:
        await asyncio.sleep(0)
        return shop.get_invoice(invoice_id)

    async def main() -> None:
        async with guard.run(TASK) as run:
            held = await run.acall("pay", PAY)
            assert held.refused
            assert (await run.acall("get_invoice", READ, get_invoice)).ran
            assert (await run.acall("pay", PAY)).ran  # a plain function, on a thread
            assert (await run.acall("pay", PAY)).recorded
            assert (await run.afinish("paid")).accepted

    asyncio.run(main())
    assert shop.count("pay") == 1


def test_wrapped_coroutine_functions_stay_coroutine_functions(guard: Guard, shop: Shop) -> None:
    async def main() -> None:
        async with guard.run(TASK) as run:

            @run.tool
            async def refund(invoice_id: str) -> Any:
                return shop.refund(invoice_id)

            @run.tool(name="pay")
            async def pay(invoice_id: str, amount: str) -> Any:
                return shop.pay(invoice_id, amount)

            assert asyncio.iscoroutinefunction(refund)
            assert (await refund("I-7"))["status"] == "refunded"
            assert isinstance(await pay("I-7", "420.00"), Refusal)

    asyncio.run(main())


def test_of_many_identical_parallel_payments_one_runs(guard: Guard, shop: Shop) -> None:
    async def main() -> list[Any]:
        async with guard.run(TASK) as run:
            await run.acall("get_invoice", READ)
            return await asyncio.gather(*(run.acall("pay", PAY, native_id=f"n{i}") for i in range(20)))

    outcomes = asyncio.run(main())
    assert sum(o.ran for o in outcomes) == 1
    assert sum(o.recorded for o in outcomes) == 19
    assert shop.count("pay") == 1


def test_calls_of_one_turn_run_at_the_same_time_and_are_written_in_the_order_they_were_proposed(guard: Guard) -> None:
    inside: list[int] = []

    async def main() -> None:
        everybody = asyncio.Event()

        async def queue(n: int) -> dict[str, int]:
            inside.append(n)
            if len(inside) == 10:
                everybody.set()
            await asyncio.wait_for(everybody.wait(), 30)  # only possible if all ten are inside at once
            return {"n": n}

        async with guard.run(TASK) as run:
            await asyncio.gather(*(run.acall("queue", {"n": n}, queue, turn=1) for n in range(10)))
            intents = [e.body for e in events_of(guard, run) if isinstance(e.body, Intent)]
            assert [i.args.text for i in intents] == [f'{{"n":{n}}}' for n in range(10)]

    asyncio.run(main())


def test_the_loop_is_not_blocked_while_the_ledger_writes(shop: Shop) -> None:
    go = threading.Event()

    class Slow(Faulty):
        def append(self, *args: Any) -> None:
            if args[1].event.kind == "intent":
                assert go.wait(30)
            super().append(*args)

    async def main() -> None:
        guard = Guard(CONTRACT, Slow(MemoryStore()), tools=shop.tools())
        async with guard.run(TASK) as run:
            call = asyncio.create_task(run.acall("get_invoice", READ))
            await asyncio.sleep(0.05)
            assert not call.done()
            go.set()  # only a loop that still turns gets here
            assert (await call).ran

    asyncio.run(asyncio.wait_for(main(), 60))


def test_a_coroutine_that_takes_too_long_is_cancelled_and_in_doubt(guard: Guard) -> None:
    async def refund(invoice_id: str) -> None:
        await asyncio.sleep(60)

    async def main() -> None:
        async with guard.run(TASK) as run:
            outcome = await run.acall("refund", READ, refund, timeout=0.02)
            assert isinstance(outcome.error, TimeoutError)
            assert outcome.in_doubt

    asyncio.run(main())


def test_a_cancelled_call_is_recorded_as_interrupted_before_the_cancellation_goes_on(guard: Guard) -> None:
    async def main() -> Any:
        run = guard.run(TASK)
        inside = asyncio.Event()

        async def refund(invoice_id: str) -> None:
            inside.set()
            await asyncio.sleep(60)

        task = asyncio.create_task(run.acall("refund", READ, refund))
        await inside.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        receipt = events_of(guard, run)[-1].body
        assert isinstance(receipt, Receipt)
        assert receipt.error == "interrupted: CancelledError:"
        assert await run.aclose() == "IN_DOUBT"

    asyncio.run(main())


def test_a_call_cancelled_before_its_tool_was_dispatched_never_started(shop: Shop) -> None:
    go, reached = threading.Event(), threading.Event()

    class Slow(Faulty):
        def append(self, *args: Any) -> None:
            if args[1].event.kind == "intent":
                reached.set()
                assert go.wait(30)
            super().append(*args)

    async def main() -> None:
        guard = Guard(CONTRACT, Slow(MemoryStore()), tools=shop.tools())
        run = guard.run(TASK)
        task = asyncio.create_task(run.acall("refund", READ))
        await asyncio.to_thread(reached.wait, 30)
        task.cancel()
        await asyncio.sleep(0)
        go.set()
        with pytest.raises(asyncio.CancelledError):
            await task
        receipt = events_of(guard, run)[-1].body
        assert isinstance(receipt, Receipt)
        assert receipt.outcome == "not_started"
        assert not run.view.doubts
        assert await run.aclose() == "UNCERTIFIED"

    asyncio.run(main())
    assert shop.count("refund") == 0


def test_a_plain_tool_on_a_thread_reports_late_after_its_call_was_cancelled(guard: Guard, shop: Shop) -> None:
    go, inside = threading.Event(), threading.Event()

    def wait() -> None:
        inside.set()
        assert go.wait(30)

    async def main() -> None:
        run = guard.run(TASK)
        shop.before = wait
        task = asyncio.create_task(run.acall("refund", READ))
        await asyncio.to_thread(inside.wait, 30)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert run.view.doubts
        go.set()
        for _ in range(500):
            if not run.view.doubts:
                break
            await asyncio.sleep(0.01)
        assert kinds(guard, run) == ["intent", "receipt", "receipt"]
        assert not run.view.doubts
        run.close()

    asyncio.run(main())
    assert shop.count("refund") == 1


def test_doubt_is_settled_by_the_status_query_in_asynchronous_code_too(guard: Guard, shop: Shop, clock: Clock) -> None:
    def lose() -> None:
        raise ConnectionError("gone")

    async def main() -> None:
        async with guard.run(TASK) as run:
            await run.acall("get_invoice", READ)
            shop.after = lose
            assert (await run.acall("pay", PAY)).in_doubt
            assert await run.asettle_by_query() == ()
            assert (await run.acall("pay", PAY)).recorded

    asyncio.run(main())
    assert shop.count("pay") == 1
