"""Folders of conversations audited into a SARIF or JUnit file, as CI does it."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

from tallystick.audit import run_audit
from tests.audit.build import ASK, agent, did, user

CANCEL = did("cancel_order", {"order_id": "O-17"}, {"status": "cancelled"})
CLEAN = [user("Hi"), agent("Hello.")]
TWICE = [ASK, agent("Done.", CANCEL, CANCEL)]
INVENTED = [user("Cancel my order."), agent("Done.", did("cancel_order", {"order_id": "O-99"}, {"ok": True}))]
UNSEEN = [
    ASK,
    agent(
        "Done.",
        did("cancel_order", {"order_id": "O-17", "confirmed": False}, {"status": "preview", "fee": 0}),
        did("cancel_order", {"order_id": "O-17", "confirmed": True}, {"status": "cancelled", "fee": 0}),
    ),
]
"""Previewed and committed in one go: a warning, no error."""


def save(path: Path, *conversations: list[dict[str, Any]]) -> Path:
    """Write one conversation as a document, several as a log."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("\n".join(json.dumps({"conversation": c}) for c in conversations) + "\n", encoding="utf-8")
    return path


def run(*paths: Path | str, **more: Any) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of an audit."""
    out, err = io.StringIO(), io.StringIO()
    options: dict[str, Any] = {"contract": None, "format": "auto", "json": False, "writes": None, "tools": None,
                               "jobs": 1, **more}  # fmt: skip
    code = run_audit(list(paths), out=out, err=err, **options)
    return code, out.getvalue(), err.getvalue()
