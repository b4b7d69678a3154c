"""The reference page names every field, type, requirement kind and function there is."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tallystick.contracts.expr.functions import FUNCTIONS, METHODS
from tallystick.contracts.expr.parser import MACROS
from tallystick.contracts.shapes import Choice, Fields, Listing, Named
from tallystick.contracts.structure import CONTRACT, TASK_FILE
from tallystick.contracts.typetext import NAMES

PAGE = (Path(__file__).parents[2] / "docs/reference/contract.md").read_text(encoding="utf-8")
PROSE = re.sub(r"^```.*?^```", "", PAGE, flags=re.MULTILINE | re.DOTALL)
WORDS = set(re.findall(r"[A-Za-z_][A-Za-z0-9_]*", " ".join(re.findall(r"`([^`]+)`", PROSE))))


def fields(shape: Any) -> Iterator[str]:
    match shape:
        case Fields():
            yield from shape.known
            for inner in (*shape.known.values(), shape.rest):
                yield from fields(inner)
        case Choice():
            for inner in (shape.text, shape.listing, shape.mapping):
                yield from fields(inner)
        case Listing():
            yield from fields(shape.item)
        case Named():
            yield from fields(shape.shape)


def test_every_field_of_both_files_is_on_the_page() -> None:
    known = {*fields(CONTRACT), *fields(TASK_FILE)}
    assert len(known) > 60
    assert known - WORDS == set()


def test_every_type_and_function_is_on_the_page() -> None:
    assert set(NAMES) - WORDS == set()
    assert {*FUNCTIONS, *METHODS, *MACROS, "has"} - WORDS == set()
