"""Statements of recorded agents, labelled by hand, judged from the record up to their message.

    python benchmarks/claims.py DIR LABELS.jsonl --json
    python benchmarks/claims.py --seeded DIR

DIR holds `trajectories/DOMAIN/ID.json`. The verifier is given the conversation and, of a label, only `message`, `start`
and `span`. Of the rest of a label this file alone reads, to score.
"""

from __future__ import annotations

import argparse
import json
import time
from collections import Counter
from pathlib import Path
from typing import Any

from tallystick.prose.judge import Judged, Verifier
from tallystick.traces import read_file

GOOD = ("supported", "derivable")
BAD = ("unsupported", "contradicted")


def verifier_of(folder: Path, domain: str, name: str) -> Verifier:
    (trace,) = read_file(folder / "trajectories" / domain / f"{name}.json")
    return Verifier(trace)


def agrees(support: str, judged: Judged) -> bool:
    if support in GOOD:
        return judged.verdict in GOOD
    return judged.verdict == ("refused" if support in BAD else "not_checkable")


def score(folder: Path, labels: list[dict[str, Any]], show: bool) -> dict[str, Any]:
    by_kind: dict[str, Counter[str]] = {}
    by_support: dict[str, Counter[str]] = {}
    wrong = Counter[str]()
    claims = agree = 0
    spent = 0.0
    for row in labels:
        verifier = verifier_of(folder, row["domain"], row["trajectory"])
        for claim in row["claims"]:
            began = time.perf_counter()
            judged = verifier.judge(claim["message"], claim["start"], claim["span"])
            spent += time.perf_counter() - began
            support, kind = claim["support"], claim["kind"]
            right = agrees(support, judged)
            claims += 1
            agree += right
            by_support.setdefault(support, Counter())[judged.verdict] += 1
            by_kind.setdefault(kind, Counter())["claims"] += 1
            by_kind[kind]["agree"] += right
            wrong["false_support"] += support in BAD and judged.verdict in GOOD
            wrong["false_refusal"] += support in GOOD and judged.verdict not in GOOD
            wrong["not_checkable_passed"] += support == "not_checkable" and judged.verdict in GOOD
            if show and not right:
                print(f"{row['trajectory'][:24]} [{claim['message']}] {support} -> {judged.verdict}: "
                      f"{claim['span']!r} ({claim['subject']}: {claim['value']}) {judged.why}")
    return {
        "claims": claims,
        "agree": agree,
        "by_kind": {k: dict(v) for k, v in sorted(by_kind.items())},
        "by_support": {k: dict(v) for k, v in sorted(by_support.items())},
        "false_support": wrong["false_support"],
        "false_refusal": wrong["false_refusal"],
        "not_checkable_passed": wrong["not_checkable_passed"],
        "milliseconds_per_claim": round(1000 * spent / max(1, claims), 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("labels", type=Path, nargs="?")
    parser.add_argument("--json", action="store_true", help="print one JSON object and nothing else")
    parser.add_argument("--half", choices=("development", "held-out"), help="score one half of the labelled trajectories")
    parser.add_argument("--show", action="store_true", help="print each claim judged otherwise than labelled")
    given = parser.parse_args()
    rows = [json.loads(line) for line in given.labels.read_text("utf-8").splitlines() if line.strip()]
    if given.half:
        rows = [r for at, r in enumerate(rows) if (at % 4 in (0, 1)) == (given.half == "development")]
    found = score(given.folder, rows, given.show)
    print(json.dumps(found, indent=None if given.json else 2))


if __name__ == "__main__":
    main()
