"""The 180 items, made from `tasks.yaml` and `texts.yaml`, and the digest that freezes them."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import resources
from typing import Any

import yaml

_SLOT = re.compile(r"<([A-Za-z0-9]+)>")
_FIELDS = ("r_s", "r_q", "r_o", "r_f", "preserves_as_blocker", "caveat_or_later_check_or_omission")


@dataclass(frozen=True, slots=True, kw_only=True)
class Item:
    """One known-answer artifact: its `labels` are the six coded fields, true by construction of the text."""

    id: str
    half: str
    condition: str
    language: str
    trajectory: str
    task: dict[str, Any]
    artifact: str
    labels: dict[str, int]


def _package_text(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text(encoding="utf-8")


def items() -> tuple[Item, ...]:
    """Return the 180 items in a fixed order: by task, then by condition."""
    return tuple(_items(yaml.safe_load(_package_text("tasks.yaml")), yaml.safe_load(_package_text("texts.yaml"))))


def _items(tasks: list[dict[str, Any]], texts: dict[str, Any]) -> Iterator[Item]:
    for n, entry in enumerate(tasks):
        other = next(language for language in entry["slots"] if language != "en")
        shown = {k: v for k, v in entry.items() if k not in {"half", "slots"}}
        for c, (condition, text) in enumerate(texts.items()):
            wordings = text[entry["half"]]
            language = "en" if "en" in wordings else other
            wording = wordings[language]
            yield Item(
                id=f"{entry['id']}-{condition}",
                half=entry["half"],
                condition=condition,
                language=language,
                trajectory="dynamic" if (n // 2 + c) % 3 == 0 else "static",
                task=shown,
                artifact=_filled(wording[(n // 2) % len(wording)], entry["slots"][language]),
                labels=dict(zip(_FIELDS, text["labels"], strict=True)),
            )


def _filled(wording: str, slots: dict[str, str]) -> str:
    def word(match: re.Match[str]) -> str:
        name = match[1]
        value = slots[name.lower()]
        return value[:1].upper() + value[1:] if name[0].isupper() else value

    return _SLOT.sub(word, wording)


def frozen() -> str:
    """Return the set as JSON lines, the bytes `manifest.json` holds the SHA-256 of."""
    return "".join(
        json.dumps({f: getattr(i, f) for f in Item.__slots__}, ensure_ascii=False, sort_keys=True) + "\n"
        for i in items()
    )


def digest() -> str:
    """Return the SHA-256 of `frozen()`, in hexadecimal."""
    return hashlib.sha256(frozen().encode("utf-8")).hexdigest()
