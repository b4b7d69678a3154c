"""One report of a study: who was admitted, the analysis, the corruption gate, tables and figures; and its text."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from tallystick.evals.lifecycle import corruption, obligations
from tallystick.evals.lifecycle.admission import Admission
from tallystick.evals.lifecycle.analysis import analyse, plain
from tallystick.evals.lifecycle.labels import LABELS
from tallystick.evals.lifecycle.row import Row
from tallystick.evals.lifecycle.table import Table, markdown, text
from tallystick.evals.lifecycle.tables import tables

SCRIPTED = "scripted:"
"""How the name of every scripted reporter begins."""


def report(study: str, rows: Sequence[Row], admission: Admission | None = None, *, fit: bool = True) -> dict[str, Any]:
    """Return everything a study's rows say, as plain JSON values.

    Args:
        study: its name, with `-en` where it ran in English.
        rows: those that count: `admission.admit` returns them.
        admission: who was planned, admitted and excluded, where somebody was.
        fit: fit the models of the main study.

    Returns:
        `{"study", "scripted", "admission", "gate", "found", "tables"}`.

    Raises:
        InputError: as `analyse`.
    """
    found = plain(analyse(study, rows, fit=fit))
    made = [*_admitted(admission), *tables(study, found)]
    return {
        "study": study,
        "scripted": sorted({r.deployment for r in rows if r.deployment.startswith(SCRIPTED)}),
        "admission": None if admission is None else msgspec.to_builtins(admission),
        "gate": msgspec.to_builtins(gate_of(study, rows)),
        "found": found,
        "tables": msgspec.to_builtins(made),
    }


def gate_of(study: str, rows: Iterable[Row]) -> corruption.Gate:
    """Return the corruption gate's verdict on a study's rows, with the verifier that the study is scored by."""
    if study.removesuffix("-en") == "obligations":
        return corruption.gate(rows, obligations.score, obligations.CORRUPTIONS)
    return corruption.gate(rows)


def page(told: dict[str, Any], *, as_markdown: bool = False) -> str:
    """Return a report as text for a terminal, or as Markdown."""
    made = msgspec.convert(told["tables"], list[Table])
    head = [f"study {told['study']}"]
    if told["scripted"]:
        head.append(f"SCRIPTED reporters, not models: {', '.join(told['scripted'])}")
    gate = told["gate"]
    head.append(f"corruption gate {'passed' if gate['passed'] else 'FAILED: ' + '; '.join(gate['failures'])}")
    used = dict.fromkeys(t.label for t in made)
    tail = [f"{label}: {LABELS[label]}" for label in used]
    body = markdown(made) if as_markdown else text(made)
    return "\n\n".join(["\n".join(head), body, "\n".join(tail)]) + "\n"


def _admitted(admission: Admission | None) -> list[Table]:
    if admission is None:
        return []
    reasons = {e.deployment: e.reason for e in admission.excluded}
    rows = []
    for name, lost in admission.transport.items():
        failed, made = admission.identity[name]
        rows.append(
            (name, reasons.get(name, "admitted"), f"{lost.failed} of {lost.of}", f"{failed} of {made}")
        )  # fmt: skip
    return [
        Table(
            key="admission", title="Admission, and failures on their own denominators", label="Audit/engineering",
            head=("deployment", "admitted, or why not", "lost to transport", "identity failed"), rows=tuple(rows),
            note=f"{len(admission.admitted)} of {len(admission.planned)} planned are admitted. Nothing is imputed.",
        )
    ]  # fmt: skip
