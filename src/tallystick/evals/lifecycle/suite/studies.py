"""The studies, enumerated. How many stimuli a study has is counted from its distinct rendered items, never stated.

Source: the seed's appendices E, M, N, O, P, Q, R, S. Ours, where it is silent: XML for the demand and thinking studies,
the names of the fields that the bundle and the crossed study add to a tool result.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from functools import cache
from typing import Final

from tallystick.errors import InputError
from tallystick.evals.lifecycle.row import CHECKPOINTS, NEGATIVES, Encoding
from tallystick.evals.lifecycle.suite.item import BASELINE, Arm, Item, Part, item
from tallystick.evals.lifecycle.suite.scenario import Language, scenarios

_ENCODINGS: Final[tuple[Encoding, ...]] = ("xml", "json")
_SINGLE: Final = ("wait", "ready", "act", "done")
"""Checkpoints of a single-step scenario: it has no mid-task stage."""
MID: Final = "step"
"""The mid-task checkpoint of the interventions: one step done, gold POST_OBS."""

MAIN: Final = (
    BASELINE,
    Arm(name="gold", hint=True, declares=("hint",)),
    Arm(name="static", duty="active", declares=("protocol",)),
)
FIVE: Final = (
    Arm(name="A"),
    Arm(name="B", duty="active", declares=("protocol",)),
    Arm(name="C", duty="inert", declares=("protocol",)),
    Arm(name="D", duty="active", reminder=True, declares=("protocol", "reminder")),
    Arm(name="E", reminder=True, declares=("reminder",)),
)
"""A baseline, B constant meaningful value, C constant inert value, D reminder and constant, E reminder and dynamic."""
OBLIGATIONS: Final = tuple(
    Arm(
        name=f"{duty}{'+reminder' if reminded else ''}", duty=duty, reminder=reminded,
        declares=("protocol", "reminder") if reminded else ("protocol",),
        factors={"obligation": duty, "reminder": "on" if reminded else "off"},
    )
    for duty in ("O1", "O2", "O3")
    for reminded in (False, True)
)  # fmt: skip
DEMAND: Final = (Arm(name="on"), Arm(name="off", duty="none", declares=("protocol",)))
THINKING: Final = (
    Arm(name="off", thinking="off", declares=("thinking",)),
    Arm(name="on", thinking="on", declares=("thinking",)),
)
_OWNER: Final = "pending_step_owner"
BUNDLE: Final = (
    Arm(name="self", added={_OWNER: "this_assistant"}, declares=("result",)),
    Arm(name="other", withdrawn=True, added={_OWNER: "another_system"}, declares=("result", "tools")),
)
FAMILIES: Final = {
    "w1": (("ownership", "this_assistant", "another_system"),
           ("cue", "prior_step_succeeded", "prior_step_returned_an_error")),
    "w2": (("assignment", "assigned_to_you", "assigned_to_external_service"),
           ("feedback", "no_faults_reported", "fault_reported_upstream")),
    "w3": (("负责方", "本助手", "另一系统"), ("反馈", "上一步成功", "上一步返回错误")),
}  # fmt: skip
"""Wording families of the crossed study: (field, self, other), (field, resolved, problem). Values are the source's, the
third family renders them in Chinese; the fields' names are ours."""


def _crossed() -> tuple[Arm, ...]:
    arms = []
    changed: tuple[Part, ...] = ("result", "tools")
    for family, (owner, cue) in FAMILIES.items():
        for other, withdrawn, problem in itertools.product((False, True), repeat=3):
            levels = ("other" if other else "self", "withdrawn" if withdrawn else "available",
                      "problem" if problem else "resolved")  # fmt: skip
            arms.append(
                Arm(
                    name=":".join((family, *levels)),
                    withdrawn=withdrawn,
                    added={owner[0]: owner[1 + other], cue[0]: cue[1 + problem]},
                    declares=changed,
                    factors={**dict(zip(("ownership", "tool", "cue"), levels, strict=True)), "family": family},
                )
            )
    return tuple(arms)


CROSSED: Final = _crossed()


def _two_step(
    study: str, language: Language, checkpoints: tuple[str, ...], arms: tuple[Arm, ...],
    encodings: tuple[Encoding, ...] = ("xml",),
) -> Iterator[Item]:  # fmt: skip
    for one in scenarios():
        for checkpoint, encoding, arm in itertools.product(checkpoints, encodings, arms):
            yield item(study, one, checkpoint, language, encoding, arm)


def _breadth(study: str, language: Language) -> Iterator[Item]:
    # English replicates the surface whatever the helpdesk scenarios' language is.
    for one in scenarios():
        for checkpoint in CHECKPOINTS:
            yield item(study, one, checkpoint, "en", "xml", Arm(name="english"))
    for one in scenarios("helpdesk"):
        for checkpoint in _SINGLE:
            yield item(study, one, checkpoint, language, "xml", Arm(name="single-step"))


_STUDIES: Final[dict[str, Callable[[str, Language], Iterator[Item]]]] = {
    "main": lambda s, z: _two_step(s, z, CHECKPOINTS, MAIN, _ENCODINGS),
    "five_arms": lambda s, z: _two_step(s, z, CHECKPOINTS, FIVE, _ENCODINGS),
    "breadth": _breadth,
    "negative": lambda s, z: _two_step(s, z, NEGATIVES, (BASELINE,)),
    "obligations": lambda s, z: _two_step(s, z, CHECKPOINTS, OBLIGATIONS),
    "demand": lambda s, z: _two_step(s, z, CHECKPOINTS, DEMAND),
    "thinking": lambda s, z: _two_step(s, z, CHECKPOINTS + NEGATIVES, THINKING),
    "bundle": lambda s, z: _two_step(s, z, (MID,), BUNDLE),
    "crossed": lambda s, z: _two_step(s, z, (MID,), CROSSED),
}
STUDIES: Final = tuple(_STUDIES)
REPETITIONS: Final = {
    "main": 20, "five_arms": 10, "breadth": 20, "negative": 20, "obligations": 3, "demand": 10, "thinking": 10,
    "bundle": 20, "crossed": 10,
}  # fmt: skip
"""Repetitions per deployment unless another number is asked for. That of the demand study is ours (10,800 / 9 / 120),
and so is that of the crossed one."""


def study_name(study: str, language: Language) -> str:
    """Return the name of a study in a language. English runs are studies of their own and are never pooled.

    Raises:
        InputError: there is no such study.
    """
    if study not in _STUDIES:
        raise InputError(f"there is no study `{study[:80]}`", where="--study", fix=f"one of: {', '.join(STUDIES)}")
    return study if language == "zh" else f"{study}-{language}"


def items(study: str, language: Language = "zh") -> tuple[Item, ...]:
    """Return a study's items in their frozen order.

    Raises:
        InputError: there is no such study.
    """
    study_name(study, language)
    return _items(study, language)


@cache
def _items(study: str, language: Language) -> tuple[Item, ...]:
    return tuple(_STUDIES[study](study_name(study, language), language))


def arms(study: str, language: Language = "zh") -> tuple[str, ...]:
    """Return the names of a study's arms."""
    return tuple(dict.fromkeys(i.arm.name for i in items(study, language)))
