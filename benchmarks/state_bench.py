"""The audit of the 200 recorded STATE-Bench trajectories against their labels.

    python benchmarks/state_bench.py DIR [--contracts DIR] [--by-rule] [--cross-validate] [--json]

DIR holds `trajectories/`, `tasks/` (only `now` is read) and `labels.jsonl`. A trajectory counts as flagged when the
audit has at least one finding of severity error. Labels are read here, to count; nothing that judges ever sees them.
`--contracts` names a folder with `DOMAIN.yaml` files; domains without one are audited without a contract.

`--by-rule` counts trajectories per rule; a finding of the act gate counts under each requirement it names.
`--cross-validate` deals the task families to three folds, as `mining.py` does. On each fold it reports all rules, and
the rules *earned* on the other two: those with at least one failing trajectory there, and no more passing ones than
failing. The contracts' author has seen all three folds, so the columns say how much rests on single trajectories, not
what unseen ones give. Intervals are Wilson's, 95%.
"""

from __future__ import annotations

import argparse
import json
import re
import resource
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mining import FOLDS, folds_of
from tallystick.audit import Report, Tools, audit_bytes, audit_paths
from tallystick.errors import TallystickError
from tallystick.evals.common.intervals import wilson

KEYS = ("failing", "passing", "failing_flagged", "passing_flagged")


@dataclass(frozen=True)
class Audited:
    """One trajectory: what its label says, and which rules found something, by severity."""

    domain: str
    trace: str
    ok: bool
    rules: frozenset[tuple[str, str]]  # (rule, severity)

    def flagged(self, counts: Callable[[str], bool] = lambda _: True) -> bool:
        """Return whether a rule that counts found an error."""
        return any(severity == "error" and counts(rule) for rule, severity in self.rules)


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


def rules_of(report: Report) -> frozenset[tuple[str, str]]:
    """Return (rule, severity) of every finding; the act gate's and duties' under the contract's own ids."""
    found = set()
    for finding in report.findings:
        ids = finding.evidence if finding.code.startswith(("act.", "duty.")) else ()
        # `any` requirements name their options `id.1`, `id.2`.
        names = {re.sub(r"\.\d+$", "", i) for i in ids}
        found |= {(f"{finding.code} {name}".strip(), finding.severity) for name in names or {""}}
    return frozenset(found)


def audit(folder: Path, contracts: Path | None) -> list[Audited]:
    labels = labels_in(folder)
    found = []
    for domain in sorted({domain for domain, _ in labels}):
        contract = contracts / f"{domain}.yaml" if contracts is not None else None
        chosen = contract if contract is not None and contract.is_file() else None
        found.extend(
            Audited(domain, report.trace, labels[domain, report.trace], rules_of(report))
            for report in audit_paths([folder / "trajectories" / domain], format="state-bench", contract=chosen)
        )
    return found


def counted(items: Iterable[Audited], counts: Callable[[str], bool] = lambda _: True) -> dict[str, int]:
    count = Counter(dict.fromkeys(KEYS, 0))
    for item in items:
        side = "passing" if item.ok else "failing"
        count[side] += 1
        count[f"{side}_flagged"] += item.flagged(counts)
    return dict(count)


def intervals(count: dict[str, int]) -> dict[str, list[float] | None]:
    made = {}
    for side in ("failing", "passing"):
        found = wilson(count[f"{side}_flagged"], count[side])
        made[side] = [round(edge, 4) for edge in found] if found is not None else None
    return made


def measure(folder: Path, contracts: Path | None) -> tuple[dict[str, Any], list[Audited]]:
    items = audit(folder, contracts)
    domains = sorted({item.domain for item in items})
    per_domain = {domain: counted(i for i in items if i.domain == domain) for domain in domains}
    total = counted(items)
    # Linux reports kibibytes, macOS bytes.
    scale = 1024 if sys.platform != "darwin" else 1024 * 1024
    return {
        **total,
        "per_domain": per_domain,
        "intervals": {"all": intervals(total), **{domain: intervals(c) for domain, c in per_domain.items()}},
        "trajectories_per_second": round(per_second(sorted((folder / "trajectories").glob("*/*.json")))),
        "peak_rss_mb": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / scale, 1),
    }, items


def by_rule(items: list[Audited]) -> list[dict[str, Any]]:
    """Return per rule: trajectories with it, and those that nothing else of severity error flags."""
    count: Counter[tuple[str, str, bool]] = Counter()
    alone: Counter[tuple[str, bool]] = Counter()
    for item in items:
        errors = {rule for rule, severity in item.rules if severity == "error"}
        count.update((rule, severity, item.ok) for rule, severity in item.rules)
        if len(errors) == 1:
            alone[errors.pop(), item.ok] += 1
    order = {"error": 0, "warning": 1, "info": 2}
    names = sorted({(severity, rule) for rule, severity, _ in count}, key=lambda r: (order[r[0]], r[1]))
    return [
        {
            "rule": rule,
            "severity": severity,
            "failing": count[rule, severity, False],
            "passing": count[rule, severity, True],
            "failing_alone": alone[rule, False] if severity == "error" else 0,
            "passing_alone": alone[rule, True] if severity == "error" else 0,
        }
        for severity, rule in names
    ]


def cross_validate(items: list[Audited]) -> dict[str, Any]:
    """Return per fold and together: all rules, and the rules earned on the other folds."""
    fold: dict[tuple[str, str], int] = {}
    for domain in {item.domain for item in items}:
        for name, number in folds_of(sorted(i.trace for i in items if i.domain == domain)).items():
            fold[domain, name] = number
    rows = []
    for number in range(FOLDS):
        held = [i for i in items if fold[i.domain, i.trace] == number]
        count: Counter[tuple[str, bool]] = Counter()
        for item in items:
            if fold[item.domain, item.trace] != number:
                count.update({(rule, item.ok) for rule, severity in item.rules if severity == "error"})
        earned = {rule for rule, ok in count if not ok and count[rule, False] >= count[rule, True]}
        rows.append({"fold": number + 1, "all": counted(held), "earned": counted(held, earned.__contains__)})
    total = {kind: {key: sum(row[kind][key] for row in rows) for key in KEYS} for kind in ("all", "earned")}
    return {
        "folds": rows,
        **{kind: {**total[kind], "intervals": intervals(total[kind])} for kind in total},
    }


def share(hits: int, of: int) -> str:
    found = wilson(hits, of)
    between = f" ({found[0]:.0%} to {found[1]:.0%})" if found is not None else ""
    return f"{hits} of {of}{between}"


def line(name: str, row: dict[str, int]) -> str:
    failing = share(row["failing_flagged"], row["failing"])
    return f"{name:22}{failing:>26}{share(row['passing_flagged'], row['passing']):>26}"


def show(result: dict[str, Any], items: list[Audited], rules: bool) -> None:
    print(f"{'domain':22}{'failing flagged':>26}{'passing flagged':>26}   (95% interval)")
    for name, row in [*result["per_domain"].items(), ("all", result)]:
        print(line(name, row))
    flagged = result["failing_flagged"] + result["passing_flagged"]
    if flagged:
        print(f"\nprecision {result['failing_flagged'] / flagged:.0%}, recall"
              f" {result['failing_flagged'] / result['failing']:.0%};"
              f" {result['failing'] / (result['failing'] + result['passing']):.0%} fail at all")  # fmt: skip
    if "cross_validated" in result:
        print(f"\n{'fold':22}{'failing flagged':>26}{'passing flagged':>26}")
        for row in result["cross_validated"]["folds"]:
            print(line(f"{row['fold']}, all rules", row["all"]))
            print(line(f"{row['fold']}, earned elsewhere", row["earned"]))
        print(line("all, earned elsewhere", result["cross_validated"]["earned"]))
    print(f"\n{'severity':10}{'rule':48}{'failing':>9}{'passing':>9}   (trajectories; in brackets: only this one)")
    if rules:
        for row in by_rule(items):
            alone = (
                (f"({row['failing_alone']})", f"({row['passing_alone']})") if row["severity"] == "error" else ("", "")
            )
            print(
                f"{row['severity']:10}{row['rule']:48}{row['failing']:>5}{alone[0]:>4}{row['passing']:>5}{alone[1]:>4}"
            )
    else:
        codes = [Audited(i.domain, i.trace, i.ok, frozenset((r.split()[0], s) for r, s in i.rules)) for i in items]
        for row in by_rule(codes):
            print(f"{row['severity']:10}{row['rule']:48}{row['failing']:>9}{row['passing']:>9}")
    print(f"\n{result['trajectories_per_second']:,} trajectories a second on one core; peak {result['peak_rss_mb']} MB")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("dir", type=Path)
    parser.add_argument("--contracts", type=Path)
    parser.add_argument("--by-rule", action="store_true", help="count each requirement and duty of the contracts")
    parser.add_argument("--cross-validate", action="store_true", help="per fold of task families")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    try:
        result, items = measure(options.dir, options.contracts)
    except (TallystickError, OSError) as bad:
        print(f"error: {bad}", file=sys.stderr)
        return 2
    if options.cross_validate:
        result["cross_validated"] = cross_validate(items)
    if options.json:
        print(json.dumps(result | ({"by_rule": by_rule(items)} if options.by_rule else {})))
    else:
        show(result, items, options.by_rule)
    return 0


if __name__ == "__main__":
    sys.exit(main())
