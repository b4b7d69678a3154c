"""The static study as text: what each policy did, the ablations, the isolated faults, and the published figures beside.

Drawn with rich, so that a terminal shows tables; as a file it is plain text.
"""

from __future__ import annotations

import io
from collections.abc import Iterator, Mapping
from typing import Any, Final

from rich import box
from rich.console import Console, RenderableType
from rich.table import Table
from rich.text import Text

from tallystick.evals.termination.conditions import CONDITIONS
from tallystick.evals.termination.policies import MODEL, ORDER
from tallystick.evals.termination.snapshot import FAULTS

WIDTH: Final = 118
NOT_RUN: Final = "not run"


def text(told: Mapping[str, Any], *, width: int = WIDTH) -> str:
    """Return the report of `static` as plain text."""
    out = io.StringIO()
    console = Console(file=out, width=width, color_system=None, highlight=False, markup=False, emoji=False)
    for part in _parts(told):
        console.print(part)
    return "\n".join(line.rstrip() for line in out.getvalue().splitlines()) + "\n"


def _parts(told: Mapping[str, Any]) -> Iterator[RenderableType]:
    kept = {True: "manifest kept", False: "manifest BROKEN", None: "not the frozen seed"}[told["manifest_ok"]]
    yield Text(f"Static study of termination: synthetic tasks, scripted faults; seed {told['seed']}, {kept}")
    published = told["published"]
    for split, title in (("heldout", "held-out"), ("development", "development")):
        yield Text("")
        yield _policies(told[split], title, published if split == "heldout" else None, told["model"])
        yield _difference(told[split]["difference"], published["difference"] if split == "heldout" else None)
    yield Text("")
    yield _faults(told["heldout"])
    yield Text("")
    yield _ablations(told, published)
    yield Text("")
    yield _isolated(told["isolated"])
    yield Text("")
    yield from (Text(f"  {name}: {words}") for name, words in told["definitions"].items())
    if told["model"] is None:
        yield Text("  full_trace_critic: not run, it needs a model (--model)")
    yield from (Text(f"  {name}: {words}") for name, words in told["conditions"].items())
    yield Text("")
    for line in (
        "The deterministic policies are reconstructed to match the published counts; their figures come from running",
        "them. The tasks are ours and scripted, so that ours equals the published shows that the reconstruction holds,",
        "not that the paper's study was repeated. A certificate shows support in a recorded trace under a trusted",
        "contract and adapter; it says nothing about the truth outside, safety or alignment. A +0 does not show that a",
        "check is needless: see the isolated faults.",
        f"Published: {published['source']}; not ours, other tasks.",
    ):
        yield Text(line)


def _table(title: str, *columns: str) -> Table:
    table = Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False)
    for number, column in enumerate(columns):
        table.add_column(column, justify="left" if number == 0 else "right", no_wrap=True)
    return table


def _policies(
    told: Mapping[str, Any], title: str, published: Mapping[str, Any] | None, model: Mapping[str, Any] | None
) -> Table:
    of = told["policies"]["ect"]["of"]
    heads = [f"U/{of['faults']}", f"C/{of['clean']}", f"S/{of['faults']}", "macro-F1", f"F9/{of['clean']}"]
    beside = ["published: U, C, S, F1", "at"] if published is not None else []
    table = _table(f"{title}: policies", "policy", *heads, *beside)
    for name in ORDER:
        row, label = told["policies"][name], name
        if name == MODEL:
            label = f"{name} ({model['name']})" if model is not None else name
        if row is None:
            cells = [NOT_RUN, "", "", "", ""]
        else:
            f9 = told["f9"][name]["U"]
            cells = [str(row["U"]), str(row["C"]), str(row["S"]), f"{row['macro_f1']:.3f}", str(f9)]
        if published is not None:
            paper = published["policies"][name]
            cells += [", ".join(_or_blank(paper[k]) for k in ("U", "C", "S", "macro_f1")), paper["at"]]
        table.add_row(label, *cells)
    return table


def _or_blank(value: Any) -> str:
    return "-" if value is None else f"{value:.3f}" if isinstance(value, float) else str(value)


def _difference(ours: Mapping[str, Any], published: Mapping[str, Any] | None) -> Text:
    """U is in percentage points of fault snapshots; the interval is a 95% bootstrap over tasks."""
    lines = [f"  U, ect minus critic_core: {_points(ours)} (95%, over tasks)"]
    if published is not None:
        lines.append(f"                 published: {_points(published)} ({published['at']})")
    return Text("\n".join(lines))


def _points(row: Mapping[str, Any]) -> str:
    return f"{row['points']:+.2f} pp [{row['low']:+.2f}, {row['high']:+.2f}]"


def _faults(told: Mapping[str, Any]) -> Table:
    table = _table("held-out: complete by condition (c = says complete, s = says stuck)", "policy", *CONDITIONS)
    for name in ORDER:
        row = told["policies"][name]
        if row is not None:
            cells = [row["by_fault"][c] for c in CONDITIONS]
            table.add_row(name, *(_said(cell) for cell in cells))
    return table


def _said(cell: Mapping[str, int]) -> str:
    parts = [f"{cell[k]}{mark}" for k, mark in (("complete", "c"), ("stuck", "s")) if cell[k]]
    return " ".join(parts) or "0"


def _ablations(told: Mapping[str, Any], published: Mapping[str, Any]) -> Table:
    table = _table(
        "ablations: one check off, unsafe completions more than with all",
        "check", "fault", "held-out", "published", "at", "development", "all of F1-F8",
    )  # fmt: skip
    for name, row in told["heldout"]["ablations"].items():
        paper = published["ablations"][name]
        shown = "-" if paper["delta_U"] is None else f"+{paper['delta_U']}"
        fault = f"{row['fault']}{' (ours)' if row['fault'] not in FAULTS else ''}"
        development = told["development"]["ablations"][name]
        everywhere = sum(row["by_fault"][f] for f in FAULTS)
        table.add_row(
            name, fault, f"{row['delta_U']:+d} of {row['of']}", f"{shown} ({paper['fault']})", paper["at"],
            f"{development['delta_U']:+d} of {development['of']}", f"{everywhere:+d}",
        )  # fmt: skip
    return table


def _isolated(told: Mapping[str, Any]) -> Table:
    table = _table(
        "isolated faults: all tasks, one fault that only one check sees", "check", "faults", "refused",
        "only this check fails", "complete with it off",
    )  # fmt: skip
    for name, row in told.items():
        table.add_row(name, *(str(row[k]) for k in ("of", "refused", "only", "flipped")))
    return table
