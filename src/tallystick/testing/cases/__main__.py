"""`python -m tallystick.testing.cases FILE [--json]`: ask the gates about every case of a file."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence

from tallystick.errors import InputError
from tallystick.testing.cases.judge import Result, run
from tallystick.testing.cases.read import load


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command. Returns 0, or 2 after one error line where the file or a case cannot be used."""
    parser = argparse.ArgumentParser(prog="python -m tallystick.testing.cases", description=(__doc__ or "").strip())
    parser.add_argument("file", metavar="FILE", help="cases, one JSON object per line")
    parser.add_argument("--json", action="store_true", help="print one JSON object on stdout and nothing else")
    options = parser.parse_args(argv)
    try:
        result = run(load(options.file))
    except InputError as bad:
        sys.stderr.write(f"error: {bad}\n".encode("utf-8", "backslashreplace").decode())
        return 2
    if options.json:
        sys.stdout.write(json.dumps(result.to_json()) + "\n")
    else:
        sys.stdout.write(_shown(result))
    return 0


def _shown(result: Result) -> str:
    lines = []
    for item in result.items:
        lines.append(f"{'agree   ' if item.agree else 'DISAGREE'}  {item.id:<8}  {item.expected}")
        if not item.agree:
            lines.extend((f"{'':20}got {item.got}", f"{'':20}{item.reason}"))
    count = len(result.items)
    lines.append("")
    lines.append(f"same verdict, whatever the reason: {result.same_verdict} of {count}")
    lines.append(
        f"best constant answer per attempt kind: {result.constant_baseline} of {count} "
        f"({result.constant_verdicts} by verdict alone)"
    )
    lines.append(f"{result.agree} agree, {count - result.agree} disagree")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    sys.exit(main())
