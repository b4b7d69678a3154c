"""All fixed texts of the suite, from `wording.yaml`, and how a task's words are put into them."""

from __future__ import annotations

import importlib.resources
from collections.abc import Mapping
from functools import cache
from typing import Any

import yaml

FILE = "wording.yaml"


def text_of() -> str:
    """Return the file as text."""
    return importlib.resources.files(__package__).joinpath(FILE).read_text(encoding="utf-8")


@cache
def wording() -> Mapping[str, Any]:
    """Return its content."""
    found: Mapping[str, Any] = yaml.safe_load(text_of())
    return found


def fill(template: str, words: Mapping[str, str]) -> str:
    """Return a template with its words; one pass, so that nothing a word holds is filled again.

    Raises:
        KeyError: the template asks for a word there is none of.
    """
    return template.format_map(words)
