"""Figures like the paper's, from a report: stage curves, failure composition, gold × reported, arms, crossed effects.

Published values are grey and named. Scripted reporters say so in every figure's foot. Needs matplotlib, of the `evals`
extra.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from tallystick.evals.common import drawing
from tallystick.evals.common.drawing import COLOURS, GREY, OURS, need_matplotlib, one_axes, percent, plain
from tallystick.evals.lifecycle.columns import ORDER, REPORTED
from tallystick.evals.lifecycle.table import CODES, published
from tallystick.evals.lifecycle.tables import DUE

_NAMES: Final = {"wait": "waiting on\nthe user", "ready": "ready\nto act", "step": "one step\ndone", "done": "finished"}
_PAINT: Final = ("#edae49", "#8d6a9f", "#9aa0a6", "#d1495b", "#66a182")
"""Omission, divergence, malformed, wrong value, clean."""
_SHORT: Final = {
    "needs_information": "needs\ninfo", "ready_for_action": "ready", "post_observation_continue": "post-\nobs",
    "completed": "completed", "other value": "other\nvalue", "malformed": "malformed", "no report": "no\nreport",
    "tool call": "tool\ncall",
}  # fmt: skip


def draw(told: Mapping[str, Any]) -> dict[str, Any]:
    """Return name → matplotlib figure for a report.

    Args:
        told: what `suite.report.report` returns. A study without a figure of its own gives none.

    Raises:
        InputError: matplotlib is not installed.
    """
    need_matplotlib()
    if "analysis" not in told:
        return {}  # nobody was admitted
    kind = told["study"].removesuffix("-en")
    if kind == "main":
        return {"stages": stages(told), "composition": composition(told), "matrix": matrix(told), "arms": arms(told)}
    if kind == "five_arms":
        return {"contrasts": contrasts(told)}
    return {"crossed": crossed(told)} if kind == "crossed" else {}


def save(told: Mapping[str, Any], folder: Path) -> list[str]:
    """Write every figure of a report as SVG and PNG, and return the file names."""
    return drawing.save(draw(told), folder)


def stages(told: Mapping[str, Any]) -> Any:
    """Adherence at each checkpoint, a line per deployment with intervals over scenarios; the paper's lines in grey."""
    figure, axes = one_axes(7.5, 4.2)
    theirs = published()["main"]
    for n, row in enumerate(theirs["rows"].values()):
        axes.plot(range(len(DUE)), row["theta"], color=GREY, linewidth=0.9, alpha=0.6, zorder=1,
                  label="published: seven deployments" if n == 0 else None)  # fmt: skip
    for n, (name, one) in enumerate(told["analysis"]["deployments"].items()):
        known = [(x, one["theta"][p]) for x, p in enumerate(DUE) if p in one["theta"]]
        _line(axes, known, COLOURS[n % len(COLOURS)], name)
    axes.set_xticks(range(len(DUE)), [_NAMES[p] for p in DUE])
    percent(axes, "right reports where one is due")
    _legend(axes)
    return _foot(figure, told, "baseline arm, both encodings, 95% over scenarios", theirs["at"])


def composition(told: Mapping[str, Any]) -> Any:
    """Outcomes at each due checkpoint, stacked: a panel for the pool and one for each of the first deployments."""
    from matplotlib.figure import Figure  # noqa: PLC0415 - an extra

    found = told["analysis"]
    panels = {"pooled": found["pooled"], **dict(list(found["deployments"].items())[:5])}
    figure = Figure(figsize=(2.6 * len(panels) + 2.2, 3.6), layout="constrained")
    drawn = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
    for axes, (name, one) in zip(drawn, panels.items(), strict=True):
        plain(axes)
        places = [p for p in DUE if p in one["composition"]]
        base = [0.0] * len(places)
        for code, colour in zip(CODES, _PAINT, strict=True):
            parts = [one["composition"][p][code] for p in places]
            heights = [100 * part["hits"] / part["of"] for part in parts]
            axes.bar(range(len(places)), heights, 0.7, bottom=base, color=colour, label=CODES[code], zorder=2)
            base = [b + h for b, h in zip(base, heights, strict=True)]
        axes.set_xticks(range(len(places)), places, fontsize=8)
        axes.set_title(name, fontsize=9)
    percent(drawn[0], "due responses")
    _legend(drawn[-1])
    return _foot(figure, told, "baseline arm, XML; widths do not encode sample size", "")


def matrix(told: Mapping[str, Any]) -> Any:
    """Gold stage by reported stage: row percentages and counts over all due responses."""
    from matplotlib.figure import Figure  # noqa: PLC0415 - an extra

    counts = told["analysis"]["pooled"]["matrix"]
    table = [[counts[stage.value][r] for r in REPORTED] for stage in ORDER]
    shares = [[100 * v / sum(row) if sum(row) else 0.0 for v in row] for row in table]
    figure = Figure(figsize=(8.6, 3.6), layout="constrained")
    axes = figure.subplots()
    axes.imshow(shares, cmap="Blues", vmin=0, vmax=100, aspect="auto")
    for y, row in enumerate(table):
        for x, value in enumerate(row):
            dark = shares[y][x] > 55
            axes.text(x, y, f"{value}\n{shares[y][x]:.1f}%", ha="center", va="center", fontsize=7.5,
                      color="white" if dark else "#222222")  # fmt: skip
    axes.set_xticks(range(len(REPORTED)), [_SHORT[r] for r in REPORTED], fontsize=8)
    axes.set_yticks(range(len(ORDER)), [_SHORT[s.value] for s in ORDER], fontsize=8)
    axes.set_xlabel("reported")
    axes.set_ylabel("gold")
    return _foot(figure, told, "baseline arm, XML, pooled by checkpoint", "")


def arms(told: Mapping[str, Any]) -> Any:
    """Gold-injected and static value against the baseline, with each deployment's own gap as a cross."""
    theirs = published()["effects"]
    told_arms = list(dict.fromkeys(a for one in told["analysis"]["deployments"].values() for a in one["effects"]))
    rows = {
        name: ({a: one["effects"].get(a) for a in told_arms}, one["delta"])
        for name, one in told["analysis"]["deployments"].items()
    }
    span = {a: [row[theirs["columns"].index(a)] for row in theirs["rows"].values()] for a in told_arms
            if a in theirs["columns"]}  # fmt: skip
    return _effects(told, rows, {a: f"{a} - baseline" for a in told_arms}, span, theirs["at"])


def contrasts(told: Mapping[str, Any]) -> Any:
    """Contrasts of the five arms, with each deployment's own gap as a cross."""
    theirs = published()["five_arms"]
    rows = {name: (one["contrasts"], one["delta"]) for name, one in told["analysis"]["deployments"].items()}
    names = dict.fromkeys(next(iter(rows.values()))[0]) if rows else {}
    return _effects(told, rows, {k: k for k in names}, {"D - B": theirs["constant_reminder"]["range"]}, theirs["at"])


def crossed(told: Mapping[str, Any]) -> Any:
    """Main effects of the crossed factors on theta; blue excludes zero, the paper's range is shaded."""
    theirs = published()["crossed"]
    rows = {name: (one["effects"]["theta"], None) for name, one in told["analysis"]["deployments"].items()}
    names = {"ownership": "other - self", "tool": "withdrawn - available", "cue": "problem - resolved"}
    span = {name: theirs["rows"][name]["theta"] for name in names}
    return _effects(told, rows, names, span, theirs["at"])


# ---------------------------------------------------------------------- parts


def _effects(
    told: Mapping[str, Any],
    rows: Mapping[str, tuple[Mapping[str, Any], Any]],
    names: Mapping[str, str],
    theirs: Mapping[str, Sequence[float]],
    at: str,
) -> Any:
    """A panel for each effect, a line for each deployment: points with intervals; gaps as crosses where given."""
    from matplotlib.figure import Figure  # noqa: PLC0415 - an extra

    count = max(1, len(names))
    figure = Figure(figsize=(2.9 * count + 1.6, 0.32 * len(rows) + 1.9), layout="constrained")
    panels = figure.subplots(1, count, sharey=True, squeeze=False)[0]
    labels = list(rows)
    for axes, (key, title) in zip(panels, names.items(), strict=False):
        axes.spines[["top", "right"]].set_visible(False)
        axes.axvline(0, color="#222222", linewidth=0.8, zorder=1)
        if key in theirs:
            axes.axvspan(
                min(theirs[key]), max(theirs[key]), color=GREY, alpha=0.18, linewidth=0, label="published range"
            )
        for y, (effects, gap) in enumerate(rows.values()):
            one = effects.get(key)
            if one is not None and one["value"] is not None:
                _point(axes, one, y)
            if gap is not None and gap["value"] is not None:
                axes.plot([-100 * gap["value"]], [y], linestyle="none", marker="x", color="#d1495b", zorder=3,
                          label="own gap, terminal - intermediate" if y == 0 else None)  # fmt: skip
        axes.set_title(title, fontsize=9)
        axes.set_xlabel("points")
        axes.set_yticks(range(len(labels)), labels, fontsize=8)
    panels[0].set_ylim(len(labels) - 0.5, -0.5)
    _legend(panels[-1])
    return _foot(figure, told, "95% over scenarios; blue excludes zero", at)


def _point(axes: Any, one: Mapping[str, Any], y: int) -> None:
    value = 100 * one["value"]
    sure = one["low"] is not None and (one["low"] > 0 or one["high"] < 0)
    colour = OURS if sure else "#6f6f6f"
    if one["low"] is not None:
        axes.plot([100 * one["low"], 100 * one["high"]], [y, y], color=colour, linewidth=1.4, zorder=2)
    axes.plot([value], [y], marker="o", markersize=4.5, color=colour, zorder=3)


def _line(axes: Any, known: Sequence[tuple[int, Mapping[str, Any]]], colour: str, label: str) -> None:
    xs = [x for x, _ in known]
    ys = [100 * share["hits"] / share["of"] for _, share in known]
    axes.plot(xs, ys, marker="o", markersize=4, color=colour, label=label, zorder=3)
    spans = [(x, share["over_scenarios"]) for x, share in known if share["over_scenarios"]["low"] is not None]
    for x, one in spans:
        axes.plot([x, x], [100 * one["low"], 100 * one["high"]], color=colour, linewidth=1.2, alpha=0.7, zorder=2)


def _legend(axes: Any) -> None:
    if axes.get_legend_handles_labels()[0]:
        axes.legend(frameon=False, fontsize=8, loc="upper left", bbox_to_anchor=(1.01, 1.0))


def _foot(figure: Any, told: Mapping[str, Any], about: str, at: str) -> Any:
    scripted = f"SCRIPTED reporters, not models: {', '.join(told['scripted'])}; " if told["scripted"] else ""
    theirs = f"\ngrey: published in {published()['source']}, {at}; not ours" if at else ""
    figure.supxlabel(f"{scripted}study {told['study']}; {about}{theirs}", fontsize=7.5, color=GREY)
    return figure
