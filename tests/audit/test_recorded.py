"""The 200 recorded trajectories: the findings that must be there, and how well errors separate failing from passing.

Labels are read here, to count. The seeded faults check the other way round: what an audit must notice, it notices.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tallystick.audit import Report, Tools, audit_paths, audit_trace
from tallystick.traces.state_bench import trace_of


@pytest.fixture(scope="module")
def data(shared: Path) -> Path:
    return shared / "data" / "state-bench"


@pytest.fixture(scope="module")
def reports(data: Path) -> dict[tuple[str, str], Report]:
    return {(Path(r.source).parent.name, r.trace): r for r in audit_paths([data / "trajectories"])}


@pytest.fixture(scope="module")
def labels(data: Path) -> dict[tuple[str, str], bool]:
    rows = map(json.loads, (data / "labels.jsonl").read_text("utf-8").splitlines())
    return {(row["domain"], row["trajectory"]): row["state_ok"] for row in rows}


def codes(reports: dict[tuple[str, str], Report], domain: str, number: str) -> list[str]:
    (report,) = (r for (d, name), r in reports.items() if d == domain and name.startswith(f"{number}-"))
    return [f.code for f in report.findings]


def test_identical_rejected_retries_are_found(reports: dict[tuple[str, str], Report]) -> None:
    assert "write.rejected_again" in codes(reports, "travel", "44")
    assert "write.rejected_again" in codes(reports, "travel", "45")
    others = [k for k, r in reports.items() if any(f.code == "write.rejected_again" for f in r.findings)]
    assert len(others) == 2


def test_the_same_write_succeeding_twice_is_found(reports: dict[tuple[str, str], Report]) -> None:
    assert "write.repeated" in codes(reports, "shopping_assistant", "83")


def test_all_calls_are_paired_and_guesses_marked(reports: dict[tuple[str, str], Report]) -> None:
    assert len(reports) == 200
    assert all(r.paired == r.calls and not r.quarantined for r in reports.values())
    assert all(f.guess for r in reports.values() for f in r.findings if f.code.startswith(("write.", "preview.")))


def test_guessed_writes_are_the_declared_ones(data: Path, reports: dict[tuple[str, str], Report]) -> None:
    for domain in ("travel", "customer_support", "shopping_assistant"):
        writes = set(json.loads((data / f"tools-{domain}.json").read_text())["write_tools"])
        for (where, _), report in reports.items():
            if where == domain:
                assert all((use.effect == "write") == (name in writes) for name, use in report.tools.items())


def test_errors_separate_failing_from_passing(
    reports: dict[tuple[str, str], Report], labels: dict[tuple[str, str], bool]
) -> None:
    failing = sum(reports[k].flagged for k, ok in labels.items() if not ok)
    passing = sum(reports[k].flagged for k, ok in labels.items() if ok)
    assert failing >= 18  # of 36
    assert passing <= 4  # of 164


# ---- seeded faults: each takes a recorded conversation and returns it with one fault, or None where it does not apply

Doc = dict[str, Any]


def writes(doc: Doc) -> list[tuple[list[Any], int]]:
    """Where the writes that took effect are: (list of calls, position)."""
    found = []
    for message in doc["conversation"]:
        calls = message.get("tool_calls") or []
        for at, call in enumerate(calls):
            status = call["result"].get("status") if isinstance(call["result"], dict) else None
            reads = call["name"].startswith(("get_", "search_", "check_", "validate_"))
            if not reads and status not in ("preview", "rejected", None):
                found.append((calls, at))
    return found


def repeated(doc: Doc) -> None:
    calls, at = writes(doc)[-1]
    calls.insert(at + 1, copy.deepcopy(calls[at]))


def blind_retry(doc: Doc) -> None:
    calls, at = writes(doc)[-1]
    calls.insert(at, {**copy.deepcopy(calls[at]), "result": {"error": "timeout"}})


def unanswered(doc: Doc) -> None:
    calls, at = writes(doc)[-1]
    del calls[at]["result"]


def invented_id(doc: Doc) -> None:
    calls, at = writes(doc)[0]
    args = calls[at]["arguments"]
    name = next(k for k, v in args.items() if k.endswith("_id") and isinstance(v, str) and v)
    args[name] = f"{args[name][:-1]}{(int(args[name][-1], 36) + 3) % 10}7"


def failed_inside(doc: Doc) -> None:
    calls, at = writes(doc)[-1]
    calls[at]["result"] = {"status": "ok", "data": {"items": [{"error": {"code": 500, "message": "upstream"}}]}}


def rejected(doc: Doc) -> None:
    calls, at = writes(doc)[-1]
    calls[at]["result"] = {"status": "rejected", "reason": "not eligible"}


def never_made(doc: Doc) -> None:
    for calls, at in reversed(writes(doc)):
        del calls[at]


def final(doc: Doc) -> Doc:
    return next(m for m in reversed(doc["conversation"]) if m["role"] == "assistant")


def wrong_amount(doc: Doc) -> None:
    message = final(doc)
    at = re.search(r"\$(\d[\d,]*)", message["content"])
    assert at is not None
    more = str(int(at[1].replace(",", "")) + 137)
    message["content"] = message["content"][: at.start(1)] + more + message["content"][at.end(1) :]


@pytest.mark.parametrize(
    ("fault", "code", "share"),
    [
        (repeated, "write.repeated", 0.98),
        (blind_retry, "write.retried_in_doubt", 0.98),
        (unanswered, "call.unanswered", 1.0),
        (invented_id, "args.unsupported_id", 0.95),
        (failed_inside, "claim.over_failure", 0.9),
        (rejected, "claim.over_failure", 0.9),
        (never_made, "claim.without_effect", 0.75),
        (wrong_amount, "answer.unsupported_amount", 0.85),
    ],
    ids=lambda v: v.__name__ if callable(v) else None,
)
def test_seeded_faults_are_noticed(
    data: Path, labels: dict[tuple[str, str], bool], fault: Callable[[Doc], None], code: str, share: float
) -> None:
    tools = Tools()
    tried = noticed = 0
    for (domain, name), ok in labels.items():
        doc = json.loads((data / "trajectories" / domain / f"{name}.json").read_text("utf-8"))
        applies = "$" in final(doc)["content"] if fault is wrong_amount else bool(writes(doc))
        if not ok or not applies:
            continue
        fault(doc)
        report = audit_trace(trace_of(doc, name=name, source="", sha256=""), tools=tools)
        tried += 1
        noticed += any(f.code == code and f.severity in ("error", "warning") for f in report.findings)
    assert tried > 100
    assert noticed >= share * tried
