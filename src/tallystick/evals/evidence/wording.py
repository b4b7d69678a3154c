"""Task texts. Whether a case is to be acted on is never in them: V0 and V1 read alike."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tallystick.evals.common.draw import Draw
from tallystick.evals.evidence.case import ActionSpec
from tallystick.evals.evidence.world import World

if TYPE_CHECKING:
    from tallystick.evals.evidence.records import Cast


def task_text(
    place: World, cast: Cast, specs: tuple[ActionSpec, ...], draw: Draw, *, protocol: str, index: bool
) -> str:
    """Return the text of a task: who you are, what is wanted, what was said, how to work, how to end."""
    words = place.words
    names = {"noun": place.noun, "noun_cap": place.noun.capitalize(), "request": cast.ids["request"]}
    lines = [f"{place.setting} {draw.pick(words['openings']).format(**names)}"]
    if protocol == "Legacy":
        said = _statement(place, specs, draw)
        return "\n".join([*lines, *said, words["judge"]])
    asked = [_asked(place, spec, specs) for spec in specs]
    if protocol == "V3":
        asked = draw.shuffled(asked)  # the order of the lines says nothing about the order of the actions
    lines.append("What is wanted:" if len(asked) > 1 else f"What is wanted: {asked[0]}.")
    if len(asked) > 1:
        lines += [f"- {one}" for one in asked]
    lines += _statement(place, specs, draw)
    lines.append(draw.pick(words["rules"]).format(**names))
    if index:
        lines.append(draw.pick(words["index_note"]))
    return "\n".join([*lines, words["ending"]])


def _asked(place: World, spec: ActionSpec, specs: tuple[ActionSpec, ...]) -> str:
    ask = place.actions[spec.tool].ask.format(noun=place.noun)
    tools = {s.node: s.tool for s in specs}
    cited = [f"the {place.actions[tools[node]].noun} ({arg})" for arg, node in spec.cites.items()]
    return f"{ask}; cite {' and '.join(cited)}" if cited else ask


def _statement(place: World, specs: tuple[ActionSpec, ...], draw: Draw) -> list[str]:
    said = place.actions[specs[0].tool].statements
    return [f'The requester writes: "{draw.pick(said)}"'] if said else []
