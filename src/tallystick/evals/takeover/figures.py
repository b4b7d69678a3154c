"""Figures like the paper's, from a report; published values are grey and named. Needs matplotlib."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tallystick.evals.common import drawing
from tallystick.evals.common.drawing import COLOURS, GREY, need_matplotlib, one_axes, percent
from tallystick.evals.takeover.published import published


def draw(told: Mapping[str, Any]) -> dict[str, Any]:
    """Return name → matplotlib figure for what a report has.

    Raises:
        InputError: matplotlib is not installed.
    """
    need_matplotlib()
    made = {"stages": stages(told), "harm": harm(told)} if told["successors"] else {}
    if not told["scripted"] and any(one["cost"]["usd"] is not None for one in told.get("methods", {}).values()):
        made["cost_quality"] = cost_quality(told)
    return made


def save(told: Mapping[str, Any], folder: Path) -> list[str]:
    """Write every figure of a report as SVG and PNG, and return the file names."""
    return drawing.save(draw(told), folder)


def stages(told: Mapping[str, Any]) -> Any:
    """Score by stage, a bar a successor, the published progression beside it (table 2)."""
    figure, axes = one_axes(7.5, 3.8)
    own = told["successors"]
    names = list(next(iter(own.values()))["stages"])
    width = 0.8 / (len(own) + 1)
    for n, (name, one) in enumerate(own.items()):
        values = [one["scores"][s]["mean"] for s in names]
        label = f"{name} (scripted)" if told["scripted"] else name
        spread = [one["scores"][s]["sd"] or 0.0 for s in names]
        axes.bar([i + n * width for i in range(len(names))], values, width, yerr=spread, capsize=2,
                 color=COLOURS[n % len(COLOURS)], label=label, zorder=3)  # fmt: skip
    theirs = published()["stages"]["rows"]
    axes.bar([i + len(own) * width for i in range(len(names))], [float(theirs[s][0]) for s in names], width,
             color=GREY, label="published, GPT-5.4-mini/GPT-5.5, five other surfaces", zorder=3)  # fmt: skip
    axes.set_xticks([i + len(own) * width / 2 for i in range(len(names))], [n.replace("_", "\n") for n in names])
    percent(axes, "correct")
    axes.legend(fontsize=7, loc="lower right")
    return _foot(figure, told)


def harm(told: Mapping[str, Any]) -> Any:
    """False completions, duplicate effects and partial executions by stage, of the first successor."""
    figure, axes = one_axes(7.5, 3.8)
    found = told["successors"][told["successor"]]["stages"]
    counted = {
        "false_complete": "false complete", "duplicate_effects": "duplicate effects",
        "partial_after_live_failure": "partial after live failure", "needless_refusal": "needless refusal",
    }  # fmt: skip
    width = 0.8 / len(counted)
    for n, (key, words) in enumerate(counted.items()):
        axes.bar([i + n * width for i in range(len(found))], [one[key] for one in found.values()], width,
                 color=COLOURS[n], label=words, zorder=3)  # fmt: skip
    axes.set_xticks([i + 0.3 for i in range(len(found))], [n.replace("_", "\n") for n in found])
    axes.set_ylabel(f"episodes, of {next(iter(found.values()))['episodes']}")
    axes.legend(fontsize=8)
    return _foot(figure, told)


def cost_quality(told: Mapping[str, Any]) -> Any:
    """Score over cost, a point a method (figure 1, panel c)."""
    figure, axes = one_axes(6.0, 4.2)
    for n, (name, one) in enumerate(told["methods"].items()):
        if one["cost"]["usd"] is not None and one["score"]["mean"] is not None:
            x = float(one["cost"]["usd"])  # a place on a page, no amount
            axes.scatter(x, one["score"]["mean"], color=COLOURS[n % len(COLOURS)], zorder=3)
            axes.annotate(name, (x, one["score"]["mean"]), textcoords="offset points", xytext=(4, 3), fontsize=8)
    percent(axes, "correct")
    stand_in = any(one["cost"]["stand_in"] for one in told["methods"].values())
    axes.set_xlabel("USD, stand-in prices: no provider's" if stand_in else "USD")
    return _foot(figure, told)


def _foot(figure: Any, told: Mapping[str, Any]) -> Any:
    who = "scripted successors with stated mistakes, no model" if told["scripted"] else "models as named"
    figure.text(0.01, -0.03, f"{told['surface']}: {who}. Grey: arXiv 2609.13800v1, never ours.", fontsize=7, color=GREY)
    return figure
