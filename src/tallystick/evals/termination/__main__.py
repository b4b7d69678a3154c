"""Maintenance of the study, from a checkout: `python -m tallystick.evals.termination check|freeze`.

`freeze` writes the manifest that tests hold the snapshots to, and is run only when the study is meant to change.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from tallystick.evals.termination import manifest


def main(args: list[str] | None = None) -> int:
    """Run one of the commands and return its exit code: 0 well, 1 the snapshots are not those of the manifest."""
    parser = argparse.ArgumentParser(prog="python -m tallystick.evals.termination", description="the study's own")
    parser.add_argument("command", choices=("check", "freeze"))
    if parser.parse_args(args).command == "freeze":
        (Path(__file__).parent / manifest.FILE).write_text(manifest.text(manifest.written()), encoding="utf-8")
    kept = manifest.manifest_ok()
    sys.stdout.write(f"manifest {'kept' if kept else 'BROKEN'}\n")
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
