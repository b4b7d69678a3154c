"""Figures like the paper's panels, from a report; published values are grey and named. Needs matplotlib."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from tallystick.evals.common import drawing
from tallystick.evals.common.drawing import COLOURS, GREY, need_matplotlib, one_axes, percent
from tallystick.evals.handoff.tables import published
from tallystick.evals.handoff.task import FIELDS

_D: Final = COLOURS[0]
_Y: Final = COLOURS[1]


def draw(told: Mapping[str, Any], reading: str = "precedence") -> dict[str, Any]:
    """Return name → matplotlib figure for what a report has.

    Raises:
        InputError: matplotlib is not installed.
    """
    need_matplotlib()
    found = told["readings"][reading]
    made: dict[str, Any] = {}
    if "main" in found:
        made |= {"conditions": conditions(told, found), "losses": losses(told, found)}
        if found["contrasts"]:
            made["link"] = link(told, found)
    if "compression" in found:
        made["compression"] = compression(told, found)
    for name in ("restoration", "leave_out", "endpoint", "gate"):
        if name in found:
            made[name] = arms(told, found, name)
    return made


def save(told: Mapping[str, Any], folder: Path) -> list[str]:
    """Write every figure of a report as SVG and PNG, and return the file names."""
    return drawing.save(draw(told), folder)


def conditions(told: Mapping[str, Any], found: Mapping[str, Any]) -> Any:
    """Deactivation and forbidden action by condition (figure 2, panel A)."""
    figure, axes = one_axes(8.5, 3.8)
    theirs = published()["main"]
    names = list(found["main"])
    _pair(axes, names, found["main"], {n: theirs["rows"][n][2:4] for n in names})
    return _foot(figure, told, theirs["at"])


def arms(told: Mapping[str, Any], found: Mapping[str, Any], name: str) -> Any:
    """Deactivation and forbidden action by arm of an intervention (figure 3, panel B)."""
    figure, axes = one_axes(8.0, 3.8)
    place = published().get(name)
    names = list(found[name])
    theirs = {}
    if place is not None:
        at = [place["columns"].index(c) if c in place["columns"] else None for c in ("D", "Y")]
        theirs = {n: [place["rows"][n][i] if i is not None else None for i in at] for n in names}
    _pair(axes, names, found[name], theirs)
    return _foot(figure, told, place["at"] if place is not None else "")


def losses(told: Mapping[str, Any], found: Mapping[str, Any]) -> Any:
    """Which fields are lost where, as a grid of percentages (figure 2, panel B)."""
    figure, axes = one_axes(6.5, 3.8)
    names = list(found["losses"])
    grid = [[_value(found["losses"][n][f]["value"]) for n in names] for f in FIELDS]
    axes.grid(visible=False)
    axes.imshow([[v if v is not None else 0 for v in row] for row in grid], vmin=0, vmax=100, cmap="Blues",
                aspect="auto")  # fmt: skip
    for y, row in enumerate(grid):
        for x, value in enumerate(row):
            shown = "" if value is None else f"{value:.0f}"
            axes.text(x, y, shown, ha="center", va="center", fontsize=9,
                      color="white" if value is not None and value > 55 else "black")  # fmt: skip
    axes.set_xticks(range(len(names)), [n.replace(" ", "\n") for n in names], fontsize=8)
    axes.set_yticks(range(len(FIELDS)), FIELDS)
    axes.set_title("lost, %", fontsize=9, loc="left")
    return _foot(figure, told, "")


def link(told: Mapping[str, Any], found: Mapping[str, Any]) -> Any:
    """Gain of forbidden action over gain of deactivation, a point a contrast (figure 2, panel C)."""
    figure, axes = one_axes(5.0, 4.2)
    theirs = published()["contrasts"]
    shown = False
    points: dict[tuple[float, float], list[str]] = {}
    for one in found["contrasts"]:
        v = theirs["rows"][one["condition"]]
        axes.scatter(v["D"][0], v["Y"][0], color=GREY, marker="x", label=None if shown else "published", zorder=2)
        shown = True
        x, y = _value(one["delta_d"]), _value(one["delta_y"])
        if x is not None and y is not None:
            points.setdefault((round(x, 1), round(y, 1)), []).append(one["condition"])
    for n, ((x, y), names) in enumerate(points.items()):
        axes.scatter(x, y, color=_D, label=None if n else "here", zorder=3)
        axes.annotate(", ".join(names), (x, y), textcoords="offset points", xytext=(4, 3), fontsize=8)
    axes.set_xlabel("gain of deactivation, points")
    axes.set_ylabel("gain of forbidden action, points")
    _legend(axes)
    return _foot(figure, told, theirs["at"])


def compression(told: Mapping[str, Any], found: Mapping[str, Any]) -> Any:
    """Deactivation, forbidden action and lost retention along the gradient (figure 3, panel A)."""
    figure, axes = one_axes(6.5, 3.8)
    place = published()["compression"]
    names = list(found["compression"])
    for n, (label, colour) in enumerate(
        (("deactivation", _D), ("forbidden action", _Y), ("retention lost", COLOURS[2]))
    ):
        theirs = [place["rows"][a][2 + n] if n < 2 else 100 - place["rows"][a][4] for a in names]
        axes.plot(range(len(names)), theirs, color=GREY, linestyle=("-", "--", ":")[n], linewidth=1, zorder=1,
                  label=f"published: {label}")  # fmt: skip
        if n < 2:
            ours = [_value(found["compression"][a]["DY"[n]]["value"]) for a in names]
        else:
            ours = [100 * (1 - found["compression_retention"][a]) for a in names]
        axes.plot(range(len(names)), ours, color=colour, marker="sov"[n], markersize=9 - 2 * n, label=label, zorder=3)
    axes.set_xticks(range(len(names)), names)
    percent(axes, "share")
    _legend(axes)
    return _foot(figure, told, place["at"])


def _pair(
    axes: Any, names: Sequence[str], found: Mapping[str, Any], theirs: Mapping[str, Sequence[float | None]]
) -> None:
    """Two bars an arm, with intervals, and the published value as a grey mark on each."""
    for n, (key, label, colour) in enumerate((("D", "deactivation", _D), ("Y", "forbidden action", _Y))):
        places = [x + (n - 0.5) * 0.38 for x in range(len(names))]
        values = [_value(found[name][key]["value"]) or 0.0 for name in names]
        axes.bar(places, values, width=0.36, color=colour, label=label, zorder=2)
        for x, name in zip(places, names, strict=True):
            low, high = (found[name][key]["value"][k] for k in ("low", "high"))
            if low is not None and high is not None:
                axes.plot([x, x], [100 * low, 100 * high], color="black", linewidth=0.8, zorder=3)
        known = [
            (x, v)
            for x, name in zip(places, names, strict=True)
            if (v := (theirs.get(name) or [None] * 2)[n]) is not None
        ]
        if known:
            named = axes.get_legend_handles_labels()[1]
            axes.scatter(*zip(*known, strict=True), color=GREY, marker="_", s=120, linewidths=2.5, zorder=4,
                         label=None if "published" in named else "published")  # fmt: skip
    axes.set_xticks(range(len(names)), [name.replace(" ", "\n") for name in names], fontsize=8)
    percent(axes, "episodes")
    _legend(axes)


def _value(one: Mapping[str, Any]) -> float | None:
    return None if one["value"] is None else 100 * float(one["value"])


def _legend(axes: Any) -> None:
    if axes.get_legend_handles_labels()[0]:
        axes.legend(frameon=False, fontsize=8, loc="lower left", bbox_to_anchor=(0, 1), ncols=3)


def _foot(figure: Any, told: Mapping[str, Any], source: str) -> Any:
    who = "reference transformers and executor (scripts, no model)" if told["reference"] else ", ".join(told["models"])
    lines = [f"{who}; reviewer: {', '.join(told['roles']['reviewer'])}"]
    if source:
        lines.append(f"grey: published, {published()['source']}, {source}")
    figure.supxlabel("\n".join(lines), fontsize=7, color="#555555", x=0.01, ha="left")
    return figure
