"""`python -m tallystick.audit`: the audit without the rest of the command line."""

from __future__ import annotations

import argparse
import sys

from tallystick.audit.report import run_audit
from tallystick.audit.summary import BAD_INPUT
from tallystick.errors import TallystickError
from tallystick.traces.formats import AUTO, FORMATS


def main(argv: list[str] | None = None) -> int:
    """Run the audit and return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tallystick.audit", description="Audit recorded conversations.")
    parser.add_argument("paths", nargs="+", help="files and folders")
    parser.add_argument("--contract", help="a contract file; its act gate judges each consequential call")
    parser.add_argument("--format", default=AUTO, help=f"one of: {AUTO}, {', '.join(FORMATS)}")
    parser.add_argument("--writes", help="names of tools that write, separated by commas; the others then read")
    parser.add_argument("--tools", help="a JSON file of tool schemas that says which tools write")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--json", action="store_true", help="print exactly one JSON object on stdout")
    parser.add_argument("--sarif", metavar="FILE", help="write a SARIF 2.1.0 log; `-` for stdout")
    parser.add_argument("--junit", metavar="FILE", help="write a JUnit document; `-` for stdout")
    options = parser.parse_args(argv)
    writes = [name.strip() for name in options.writes.split(",") if name.strip()] if options.writes else None
    try:
        return run_audit(
            options.paths, options.contract, options.format, options.json, writes, options.tools, options.jobs,
            sys.stdout, sys.stderr, sarif=options.sarif, junit=options.junit,
        )  # fmt: skip
    except TallystickError as bad:
        sys.stderr.write(f"error: {bad}\n")
        return BAD_INPUT


if __name__ == "__main__":
    sys.exit(main())
