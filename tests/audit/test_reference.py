"""The reference page lists the rules there are, with their severities."""

from __future__ import annotations

import re
from pathlib import Path

CODE = r"(?:pairing|result|args|call|message|choices|line|answer|write|preview|claim|effect|act|duty)\.[a-z_]+"


def test_every_code_is_documented_and_every_documented_code_exists(root: Path) -> None:
    page = (root / "docs" / "reference" / "audit-rules.md").read_text("utf-8")
    documented = set(re.findall(rf"^\| `({CODE})` \|", page, re.MULTILINE))
    sources = [*(root / "src/tallystick/audit").glob("*.py"), *(root / "src/tallystick/traces").glob("*.py")]
    text = "\n".join(p.read_text("utf-8") for p in sources)
    used = set(re.findall(rf'"({CODE})"', text))
    verdicts = {"act.hold", "act.refuse", "act.return_recorded", "act.reconcile"}
    assert documented == used | verdicts
