"""Figures of a closed-loop report, as SVG and PNG. Published figures are drawn hollow and grey.

Needs matplotlib, which comes with the `evals` extra. Figures are drawn from the report alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from tallystick.evals.evidence.figures import COLOURS, GREY, rendered
from tallystick.evals.termination.closed.policies import ORDER
from tallystick.evals.termination.closed.tables import label, who

_OUTCOMES: Final = (
    ("U", "unsupported end (U), incomplete", COLOURS[1]),
    ("S", "supported end (S), both", COLOURS[0]),
    ("FC", "false continuation (FC), complete", COLOURS[3]),
    ("R", "recovery (R), incomplete", COLOURS[2]),
)


def draw(told: Mapping[str, Any]) -> dict[str, Any]:
    """Return name → matplotlib figure for a report of `run`.

    Raises:
        InputError: matplotlib is not installed.
    """
    return {"outcomes": outcomes(told), "turns": effort(told)}


def save(told: Mapping[str, Any], folder: Path) -> list[str]:
    """Write every figure of a report as SVG and PNG, and return the file names."""
    folder.mkdir(parents=True, exist_ok=True)
    names = []
    for name, figure in draw(told).items():
        for kind in ("svg", "png"):
            (folder / f"{name}.{kind}").write_bytes(rendered(figure, kind))
            names.append(f"{name}.{kind}")
    return names


def outcomes(told: Mapping[str, Any]) -> Any:
    """U, S, FC and R of each policy as shares, the published shares beside."""
    figure, axes = _axes()
    of = told["published"]["of"]
    for n, (name, words, colour) in enumerate(_OUTCOMES):
        shift = (n - 1.5) * 0.2
        for place, policy in enumerate(ORDER):
            mine = told["policies"][policy]
            if mine is not None and mine[f"{name}_of"]:
                axes.bar(place + shift, 100 * mine[name] / mine[f"{name}_of"], 0.18, color=colour, zorder=2,
                         label=words if place == 0 else None)  # fmt: skip
            share = 100 * told["published"]["policies"][policy][name] / of[name]
            axes.plot([place + shift], [share], linestyle="none", marker="D", markersize=6, markerfacecolor="none",
                      markeredgecolor=GREY, zorder=3,
                      label="published" if place == 0 and n == 0 else None)  # fmt: skip
    axes.set_ylim(0, 103)
    axes.set_ylabel("trajectories, %")
    _finish(figure, axes, told)
    return figure


def effort(told: Mapping[str, Any]) -> Any:
    """Turns and calls after the checkpoint, means of each policy, the published means beside."""
    figure, axes = _axes()
    for n, (name, colour) in enumerate((("turns", COLOURS[0]), ("calls", COLOURS[3]))):
        shift = (n - 0.5) * 0.36
        for place, policy in enumerate(ORDER):
            mine = told["policies"][policy]
            if mine is not None:
                axes.bar(place + shift, mine[name], 0.32, color=colour, zorder=2, label=name if place == 0 else None)
            axes.plot([place + shift], [told["published"]["policies"][policy][name]], linestyle="none", marker="D",
                      markersize=6, markerfacecolor="none", markeredgecolor=GREY, zorder=3,
                      label="published" if place == 0 and n == 0 else None)  # fmt: skip
    axes.set_ylabel("mean per trajectory")
    _finish(figure, axes, told)
    return figure


def _axes() -> tuple[Any, Any]:
    from tallystick.errors import InputError  # noqa: PLC0415 - only where the extra is missing

    try:
        from matplotlib.figure import Figure  # noqa: PLC0415 - an extra
    except ImportError:
        raise InputError(
            "figures need matplotlib", fix="install the `evals` extra: `pip install 'tallystick[evals]'`"
        ) from None
    figure = Figure(figsize=(8.5, 4.2), layout="constrained")
    axes = figure.subplots()
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color="#e6e6e6", zorder=0)
    axes.set_axisbelow(True)
    return figure, axes


def _finish(figure: Any, axes: Any, told: Mapping[str, Any]) -> None:
    axes.set_xticks(range(len(ORDER)), [label(told, policy).replace(" (", "\n(") for policy in ORDER])
    axes.legend(frameon=False, fontsize=8, loc="upper left", bbox_to_anchor=(1.01, 1.0))
    grey = f"grey: published in {told['published']['source']}, other tasks and another agent; not ours"
    figure.supxlabel(f"{who(told)}; {told['trajectories']} trajectories\n{grey}", fontsize=8, color=GREY)
