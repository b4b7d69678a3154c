"""The derived stage of recorded trajectories, per turn, and the stage at the end against their label.

    python benchmarks/stages.py DIR [--contracts FOLDER] [--json]

DIR is laid out as STATE-Bench is recorded: trajectories/DOMAIN/ID.json and labels.jsonl. FOLDER holds a contract per
domain, DOMAIN.yaml. No trajectory has a task: nothing says what its user was owed, and the gold in the data is not for
anybody who derives a stage. So the contract's standing duties, calls in doubt and calls without a result are all that
can be known to be left, no stage is ever "completed", and "nothing known to be left" is what stands beside the label.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections import Counter
from pathlib import Path
from typing import Any

from tallystick.contracts import load
from tallystick.errors import TallystickError
from tallystick.evals.common.intervals import wilson
from tallystick.gates.stage import Stage
from tallystick.runtime.recorded import RecordedTurn, turns_of
from tallystick.runtime.standing import Followed
from tallystick.traces.files import read_file
from tallystick.traces.to_events import Chain, to_events
from tallystick.view import View

ROOT = Path(__file__).resolve().parents[1]


def labels_in(folder: Path) -> list[dict[str, Any]]:
    """Return the labelled trajectories."""
    return [json.loads(line) for line in (folder / "labels.jsonl").read_text("utf-8").splitlines() if line.strip()]


def staged(file: Path, contract: Any) -> tuple[RecordedTurn, ...]:
    """Return the turns of one trajectory, with the stage after each."""
    (trace,) = read_file(file, "state-bench")
    chain = Chain(trace, contract)
    run = Followed(View(contract, run=chain.run))
    return tuple(turns_of(run, chain.all(to_events(trace, contract))))


def measure(folder: Path, contracts: Path) -> dict[str, Any]:
    """Return the stages of every labelled trajectory, and what they say of the label."""
    rows = []
    seconds = 0.0
    known: dict[str, Any] = {}
    for label in labels_in(folder):
        domain, name = label["domain"], label["trajectory"]
        contract = known.setdefault(domain, load(contracts / f"{domain}.yaml"))
        begun = time.process_time()
        turns = staged(folder / "trajectories" / domain / f"{name}.json", contract)
        seconds += time.process_time() - begun
        last = turns[-1].standing
        rows.append(
            {
                "domain": domain,
                "trajectory": name,
                "state_ok": label["state_ok"],
                "turns": [str(t.standing.stage) for t in turns],
                "stage": str(last.stage),
                "left": last.left,
                "duties": [r.where for r in last.duties],
                "in_doubt": len(last.in_doubt),
            }
        )
    return {
        "trajectories": len(rows),
        "turns": sum(len(r["turns"]) for r in rows),
        "turns_by_stage": dict(Counter(stage for r in rows for stage in r["turns"])),
        "confusion": confusion(rows),
        "per_domain": {
            d: confusion([r for r in rows if r["domain"] == d]) for d in sorted({r["domain"] for r in rows})
        },
        "duties_left": dict(Counter(d for r in rows for d in dict.fromkeys(r["duties"]))),
        "trajectories_per_second": round(len(rows) / seconds) if seconds else None,
        "rows": rows,
    }


def confusion(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """Return end of a trajectory × label, as counts: stage, and whether anything is known to be left."""
    cells = {}
    for stage in Stage:
        for left in (False, True):
            found = [r for r in rows if r["stage"] == stage and r["left"] is left]
            good = sum(r["state_ok"] for r in found)
            cells[f"{stage}, {'something left' if left else 'nothing known left'}"] = {
                "state_ok": good,
                "not_ok": len(found) - good,
                "share_ok": wilson(good, len(found)),
            }
    return cells


def show(found: dict[str, Any]) -> None:
    """Print it."""
    print(f"{found['trajectories']} trajectories, {found['turns']} turns, "
          f"{found['trajectories_per_second']} trajectories a second on one core\n")  # fmt: skip
    print("after a turn: " + ", ".join(f"{n} {stage}" for stage, n in sorted(found["turns_by_stage"].items())))
    for name, cells in [("all", found["confusion"]), *found["per_domain"].items()]:
        print(f"\n{name:18}{'stage at the end':46}{'state ok':>10}{'not':>6}   share ok (95%)")
        for what, cell in cells.items():
            of = cell["state_ok"] + cell["not_ok"]
            if of:
                low, high = cell["share_ok"]
                print(f"{'':18}{what:46}{cell['state_ok']:>10}{cell['not_ok']:>6}   {cell['state_ok'] / of:.0%} "
                      f"({low:.0%} to {high:.0%})")  # fmt: skip
    print("\nduties left: " + (", ".join(f"{n} {d}" for d, n in sorted(found["duties_left"].items())) or "none"))
    print("\nNo trajectory has a task, so none is ever `completed`: a contract says only in part what is owed.")


def main() -> int:
    """Run it."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("dir", type=Path)
    parser.add_argument("--contracts", type=Path, default=ROOT / "examples" / "state-bench")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    try:
        found = measure(options.dir, options.contracts)
    except (TallystickError, OSError) as bad:
        print(f"error: {bad}", file=sys.stderr)
        return 2
    if options.json:
        print(json.dumps(found))
    else:
        show(found)
    return 0


if __name__ == "__main__":
    sys.exit(main())
