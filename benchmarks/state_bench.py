"""The audit of the 200 recorded STATE-Bench trajectories against their labels.

    python benchmarks/state_bench.py DIR [--contracts DIR] [--json]

DIR holds `trajectories/`, `tasks/` (only `now` is read) and `labels.jsonl`. A trajectory counts as flagged when the
audit has at least one finding of severity error. Labels are read here, to count; nothing that judges ever sees them.
`--contracts` names a folder with `DOMAIN.yaml` files; domains without one are audited without a contract.
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

from tallystick.audit import Report, Tools, audit_bytes, audit_paths
from tallystick.errors import TallystickError

KEYS = ("failing", "passing", "failing_flagged", "passing_flagged")


def labels_in(folder: Path) -> dict[tuple[str, str], bool]:
    """Return (domain, trajectory) -> whether the final state was right."""
    lines = (folder / "labels.jsonl").read_text("utf-8").splitlines()
    rows = [json.loads(line) for line in lines if line.strip()]
    return {(row["domain"], row["trajectory"]): row["state_ok"] for row in rows}


def per_second(files: list[Path], seconds: float = 2.0) -> float:
    """Return trajectories a second on one core, import included, over bytes in memory, without a contract."""
    data = [file.read_bytes() for file in files]
    tools = Tools()
    best, started = 0.0, time.perf_counter()
    while time.perf_counter() - started < seconds:
        begun = time.process_time()
        for raw in data:
            for _ in audit_bytes(raw, "t", tools=tools):
                pass
        best = max(best, len(data) / (time.process_time() - begun))
    return best


def measure(folder: Path, contracts: Path | None) -> tuple[dict[str, Any], Counter[tuple[str, str, bool]]]:
    labels = labels_in(folder)
    domains = sorted({domain for domain, _ in labels})
    counts: dict[str, Counter[str]] = {domain: Counter(dict.fromkeys(KEYS, 0)) for domain in domains}
    rules: Counter[tuple[str, str, bool]] = Counter()
    for domain in domains:
        contract = contracts / f"{domain}.yaml" if contracts is not None else None
        chosen = contract if contract is not None and contract.is_file() else None
        for report in audit_paths([folder / "trajectories" / domain], format="state-bench", contract=chosen):
            _count(report, labels[domain, report.trace], counts[domain], rules)
    files = sorted((folder / "trajectories").glob("*/*.json"))
    total = {key: sum(c[key] for c in counts.values()) for key in KEYS}
    # Linux reports kibibytes, macOS bytes.
    scale = 1024 if sys.platform != "darwin" else 1024 * 1024
    return {
        **total,
        "per_domain": {domain: dict(counts[domain]) for domain in domains},
        "trajectories_per_second": round(per_second(files)),
        "peak_rss_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / scale, 1),
    }, rules


def _count(report: Report, ok: bool, count: Counter[str], rules: Counter[tuple[str, str, bool]]) -> None:
    side = "passing" if ok else "failing"
    count[side] += 1
    count[f"{side}_flagged"] += report.flagged
    for code, severity in {(f.code, f.severity) for f in report.findings}:
        rules[code, severity, ok] += 1


def show(result: dict[str, Any], rules: Counter[tuple[str, str, bool]]) -> None:
    print(f"{'domain':22}{'failing flagged':>18}{'passing flagged':>18}")
    for name, row in [*result["per_domain"].items(), ("all", result)]:
        failing = f"{row['failing_flagged']} of {row['failing']}"
        passing = f"{row['passing_flagged']} of {row['passing']}"
        print(f"{name:22}{failing:>18}{passing:>18}")
    flagged = result["failing_flagged"] + result["passing_flagged"]
    if flagged:
        print(f"\nprecision {result['failing_flagged'] / flagged:.0%}, recall"
              f" {result['failing_flagged'] / result['failing']:.0%};"
              f" {result['failing'] / (result['failing'] + result['passing']):.0%} fail at all")  # fmt: skip
    print(f"\n{'severity':10}{'rule':28}{'failing':>9}{'passing':>9}   (trajectories with at least one)")
    for code, severity in sorted({(c, s) for c, s, _ in rules}, key=lambda r: (r[1] != "error", r[1] != "warning", r)):
        print(f"{severity:10}{code:28}{rules[code, severity, False]:>9}{rules[code, severity, True]:>9}")
    print(f"\n{result['trajectories_per_second']:,} trajectories a second on one core; peak {result['peak_rss_mb']} MB")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("dir", type=Path)
    parser.add_argument("--contracts", type=Path)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    try:
        result, rules = measure(options.dir, options.contracts)
    except (TallystickError, OSError) as bad:
        print(f"error: {bad}", file=sys.stderr)
        return 2
    if options.json:
        print(json.dumps(result))
    else:
        show(result, rules)
    return 0


if __name__ == "__main__":
    sys.exit(main())
