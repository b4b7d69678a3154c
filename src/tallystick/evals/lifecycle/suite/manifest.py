"""The frozen suite: a manifest of SHA-256 digests per study, and counts taken from the rendered items themselves."""

from __future__ import annotations

import importlib.resources
from collections.abc import Iterable
from pathlib import Path
from typing import Any, Final

import msgspec

from tallystick.evals.lifecycle.suite import protocol, scenario
from tallystick.evals.lifecycle.suite.item import Item
from tallystick.evals.lifecycle.suite.scenario import LANGUAGES, Language
from tallystick.evals.lifecycle.suite.studies import STUDIES, items, study_name
from tallystick.model.canonical import digest

FOLDER: Final = "manifests"
DATA: Final = "data.json"
WORDING: Final = "wording.yaml"


def digests(found: Iterable[Item]) -> dict[str, list[str]]:
    """Return item id → [SHA-256 of the stimulus, SHA-256 of the answer key]."""
    return {i.id: [i.digest, i.key_digest] for i in found}


def stored(study: str, language: Language = "zh") -> dict[str, list[str]]:
    """Return the manifest of a study that is in the package."""
    place = importlib.resources.files(__package__) / FOLDER / f"{study_name(study, language)}.json"
    found: dict[str, list[str]] = msgspec.json.decode(place.read_bytes())["items"]
    return found


def kept(study: str, language: Language = "zh") -> bool:
    """Return whether every item of a study, rendered again, has its digests, and none is more or less."""
    return digests(items(study, language)) == stored(study, language)


def data_digests() -> dict[str, str]:
    """Return file → SHA-256 of the suite's data files: what is in no stimulus, such as proxy tokens, is frozen too."""
    texts = {f"scenarios/{domain}.yaml": scenario.text_of(domain) for domain in scenario.DOMAINS}
    texts[WORDING] = protocol.text_of()
    return {name: digest(text.encode("utf-8")) for name, text in texts.items()}


def data_kept() -> bool:
    """Return whether the data files are the frozen ones."""
    place = importlib.resources.files(__package__) / FOLDER / DATA
    found: dict[str, str] = msgspec.json.decode(place.read_bytes())
    return data_digests() == found


def listing(language: Language = "zh") -> dict[str, Any]:
    """Return how many distinct stimuli each study has, and whether all manifests, of both languages, are kept.

    Returns:
        `{"studies": {name: count}, "manifest_ok": bool}`; a stimulus that two items share is counted once.
    """
    return {
        "studies": {study_name(s, language): len({i.digest for i in items(s, language)}) for s in STUDIES},
        "manifest_ok": data_kept() and all(kept(s, tongue) for s in STUDIES for tongue in LANGUAGES),
    }


def freeze(folder: Path) -> None:
    """Write every manifest to a folder: what a maintainer does when the suite is meant to change."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / DATA).write_bytes(msgspec.json.format(msgspec.json.encode(data_digests()), indent=0) + b"\n")
    for study in STUDIES:
        for language in LANGUAGES:
            name = study_name(study, language)
            told = {"study": name, "language": language, "items": digests(items(study, language))}
            (folder / f"{name}.json").write_bytes(msgspec.json.format(msgspec.json.encode(told), indent=0) + b"\n")
