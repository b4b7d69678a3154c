"""`python -m tallystick.evals.takeover.tau2`: what the frontiers rest on, as JSON: the figures of the reference page.

`--model NAME` asks a local model what is owed on `--episodes N` frontiers of each domain, and nothing else.
"""

from __future__ import annotations

import argparse
import sys

from tallystick.errors import InputError
from tallystick.evals.takeover.tau2.audit import audit
from tallystick.evals.takeover.tau2.contracts import DOMAINS
from tallystick.evals.takeover.tau2.recall import asking_local
from tallystick.evals.takeover.tau2.surface import Tau2
from tallystick.model import jsontext


def main() -> int:
    """Print the figures of both domains."""
    options = argparse.ArgumentParser(prog="tallystick.evals.takeover.tau2", description=__doc__)
    options.add_argument("--model", help="a local model, such as `local:qwen2.5-coder-0.5b`")
    options.add_argument("--episodes", type=int, default=5, help="frontiers it is asked about, of each domain")
    given = options.parse_args()
    kinds = [
        Tau2(domain, every=every, looked=looked)
        for domain in DOMAINS
        for every, looked in ((False, True), (False, False), (True, True))
    ]
    try:
        if given.model is not None:
            asked = {str(one): Tau2(one).frontiers(given.episodes, "extraction") for one in DOMAINS}
            found = {name: asking_local(given.model, frontiers) for name, frontiers in asked.items()}
        else:
            found = {surface.name: audit(surface) for surface in kinds}
    except InputError as bad:
        sys.stderr.write(f"error: {bad}\n")
        return 2
    sys.stdout.write(jsontext.dumps(found) + "\n")
    return 0


raise SystemExit(main())
