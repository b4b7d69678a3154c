"""The framework survey is data: its counts come from the rows, and the page from the data."""

from __future__ import annotations

import importlib.util
from collections import Counter

from tallystick.evals.lifecycle.survey import FAMILIES, counted, page, survey


def test_the_counts_come_out_of_the_rows() -> None:
    """13 of 17 by a signal of the model, 3 by the runtime, 1 incomplete; all five runtimes read a structural signal."""
    found = survey()
    assert len({row.name for row in found.frameworks}) == len(found.frameworks) == 17
    assert counted(found.frameworks) == {"model-emitted": 13, "runtime-owned": 3, "evidence incomplete": 1}
    assert len(found.runtimes) == 5
    assert all("B2" in row.families and row.commit and row.at for row in found.runtimes)


def test_each_family_of_the_source_has_its_frameworks() -> None:
    """As the source's table 5 and its recorded criteria name them."""
    by = Counter(family for row in survey().frameworks for family in row.families)
    assert by == {"B1": 2, "B2": 6, "B3": 3, "B?": 2, "A1": 2, "A2": 2}
    assert set(by) | {"C"} == set(FAMILIES)
    assert {row.name for row in survey().frameworks if row.hybrid} == {"LangGraph", "Google ADK"}
    (incomplete,) = (row.name for row in survey().frameworks if row.verdict == "evidence incomplete")
    assert incomplete == "CrewAI"


def test_every_row_says_what_an_adapter_must_intercept_and_named_adapters_exist() -> None:
    """An adapter that a row names is there."""
    rows = (*survey().frameworks, *survey().runtimes)
    assert all(row.intercept and row.quote for row in rows)
    assert all(importlib.util.find_spec(row.adapter) for row in rows if row.adapter)
    assert all(row.name in page() for row in rows)
