"""What the figures of every suite share: colours, plain axes, and files that are the same for the same report.

Published figures are drawn grey, and their source is named in them. Needs matplotlib, of the `evals` extra.
"""

from __future__ import annotations

import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from tallystick.errors import InputError

OURS: Final = "#1b6ca8"
COLOURS: Final = ("#1b6ca8", "#d1495b", "#66a182", "#edae49", "#5f4b8b", "#8d6a9f")
GREY: Final = "#8a8a8a"


def save(figures: Mapping[str, Any], folder: Path) -> list[str]:
    """Write every figure as SVG and PNG, and return the file names."""
    folder.mkdir(parents=True, exist_ok=True)
    names = []
    for name, figure in figures.items():
        for kind in ("svg", "png"):
            (folder / f"{name}.{kind}").write_bytes(rendered(figure, kind))
            names.append(f"{name}.{kind}")
    return names


def rendered(figure: Any, kind: str) -> bytes:
    """Return a figure as the bytes of an SVG or PNG file; the same report gives the same SVG."""
    import matplotlib as mpl  # noqa: PLC0415 - an extra

    out = io.BytesIO()
    metadata = {"Date": None} if kind == "svg" else {}
    with mpl.rc_context({"svg.hashsalt": "tallystick", "svg.fonttype": "none"}):
        figure.savefig(out, format=kind, dpi=150, metadata=metadata, bbox_inches="tight")
    return out.getvalue()


def one_axes(width: float, height: float) -> tuple[Any, Any]:
    """Return a figure of so many inches and its only axes."""
    from matplotlib.figure import Figure  # noqa: PLC0415 - an extra

    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.subplots()
    plain(axes)
    return figure, axes


def plain(axes: Any) -> None:
    """Take away what does not tell anything."""
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="y", color="#e6e6e6", zorder=0)
    axes.set_axisbelow(True)


def percent(axes: Any, label: str) -> None:
    """Scale an axis of percentages."""
    axes.set_ylim(0, 103)
    axes.set_ylabel(f"{label}, %")


def need_matplotlib() -> None:
    """See that figures can be drawn.

    Raises:
        InputError: matplotlib is not installed.
    """
    try:
        import matplotlib as mpl  # noqa: F401, PLC0415 - asked for, not used
    except ImportError:
        raise InputError(
            "figures need matplotlib", fix="install the `evals` extra: `pip install 'tallystick[evals]'`"
        ) from None
