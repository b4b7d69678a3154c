"""`python -m tallystick.evals.takeover.tau2`: the figures of the reference page, as JSON.

`--model NAME` asks a local model what is owed on `--episodes N` frontiers of each domain; without it that is "not run".
"""

from __future__ import annotations

import argparse
import sys

from tallystick.errors import InputError
from tallystick.evals.takeover.tau2.audit import audit
from tallystick.evals.takeover.tau2.contracts import DOMAINS
from tallystick.evals.takeover.tau2.recall import NOT_RUN, asking_local
from tallystick.evals.takeover.tau2.surface import Tau2
from tallystick.model import jsontext


def main() -> int:
    """Print the figures of both domains."""
    options = argparse.ArgumentParser(prog="tallystick.evals.takeover.tau2", description=__doc__)
    options.add_argument("--model", help="a local model, such as `local`")
    options.add_argument("--episodes", type=int, default=5, help="frontiers it is asked about")
    options.add_argument("--only-model", action="store_true", help="leave out the audit")
    given = options.parse_args()
    try:
        found = {
            domain: {
                **({} if given.only_model else audit(domain)),
                "model_extraction": NOT_RUN
                if given.model is None
                else asking_local(given.model, Tau2(domain).frontiers(given.episodes, "extraction")),
            }
            for domain in DOMAINS
        }
    except InputError as bad:
        sys.stderr.write(f"error: {bad}\n")
        return 2
    sys.stdout.write(jsontext.dumps(found) + "\n")
    return 0


raise SystemExit(main())
