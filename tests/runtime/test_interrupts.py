"""Interrupted anywhere, proposed by many threads at once: the record has no gap and nothing happens twice."""

from __future__ import annotations

import random
import sys
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tallystick import Guard, Run
from tallystick.ledger.sqlite import SQLiteStore
from tallystick.model.events import Intent
from tallystick.runtime.recheck import recheck
from tests.runtime.shop import CONTRACT, PAY, TASK, Shop, events_of

READ = {"invoice_id": "I-7"}


class QuickShop(Shop):
    """The shop, its world in memory, so that most interrupts strike the guard and not the world."""

    def __init__(self) -> None:
        self.rows: list[tuple[str, str]] = []
        self.before = self.after = lambda: None

    def count(self, kind: str, about: str = "I-7") -> int:
        return self.rows.count((kind, about))

    def _do(self, kind: str, about: str, key: str = "") -> None:
        self.before()
        self.rows.append((kind, about))
        self.after()


def work(run: Run) -> None:
    run.call("get_invoice", READ)
    run.call("pay", PAY)
    run.call("refund", READ)
    run.finish("done")


def interrupted_at(call: int, do: Callable[[], None]) -> int:
    """Run `do` with an interrupt as the library enters its `call`-th function; return how many it entered.

    Where a function begins is where Python looks for signals, so that is where an interrupt really strikes.
    """
    taken = 0

    def calls(frame: Any, event: str, _: Any) -> None:
        nonlocal taken
        if "/tallystick/" in frame.f_code.co_filename:
            taken += 1
            if taken == call:
                raise KeyboardInterrupt

    before = sys.gettrace()
    sys.settrace(calls)
    try:
        do()
    except KeyboardInterrupt:
        pass
    finally:
        sys.settrace(before)
    return taken


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # one may strike a generator's end
def test_an_interrupt_in_any_function_loses_nothing_and_repeats_nothing() -> None:
    def fresh() -> tuple[QuickShop, Guard, Run]:
        shop = QuickShop()
        guard = Guard(CONTRACT, tools=shop.tools(), patience=0)
        return shop, guard, guard.run(TASK)

    work(fresh()[2])  # fills caches, so that every later run enters the same functions
    _, _, whole = fresh()
    entered = interrupted_at(-1, lambda: work(whole))
    statuses: Counter[str | None] = Counter()
    for call in range(1, entered, max(1, entered // 400)):
        shop, guard, run = fresh()
        interrupted_at(call, lambda run=run: work(run))  # type: ignore[misc]  # bound at once
        for _ in range(3):
            if run.status is None:
                work(run)
        run.close()
        assert shop.count("pay") <= 1, call
        assert shop.count("refund") <= 1, call
        intents = Counter(e.body.tool for e in events_of(guard, run) if isinstance(e.body, Intent))
        assert all(shop.count(kind) <= intents[kind] for kind in ("pay", "refund")), call
        assert not run.view.open_calls, call  # each intent has a receipt
        assert recheck(guard.store.events(run.id)).reproduces, call
        # A refund of which only the guard knows that it was interrupted can be settled by a person alone.
        assert run.status == ("IN_DOUBT" if run.view.doubts else "CERTIFIED"), call
        statuses[run.status] += 1
    assert statuses["CERTIFIED"] > statuses["IN_DOUBT"] > 0


@pytest.mark.parametrize("driver", ["memory", "sqlite"])
def test_many_threads_at_once_leave_one_consistent_record(tmp_path: Path, driver: str) -> None:
    shop = Shop(tmp_path / "shop.db")
    store = SQLiteStore(tmp_path / "ledger.db") if driver == "sqlite" else None
    guard = Guard(CONTRACT, store, tools=shop.tools(), refusal_budget=10_000, same_refusal_limit=10_000)
    run = guard.run(TASK)

    def busy(seed: int) -> None:
        rng = random.Random(seed)
        for _ in range(30):
            what = rng.choice(["read", "pay", "order", "refund", "say", "queue"])
            if what == "say":
                run.says("assistant", "working on it")
            elif what == "order":
                run.call("order", {"sku": rng.choice("ABC")})
            elif what == "queue":
                run.call("queue")
            else:
                run.call({"read": "get_invoice"}.get(what, what), PAY if what == "pay" else READ)

    threads = [threading.Thread(target=busy, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(120)
    assert not run.view.open_calls
    assert shop.count("pay") <= 1
    assert shop.count("refund") == 1
    assert all(shop.count("order", sku) == 1 for sku in "ABC")
    run.close()
    assert recheck(guard.store.events(run.id)).reproduces
    guard.close()
