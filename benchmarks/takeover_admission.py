"""What whole-graph admission costs, by the size of the graph: the cost of a node should not grow with their number.

    python benchmarks/takeover_admission.py --json

A graph of n nodes pays and reads n/2 invoices that are owed, each write after a read that its evidence comes from and
with an amount bound to that read. Sizes take turns within a round, and ratios are within rounds.
"""

from __future__ import annotations

import argparse
import gc
import json
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks.timing import Ratio, Timing, interleaved, table
from tests.gates.residual.worlds import NOW
from tests.gates.worlds_kit import RUN, Log

from tallystick.contracts import build
from tallystick.contracts.types import Task
from tallystick.gates.residual import construct, may_take_over
from tallystick.model import events as e
from tallystick.model import jsontext
from tallystick.view import View

SIZES = (10, 100, 1_000)
LARGEST = 10_000
CONTRACT = build(
    {
        "contract": "many/1",
        "entities": {"invoice": {"id": "id", "due": "money(EUR)", "status": "string"}},
        "tools": {
            "get": {
                "effect": "read", "args": {"id": "id"}, "target": "invoice(args.id)",
                "yields": {"invoice": {"id": "/id", "due": "/due", "status": "/status"}},
            },
            "pay": {
                "effect": "write", "args": {"id": "id", "amount": "money(EUR)"}, "target": "invoice(args.id)",
                "once_per": "args.id", "ok": 'result.status == "paid"',
                "requires": [{"id": "open", "fact": 'invoice.status == "open"'}],
            },
        },
        "task": {"inputs": {"ids": "list(id)"}, "owes": [{"id": "paid", "by": "pay", "each": "ids",
                                                          "for": "invoice(item)"}]},
    }
)  # fmt: skip


def ready(nodes: int) -> Callable[[], Any]:
    """Return what judges a graph of so many nodes."""
    names = [f"I-{i}" for i in range(nodes // 2)]
    task = Task(request="pay", bindings={"ids": tuple(names)})
    log = Log(real=True)
    log.add(e.Started(semantics=e.SEMANTICS, contract="", contract_sha256="", task="", task_sha256=""))
    log.done("c-0", "get", {"id": names[0]}, {"id": names[0], "due": 5, "status": "open"})
    view = View(CONTRACT, task, run=RUN)
    for sealed in log.events:
        view.apply(sealed)
    residual, decision = construct(view, CONTRACT, tenure="t")
    assert residual is not None, decision
    calls: list[Mapping[str, Any]] = []
    for i, name in enumerate(names):
        calls.append({"id": f"get{i}", "tool": "get", "args": {"id": name}})
        calls.append(
            {"id": f"pay{i}", "tool": "pay", "args": {"id": name, "amount": {"$from": f"get{i}", "$at": "/due"}}}
        )
    raw = jsontext.dumps({"calls": calls}).encode()

    def judge() -> Any:
        decision, graph = may_take_over(view, CONTRACT, residual, raw, (), NOW)
        assert decision.positive, decision.reasons[:3]
        return graph

    return judge


def timed(judge: Callable[[], Any], nodes: int, least: int) -> Callable[[], float]:
    """Return what measures microseconds per node, over enough admissions to see."""
    times = max(1, least // nodes)

    def once() -> float:
        gc.collect()
        began = time.perf_counter()
        for _ in range(times):
            judge()
        return (time.perf_counter() - began) * 1e6 / (times * nodes)

    return once


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    sizes = (*SIZES, LARGEST)
    contenders = {f"{n} nodes, per node": timed(ready(n), n, 1_000) for n in sizes}
    found = interleaved(contenders, rounds=given.rounds)
    timings: list[Timing] = list(found.values())
    ratios = [
        Ratio(name=f"a node of {n} against a node of {SIZES[0]}", value=round(timings[0].speed_against(t) , 2))
        for n, t in zip(sizes[1:], timings[1:], strict=True)
    ]  # fmt: skip
    if given.json:
        print(json.dumps({
            "us_per_node": {t.name: round(t.median, 1) for t in timings},
            "cost_per_node_against_10": {r.name: r.value for r in ratios},
        }, indent=1))  # fmt: skip
    else:
        print(table(timings, ratios))


if __name__ == "__main__":
    main()
