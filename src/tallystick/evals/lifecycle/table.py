"""One table: its texts, its evidence label, and how it is printed; and the words its cells are made of."""

from __future__ import annotations

import importlib.resources
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from typing import Any, Final

import msgspec
import yaml

from tallystick.evals.common.estimate import Estimate
from tallystick.evals.lifecycle.labels import Label
from tallystick.evals.lifecycle.measures import FAILURES


class Table(msgspec.Struct, frozen=True, kw_only=True):
    """One table.

    Attributes:
        key: a short name.
        title: what it shows.
        label: what it may be read as saying; every table has one.
        head, rows: texts, all rows as long as the head.
        note: denominators, definitions and limits.
        source: place in the paper of the published rows, "" where there are none.
    """

    key: str
    title: str
    label: Label
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    note: str = ""
    source: str = ""


CODES: Final = dict(
    zip((*FAILURES, "CLEAN"), ("omission", "divergence", "malformed", "wrong value", "clean"), strict=True)
)
"""Codes of due responses, as tables and figures call them."""


@cache
def published() -> Mapping[str, Any]:
    """Return the paper's figures, with their places."""
    text = importlib.resources.files(__package__).joinpath("published.yaml").read_text(encoding="utf-8")
    found: Mapping[str, Any] = yaml.safe_load(text)
    return found


def text(made: Iterable[Table]) -> str:
    """Return tables for a terminal or a text file."""
    return "\n".join(line for table in made for line in [*_lines(table), ""])


def markdown(made: Iterable[Table]) -> str:
    """Return tables as Markdown."""
    parts = []
    for table in made:
        rows = [table.head, tuple("---" for _ in table.head), *table.rows]
        lines = ["| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows]
        parts.append(
            "\n".join([f"### {table.title}", "", f"*{table.label}.* {_about(table)}".rstrip(), "", *lines, ""])
        )
    return "\n".join(parts)


def _lines(table: Table) -> Iterator[str]:
    yield f"{table.title}  [{table.label}]"
    rows = [table.head, *table.rows]
    widths = [max(len(row[n]) for row in rows) for n in range(len(table.head))]
    for row in rows:
        yield "  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
    if about := _about(table):
        yield f"  {about}"


def _about(table: Table) -> str:
    theirs = f"Published rows, not ours: {table.source}." if table.source else ""
    return " ".join(part for part in (table.note, theirs) if part)


def estimate(found: Mapping[str, Any] | None, scale: float = 100, digits: int = 1, *, sign: bool = False) -> str:
    """Return an estimate as text, "" where a table has no such cell."""
    return "" if found is None else msgspec.convert(found, Estimate).shown(scale, digits, sign=sign)


def share(found: Mapping[str, Any] | None) -> str:
    """Return a share with its interval over scenarios; `0 of 0` on an empty denominator."""
    if found is None:
        return ""
    return estimate(found["over_scenarios"]) if found["of"] else "0 of 0"


def p_value(found: Mapping[str, Any] | None) -> str:
    """Return a p as the paper prints them."""
    p = None if found is None else found["p"]
    return "" if p is None else f"{p:.3f}".lstrip("0") if p >= 0.001 else f"{p:.1e}"


def points(value: float | None) -> str:
    """Return points as the paper prints them, signed; "" for none."""
    return "" if value is None else f"{value:+.1f}" if value else "0.0"


def number(value: float | None) -> str:
    """Return a printed percentage; "" for none."""
    return "" if value is None else f"{value:.1f}"


def spread(values: Iterable[float]) -> str:
    """Return a range of points."""
    return " to ".join(f"{v:+.1f}" for v in values)


def theirs_of(name: str) -> str:
    """Return how a row of the paper's is called."""
    return f"published: {name}"
