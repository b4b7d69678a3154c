"""The checker of artifacts against labelled ones: `python benchmarks/handoff_checker.py FILE [--json] [--tasks A,B]`.

FILE has one JSON object a line: `task`, `artifact`, `trajectory`, `label_final`, and if there is one `agreed`. The
checker sees the first three. Every field is scored on all rows and on the rows two labellers agree on.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from tallystick.errors import InputError, TallystickError
from tallystick.handoff.checker import check
from tallystick.handoff.checker.concordance import concordance

FIELDS = ("P", "D", "U", "C", "r_s", "r_q", "r_o", "r_f", "preserves_as_blocker", "caveat_or_later_check_or_omission")


def rows(path: Path) -> list[dict[str, Any]]:
    """Read the labelled artifacts."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as bad:
        why = bad.strerror if isinstance(bad, OSError) and bad.strerror else "not UTF-8"
        raise InputError(f"cannot read it: {why.lower()}", where=f"`{path}`", fix="name a file of JSON lines") from None
    out = []
    for n, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except ValueError as bad:
            raise InputError(f"not JSON: {bad}", where=f"line {n}", fix="one JSON object a line") from None
        missing = [
            k for k in ("task", "artifact", "trajectory", "label_final") if not isinstance(row, dict) or k not in row
        ]
        if missing:
            raise InputError(
                f"lacks {', '.join(missing)}",
                where=f"line {n}",
                fix="a row has task, artifact, trajectory and label_final; docs/reference/handoff-checker.md shows one",
            )
        out.append(row)
    if not out:
        raise InputError("there are no artifacts", where=f"`{path}`", fix="a file of JSON lines")
    return out


def of_tasks(labelled: list[dict[str, Any]], wanted: str | None) -> list[dict[str, Any]]:
    """Keep the artifacts of the tasks that are asked for; all of them where none is."""
    if wanted is None:
        return labelled
    asked = {name.strip() for name in wanted.split(",")}
    unknown = asked - {str(r["task"].get("id")) for r in labelled}
    if unknown:
        raise InputError(f"no artifact is of task `{min(unknown)}`", where="--tasks", fix="ids of tasks in FILE")
    return [r for r in labelled if str(r["task"].get("id")) in asked]


def scored(labelled: list[dict[str, Any]]) -> dict[str, Any]:
    """Score the checker on labelled artifacts."""
    return compared(labelled, [check(r["task"], r["artifact"], r["trajectory"]).row() for r in labelled])


def compared(labelled: list[dict[str, Any]], coded: list[dict[str, int]]) -> dict[str, Any]:
    """Compare codings with the labels, field by field."""
    fields = [f for f in FIELDS if all(f in r["label_final"] for r in labelled)]
    each = {f: concordance([bool(r["label_final"][f]) for r in labelled], [bool(c[f]) for c in coded]) for f in fields}
    confusions = [
        {"id": r.get("id", n), "field": f, "label": int(r["label_final"][f]), "checker": int(c[f])}
        for n, (r, c) in enumerate(zip(labelled, coded, strict=True)) for f in fields
        if bool(r["label_final"][f]) != bool(c[f])
    ]  # fmt: skip
    return {
        "n": len(labelled),
        "macro_f1": {f: round(e.macro_f1, 4) for f, e in each.items()},
        "agreement": {f: round(e.agreement, 4) for f, e in each.items()},
        "kappa": {f: round(e.kappa, 4) for f, e in each.items()},
        "confusions": confusions,
    }


def main(argv: list[str] | None = None) -> int:
    """Print the scores; 2 for a file that cannot be scored."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", type=Path)
    parser.add_argument("--tasks", help="score only artifacts of these tasks, by id and with commas between")
    parser.add_argument("--json", action="store_true", help="all figures and confusions as JSON")
    args = parser.parse_args(argv)
    try:
        labelled = of_tasks(rows(args.file), args.tasks)
        report = scored(labelled)
        agreed = [r for r in labelled if r.get("agreed")]
        if agreed:
            report["agreed"] = scored(agreed)
    except TallystickError as bad:
        print(f"error: {bad}", file=sys.stderr)
        return 2
    if args.json:
        print(json.dumps(report, indent=2, ensure_ascii=False))
        return 0
    print(f"{report['n']} artifacts, {len(agreed)} of them agreed")
    for f, value in report["macro_f1"].items():
        print(f"{f:34} macro F1 {value:.3f}  agreement {report['agreement'][f]:.3f}  kappa {report['kappa'][f]:.3f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
