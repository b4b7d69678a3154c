"""Predicates and arguments: `python benchmarks/predicate.py [--rounds N] [--json]`.

One simple predicate over exact values (`args.amount == invoice.amount_due`), the same written by hand in Python (the
floor: what no expression language can go below), and the independent CEL implementations, where they are installed,
on integers in place of money, which none of them can compare exactly. Then a call's arguments: by the contract
(schema and exact types), and by `jsonschema-rs` alone.
"""

from __future__ import annotations

import argparse
import importlib
import json
import sys
import time
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import jsonschema_rs

from tallystick import contracts
from tallystick.contracts.expr import compile_expression, record_of
from tallystick.contracts.typetext import type_of
from tallystick.model.values import Money
from timing import Ratio, Timing, as_json, interleaved, table

EQUAL = "args.amount == invoice.amount_due"
LARGER = 'args.amount == invoice.amount_due && !(invoice.status in ["paid", "void"])'
SCOPE = {
    "args": record_of({"amount": type_of("money(EUR)")}, open_=True),
    "invoice": record_of({"amount_due": type_of("money(EUR)"), "status": type_of("string")}),
}
ENV = {
    "args": {"amount": Money(Decimal("420.00"), "EUR")},
    "invoice": {"amount_due": Money(Decimal("420.00"), "EUR"), "status": "open"},
}
PLAIN = {"args": {"amount": 420}, "invoice": {"amount_due": 420, "status": "open"}}
SCHEMA = {
    "type": "object",
    "required": ["invoice_id", "amount"],
    "properties": {"invoice_id": {"type": "string"}, "amount": {"type": "string"}},
    "additionalProperties": False,
}
ARGS = {"invoice_id": "I-7", "amount": "420.00"}
FLOOR, OURS, OURS_TWO = "by hand, in Python", "ours, money", "ours, money and a list"


def repeated(work: Callable[[], object], count: int) -> Callable[[], float]:
    def timed() -> float:
        begin = time.perf_counter()
        for _ in range(count):
            work()
        return (time.perf_counter() - begin) / count * 1e6

    return timed


def by_hand(env: dict[str, Any]) -> bool:
    left, right = env["args"]["amount"], env["invoice"]["amount_due"]
    return bool(left.currency == right.currency and left.amount == right.amount)


def _optional(name: str) -> Any:
    try:
        return importlib.import_module(name)
    except ImportError:
        return None


def contenders() -> dict[str, Callable[[], float]]:
    equal = compile_expression(EQUAL, SCOPE, boolean=True)
    larger = compile_expression(LARGER, SCOPE, boolean=True)
    tool = contracts.build(
        {"contract": "b/1", "tools": {"pay": {"effect": "write", "schema": SCHEMA, "args": {"amount": "money(EUR)"}}}}
    ).tools["pay"]
    validator = jsonschema_rs.validator_for(SCHEMA)
    example = (Path(__file__).parents[1] / "examples/invoice-desk.yaml").read_text(encoding="utf-8")
    assert equal.evaluate(ENV) is larger.evaluate(ENV) is by_hand(ENV) is True
    assert contracts.validate_args(tool, ARGS) == []
    found: dict[str, Callable[[], float]] = {
        FLOOR: repeated(lambda: by_hand(ENV), 50_000),
        OURS: repeated(lambda: equal.evaluate(ENV), 50_000),
        OURS_TWO: repeated(lambda: larger.evaluate(ENV), 30_000),
        "ours, compile": repeated(lambda: compile_expression(LARGER, SCOPE, boolean=True), 300),
        "arguments: schema and exact types": repeated(lambda: contracts.validate_args(tool, ARGS), 20_000),
        "arguments: jsonschema-rs alone": repeated(lambda: validator.is_valid(ARGS), 50_000),
        "load invoice-desk.yaml": repeated(lambda: contracts.parse(example), 3),
    }
    cel = _optional("cel_expr_python.cel")
    if cel is not None:
        env = cel.NewEnv(variables={"args": cel.Type.DYN, "invoice": cel.Type.DYN})
        program = env.compile(EQUAL)
        found["cel-expr-python, integers"] = repeated(lambda: program.eval(data=PLAIN), 3_000)
    rust = _optional("cel")
    if rust is not None and hasattr(rust, "compile"):
        compiled = rust.compile(EQUAL)
        found["common-expression-language, integers"] = repeated(lambda: compiled.execute(PLAIN), 3_000)
    return found


def measure(rounds: int) -> tuple[list[Timing], list[Ratio]]:
    t = interleaved(contenders(), rounds=rounds)
    ratios = [Ratio(name="ours / by hand", value=t[OURS].speed_against(t[FLOOR]))]
    others = [t[name] for name in ("cel-expr-python, integers", "common-expression-language, integers") if name in t]
    ratios += [Ratio(name=f"ours / {other.name}", value=t[OURS].speed_against(other), least=1) for other in others]
    # Reach, in microseconds (see the design's tables): a predicate at most 10, a call's arguments at most 3.
    ratios.append(Ratio(name="10 µs / predicate", value=10 / t[OURS_TWO].median, least=1))
    ratios.append(Ratio(name="3 µs / arguments", value=3 / t["arguments: schema and exact types"].median, least=1))
    return list(t.values()), ratios


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args()
    timings, ratios = measure(options.rounds)
    if options.json:
        json.dump({"rounds": options.rounds, **as_json(timings, ratios)}, sys.stdout)
        print()
    else:
        print(f"{options.rounds} interleaved rounds\n")
        print(table(timings, ratios))


if __name__ == "__main__":
    main()
