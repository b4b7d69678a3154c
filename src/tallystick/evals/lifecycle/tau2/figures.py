"""The curve of the paper's figure 2: clean reports before acting, by mid-task position, and after completion."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tallystick.evals.common import drawing
from tallystick.evals.common.drawing import COLOURS, GREY, need_matplotlib, one_axes, percent
from tallystick.evals.lifecycle.table import published
from tallystick.evals.lifecycle.tau2.report import POINTS


def save(told: Mapping[str, Any], folder: Path) -> list[str]:
    """Write the figures of a report as SVG and PNG, and return the file names; none where nothing is scored.

    Raises:
        InputError: matplotlib is not installed.
    """
    need_matplotlib()
    return drawing.save({"stages": stages(told)}, folder) if "analysis" in told else []


def stages(told: Mapping[str, Any]) -> Any:
    """A line per deployment, strict; the paper's telecom lines in grey."""
    figure, axes = one_axes(7.5, 4.2)
    theirs = published()["tau2"]
    if told["domain"] == "telecom":
        strict = [row for name, row in theirs["rows"].items() if not name.endswith("stripped")]
        for n, row in enumerate(strict):
            axes.plot(range(len(POINTS)), [100 * h / of for h, of in row], color=GREY, linewidth=0.9, alpha=0.6,
                      zorder=1, label="published: six deployments" if n == 0 else None)  # fmt: skip
    for n, (name, one) in enumerate(told["analysis"]["deployments"].items()):
        cells = [one["points"]["strict"][p] for p in POINTS]
        at = [k for k, c in enumerate(cells) if c["of"]]
        axes.plot(at, [100 * cells[k]["hits"] / cells[k]["of"] for k in at], marker="o", markersize=4,
                  color=COLOURS[n % len(COLOURS)], label=name, zorder=2)  # fmt: skip
    axes.set_xticks(range(len(POINTS)), POINTS)
    percent(axes, "clean reports")
    axes.legend(fontsize=8, frameon=False)
    foot = f"{told['study']}; published lines: {theirs['at']}" if told["domain"] == "telecom" else told["study"]
    if told["scripted"]:
        foot += f". Scripted agents, not models: {', '.join(told['scripted'])}"
    figure.text(0.01, -0.03, foot, fontsize=7, color=GREY)
    return figure
