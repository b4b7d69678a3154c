"""The leak audit: whether an executor saw anything but the artifact and the action labels.

Each message is taken apart again: what is left without the artifact must be the route's fixed words with the labels,
byte for byte, and hold no field of the canonical record, no coordination material and nothing of the reviewer's.
Source: constraint weakening, appendices A.2 and G (its audit has 896 records).
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

import msgspec

from tallystick.evals.handoff.episode import Episode
from tallystick.evals.handoff.items import finding
from tallystick.evals.handoff.roles import labels
from tallystick.evals.handoff.task import task
from tallystick.evals.handoff.wording import wording

FIELDS: Final = (
    "goal", "boundary", "do", "need", "who", "use", "plan", "due", "prior", "said", "finding", "order of words",
    "labels",
)  # fmt: skip
"""What is audited in each view."""


class Audit(msgspec.Struct, frozen=True, kw_only=True):
    """What the audit found.

    Attributes:
        records: executor views audited; fields: checks made of each.
        leaks: where something was seen that must not be.
    """

    records: int
    fields: int
    leaks: tuple[str, ...]


def audit(episodes: Iterable[Episode]) -> Audit:
    """Audit the executor's view of every episode."""
    leaks: list[str] = []
    records = 0
    for episode in episodes:
        records += 1
        where = f"{episode.study}/{episode.condition}/{episode.source}/{episode.route}"
        leaks += [f"{where}: {what}" for what in seen(episode)]
    return Audit(records=records, fields=len(FIELDS), leaks=tuple(leaks))


def seen(episode: Episode) -> list[str]:
    """Return what the executor saw of an episode besides its artifact and the labels."""
    before, after = wording()["ask"][episode.route].split("{artifact}")
    after = after.replace("{actions}", ", ".join(labels(task(episode.task))))
    found = []
    if episode.sight != before + episode.received + after:
        found.append("order of words")
    # The rest of the message, whatever it is: what stands where the artifact is not.
    rest = episode.sight.replace(episode.received, "", 1).lower()
    about = task(episode.task)
    texts = {**{n: getattr(about, n) for n in FIELDS[:10]}, "finding": finding(about)}
    found += [name for name, text in texts.items() if text.lower() in rest]
    if any(rest.count(label) != 1 for label in (*about.removed, *about.admissible)):
        found.append("labels")
    return found
