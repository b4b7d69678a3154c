"""Verifying one claim of a certificate at growing ledger lengths, and binding it.

The ledger is filled with what a busy run has: reads, payments and listings of other invoices, and the same listing
asked again and again. What a claim costs should be that of the receipts it refers to, whatever else is in the ledger.
With `--certificates N` it also puts N random and adversarial certificates before verifier and naive oracle
(`tests/gates/certify`), and prints how many either believed.

Usage: python benchmarks/certificates.py [--json] [--rounds N] [--certificates N]
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))  # the record of the tests

from tests.gates.certify.desk import BODIES, PAGES, Body, contract_of, intent, invoice, receipt, record, stop

from tallystick.gates.certify import bind, verify_certificate
from tallystick.view import View

SIZES = (16, 100, 1_000, 10_000, 100_000)
SLOTS = {
    "one receipt": "paid",
    "a fact": "status",
    "a difference": "left",
    "a sum over two pages": "open",
}


def filler(events: int) -> list[Body]:
    """Return about so many events of other business of the same run."""
    found: list[Body] = []
    n = 0
    while len(found) < events:
        name = f"O-{n}"
        found += [intent(f"f{n}", "get", {"id": name}), receipt(f"rf{n}", f"f{n}", invoice(name))]
        if n % 3 == 0:
            found += [
                intent(f"w{n}", "pay", {"id": name, "amount": "1.00"}),
                receipt(f"rw{n}", f"w{n}", {"status": "paid", "id": name, "amount": "1.00"}),
            ]
        if n % 5 == 0:
            found += [
                intent(f"s{n}", "list", {"page": 2}),
                receipt(f"rs{n}", f"s{n}", {"items": PAGES[1], "next": None}),
            ]
        n += 1
    return found[: events // 2 * 2]


def cost(work: Callable[[], object], budget: float = 0.2) -> float:
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


def prepared(events: int) -> dict[str, Callable[[], object]]:
    """Return name → one verification (or binding) of one claim in a ledger of about so many events."""
    found: dict[str, Callable[[], object]] = {}
    whole: View | None = None
    for name, slot in SLOTS.items():
        contract = contract_of(slot)
        view = record([*filler(max(0, events - len(BODIES) - 1)), *BODIES], contract)
        said = stop(contract)
        certificate = bind(view, contract, said)
        verified = verify_certificate(view, contract, certificate)
        assert verified.complete, verified.deficits
        found[f"verify: {name}"] = lambda v=view, k=contract, c=certificate: verify_certificate(v, k, c)  # type: ignore[misc]  # bound now, not later
        if whole is None:
            whole = view
            found["bind: one receipt"] = lambda v=view, k=contract, s=said: bind(v, k, s)  # type: ignore[misc]  # as above
    return found


def measure(rounds: int) -> dict[str, Any]:
    """Return CPU microseconds per claim: what → ledger length → median over interleaved rounds."""
    by_size = {size: prepared(size) for size in SIZES}
    seen: dict[str, dict[int, list[float]]] = {}
    for _ in range(rounds):
        for size, works in by_size.items():
            for name, work in works.items():
                seen.setdefault(name, {}).setdefault(size, []).append(cost(work) * 1e6)
    table = {n: {s: statistics.median(v) for s, v in by.items()} for n, by in seen.items()}
    ratios = {n: by[SIZES[-1]] / by[SIZES[0]] for n, by in table.items()}
    return {"claim_us": table, "longest_to_shortest": ratios, "rounds": rounds}


def adversarial(certificates: int) -> dict[str, int]:
    """Return how many certificates were believed, refused, and judged otherwise than by the oracle."""
    from tests.gates.certify import oracle
    from tests.gates.certify.forgeries import CHANGES
    from tests.gates.certify.test_adversarial import CONTRACT, PER_WORLD, TASK_SHA, worlds

    counts = {"believed": 0, "refused": 0, "unsound": 0, "too strict": 0}
    for _, rng, one, view, whole in worlds(0, certificates):
        for turn in range(PER_WORLD):
            made = whole
            for _ in range(turn and random.Random(turn).choice((1, 1, 1, 2, 3))):
                made = rng.choice(CHANGES)[0](rng, view, made) if made.claims else made
            accepted = verify_certificate(view, CONTRACT, made).complete
            believed = oracle.believable(one.events, made, TASK_SHA)
            counts["believed" if accepted else "refused"] += 1
            counts["unsound"] += accepted and not believed
            counts["too strict"] += believed and not accepted
    return counts


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--json", action="store_true", help="print one JSON object")
    options.add_argument("--rounds", type=int, default=3, help="interleaved rounds")
    options.add_argument("--certificates", type=int, default=0, help="adversarial certificates to judge besides")
    chosen = options.parse_args()
    result = measure(chosen.rounds)
    if chosen.certificates:
        result["adversarial"] = adversarial(chosen.certificates)
    if chosen.json:
        print(json.dumps(result))
        return
    print("one claim, CPU microseconds (median of interleaved rounds), by events in the ledger")
    print(f"  {'':28}" + "".join(f"{size:>12,}" for size in SIZES) + "   longest/shortest")
    for name, by in result["claim_us"].items():
        ratio = result["longest_to_shortest"][name]
        print(f"  {name:28}" + "".join(f"{v:>12.1f}" for v in by.values()) + f"{ratio:>16.2f} x")
    for name, count in result.get("adversarial", {}).items():
        print(f"  certificates {name}: {count:,}")


if __name__ == "__main__":
    main()
