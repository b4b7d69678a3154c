"""`python -m tallystick.evals.handoff.calibration [--json]`: the checker on the frozen calibration set."""

from __future__ import annotations

import argparse
import json
import sys

from tallystick.evals.handoff.calibration.score import report


def main(argv: list[str] | None = None) -> int:
    """Print the report."""
    parser = argparse.ArgumentParser(prog="python -m tallystick.evals.handoff.calibration", description=__doc__)
    parser.add_argument("--json", action="store_true", help="all figures and confusions as JSON")
    args = parser.parse_args(argv)
    found = report()
    if args.json:
        sys.stdout.write(json.dumps(found, indent=2) + "\n")
        return 0
    lines = [f"{found['items']} items, SHA-256 {found['sha256']}"]
    for half in ("dev", "scored"):
        one = found[half]
        each = "  ".join(f"{f} {v:.3f}" for f, v in one["macro_f1"].items())
        lines.append(f"{half:6} n={one['n']}  mean macro F1 {one['mean_macro_f1']:.3f}  {each}")
    sys.stdout.write("\n".join(lines) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
