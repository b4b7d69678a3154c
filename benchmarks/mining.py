"""What a mined contract, unedited, finds in trajectories of task families it was not mined from.

    python benchmarks/mining.py DIR [--min-support N] [--no-tools] [--json]

DIR holds `trajectories/DOMAIN/`, `tools-DOMAIN.json` and `labels.jsonl`. Per domain the trajectories are cut into three
folds by task family. Each contract is mined from the good trajectories of two folds and audits the third. A trajectory
counts as flagged where the audit has a finding of severity error. Three rows: the audit without a contract; what only
the mined contract finds; both together. Labels choose the good trajectories that are mined, and count; nothing else
reads them.

Family: the trajectory's name without its leading number, without the words that only say how hard it is (hard,
challenge, spare) and without a trailing `_state`; of what is left, the first two words. So
`strategy_medical_domestic_change_cheaper` and `strategy_medical_international_change_cheaper_same_airline` are one
family and always in one fold. Families are dealt to folds by size, the largest first, each to the smallest fold.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from tallystick.audit import Tools, audit_trace
from tallystick.contracts.types import Contract
from tallystick.drafting import mine, read_labels, read_sources
from tallystick.drafting.counts import wilson
from tallystick.errors import TallystickError
from tallystick.model.trace import Trace
from tallystick.traces import read

FOLDS = 3
COLUMNS = ("audit", "contract", "both")


def family_of(name: str) -> str:
    """Return the task family of a trajectory's name; see the module."""
    words = re.sub(r"^\d+-", "", name).removesuffix("_state").split("_")
    while len(words) > 2 and words[0] in ("hard", "challenge", "spare"):
        words = words[1:]
    return "_".join(words[:2])


def folds_of(names: Sequence[str]) -> dict[str, int]:
    """Return each trajectory's fold: whole families, dealt by size."""
    families: dict[str, list[str]] = defaultdict(list)
    for name in names:
        families[family_of(name)].append(name)
    sizes = [0] * FOLDS
    found = {}
    for _, members in sorted(families.items(), key=lambda f: (-len(f[1]), f[0])):
        fold = sizes.index(min(sizes))
        sizes[fold] += len(members)
        found.update(dict.fromkeys(members, fold))
    return found


def measure_domain(
    folder: Path, domain: str, labels: Mapping[tuple[str, str], bool], least: int, *, tools: bool
) -> tuple[Counter[str], Counter[tuple[str, bool]], list[dict[str, Any]]]:
    traces = {t.id: t for t in read(folder / "trajectories" / domain)}
    specs = read_sources([folder / f"tools-{domain}.json"])[1] if tools else {}
    fold = folds_of(sorted(traces))
    counts: Counter[str] = Counter()
    codes: Counter[tuple[str, bool]] = Counter()
    mined_from = []
    for held_out in range(FOLDS):
        good = [t for n, t in traces.items() if fold[n] != held_out and labels[domain, n]]
        mined = mine(good, specs=specs, name=domain, min_support=least)
        live = [r for r in mined.report["rules"] if r["in_force"]]
        mined_from.append({"trajectories": len(good), "rules": len(live), "exclusions": len(mined.contract.exclusive)})
        for name in sorted(n for n in traces if fold[n] == held_out):
            _judge(traces[name], labels[domain, name], mined.contract, counts, codes)
    return counts, codes, mined_from


def _judge(trace: Trace, ok: bool, contract: Contract, counts: Counter[str], codes: Counter[tuple[str, bool]]) -> None:
    tools = Tools(contract=contract)  # the same answer to which tools write, with the contract and without
    alone = {(f.code, f.call, f.at) for f in audit_trace(trace, tools=tools).findings if f.severity == "error"}
    errors = [f for f in audit_trace(trace, contract=contract, tools=tools).findings if f.severity == "error"]
    added = [f for f in errors if (f.code, f.call, f.at) not in alone]
    side = "passing" if ok else "failing"
    counts[side] += 1
    counts[f"{side}.audit"] += bool(alone)
    counts[f"{side}.contract"] += bool(added)
    counts[f"{side}.both"] += bool(errors)
    for what in {f"{f.code} {' '.join(f.evidence[:1])}" for f in added}:
        codes[what, ok] += 1


def rate(flagged: int, of: int) -> str:
    low, high = wilson(flagged, of)
    return f"{flagged} of {of} ({low:.0%} to {high:.0%})"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("dir", type=Path)
    parser.add_argument("--min-support", type=int, default=5)
    parser.add_argument("--no-tools", action="store_true", help="mine without the tools' schemas")
    parser.add_argument("--rules", action="store_true", help="list what the contracts found")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    try:
        labels = read_labels(options.dir / "labels.jsonl")
        result: dict[str, Any] = {"min_support": options.min_support, "domains": {}}
        total: Counter[str] = Counter()
        listed: Counter[tuple[str, bool]] = Counter()
        for domain in sorted({d for d, _ in labels}):
            counts, codes, mined = measure_domain(
                options.dir, domain, labels, options.min_support, tools=not options.no_tools
            )
            total += counts
            listed += codes
            result["domains"][domain] = {**dict(sorted(counts.items())), "mined": mined}
        result["all"] = dict(sorted(total.items()))
    except (TallystickError, OSError) as bad:
        print(f"error: {bad}", file=sys.stderr)
        return 2
    if options.json:
        print(json.dumps(result))
        return 0
    print(f"{'held-out third':22}{'':12}{'failing flagged':>24}{'passing flagged':>24}")
    for name, row in [*result["domains"].items(), ("all", result["all"])]:
        for column in COLUMNS:
            failing = rate(row.get(f"failing.{column}", 0), row.get("failing", 0))
            passing = rate(row.get(f"passing.{column}", 0), row.get("passing", 0))
            print(f"{name if column == 'audit' else '':22}{column:12}{failing:>24}{passing:>24}")
    for name, row in result["domains"].items():
        folds = [f"{m['trajectories']} good ({m['rules']} rules)" for m in row["mined"]]
        print(f"{name}: mined from {', '.join(folds)}")
    if options.rules:
        for what in sorted({w for w, _ in listed}):
            print(f"  {what:70}{listed[what, False]:4} failing {listed[what, True]:4} passing")
    return 0


if __name__ == "__main__":
    sys.exit(main())
