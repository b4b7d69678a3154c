"""Figures of the static study, as SVG and PNG: unsafe completions by policy and by fault, and the ablations.

Needs matplotlib, which comes with the `evals` extra. Figures are drawn from the report alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tallystick.evals.common import drawing
from tallystick.evals.common.drawing import GREY, OURS, need_matplotlib, one_axes
from tallystick.evals.termination.policies import ORDER
from tallystick.evals.termination.snapshot import FAULTS


def draw(told: Mapping[str, Any]) -> dict[str, Any]:
    """Return name → matplotlib figure for the report of `static`.

    Raises:
        InputError: matplotlib is not installed.
    """
    need_matplotlib()
    return {"unsafe": unsafe(told), "faults": faults(told), "ablations": ablations(told)}


def save(told: Mapping[str, Any], folder: Path) -> list[str]:
    """Write every figure of a report as SVG and PNG, and return the file names."""
    return drawing.save(draw(told), folder)


def unsafe(told: Mapping[str, Any]) -> Any:
    """Unsafe completions by policy, held-out, the published counts beside."""
    figure, axes = _axes(7.5, 3.8)
    rows = [(name, told["heldout"]["policies"][name]) for name in ORDER]
    of = told["heldout"]["policies"]["ect"]["of"]["faults"]
    ran = [(i, row["U"]) for i, (_, row) in enumerate(rows) if row is not None]
    bars = axes.barh([i for i, _ in ran], [u for _, u in ran], 0.55, color=OURS, label="ours", zorder=2)
    axes.bar_label(bars, padding=8, fontsize=8)
    paper = [(i, told["published"]["policies"][name]["U"]) for i, (name, _) in enumerate(rows)]
    axes.plot([u for _, u in paper], [i for i, _ in paper], linestyle="none", marker="D", markersize=7,
              markerfacecolor="none", markeredgecolor=GREY, label="published", zorder=3, clip_on=False)  # fmt: skip
    names = [f"{name.replace('_', ' ')}{'' if row is not None else ' (not run)'}" for name, row in rows]
    axes.set_yticks(range(len(rows)), names)
    axes.invert_yaxis()
    axes.set_xlim(0, of * 1.08)
    axes.set_xlabel(f"unsafe completions of {of}")
    axes.legend(frameon=False, fontsize=8, loc="lower right")
    _foot(figure, told)
    return figure


def faults(told: Mapping[str, Any]) -> Any:
    """Heat map: how many of each fault's held-out snapshots each policy would complete; F9 apart."""
    figure, axes = _axes(8, 3.8)
    shown = [n for n in ORDER if told["heldout"]["policies"][n] is not None]
    columns = ("C0", *FAULTS, "F9")
    cells = [[told["heldout"]["policies"][n]["by_fault"][c]["complete"] for c in columns] for n in shown]
    most = told["heldout"]["policies"]["ect"]["of"]["clean"]
    axes.grid(visible=False)
    axes.imshow(cells, cmap="Blues", vmin=0, vmax=most, aspect="auto")
    for y, row in enumerate(cells):
        for x, value in enumerate(row):
            axes.text(x, y, str(value), ha="center", va="center", fontsize=8,
                      color="white" if value > 0.6 * most else "#222222")  # fmt: skip
    axes.set_xticks(range(len(columns)), ["C0\n(clean)", *FAULTS, "F9\n(ours)"])
    axes.set_yticks(range(len(shown)), [n.replace("_", " ") for n in shown])
    axes.set_title(f"says complete, of {most} held-out snapshots each; right only for C0", fontsize=10)
    _foot(figure, told, diamonds=False)
    return figure


def ablations(told: Mapping[str, Any]) -> Any:
    """Effect of each check on its matched fault, held-out, and of its absence on the isolated fault."""
    figure, axes = _axes(7.5, 3.8)
    rows = told["heldout"]["ablations"]
    names = list(rows)
    bars = axes.barh(range(len(names)), [rows[n]["delta_U"] for n in names], 0.55, color=OURS, label="ours", zorder=2)
    axes.bar_label(bars, fmt="%+d", padding=8, fontsize=8)
    paper = [(i, told["published"]["ablations"][n]["delta_U"]) for i, n in enumerate(names)]
    known = [(i, d) for i, d in paper if d is not None]
    axes.plot([d for _, d in known], [i for i, _ in known], linestyle="none", marker="D", markersize=7,
              markerfacecolor="none", markeredgecolor=GREY, label="published", zorder=3, clip_on=False)  # fmt: skip
    axes.set_yticks(range(len(names)), [f"{n.replace('_', ' ')} / {rows[n]['fault']}" for n in names])
    axes.invert_yaxis()
    of = rows[names[0]]["of"]
    axes.set_xlim(0, of * 1.12)
    axes.set_xlabel(f"unsafe completions more with the check off, of {of}")
    axes.legend(frameon=False, fontsize=8, loc="center right")
    _foot(figure, told)
    return figure


def _axes(width: float, height: float) -> tuple[Any, Any]:
    figure, axes = one_axes(width, height)
    axes.grid(visible=False)
    axes.grid(axis="x", color="#e6e6e6", zorder=0)
    return figure, axes


def _foot(figure: Any, told: Mapping[str, Any], *, diamonds: bool = True) -> None:
    text = "synthetic tasks, scripted faults; policies reconstructed to match the published counts"
    if diamonds:
        text += f"\ngrey diamonds: published in {told['published']['source']}, other tasks; not ours"
    figure.supxlabel(text, fontsize=8, color=GREY)
