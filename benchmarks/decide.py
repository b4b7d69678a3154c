"""One act decision, and one whole gated call, at growing history lengths, beside other ways to ask the same question.

The question: may `refund(order, amount)` run, given that this very order was read, is delivered, and its total covers
the amount? Baselines in the same process, interleaved: a plain dict index (the floor), and the same rule in CEL over
the whole trace (`cel-expr-python`, where installed), which is what an engine without an index does.

Usage: python benchmarks/decide.py [--json] [--rounds N]
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from tallystick.contracts import parse
from tallystick.gates.act import may_act
from tallystick.model.events import GENESIS, Actor, Event, Intent, Receipt, Sealed, blob, seal
from tallystick.model.proposal import Call
from tallystick.view import View

CONTRACT = """
contract: refunds/1
entities:
  order: {id: id, status: string, total: money(EUR)}
tools:
  get_order:
    effect: read
    args: {order_id: id}
    target: order(args.order_id)
    yields: {order: {id: /id, status: /status, total: /total}}
  refund:
    effect: write
    args: {order_id: id, amount: money(EUR)}
    target: order(args.order_id)
    once_per: args.order_id
    ok: result.status == "refunded"
    requires:
      - {id: read, known: order}
      - {id: delivered, fact: order.status == "delivered"}
      - {id: covered, fact: args.amount <= order.total}
"""
NOW = datetime(2026, 1, 1, tzinfo=UTC)
AT = "2026-01-01T00:00:00Z"


def history(events: int) -> tuple[View, list[dict[str, Any]], float]:
    """Return a view of `events` events (reads of many orders), the same as plain records, and seconds per fold."""
    contract = parse(CONTRACT, "benchmark")
    view = View(contract, run="r")
    plain: list[dict[str, Any]] = []
    sealed: list[Sealed] = []
    prev = GENESIS
    for n in range(events // 2):
        name = f"O-{n}"
        body = {"id": name, "status": "delivered", "total": "99.50"}
        call = Intent(call=f"c{n}", tool="get_order", args=blob(json.dumps({"order_id": name}).encode()), now=AT)
        answer = Receipt(id=f"r{n}", call=f"c{n}", result=blob(json.dumps(body).encode()), flag="ok", observed_at=AT)
        for made, role in ((call, "runtime"), (answer, "executor")):
            one = seal(Event(v=1, run="r", seq=len(sealed) + 1, at=AT, actor=Actor(role=role, id="x"), body=made,
                             prev=prev))  # fmt: skip
            prev = one.digest
            sealed.append(one)
        plain.append({"tool": "get_order", "ok": True, **body, "total": 9950})
    start = time.process_time()
    for one in sealed:
        view.apply(one)
    return view, plain, (time.process_time() - start) / max(1, len(sealed))


def cost(work: Callable[[], object], budget: float = 0.15) -> float:
    """Return CPU seconds per call, measured over about `budget` seconds."""
    n = 1
    while True:
        start = time.process_time()
        for _ in range(n):
            work()
        spent = time.process_time() - start
        if spent > budget / 4:
            return spent / n
        n *= 4


def contenders(events: int) -> tuple[dict[str, Callable[[], object]], float]:
    """Return name → one decision, at a history of `events` events, and the fold cost."""
    view, plain, fold = history(events)
    contract = view.contract
    newest = f"O-{events // 2 - 1}"
    call = Call(tool="refund", args={"order_id": newest, "amount": "99.50"}, now=NOW)
    assert may_act(view, contract, call).verdict == "admit"
    index = {row["id"]: row for row in plain}

    def floor() -> bool:
        row = index.get(newest)
        return row is not None and row["status"] == "delivered" and row["total"] >= 9950

    found: dict[str, Callable[[], object]] = {
        "tallystick": lambda: may_act(view, contract, call),
        "dict index (floor)": floor,
    }
    try:
        from cel_expr_python import cel
    except ImportError:
        return found, fold
    env = cel.NewEnv(variables={"trace": cel.Type.DYN, "args": cel.Type.DYN})
    rule = env.compile(
        'trace.exists(e, e.tool == "get_order" && e.ok && e.id == args.order_id'
        ' && e.status == "delivered" && args.amount <= e.total)',
        disable_check=True,
    )
    bound = {"trace": plain, "args": {"order_id": newest, "amount": 9950}}
    assert rule.eval(data=bound).plain_value() is True
    found["CEL over the whole trace"] = lambda: rule.eval(data=bound)
    return found, fold


def measure(rounds: int) -> dict[str, Any]:
    """Return CPU microseconds per decision: contender → history length → median over interleaved rounds."""
    sizes = (10, 1_000, 10_000)
    prepared = {size: contenders(size) for size in sizes}
    seen: dict[str, dict[int, list[float]]] = {}
    for _ in range(rounds):
        for size, (found, _fold) in prepared.items():
            for name, work in found.items():
                seen.setdefault(name, {}).setdefault(size, []).append(cost(work) * 1e6)
    table = {n: {s: statistics.median(v) for s, v in by.items()} for n, by in seen.items()}
    ours = table["tallystick"]
    ratios = {
        "10,000 events / 10 events": ours[10_000] / ours[10],
        "tallystick / floor at 1,000": ours[1_000] / table["dict index (floor)"][1_000],
    }
    if "CEL over the whole trace" in table:
        ratios["whole-trace CEL / tallystick at 1,000"] = table["CEL over the whole trace"][1_000] / ours[1_000]
    folds = {s: f * 1e6 for s, (_, f) in prepared.items()}
    return {"decision_us": table, "fold_us_per_event": folds, "ratios": ratios, "rounds": rounds}


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--json", action="store_true", help="print one JSON object")
    options.add_argument("--rounds", type=int, default=5, help="interleaved rounds")
    chosen = options.parse_args()
    result = measure(chosen.rounds)
    if chosen.json:
        print(json.dumps(result))
        return
    print("one act decision, CPU microseconds (median of interleaved rounds)")
    for name, by in result["decision_us"].items():
        print(f"  {name:28}" + "".join(f"{s:>8,} events {v:>9.2f}" for s, v in by.items()))
    print("  fold one event              " + "".join(f"{s:>8,} events {v:>9.2f}" for s, v in
                                                    result["fold_us_per_event"].items()))  # fmt: skip
    for name, value in result["ratios"].items():
        print(f"  {name}: {value:.2f} x")
    if "CEL over the whole trace" not in result["decision_us"]:
        print("  CEL over the whole trace: not run (pip install cel-expr-python)", file=sys.stderr)


if __name__ == "__main__":
    main()
