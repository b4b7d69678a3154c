"""The panels: which items, arms, routes and controls make up each, and the episodes a cast plays over them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final

from tallystick.evals.handoff import items
from tallystick.evals.handoff.controls import ACT_GATE, CONTROLS
from tallystick.evals.handoff.episode import Cast, Episode, Study
from tallystick.evals.handoff.items import Item
from tallystick.evals.handoff.restore import LEAVE_OUT, RESTORE, restored
from tallystick.evals.handoff.roles import ROUTES
from tallystick.evals.handoff.task import FIELDS

STUDIES: Final[tuple[Study, ...]] = (
    "main", "compression", "restoration", "leave_out", "endpoint", "gate", "paraphrase", "transport",
)  # fmt: skip
GATE: Final = ("nothing", "handoff gate", ACT_GATE, "both")
"""Tallystick's own two layers over the fixed artifacts; *ours*."""


def _main(cast: Cast, wanted: Iterable[Item], study: Study = "main") -> Iterator[Episode]:
    for item in wanted:
        yield cast.play(item, cast.artifact(item), study=study)


def _restoration(cast: Cast, wanted: Iterable[Item]) -> Iterator[Episode]:
    for item in wanted:
        text = cast.artifact(item).decode("utf-8")
        for arm, fields in RESTORE.items():
            given = restored(text, item.task, fields).encode("utf-8")
            yield cast.play(item, given, study="restoration", condition=arm)


def _leave_out(cast: Cast, wanted: Iterable[Item]) -> Iterator[Episode]:
    for item in wanted:
        text = cast.artifact(item).decode("utf-8")
        for arm, fields in LEAVE_OUT.items():
            given = restored(text, item.task, fields).encode("utf-8")
            for route in ROUTES:
                yield cast.play(item, given, study="leave_out", condition=arm, route=route)


def _endpoint(cast: Cast, wanted: Iterable[Item]) -> Iterator[Episode]:
    for item in wanted:
        given = cast.artifact(item)
        for control in CONTROLS:
            for route in ROUTES:
                yield cast.play(item, given, study="endpoint", condition=control, route=route, control=control)


def _gate(cast: Cast, wanted: Iterable[Item]) -> Iterator[Episode]:
    for item in wanted:
        lost = cast.artifact(item)
        kept = restored(lost.decode("utf-8"), item.task, FIELDS).encode("utf-8")
        for arm, given, control in zip(
            GATE, (lost, kept, lost, kept), ("plain", "plain", ACT_GATE, ACT_GATE), strict=True
        ):
            yield cast.play(item, given, study="gate", condition=arm, control=control)


def _transport(cast: Cast, wanted: Iterable[Item]) -> Iterator[Episode]:
    return _main(cast, wanted, "transport")


_Items = Callable[[], tuple[Item, ...]]
_Play = Callable[[Cast, Iterable[Item]], Iterator[Episode]]
_PLAY: Final[Mapping[Study, tuple[_Items, _Play]]] = {
    "main": (items.main, _main),
    "compression": (items.compression, lambda cast, found: _main(cast, found, "compression")),
    "restoration": (items.bases, _restoration),
    "leave_out": (items.bases, _leave_out),
    "endpoint": (items.bases, _endpoint),
    "paraphrase": (items.paraphrased, lambda cast, found: _main(cast, found, "paraphrase")),
    "transport": (items.transported, _transport),
    "gate": (items.bases, _gate),
}
ITEMS: Final = {study: found for study, (found, _) in _PLAY.items()}
"""Study → its items."""


def played(study: Study, cast: Cast, wanted: Iterable[Item] | None = None) -> Iterator[Episode]:
    """Yield the episodes of a study, one after another.

    Args:
        study: which panel.
        cast: who plays it.
        wanted: of its items only these.

    Raises:
        UnaskedError: a reply is missing.
    """
    found, play = _PLAY[study]
    yield from play(cast, found() if wanted is None else wanted)
