"""Figures of a report, as SVG and PNG. Published figures are drawn hollow and grey, and their source is named in them.

Needs matplotlib, which comes with the `evals` extra. Figures are drawn from the report alone, so an old report can be
drawn again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from tallystick.evals.common import drawing
from tallystick.evals.common.drawing import COLOURS, GREY, OURS, need_matplotlib, one_axes, percent, plain, rendered
from tallystick.evals.evidence.case import PROTOCOLS

__all__ = ["COLOURS", "GREY", "OURS", "draw", "inline", "rendered", "save"]
_RANGE: Final = {"color": GREY, "linewidth": 6, "alpha": 0.5, "solid_capstyle": "butt"}
_SPLITS: Final = (
    ("stopping and acting too soon", ("BSR", "PAR", "early", "none")),
    ("workflows", ("Gap", "Part", "dropped_result")),
    ("calls", ("wrong_argument", "wrong_target")),
)
_NAMES: Final = {
    "BSR": "stopped early (BSR)", "PAR": "acted early (PAR)", "early": "first action early", "none": "no action",
    "Gap": "unresolved\nprerequisite (Gap)", "Part": "part of the\nworkflow (Part)",
    "dropped_result": "result dropped", "wrong_argument": "wrong argument", "wrong_target": "wrong target",
}  # fmt: skip


def draw(told: Mapping[str, Any]) -> dict[str, Any]:
    """Return name → matplotlib figure for a report of `run` or of `study`.

    Raises:
        InputError: matplotlib is not installed.
    """
    need_matplotlib()
    if "arms" not in told:
        found = {"ecs": ecs(told), "splits": splits(told)}
        if any(told["readiness"].values()):
            found["readiness"] = readiness(told)
        return found
    found = {}
    arms = told["arms"]
    acting = [a for a in arms if not a.startswith(("pairs", "triples"))]
    if acting:
        found["interventions"] = interventions(told, acting)
    static = [a for a in ("pairs", "pairs-interactive", "triples-static", "triples") if a in arms]
    if static:
        found["static-interactive"] = static_interactive(told, static)
    return found


def save(told: Mapping[str, Any], folder: Path) -> list[str]:
    """Write every figure of a report as SVG and PNG, and return the file names."""
    return drawing.save(draw(told), folder)


# ---------------------------------------------------------------------- one report


def ecs(told: Mapping[str, Any]) -> Any:
    """Exact case success by protocol with 95% Wilson intervals, the published configurations beside."""
    figure, axes = one_axes(7.5, 4.2)
    places = {p: i for i, p in enumerate(PROTOCOLS)}
    have = [p for p in PROTOCOLS if p in told["protocols"]]
    _bars(axes, [places[p] - 0.18 for p in have], [told["protocols"][p]["ECS"] for p in have], 0.34, OURS,
          f"{told['agent']} (95% Wilson)")  # fmt: skip
    published = told["published"]
    markers = iter("osD^")
    for name, row in published["configurations"].items():
        points = [(places[p] + 0.22, 100 * row[p]) for p in PROTOCOLS if row.get(p) is not None]
        if points:
            axes.plot(*zip(*points, strict=True), linestyle="none", marker=next(markers), markersize=7,
                      markerfacecolor="none", markeredgecolor=GREY, label=f"published: {name}")  # fmt: skip
    low, high = published["main"]["ECS"]["range"]
    axes.axhspan(100 * low, 100 * high, color=GREY, alpha=0.12, linewidth=0,
                 label="published: overall ECS of ten configurations")  # fmt: skip
    axes.set_xticks(range(len(PROTOCOLS)), PROTOCOLS)
    axes.set_xlim(-0.6, len(PROTOCOLS) - 0.4)
    percent(axes, "exact case success")
    _legend(axes)
    _foot(figure, told, published)
    return figure


def splits(told: Mapping[str, Any]) -> Any:
    """How episodes went wrong, by protocol: early stops and actions, gaps, parts, wrong calls."""
    from matplotlib.figure import Figure  # noqa: PLC0415 - an extra

    figure = Figure(figsize=(11, 4), layout="constrained")
    widths = [len(names) + 0.6 for _, names in _SPLITS]
    panels = figure.subplots(1, len(_SPLITS), sharey=True, width_ratios=widths)
    protocols = [p for p in PROTOCOLS if p != "Legacy" and p in told["protocols"]]
    for axes, (title, names) in zip(panels, _SPLITS, strict=True):
        plain(axes)
        for n, protocol in enumerate(protocols):
            has = [(i, told["protocols"][protocol][name]) for i, name in enumerate(names)
                   if name in told["protocols"][protocol]]  # fmt: skip
            width = 0.8 / max(1, len(protocols))
            shift = (n - (len(protocols) - 1) / 2) * width
            _bars(axes, [i + shift for i, _ in has], [s for _, s in has], width * 0.9, COLOURS[n], protocol)
        axes.set_xticks(range(len(names)), [_NAMES[n].replace(" (", "\n(") for n in names], fontsize=8)
        axes.set_title(title, fontsize=10)
    percent(panels[0], "episodes")
    handles, labels = panels[0].get_legend_handles_labels()
    panels[-1].legend(handles, labels, frameon=False, fontsize=8, title="protocol", title_fontsize=8)
    figure.supxlabel(f"{_who(told)}; diagnostics overlap by design; 95% Wilson intervals", fontsize=8, color=GREY)
    return figure


def readiness(told: Mapping[str, Any]) -> Any:
    """Share of episodes with all required evidence resolved after k information calls."""
    figure, axes = one_axes(7.5, 4)
    for n, (protocol, curve) in enumerate(told["readiness"].items()):
        axes.step(range(len(curve)), [100 * v for v in curve], where="post", color=COLOURS[n], label=protocol)
    axes.set_xlabel("information calls")
    axes.set_xlim(0, None)
    percent(axes, "episodes with all evidence resolved")
    _legend(axes)
    figure.supxlabel(f"{_who(told)}; completed trajectories, not the effect of a budget", fontsize=8, color=GREY)
    return figure


# ---------------------------------------------------------------------- derived sets


def interventions(told: Mapping[str, Any], arms: Sequence[str]) -> Any:
    """Share of episodes with an action, by arm; the published change against the original beside."""
    figure, axes = one_axes(10.5, 4.2)
    shares = [_only(told["arms"][a])["acted"] for a in arms]
    _bars(axes, list(range(len(arms))), shares, 0.55, OURS, f"{told['agent']} (95% Wilson)")
    if "original" in arms and shares[arms.index("original")]["share"] is not None:
        start = 100 * shares[arms.index("original")]["share"]
        published = next(iter(told["arms"].values()))["published"]["interventions"]
        for arm, key in (("withheld", "withheld_points"), ("contradicted", "contradicted_points")):
            if arm in arms and start + max(published[key]["range"]) > 0:
                low, high = (max(0.0, start + p) for p in published[key]["range"])
                axes.plot([arms.index(arm) + 0.36] * 2, [low, high], **_RANGE,
                          label="published change, put at our original" if arm == "withheld" else None)  # fmt: skip
    axes.set_xticks(range(len(arms)), [a.replace("-", "\n") for a in arms], fontsize=8)
    percent(axes, "episodes with an action that took effect")
    _legend(axes)
    first = next(iter(told["arms"].values()))
    _foot(figure, {**told, "scored": sum(told["arms"][a]["scored"] for a in arms)}, first["published"])
    return figure


def static_interactive(told: Mapping[str, Any], arms: Sequence[str]) -> Any:
    """The same cases judged from supplied evidence and worked interactively."""
    figure, axes = one_axes(7, 4.2)
    shares = [_total(told["arms"][a]) for a in arms]
    _bars(axes, list(range(len(arms))), shares, 0.5, OURS, f"{told['agent']} (95% Wilson)")
    first = next(iter(told["arms"].values()))
    published = first["published"]["static_interactive"]
    for arm, key in (("pairs", "static"), ("pairs-interactive", "interactive")):
        if arm in arms:
            low, high = published[key]["range"]
            axes.plot([arms.index(arm) + 0.34] * 2, [100 * low, 100 * high], **_RANGE,
                      label="published, on its own 100 cases" if arm == arms[0] else None)  # fmt: skip
    names = {
        "pairs": "100 V1 cases,\nstatic", "pairs-interactive": "the same,\ninteractive",
        "triples-static": "99 triples,\nstatic", "triples": "the same,\ninteractive",
    }  # fmt: skip
    axes.set_xticks(range(len(arms)), [names[a] for a in arms])
    percent(axes, "right")
    _legend(axes)
    _foot(figure, {**told, "scored": sum(told["arms"][a]["scored"] for a in arms)}, first["published"])
    return figure


# ---------------------------------------------------------------------- parts


def _only(report: Mapping[str, Any]) -> Mapping[str, Any]:
    """The one protocol of an arm's report."""
    found: Mapping[str, Any] = next(iter(report["protocols"].values()))
    return found


def _total(report: Mapping[str, Any]) -> Mapping[str, Any]:
    found: Mapping[str, Any] = _only(report)["ECS"]
    return found


def _bars(
    axes: Any, at: Sequence[float], shares: Iterable[Mapping[str, Any]], width: float, colour: str, label: str
) -> None:
    known = [(x, s) for x, s in zip(at, shares, strict=True) if s["share"] is not None]
    if not known:
        return
    xs = [x for x, _ in known]
    heights = [100 * s["share"] for _, s in known]
    low = [h - 100 * s["wilson"][0] for h, (_, s) in zip(heights, known, strict=True)]
    high = [100 * s["wilson"][1] - h for h, (_, s) in zip(heights, known, strict=True)]
    axes.bar(xs, heights, width, color=colour, label=label, zorder=2)
    axes.errorbar(xs, heights, yerr=[[max(0.0, v) for v in low], [max(0.0, v) for v in high]], fmt="none",
                  ecolor="#222222", elinewidth=1, capsize=2.5, zorder=3)  # fmt: skip


def _legend(axes: Any) -> None:
    axes.legend(frameon=False, fontsize=8, loc="upper left", bbox_to_anchor=(1.01, 1.0))


def _who(told: Mapping[str, Any]) -> str:
    kind = "scripted agent " if told["scripted"] else ""
    gate = ", behind the act gate" if told["gated"] else ""
    return f"{kind}{told['agent']}{gate}; {told['scored']} episodes"


def _foot(figure: Any, told: Mapping[str, Any], published: Mapping[str, Any]) -> None:
    text = f"{_who(told)}\ngrey: published in {published['source']}, other cases and other models; not ours"
    figure.supxlabel(text, fontsize=8, color=GREY)


def inline(told: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield (name, SVG element) of every figure, for a page that holds them itself."""
    for name, figure in draw(told).items():
        text = rendered(figure, "svg").decode("utf-8")
        yield name, text[text.index("<svg") :]
