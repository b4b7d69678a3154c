"""The paper's figures, from `published.yaml`: beside ours, never as ours."""

from __future__ import annotations

import importlib.resources
from collections.abc import Mapping
from decimal import Decimal
from functools import cache
from typing import Any

import yaml


class _Exact(yaml.SafeLoader):
    """Reads printed numbers as they are printed: 17.70 stays 17.70, and no amount is a float."""


def _number(loader: _Exact, node: yaml.ScalarNode) -> Decimal:
    return Decimal(loader.construct_scalar(node))


_Exact.add_constructor("tag:yaml.org,2002:float", _number)


@cache
def published() -> Mapping[str, Any]:
    """Return the paper's figures, with their places."""
    text = importlib.resources.files(__package__).joinpath("published.yaml").read_text(encoding="utf-8")
    found: Mapping[str, Any] = yaml.load(text, Loader=_Exact)  # noqa: S506 - a safe loader, with exact numbers
    return found
