"""Maintenance of the suite, from a checkout: `python -m tallystick.evals.evidence list|check|freeze|contracts|audit`.

Everything prints one JSON object. `freeze` and `contracts` write the files that tests hold the code to, and are run
only when the suite is meant to change. Running agents is for the command line of the package.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

import msgspec

from tallystick.evals.evidence import checkpoints, manifest
from tallystick.evals.evidence.check import check
from tallystick.evals.evidence.contract import text
from tallystick.evals.evidence.derived import sets
from tallystick.evals.evidence.world import DOMAINS

HERE = Path(__file__).parent


def main(args: list[str] | None = None) -> int:
    """Run one of the commands and return its exit code: 0 well, 1 something is not as it must be."""
    parser = argparse.ArgumentParser(prog="python -m tallystick.evals.evidence", description="the evidence suite's own")
    parser.add_argument("command", choices=("list", "check", "freeze", "contracts", "audit"))
    command = parser.parse_args(args).command
    if command == "list":
        return _say(manifest.list_composition(), ok=manifest.manifest_ok())
    if command == "check":
        found = check([*manifest.suite(), *(c for cases in sets().values() for c in cases)])
        return _say(found.to_json(), ok=not found.findings)
    if command == "audit":
        told = checkpoints.audit(checkpoints.shipped())
        return _say(msgspec.to_builtins(told), ok=told.false_acceptance <= 0.02 and told.false_rejection <= 0.013)
    if command == "contracts":
        (HERE / "contracts").mkdir(exist_ok=True)
        for domain in DOMAINS:
            (HERE / "contracts" / f"{domain}.yaml").write_text(text(domain), encoding="utf-8")
        return _say({"contracts": len(DOMAINS)}, ok=True)
    (HERE / manifest.FILE).write_text(_lines(manifest.written()), encoding="utf-8")
    (HERE / checkpoints.FILE).write_text(checkpoints.text(checkpoints.made()), encoding="utf-8")
    return _say({"manifest_ok": manifest.manifest_ok(), "checkpoints": len(checkpoints.shipped())}, ok=True)


def _lines(value: dict[str, Any]) -> str:
    """Return the manifest as JSON with a line per case, so that a change shows which cases it touched."""
    derived = {name: _cases(cases, "    ") for name, cases in value["derived"].items()}
    parts = ",\n".join(f"    {json.dumps(name)}: {cases}" for name, cases in derived.items())
    return (
        f'{{\n  "seed": {json.dumps(value["seed"])},\n  "cases": {_cases(value["cases"], "  ")},\n'
        f'  "derived": {{\n{parts}\n  }}\n}}\n'
    )


def _cases(cases: dict[str, list[str]], indent: str) -> str:
    rows = ",\n".join(f"{indent}  {json.dumps(k)}: {json.dumps(v)}" for k, v in cases.items())
    return f"{{\n{rows}\n{indent}}}"


def _say(value: Any, *, ok: bool) -> int:
    sys.stdout.write(json.dumps(value, indent=2) + "\n")
    return 0 if ok else 1


if __name__ == "__main__":
    sys.exit(main())
